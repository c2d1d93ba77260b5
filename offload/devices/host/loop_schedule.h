// SPDX-License-Identifier: Apache-2.0
// Chooses how much of a loop is done next, the size of its chunks, and whether threads share it, from what is
// known about the loop's speed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/thread_pool.h"
#include "offload/devices/host/host_loop.h"
#include "offload/devices/host/open_block.h"

namespace dhpvm::offload {

class LoopSchedule {
 public:
  LoopSchedule(ThreadPool& pool, const HostLoop& loop, const LoopProfile& profile, std::uint64_t iterations)
      : threads_(pool.size()),
        reduces_(!loop.reductions.empty()),
        width_(loop.width),
        rows_(loop.rows),
        packs_(loop.panel_bytes != 0),
        row_(loop.space.extent(loop.space.inner())),
        left_(iterations),
        seconds_per_iteration_(profile.seconds_per_iteration) {
    if (const double seconds = expected_seconds();
        known_ && seconds > kReadySeconds && seconds <= kSerialSeconds)
      ready_ = pool.ready_for_short_loop();
    most_ = loop.reductions.empty() || loop.partials != nullptr
                ? std::numeric_limits<std::int64_t>::max()
                : kRoundBlocks * std::min<std::uint64_t>(row_, bytecode::kReductionBlock);
  }

  // Reductions are handed over in whole blocks; a trial may be smaller than a cut elsewhere.
  std::uint64_t unit() const {
    if (reduces_) return bytecode::kReductionBlock;
    if (!known_) return 1;
    std::uint64_t unit = kCutUnit;
    const auto too_coarse = [&] { return left_ / unit < threads_ * kChunksPerThread; };
    const auto takes_long = [&] {
      return static_cast<double>(unit) * seconds_per_iteration_ > kLeastChunkSeconds;
    };
    while (unit > width_ && too_coarse() && takes_long()) unit /= 2;
    return unit;
  }
  std::uint64_t round_iterations() const {
    if (!known_) return trial_;
    if (!confirmed_ && !worth_sharing() && threads_ > 1) return std::max(left_ / kConfirmedPart, kCutUnit);
    return std::min(left_, most_);
  }
  // Until the speed is known.
  std::uint64_t trial_iterations() const {
    return known_ ? std::numeric_limits<std::uint64_t>::max() : trial_;
  }
  bool worth_sharing() const {
    return known_ && threads_ > 1 && expected_seconds() > (ready_ ? kReadySeconds : kSerialSeconds);
  }
  // Whether threads share the `lanes` of each of so many blocks, a kernel's width of them each: where the
  // blocks are too few to balance, and what the code does at once takes long enough for a call of its own
  // (0.3 us, and some of it one thread after the other).
  bool shares_lanes(std::uint64_t blocks, std::uint64_t lanes) const {
    return worth_sharing() && lanes > width_ &&
           blocks<threads_ * kChunksPerThread&& static_cast<double>(width_) * seconds_per_iteration_>
               std::max(kLeastStepSeconds, static_cast<double>(threads_) * kTakeSeconds);
  }
  // For a round of `iterations` that the pool works on.
  std::uint64_t chunk_iterations(std::uint64_t iterations) const {
    const auto lasting = [&](double seconds) {
      const double wanted = seconds / seconds_per_iteration_;
      return wanted < static_cast<double>(iterations) ? static_cast<std::uint64_t>(wanted) : iterations;
    };
    const std::uint64_t even = iterations / (threads_ * kChunksPerThread);
    const std::uint64_t least = std::min(lasting(kLeastChunkSeconds), (iterations + threads_ - 1) / threads_);
    const std::uint64_t wanted = std::max(std::min(lasting(kChunkSeconds), even), least);
    return whole_tiles(std::max({wanted, iterations / kRoundChunks, std::uint64_t{1}}), iterations);
  }

  void learn(std::uint64_t iterations, double seconds) {
    left_ -= std::min(left_, iterations);
    if (iterations == 0) return;
    // A clock that did not move says only that the iterations are quick.
    const double measured = std::max(seconds, 1e-9) / static_cast<double>(iterations);
    if (!known_ && seconds < kSerialSeconds) {
      trial_ = std::max(trial_, iterations) * kTrialGrowth;
    } else {
      known_ = true;
      confirmed_ = true;
    }
    seconds_per_iteration_ = measured;
  }

 private:
  // Rows that the code does together stay together, while there is work for all threads. All rows of a chunk share what
  // is packed for them.
  std::uint64_t whole_tiles(std::uint64_t wanted, std::uint64_t iterations) const {
    if (rows_ == 1 || iterations / threads_ / row_ < rows_) return wanted;
    const std::uint64_t tile = rows_ * row_;
    if (packs_) wanted = std::max(wanted, iterations / (threads_ * kPackingChunksPerThread));
    return std::max(wanted - wanted % tile, tile);
  }
  // Seconds for the iterations that are left.
  double expected_seconds() const { return static_cast<double>(left_) * seconds_per_iteration_; }

  static constexpr double kChunkSeconds =
      250e-6;  // hides what a chunk costs (0.2 us), and still balances short loops
  static constexpr double kLeastChunkSeconds = 4e-6;
  // The least time of a step of shared lanes. Taking a step costs time for each thread: one thread at a time does.
  static constexpr double kLeastStepSeconds = 10e-6;
  static constexpr double kTakeSeconds = 0.5e-6;
  static constexpr double kSerialSeconds =
      20e-6;  // a loop this short ends before a thread that sleeps has begun
  static constexpr double kReadySeconds =
      LoopProfile::kNeverShared;  // the same for a thread that waits for it
  static constexpr std::uint64_t kChunksPerThread = 8;
  static constexpr std::uint64_t kPackingChunksPerThread = 4;
  // An unknown kernel is tried on as many iterations as it does at once, then on this many times more, until that took
  // kSerialSeconds.
  static constexpr std::uint64_t kTrialGrowth = 8;
  // A loop that is taken for short is measured again after this part of it: the cost of an iteration often
  // depends on the data.
  static constexpr std::uint64_t kConfirmedPart = 8;
  // The most that one round holds in memory: a byte per chunk, and a partial value per block and reduction.
  static constexpr std::uint64_t kRoundChunks = 1 << 16;
  static constexpr std::uint64_t kRoundBlocks = 1 << 15;
  // Cuts lie at multiples of this many iterations where reductions do not ask for more: a cache line of
  // bytes. Iterations that take long do not notice when a line is shared, and loops of few of them must be
  // cut all the same.
  static constexpr std::uint64_t kCutUnit = 64;

  const std::uint64_t threads_;
  const bool reduces_;
  const std::uint64_t width_;
  const std::uint64_t rows_;  // done together
  const bool packs_;
  const std::uint64_t row_;  // iterations of each
  std::uint64_t most_;
  std::uint64_t left_;
  double seconds_per_iteration_;
  bool known_ = seconds_per_iteration_ > 0;
  bool confirmed_ = false;  // measured in this execution
  bool ready_ = false;      // threads wait for it
  std::uint64_t trial_ = width_;
};

}  // namespace dhpvm::offload
