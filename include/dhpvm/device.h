// SPDX-License-Identifier: Apache-2.0
// The devices that can run parallel loops, and the operations they have done.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "dhpvm/version.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {

// A device that parallel loops may run on, or one that is present but unusable.
struct DeviceEntry {
  std::string name;         // as IsolateOptions::device takes it: "cuda:0"
  std::string description;  // for people: "NVIDIA H100 80GB HBM3"
  std::string problem;      // the reason why it cannot be used, and what to do; empty if it can be used
};

// A device that an isolate has used.
struct DeviceUse {
  std::string name;
  std::string description;
  // The device is simulated: it computes on the host, and its clock is simulated, too.
  bool is_simulated = false;
  // Loops work on the host's memory as it is; nothing is copied.
  bool shares_host_memory = false;
  // The number of copies that run at a time, in addition to kernels: with 2, one in each direction.
  unsigned copy_engines = 0;
  // Capacity for copies of arrays, in bytes: the memory of the device, or Limits::device_bytes.
  std::uint64_t memory_bytes = 0;
  // The time now on the device's clock, which has an epoch of its own. The clock of a simulated device advances only
  // while the host waits for it.
  std::chrono::nanoseconds clock{0};
};

// Leaked memory. Every field is 0 once no isolate of the engine is left, whether its programs returned, trapped or were
// interrupted; anything else is a bug of the library.
struct Leftovers {
  std::uint64_t buffer_bytes = 0;   // elements of off-heap arrays whose isolates have ended
  std::uint64_t device_bytes = 0;   // allocated on devices, also by isolates that still exist
  std::uint64_t registrations = 0;  // host memory registered with devices: regions, not bytes

  bool none() const { return buffer_bytes == 0 && device_bytes == 0 && registrations == 0; }
};

// Another machine whose devices an engine uses. The counters are totals over all connections.
struct WorkerUse {
  std::string name;        // "remote/gpubox:7471"
  std::string host;        // the name it gives itself; empty if never connected
  std::string state;       // "ready", or why it is not
  std::string seal;        // protection of array data: "none", "integrity", "full"; "no key" without one
  std::uint64_t jobs = 0;  // kernels launched
  std::uint64_t bytes_sent = 0;  // array data
  std::uint64_t bytes_received = 0;
  // The shortest recent round trip; 0 if unknown.
  std::chrono::nanoseconds round_trip{0};
};

// An operation that a device has finished.
struct DeviceOperation {
  enum class Kind : std::uint8_t { kUpload, kLaunch, kDownload, kOther };
  std::string_view device;  // its name; valid only during the call
  Kind kind = Kind::kOther;
  std::uint64_t bytes = 0;       // of copies
  std::uint64_t iterations = 0;  // of launches: of the parallel loop
  // On the device's clock.
  std::chrono::nanoseconds begin{0};
  std::chrono::nanoseconds end{0};
};

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
