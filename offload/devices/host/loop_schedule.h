// SPDX-License-Identifier: Apache-2.0
// Chooses how much of a loop is done next, the size of its chunks, and whether threads share it, by the loop's measured
// speed.
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

  // Chunks are multiples of so many iterations: whole blocks of reductions, single iterations in a trial.
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
  // The size of the next trial; no limit once the speed is known.
  std::uint64_t trial_iterations() const {
    return known_ ? std::numeric_limits<std::uint64_t>::max() : trial_;
  }
  bool worth_sharing() const {
    return known_ && threads_ > 1 && expected_seconds() > (ready_ ? kReadySeconds : kSerialSeconds);
  }
  // Whether threads share the `lanes` of each of `blocks` blocks, by the kernel's width at a time: if the blocks are
  // too few to balance, and each part takes long enough for a call of its own (0.3 us, of which the threads do some one
  // after the other).
  bool shares_lanes(std::uint64_t blocks, std::uint64_t lanes) const {
    return worth_sharing() && lanes > width_ &&
           blocks<threads_ * kChunksPerThread&& static_cast<double>(width_) * seconds_per_iteration_>
               std::max(kLeastStepSeconds, static_cast<double>(threads_) * kTakeSeconds);
  }
  // The size of the chunks of a round of `iterations` that the pool shares.
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
    // If the clock did not move, the iterations are too quick to be measured.
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
  // Keeps rows together that the code does together, as long as all threads have work. All rows of a chunk share the
  // packed panels.
  std::uint64_t whole_tiles(std::uint64_t wanted, std::uint64_t iterations) const {
    if (rows_ == 1 || iterations / threads_ / row_ < rows_) return wanted;
    const std::uint64_t tile = rows_ * row_;
    if (packs_) wanted = std::max(wanted, iterations / (threads_ * kPackingChunksPerThread));
    return std::max(wanted - wanted % tile, tile);
  }
  // The seconds that the iterations left are expected to take.
  double expected_seconds() const { return static_cast<double>(left_) * seconds_per_iteration_; }

  static constexpr double kChunkSeconds =
      250e-6;  // hides what a chunk costs (0.2 us), and still balances short loops
  static constexpr double kLeastChunkSeconds = 4e-6;
  // The least seconds of a step of shared lanes. Taking one costs kTakeSeconds for each thread, since threads take
  // steps one after the other.
  static constexpr double kLeastStepSeconds = 10e-6;
  static constexpr double kTakeSeconds = 0.5e-6;
  static constexpr double kSerialSeconds =
      20e-6;  // a loop this short ends before a sleeping thread has begun
  static constexpr double kReadySeconds = LoopProfile::kNeverShared;  // the same for a spinning thread
  static constexpr std::uint64_t kChunksPerThread = 8;
  static constexpr std::uint64_t kPackingChunksPerThread = 4;
  // A kernel of unknown speed is tried on as many iterations as it does at once, then on kTrialGrowth times as many,
  // and so on, until a trial takes kSerialSeconds.
  static constexpr std::uint64_t kTrialGrowth = 8;
  // A loop that is expected to be short is measured again after one part in so many: the cost of iterations often
  // depends on the data.
  static constexpr std::uint64_t kConfirmedPart = 8;
  // Limits on the memory of a round, which has a byte for each chunk, and a partial value for each block and reduction.
  static constexpr std::uint64_t kRoundChunks = 1 << 16;
  static constexpr std::uint64_t kRoundBlocks = 1 << 15;
  // Chunks without reductions are multiples of this many iterations, a cache line of bytes. If iterations take long,
  // shared lines do not matter, and loops of few iterations are cut more finely: see unit().
  static constexpr std::uint64_t kCutUnit = 64;

  const std::uint64_t threads_;
  const bool reduces_;
  const std::uint64_t width_;
  const std::uint64_t rows_;  // that the code does together
  const bool packs_;
  const std::uint64_t row_;  // iterations of a row
  std::uint64_t most_;
  std::uint64_t left_;
  double seconds_per_iteration_;
  bool known_ = seconds_per_iteration_ > 0;
  bool confirmed_ = false;  // measured in this execution
  bool ready_ = false;      // threads spin in wait for a loop
  std::uint64_t trial_ = width_;
};

}  // namespace dhpvm::offload
