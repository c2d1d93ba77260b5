// SPDX-License-Identifier: Apache-2.0
// Devices that parallel loops run on: which there are, and what they did.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace dhpvm {

// A device that parallel loops may run on, or one that is there but cannot be used.
struct DeviceEntry {
  std::string name;         // what IsolateOptions::device takes: "cuda:0"
  std::string description;  // for people: "NVIDIA H100 80GB HBM3"
  std::string problem;      // why it cannot be used, and what to do; empty if it can
};

// A device that an isolate has used.
struct DeviceUse {
  std::string name;
  std::string description;
  // What it measures is made up: it computes on the host, by the clock of a simulation.
  bool is_simulated = false;
  // Loops work on the host's memory as it is; nothing is copied.
  bool shares_host_memory = false;
  // How many copies run at a time, beside kernels: with 2, one in each direction.
  unsigned copy_engines = 0;
  // Memory for copies of arrays, in bytes: what it has, or Limits::device_bytes.
  std::uint64_t memory_bytes = 0;
  // The time on its clock, from an epoch of its own. That of a simulated device only advances when somebody
  // waits for it.
  std::chrono::nanoseconds clock{0};
};

// What is held of memory although nobody should: 0 of each when no isolate of the engine is left, on whatever way their
// programs ended. Anything else is an error of the library.
struct Leftovers {
  std::uint64_t buffer_bytes = 0;   // of arrays outside the heap, of isolates that have ended
  std::uint64_t device_bytes = 0;   // allocated on devices, also by isolates that are there
  std::uint64_t registrations = 0;  // pieces of memory that devices know, likewise

  bool none() const { return buffer_bytes == 0 && device_bytes == 0 && registrations == 0; }
};

// Another machine whose devices an engine uses, and what has been done there so far, over all connections.
struct WorkerUse {
  std::string name;   // "remote/gpubox:7471"
  std::string host;   // as it calls itself; empty if it was never there
  std::string state;  // "ready", or why it is not
  std::string seal;   // what is done to the data of arrays: "none", "integrity", "full"; "no key" without one
  std::uint64_t jobs = 0;        // kernels launched
  std::uint64_t bytes_sent = 0;  // data of arrays
  std::uint64_t bytes_received = 0;
  // The shortest one of late; 0 where it is not known.
  std::chrono::nanoseconds round_trip{0};
};

// Something that a device has done.
struct DeviceOperation {
  enum class Kind : std::uint8_t { kUpload, kLaunch, kDownload, kOther };
  std::string_view device;  // its name; valid during the call
  Kind kind = Kind::kOther;
  std::uint64_t bytes = 0;       // of copies
  std::uint64_t iterations = 0;  // of launches: of the parallel loop
  // On the device's clock.
  std::chrono::nanoseconds begin{0};
  std::chrono::nanoseconds end{0};
};

}  // namespace dhpvm
