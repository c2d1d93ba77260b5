// SPDX-License-Identifier: Apache-2.0
// Limits and options of an isolate.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dhpvm/device.h"
#include "dhpvm/result.h"
#include "dhpvm/rights.h"
#include "dhpvm/version.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {

// A program's output streams. Called on the thread that runs the isolate, while the program runs or at the end of a
// call. An error ends the program with that error. Must not call into the same isolate.
using OutputFunction = std::function<Status(std::string_view)>;
// Fills the front of the buffer and returns the number of bytes; 0 is end of file. A function that may wait for long
// calls Isolate::rest meanwhile, and no other function of the isolate.
using InputFunction = std::function<Result<std::size_t>(std::span<char>)>;
// Takes a message for the user of the application, without a newline at its end: a warning, for example about a lost
// device, or a requested listing. Called from any thread, possibly from several at once. Must neither throw nor call
// into an isolate.
enum class LogKind : std::uint8_t { kWarning, kListing };
using LogFunction = std::function<void(LogKind kind, std::string_view text)>;

// Reaching a limit is a trap with a stack trace, never a crash; the isolate can be used afterwards.
// Sizes are in bytes. A limit of 0 leaves nothing: the first use traps. The constants below mean "no limit".
struct Limits {
  static constexpr std::uint64_t kUnlimitedFuel = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::size_t kUnlimitedBytes = std::numeric_limits<std::size_t>::max();
  static constexpr std::chrono::nanoseconds kNoDeadline = std::chrono::nanoseconds::max();

  // Objects and small arrays, garbage included until it is collected. Beyond: kOutOfMemory.
  std::size_t heap_bytes = std::size_t{4} << 30;
  // Elements of arrays of 64 KiB and more; spans that the host lends do not count. Beyond: kOffHeapExhausted.
  std::size_t off_heap_bytes = std::size_t{8} << 30;
  // Memory of each accelerator for copies of arrays, at most as much as the device has. Loops that need more work on
  // a part of their arrays at a time; where that is impossible, they run on the host.
  std::uint64_t device_bytes = kUnlimitedBytes;
  // All nested calls together; kUnlimitedBytes is not allowed. Beyond: kStackOverflow.
  std::size_t stack_bytes = std::size_t{16} << 20;
  // Over the life of the isolate: one unit per call, per turn of a loop, and per iteration of a parallel
  // loop. Exact and repeatable. Beyond: kOutOfFuel. Isolate::set_fuel refills it.
  std::uint64_t fuel = kUnlimitedFuel;
  // The real time of each call from the host, honoured within about a millisecond, or the time of one
  // collection or of up to 64 host functions where those take longer. Loops on devices end within 200 ms, unless the
  // smallest launch of an accelerator takes longer: 16 iterations a core, 1024 a unit of a GPU. Beyond: kDeadline.
  std::chrono::nanoseconds deadline = kNoDeadline;
};

// The choice of code to compile. Results have the same bits, except for mathematical functions in parallel loops.
enum class Jit : std::uint8_t {
  kOff,       // nothing: everything is interpreted
  kOn,        // hot functions and loops, in the background
  kEager,     // all functions when the isolate is made, loops before their first iteration; for testing
  kBaseline,  // as kOn, but loops keep the code that takes a few milliseconds to make; for testing
};

// The overlap of a loop's chunks on a device. Results are the same; the modes other than kOverlapped exist for
// comparison.
enum class Batching : std::uint8_t {
  kOverlapped,      // uploads, kernels and downloads of neighbouring chunks overlap
  kSerial,          // each upload, kernel and download ends before the next begins
  kSerialPageable,  // likewise, with pageable host memory: arrays are not registered with the device
};

// The choice among several devices that could run a loop.
enum class Policy : std::uint8_t {
  kFastest,  // earliest expected completion: on one device, or split over all
  kRemote,   // on workers if there are any, to spare this machine's battery, within policy_factor
};

struct IsolateOptions {
  Limits limits = {};

  // Everything is interpreted if the code generator is not installed, or if check_races is set.
  Jit jit = Jit::kOn;
  // Samples that find a function running before it is compiled.
  // A sample is taken about every 1000 calls and turns of loops.
  std::uint32_t jit_threshold = 8;
  // Wait for every compilation, so that runs are repeatable.
  bool jit_wait = false;

  // The devices for parallel loops besides the host's cores: "auto", a GPU if there is one and a loop is expected to be
  // quicker there; "host"; the name of a device (Engine::devices, also "gpu", "cuda", "opencl"), which then runs every
  // loop that it can; or several names, separated by commas, to choose from for each loop. A hint in the program counts
  // for "auto". A loop that the named device cannot run runs on the host, and EngineOptions::log receives the reason
  // once. Needs `jit`.
  std::string device = "auto";
  // If `device` names only devices other than the host, a loop that would run on the host fails instead, and so does
  // create() if none of these devices can be used: both with kDeviceFailed and the reason. Loops that the program
  // itself keeps on the host, by @device("host"), run there.
  bool require_device = false;
  Policy policy = Policy::kFastest;
  // With kRemote: how many times slower than this machine workers may be expected to be. More than 0.
  double policy_factor = 4;
  // Iterations of each chunk that goes to a device; 0: chosen by measurements.
  std::uint64_t batch = 0;
  Batching batching = Batching::kOverlapped;
  // Called for every operation that a device has done for the isolate, for profiles: some time after it is done, at the
  // latest when the isolate ends; from any thread, possibly several at once. Should be quick, and must not call into
  // the isolate.
  std::function<void(const DeviceOperation&)> device_observer = {};

  // Streams of this isolate; empty: those of the engine.
  OutputFunction standard_output = {};
  OutputFunction standard_error = {};
  InputFunction standard_input = {};

  // The parts of the system that the program may use, within those that EngineOptions permits; std::nullopt: all of
  // these.
  std::optional<SystemRights> rights = {};

  // For debugging. Conflicting accesses of different iterations of a parallel loop trap with kRace; such loops run
  // about ten times slower.
  bool check_races = false;
  // Count how often each line is run, for Isolate::line_counts. Everything is interpreted, at about half of the speed.
  bool count_lines = false;
  // Collect before every n-th allocation; 0 is off.
  std::uint32_t gc_stress = 0;
  // Check the whole heap around every collection. Ends the process with a message at the first fault.
  bool gc_verify = false;
};

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
