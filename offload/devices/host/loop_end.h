// SPDX-License-Identifier: Apache-2.0
// Where the iterations that several threads share end: at the last one, at the first trap, or where the threads were
// told to stop. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>

#include "codegen/kernel_abi.h"

namespace dhpvm::offload {

// Positions are numbers that ascend in iteration order.
class LoopEnd {
 public:
  static constexpr std::uint64_t kNowhere = std::numeric_limits<std::uint64_t>::max();

  explicit LoopEnd(std::atomic<std::uint32_t>& stop) : stop_(stop) {}

  bool asked_to_stop() const { return stop_.load() != 0; }

  // The calling thread was told to stop, and has done all its iterations before `position`.
  void stop_at(std::uint64_t position) {
    std::uint64_t now = stopped_.load();
    while (position < now && !stopped_.compare_exchange_weak(now, position)) {
    }
  }
  void trap_at(std::uint64_t position, const codegen::KernelTrap& trap) {
    const std::lock_guard lock(mutex_);
    if (position >= trapped_.load()) return;
    trap_ = trap;
    trapped_.store(position);
  }
  // kNowhere while nothing has trapped.
  std::uint64_t trapped_at() const { return trapped_.load(); }

  // Call it when all iterations before the first trap have been done: it ends those behind the trap, which might run
  // for ever, and which an executor in iteration order would never begin.
  void decide() {
    std::uint32_t nobody = 0;
    stop_.compare_exchange_strong(nobody, kDecided);
  }
  // Call it when no iterations run any more. Takes kDecided back; a request by the caller of the loop stays.
  void settle() {
    std::uint32_t decided = kDecided;
    stop_.compare_exchange_strong(decided, 0);
  }

  // A trap counts only if everything before it has been done: otherwise there might be an earlier one.
  codegen::KernelStatus status() const {
    const std::uint64_t trapped = trapped_.load();
    const std::uint64_t stopped = stopped_.load();
    if (trapped < stopped) return codegen::KernelStatus::kTrapped;
    return stopped == kNowhere ? codegen::KernelStatus::kDone : codegen::KernelStatus::kStopped;
  }
  const codegen::KernelTrap& trap() const { return trap_; }

  // The value that decide() stores.
  static constexpr std::uint32_t kDecided = 0x80000000;

 private:
  std::atomic<std::uint32_t>& stop_;
  std::atomic<std::uint64_t> trapped_{kNowhere};
  std::atomic<std::uint64_t> stopped_{kNowhere};
  std::mutex mutex_;
  codegen::KernelTrap trap_;  // at trapped_
};

}  // namespace dhpvm::offload
