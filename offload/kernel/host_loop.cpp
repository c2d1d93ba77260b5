// SPDX-License-Identifier: Apache-2.0
#include "offload/kernel/host_loop.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "bytecode/reduction.h"

namespace dhpvm::offload {
namespace {

using bytecode::kReductionBlock;
using codegen::KernelStatus;
using Clock = std::chrono::steady_clock;

constexpr double kChunkSeconds = 250e-6;  // hides what a chunk costs (0.2 us), and still balances short loops
constexpr double kLeastChunkSeconds = 10e-6;
constexpr double kSerialSeconds = 20e-6;  // a loop this short ends before another core has begun
constexpr std::uint64_t kChunksPerThread = 8;
// An unknown kernel is tried on as many iterations as it does at once, then on this many times more, until that took
// kSerialSeconds.
constexpr std::uint64_t kTrialGrowth = 8;
// A loop that is taken for short is measured again after this part of it: the cost of an iteration often
// depends on the data.
constexpr std::uint64_t kConfirmedPart = 8;
// What one round holds in memory, at most: a byte per chunk, and a partial value per block and reduction.
constexpr std::uint64_t kRoundChunks = 1 << 16;
constexpr std::uint64_t kRoundBlocks = 1 << 15;
// Cuts lie at multiples of this many iterations where reductions do not ask for more: a cache line of bytes. Iterations that
// take long do not notice when a line is shared, and loops of few of them must be cut all the same.
constexpr std::uint64_t kCutUnit = 64;

constexpr std::uint64_t kNoChunk = std::numeric_limits<std::uint64_t>::max();

void lower(std::atomic<std::uint64_t>& minimum, std::uint64_t value) {
  std::uint64_t now = minimum.load();
  while (value < now && !minimum.compare_exchange_weak(now, value)) {
  }
}

// The iterations between two barriers: a box in iteration order, cut into chunks. Its members are touched by
// all threads.
class Round {
 public:
  // `partials`: where those of this round go; null: they are kept here.
  Round(const HostLoop& loop, const codegen::KernelCall& call, std::atomic<std::uint32_t>& stop,
        const Chunking& chunking, std::uint64_t* partials)
      : loop_(loop),
        call_(call),
        stop_(stop),
        chunking_(chunking),
        done_(chunking.count()),
        partials_(partials) {
    if (loop.reductions.empty() || partials != nullptr) return;
    kept_.resize(blocks() * loop.reductions.size());
    partials_ = kept_.data();
  }

  std::uint64_t blocks() const { return chunking_.blocks_before(chunking_.count()); }

  void run(ThreadPool* pool) {
    const auto count = static_cast<std::uint32_t>(chunking_.count());
    if (pool != nullptr) {
      pool->parallel_for_chunks(count, [this](std::uint32_t index) { run_chunk(index); });
    } else {
      for (std::uint32_t index = 0; index < count; ++index) run_chunk(index);
    }
    if (trapped_.load() != kNoChunk) {
      // What this round has stored itself; a request from outside stays.
      std::uint32_t decided = kLoopDecided;
      stop_.compare_exchange_strong(decided, 0);
    }
  }

  // In the order that KernelRecord prescribes, which is that of the partials.
  void fold() const {
    const std::size_t width = loop_.reductions.size();
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      std::uint64_t& accumulator = loop_.accumulators[i % width];
      accumulator = combine(loop_.reductions[i % width], accumulator, kept_[i]);
    }
  }

  // A trap counts only if everything before it has been done: otherwise there might have been another.
  KernelStatus status() const {
    const std::uint64_t trapped = trapped_.load();
    const std::uint64_t stopped = stopped_.load();
    if (trapped < stopped) return KernelStatus::kTrapped;
    return stopped == kNoChunk ? KernelStatus::kDone : KernelStatus::kStopped;
  }
  const codegen::KernelTrap& trap() const { return trap_; }
  std::uint64_t iterations() const { return iterations_.load(); }
  double seconds() const { return static_cast<double>(nanoseconds_.load()) * 1e-9; }

 private:
  void run_chunk(std::uint32_t index) {
    if (index > trapped_.load()) return;
    if (stop_.load() != 0) {
      lower(stopped_, index);
      return;
    }
    const IterationSpace box = chunking_.chunk(index);
    codegen::KernelChunk chunk;
    std::ranges::copy(box.low, chunk.low);
    std::ranges::copy(box.high, chunk.high);
    if (partials_ != nullptr)
      chunk.partials = partials_ + chunking_.blocks_before(index) * loop_.reductions.size();
    const auto begin = Clock::now();
    const KernelStatus status = loop_.code(&call_, &chunk);
    const auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin);
    if (status == KernelStatus::kStopped) {
      lower(stopped_, index);
      return;
    }
    if (status == KernelStatus::kTrapped) {
      const std::lock_guard lock(trap_mutex_);
      if (index < trapped_.load()) {
        trap_ = chunk.trap;
        trapped_.store(index);
      }
    } else {
      iterations_.fetch_add(*box.count(), std::memory_order_relaxed);
      nanoseconds_.fetch_add(static_cast<std::uint64_t>(elapsed.count()), std::memory_order_relaxed);
    }
    // Sequentially consistent, like trapped_: of the thread that finishes the last chunk before the trap and
    // the one that finds the trap, at least one sees what the other did.
    done_[index].store(1);
    if (trapped_.load() != kNoChunk) cut_short();
  }

  // Once all chunks before the first trap are done, those behind it may as well end: one of them might run
  // for ever, which an executor that goes in order would never notice.
  void cut_short() {
    const std::uint64_t trapped = trapped_.load();
    for (std::uint64_t index = 0; index < trapped; ++index) {
      if (done_[index].load() == 0) return;
    }
    std::uint32_t nobody = 0;
    stop_.compare_exchange_strong(nobody, kLoopDecided);
  }

  const HostLoop& loop_;
  const codegen::KernelCall& call_;
  std::atomic<std::uint32_t>& stop_;
  const Chunking chunking_;
  std::vector<std::atomic<std::uint8_t>> done_;
  std::uint64_t* partials_;
  std::vector<std::uint64_t> kept_;               // partials to be folded
  std::atomic<std::uint64_t> trapped_{kNoChunk};  // the first chunk that trapped
  std::atomic<std::uint64_t> stopped_{kNoChunk};  // the first chunk that was stopped or not begun
  std::mutex trap_mutex_;
  codegen::KernelTrap trap_;  // of chunk trapped_
  std::atomic<std::uint64_t> iterations_{0};
  std::atomic<std::uint64_t> nanoseconds_{0};
};

// Chooses sizes from what is known about the loop's speed.
class Scheduler {
 public:
  Scheduler(const ThreadPool& pool, const HostLoop& loop, const LoopProfile& profile,
            std::uint64_t iterations)
      : threads_(pool.size()),
        reduces_(!loop.reductions.empty()),
        width_(loop.width),
        left_(iterations),
        seconds_per_iteration_(profile.seconds_per_iteration) {
    const std::uint64_t row = loop.space.extent(loop.space.inner());
    most_ = loop.reductions.empty() || loop.partials != nullptr
                ? std::numeric_limits<std::int64_t>::max()
                : kRoundBlocks * std::min<std::uint64_t>(row, kReductionBlock);
  }

  // Reductions are handed over in whole blocks; a trial may be smaller than a cut elsewhere.
  std::uint64_t unit() const {
    if (reduces_) return kReductionBlock;
    if (!known_) return 1;
    std::uint64_t unit = kCutUnit;
    const auto too_coarse = [&] { return left_ / unit < threads_ * kChunksPerThread; };
    const auto takes_long = [&] {
      return static_cast<double>(unit) * seconds_per_iteration_ > kChunkSeconds;
    };
    while (unit > width_ && too_coarse() && takes_long()) unit /= 2;
    return unit;
  }
  std::uint64_t round_iterations() const {
    if (!known_) return trial_;
    if (!confirmed_ && !worth_sharing() && threads_ > 1) return std::max(left_ / kConfirmedPart, kCutUnit);
    return std::min(left_, most_);
  }
  bool worth_sharing() const {
    return known_ && threads_ > 1 && static_cast<double>(left_) * seconds_per_iteration_ > kSerialSeconds;
  }
  // For a round of `iterations` that the pool works on.
  std::uint64_t chunk_iterations(std::uint64_t iterations) const {
    const auto lasting = [&](double seconds) {
      const double wanted = seconds / seconds_per_iteration_;
      return wanted < static_cast<double>(iterations) ? static_cast<std::uint64_t>(wanted) : iterations;
    };
    const std::uint64_t even = iterations / (threads_ * kChunksPerThread);
    const std::uint64_t wanted =
        std::max(std::min(lasting(kChunkSeconds), even), lasting(kLeastChunkSeconds));
    return std::max({wanted, iterations / kRoundChunks, std::uint64_t{1}});
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
  double seconds_per_iteration() const { return seconds_per_iteration_; }

 private:
  const std::uint64_t threads_;
  const bool reduces_;
  const std::uint64_t width_;
  std::uint64_t most_;
  std::uint64_t left_;
  double seconds_per_iteration_;
  bool known_ = seconds_per_iteration_ > 0;
  bool confirmed_ = false;  // measured in this execution
  std::uint64_t trial_ = width_;
};

}  // namespace

Result<LoopOutcome> run_on_host(ThreadPool& pool, const HostLoop& loop, LoopProfile& profile) {
  const std::optional<std::uint64_t> count = loop.space.count();
  if (!count)
    return error(ErrorCode::kUnsupported,
                 "a parallel loop of 2^63 iterations or more cannot be cut into chunks; run it interpreted");
  std::atomic<std::uint32_t> nobody_stops{0};
  std::atomic<std::uint32_t>& stop = loop.stop != nullptr ? *loop.stop : nobody_stops;
  const codegen::KernelCall call{loop.scalars, loop.arrays, &stop};
  LoopOutcome outcome;
  Scheduler scheduler(pool, loop, profile, *count);
  double seconds = 0;
  std::uint64_t* partials = loop.partials;
  for (RemainingSpace remaining(loop.space); !remaining.empty();) {
    const IterationSpace box = remaining.take(scheduler.round_iterations(), scheduler.unit());
    const std::uint64_t iterations = *box.count();
    const bool share = scheduler.worth_sharing();
    const Chunking chunking(box, share ? scheduler.chunk_iterations(iterations) : iterations,
                            scheduler.unit());
    Round round(loop, call, stop, chunking, partials);
    round.run(share ? &pool : nullptr);
    outcome.parallel = outcome.parallel || share;
    outcome.iterations += round.iterations();
    outcome.chunks += chunking.count();
    outcome.status = round.status();
    if (outcome.status == KernelStatus::kTrapped) outcome.trap = round.trap();
    if (outcome.status != KernelStatus::kDone) return outcome;
    round.fold();
    if (partials != nullptr) partials += round.blocks() * loop.reductions.size();
    seconds += round.seconds();
    scheduler.learn(iterations, round.seconds());
  }
  if (outcome.iterations > 0) {
    const double measured = std::max(seconds, 1e-9) / static_cast<double>(outcome.iterations);
    // Half of the old figure stays, so that one interrupted execution does not upset the next.
    profile.seconds_per_iteration =
        profile.seconds_per_iteration > 0 ? (profile.seconds_per_iteration + measured) / 2 : measured;
  }
  return outcome;
}

}  // namespace dhpvm::offload
