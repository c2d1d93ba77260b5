// SPDX-License-Identifier: Apache-2.0
// Controls and counters of the fake driver, for tests. They are found with dlsym().
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

struct FakeCudaConfig {
  int devices = 1;
  int capability_major = 9;
  int capability_minor = 0;
  int compute_mode = 0;
  int exec_timeout = 0;  // 1: kernels may not run for long
  std::size_t memory_bytes = std::size_t{1} << 30;
  int threads_of_block = 1024;  // the most, for the registers that kernels need
  int init_code = 0;            // the result of cuInit
};

// Objects that exist now, and calls since the last configuration.
struct FakeCudaCounts {
  int contexts = 0;  // retained
  int streams = 0;
  int events = 0;
  int modules = 0;
  int allocations = 0;
  int registrations = 0;
  int events_created = 0;
  int allocations_made = 0;
  int graphs = 0;  // and executable graphs made of them
  int launches = 0;
  int graph_launches = 0;
  int graphs_made = 0;
  int calls = 0;
  int misuses = 0;  // calls that can break a real driver
};

struct FakeCudaLaunch {
  const char* entry;
  unsigned grid;
  unsigned block;
  const std::uint64_t* arguments;
  unsigned count;
};
// Called on the stream's thread. Returns the driver's code for the launch; any code but 0 loses the device.
using FakeCudaKernel = int (*)(const FakeCudaLaunch* launch, void* data);

// Only when nothing of the driver is in use. Resets hooks, faults and counts.
using FakeCudaConfigure = void (*)(const FakeCudaConfig* config);
using FakeCudaOnLaunch = void (*)(FakeCudaKernel kernel, void* data);
// Makes one call of `symbol` return `code` without doing anything, after `skip` other calls.
using FakeCudaFail = void (*)(const char* symbol, int code, int skip);
using FakeCudaCountsOf = void (*)(FakeCudaCounts* counts);

}  // extern "C"

inline constexpr char kFakeCudaConfigure[] = "fake_cuda_configure";
inline constexpr char kFakeCudaOnLaunch[] = "fake_cuda_on_launch";
inline constexpr char kFakeCudaFail[] = "fake_cuda_fail";
inline constexpr char kFakeCudaCounts[] = "fake_cuda_counts";
