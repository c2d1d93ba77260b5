// SPDX-License-Identifier: Apache-2.0
// Options and counters of an isolate.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/system_memory.h"
#include "gc/options.h"

namespace dhpvm {
class ReservationPool;
class ThreadPool;
class Tracer;
}  // namespace dhpvm

namespace dhpvm::offload {
class DeviceRegistry;
class PlacementPolicy;
struct OperationRecord;
}  // namespace dhpvm::offload

namespace dhpvm::vm {

class Alarm;
class CodeMap;
class CompileService;

// Reaching a limit is a trap of the program, never a crash. A limit of 0 leaves nothing.
struct Limits {
  static constexpr std::uint64_t kUnlimitedFuel = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::size_t kUnlimitedBytes = std::numeric_limits<std::size_t>::max();
  static constexpr std::chrono::nanoseconds kNoDeadline = std::chrono::nanoseconds::max();

  std::size_t heap_bytes = std::size_t{4} << 30;      // objects in the heap; kOutOfMemory beyond
  std::size_t off_heap_bytes = std::size_t{8} << 30;  // elements of large arrays; kOffHeapExhausted beyond
  // The limit for both together, whatever their own limits are: the memory of the machine or of the process's control
  // group, less a part for the rest of the process.
  SystemMemory memory = system_memory();
  // On each device, for copies of arrays, but at most its memory. Loops that need more work in parts, or on the host if
  // they cannot.
  std::uint64_t device_bytes = kUnlimitedBytes;
  std::size_t stack_bytes = std::size_t{16} << 20;  // registers and frames of calls; kStackOverflow beyond

  // One unit per call, per back-edge taken and per iteration of a parallel loop, over the life of the isolate; exact,
  // and the same on every run. kOutOfFuel when a unit is needed and none is left.
  std::uint64_t fuel = kUnlimitedFuel;

  // The real time that one outermost call may take. Honoured within about a millisecond, or the time of one
  // collection or of up to 64 native functions. kDeadline.
  std::chrono::nanoseconds deadline = kNoDeadline;
};

enum class JitMode : std::uint8_t {
  kOff,       // everything is interpreted
  kOn,        // hot functions and loops are compiled, in the background
  kEager,     // all functions are compiled before the program starts
  kBaseline,  // as kOn, but loops keep their baseline code (codegen::KernelTier)
};

struct JitOptions {
  JitMode mode = JitMode::kOn;
  // A function is compiled once so many samples, one every `sample_interval` back-edges and calls, found it running.
  std::uint32_t threshold_samples = 8;
  // At least 1. Every sample is also a look at the clock: fewer make programs slower, more make deadlines coarser.
  std::uint32_t sample_interval = 1024;
  // Wait for every compilation, so that runs are repeatable.
  bool wait = false;
};

// The overlap of a loop's chunks on a device.
enum class Batching : std::uint8_t {
  kOverlapped,      // uploads, kernels and downloads overlap
  kSerial,          // each ends before the next begins
  kSerialPageable,  // likewise, with memory that is not pinned
};

// Where parallel loops may run besides the host's cores.
struct DeviceOptions {
  std::shared_ptr<offload::DeviceRegistry> registry;  // null: nowhere
  // "auto": a GPU where that is worth it; a device for all loops; or several, separated by commas, to choose from.
  std::string names = "auto";
  // Chooses among several devices; null: the earliest expected completion.
  std::shared_ptr<const offload::PlacementPolicy> policy;
  std::uint64_t batch_iterations = 0;  // of every chunk; 0: chosen by measurements
  // Loops that cannot run on a device of `names` end the program (kDeviceFailed), in place of running on the host.
  bool is_required = false;
  // Called once for each reason why a loop does not run on the requested device.
  std::function<void(const std::string&)> warn;
  Batching batching = Batching::kOverlapped;
  // Called with a device's name and each of its operations some time after it is done, from any thread. May be empty.
  std::function<void(const std::string&, const offload::OperationRecord&)> observer;
};

struct IsolateOptions {
  Limits limits;
  DeviceOptions devices;  // with compile_service
  // Which code is compiled; none without a compile service. Not together with check_races.
  JitOptions jit;
  std::shared_ptr<CompileService> compile_service;
  std::shared_ptr<ThreadPool> thread_pool;  // for parallel loops; with compile_service
  std::shared_ptr<Alarm> alarm;             // likewise
  // Where isolates return their address space, for the next isolate; null: to the system.
  std::shared_ptr<ReservationPool> address_space;
  // Report conflicting accesses of different iterations of a parallel loop (kRace). Loops run some
  // ten times slower.
  bool check_races = false;
  // Count how often each instruction is run, for Isolate::line_counts. Everything is interpreted then.
  bool count_lines = false;
  // The code generator records there the code that it loads; the isolate then takes samples for Isolate::profile.
  std::shared_ptr<const CodeMap> profiled_code;
  std::uint32_t gc_stress = 0;    // collect before every n-th allocation; 0 is off
  bool gc_verify = false;         // check the heap around every collection
  std::size_t nursery_bytes = 0;  // 0: adaptive
  Tracer* tracer = nullptr;       // not owned; null is off; must outlive the isolate
  // The isolate's end adds the bytes of its leaked buffers, which are still referenced then. Not owned, may be null;
  // must outlive the isolate.
  std::atomic<std::uint64_t>* left_buffer_bytes = nullptr;
};

// All operations of one kind on devices: copies with their bytes, launches with their iterations, and the
// time that they took on the clocks of the devices.
struct OperationTotal {
  std::uint64_t operations = 0;
  std::uint64_t units = 0;
  std::chrono::nanoseconds time{0};
};

// Totals over all devices of an isolate.
struct DeviceTotals {
  std::uint64_t loops = 0;    // executions of parallel loops
  std::uint64_t chained = 0;  // of them, run together with others
  std::uint64_t chunks = 0;   // that they were divided into
  OperationTotal uploads;
  OperationTotal launches;
  OperationTotal downloads;
  std::uint64_t registrations = 0;  // of host memory
  std::chrono::nanoseconds registration_time{0};
  std::uint64_t bytes_in_use = 0;  // of device memory
};

// The present state of a device.
struct DeviceUse {
  std::string name;
  std::string description;
  bool is_simulated = false;
  bool shares_host_memory = false;
  unsigned copy_engines = 0;
  std::uint64_t memory_bytes = 0;  // for the loops of the isolate
  std::chrono::nanoseconds clock{0};
};

// How often a line of the source has been run.
struct LineCount {
  std::string file;
  std::uint32_t line = 0;
  std::uint64_t count = 0;
};

// A sample of a program's stack: where a call stands, or, in brackets, what else takes its time.
struct ProfileFrame {
  std::string function;
  std::string file;        // empty where the line is not known
  std::uint32_t line = 0;  // that of the call or, of the innermost frame, the one that runs
};
struct ProfileStack {
  std::vector<ProfileFrame> frames;  // outermost first
  std::chrono::nanoseconds time{0};
};

struct IsolateStats {
  std::uint64_t host_calls = 0;           // calls from C++ into the program
  std::uint64_t fuel_used = 0;            // counted whether or not it is limited
  std::uint64_t safepoints = 0;           // times the interpreter looked for deadline, fuel and interrupts
  std::uint64_t parallel_loops = 0;       // executions of `parallel for`
  std::uint64_t parallel_iterations = 0;  // in all of them
  std::uint64_t slow_accesses = 0;        // element accesses by the program that needed the slow path
  std::uint64_t fetches = 0;              // times that the host asked a device for the elements of an array
  std::chrono::nanoseconds run_time{0};   // in outermost calls, measured only with a tracer or a deadline
  std::size_t off_heap_bytes = 0;         // now
  std::size_t off_heap_peak_bytes = 0;
  DeviceTotals devices;
  gc::HeapStats heap;
};

}  // namespace dhpvm::vm
