// SPDX-License-Identifier: Apache-2.0
// What a program may use, and how it is run.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "dhpvm/device.h"
#include "dhpvm/result.h"

namespace dhpvm {

// Where a program writes and reads. Called on the thread that runs the isolate, while the program runs or at
// the end of a call. An error ends the program with that error. Must not call into the same isolate.
using OutputFunction = std::function<Status(std::string_view)>;
// Fills the front of the buffer and says how many bytes; 0 is the end.
using InputFunction = std::function<Result<std::size_t>(std::span<char>)>;

// Reaching a limit is a trap with a stack trace, never a crash; the isolate can be used afterwards.
// Sizes in bytes.
struct Limits {
  static constexpr std::uint64_t kUnlimitedFuel = std::numeric_limits<std::uint64_t>::max();

  // Objects and small arrays, garbage included until it is collected. Beyond: kOutOfMemory.
  std::size_t heap_bytes = std::size_t{4} << 30;
  // Elements of arrays of 64 KiB and more; spans that the host lends do not count. Beyond: kOffHeapExhausted.
  std::size_t off_heap_bytes = std::size_t{8} << 30;
  // Memory of each accelerator, for copies of arrays. 0: whatever the device has. Loops make do with less by
  // working on a part of their arrays at a time; where that cannot be: kDeviceExhausted.
  std::uint64_t device_bytes = 0;
  // All nested calls together. Beyond: kStackOverflow.
  std::size_t stack_bytes = std::size_t{16} << 20;
  // Over the life of the isolate: one unit per call, per turn of a loop, and per iteration of a parallel
  // loop. Exact and repeatable. Beyond: kOutOfFuel. Isolate::set_fuel gives more.
  std::uint64_t fuel = kUnlimitedFuel;
  // For each call from the host, in real time, honoured within about a millisecond, or the time of one
  // collection or of up to 64 host functions where those take longer. 0 is for ever. Beyond: kDeadline.
  std::chrono::nanoseconds deadline{0};
};

// What of a program is compiled. Results have the same bits, but for mathematical functions in parallel loops.
enum class Jit : std::uint8_t {
  kOff,    // nothing: everything is interpreted
  kOn,     // what turns out to be hot, in the background
  kEager,  // all functions when the isolate is made, loops before their first iteration; for testing
};

// How the chunks of a loop go through a device. Results are the same; everything but the first is there to be compared
// with.
enum class Batching : std::uint8_t {
  kOverlapped,      // uploads, kernels and downloads of neighbouring chunks beside each other
  kSerial,          // each upload, kernel and download is waited for before the next begins
  kSerialPageable,  // likewise, and arrays are not in memory that is registered with the device
};

// Who decides where a loop runs, where there are several places.
enum class Policy : std::uint8_t {
  kFastest,  // earliest completion: where it is expected to be over first, or everywhere at once
  kRemote,   // workers whenever there are some, to spare this machine's battery, unless that takes too long
};

struct IsolateOptions {
  Limits limits = {};

  // Where the code generator is not installed, everything is interpreted, and so it is with check_races.
  Jit jit = Jit::kOn;
  // How often a function must be found running, looked at after every 1024 calls and turns of loops, before it is
  // compiled.
  std::uint32_t jit_threshold = 8;
  // Stop for every compilation until it is done, so that runs are repeatable.
  bool jit_wait = false;

  // Where parallel loops run, besides the host's cores: "auto", a GPU if there is one and a loop is expected
  // to be quicker there; "host"; the name of a device (Engine::devices, also "gpu", "cuda", "opencl"), which
  // then runs every loop that it can; or several names, separated by commas, to choose from for each loop. A
  // hint in the program counts for "auto". A loop that cannot run on the device that was asked for runs on
  // the host, and the reason is told once on the process's standard error. Needs `jit`.
  std::string device = "auto";
  Policy policy = Policy::kFastest;
  // With kRemote: workers may take so many times as long as this machine is expected to. More than 0.
  double policy_factor = 4;
  // How many iterations go to a device at a time; 0 leaves that to measurements.
  std::uint64_t batch = 0;
  Batching batching = Batching::kOverlapped;
  // Told of everything that devices do for the isolate, for profiles: some time after it is done, at the
  // latest when the isolate ends; from any thread, possibly several at once. Should be quick, and must not
  // call into the isolate.
  std::function<void(const DeviceOperation&)> device_observer = {};

  // In place of those of the engine, for this isolate alone.
  OutputFunction standard_output = {};
  OutputFunction standard_error = {};
  InputFunction standard_input = {};

  // For finding errors. Conflicting accesses of different iterations of a parallel loop trap with kRace; such
  // loops run some ten times slower.
  bool check_races = false;
  // Collect before every n-th allocation; 0 is off.
  std::uint32_t gc_stress = 0;
  // Check the whole heap around every collection. Ends the process with a message at the first fault.
  bool gc_verify = false;
};

}  // namespace dhpvm
