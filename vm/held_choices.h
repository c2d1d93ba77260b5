// SPDX-License-Identifier: Apache-2.0
// The last choices of a device for short loops, which are reused for a moment: most executions are like the one before,
// and comparing the places takes longer than such a loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "vm/offload_request.h"
#include "vm/open_devices.h"

namespace dhpvm::vm {

// Holds only loops that run with any plan: all arrays are small and in buffers of their own, so that a device that
// could run one execution can run another of the same sizes.
class HeldChoices {
 public:
  // `loops`: the number of kernels.
  explicit HeldChoices(std::size_t loops) : choices_(loops) {}

  // The device of a similar execution a moment ago; null: a device has to be chosen. `changes`: OpenDevices::changes().
  OpenDevice* find(const OffloadRequest& request, std::uint64_t changes) const;
  // The device was chosen for this execution, by measured times.
  void hold(const OffloadRequest& request, OpenDevice& device, std::uint64_t changes);

 private:
  using Clock = std::chrono::steady_clock;
  struct Choice {
    OpenDevice* device = nullptr;  // null: there is none
    std::uint64_t changes = 0;     // the device may be gone if the count has changed
    Clock::time_point until;
    std::uint32_t variant = 0;
    bool has_small_indices = false;
    std::uint64_t iterations = 0;
    std::uint64_t bytes = 0;
  };
  static Choice likeness_of(const OffloadRequest& request);

  std::vector<Choice> choices_;
};

}  // namespace dhpvm::vm
