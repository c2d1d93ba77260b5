// SPDX-License-Identifier: Apache-2.0
#include "offload/devices/host/host_loop.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <vector>

#include "base/error.h"
#include "bytecode/reduction.h"
#include "offload/devices/host/lane_round.h"
#include "offload/devices/host/loop_end.h"
#include "offload/devices/host/loop_schedule.h"
#include "offload/devices/host/open_block.h"
#include "offload/devices/host/panel_memory.h"

namespace dhpvm::offload {
namespace {

using bytecode::kReductionLanes;
using codegen::KernelStatus;
using Clock = std::chrono::steady_clock;

// The iterations between two barriers: a box in iteration order, cut into chunks. Its members are touched by
// all threads.
class Round {
 public:
  // `partials`: where those of this round go; null: they are kept here.
  Round(const HostLoop& loop, const codegen::KernelCall& call, std::atomic<std::uint32_t>& stop,
        const Chunking& chunking, std::uint64_t* partials, PanelMemory& panels)
      : loop_(loop),
        call_(call),
        end_(stop),
        chunking_(chunking),
        done_(chunking.count()),
        partials_(partials),
        panels_(panels) {
    if (loop.reductions.empty() || partials != nullptr) return;
    kept_.resize(blocks() * loop.reductions.size());
    partials_ = kept_.data();
  }

  std::uint64_t blocks() const { return chunking_.blocks_before(chunking_.count()); }

  // Shared by the threads of `pool`, if there is one.
  void run(ThreadPool* pool, std::uint64_t iterations) {
    const auto count = static_cast<std::uint32_t>(chunking_.count());
    if (pool != nullptr) {
      UpdateCopies copies(loop_.updated, call_, loop_.array_count, pool->size(), iterations);
      pool->parallel_for_chunks(count, [&](std::uint32_t index) {
        const UpdateCopies::Piece copy(copies);
        run_chunk(index, copy.call());
      });
      copies.combine();
    } else {
      for (std::uint32_t index = 0; index < count; ++index) run_chunk(index, &call_);
    }
    end_.settle();
  }

  // Partial results, if they did not go elsewhere.
  std::span<const std::uint64_t> kept() const { return kept_; }

  // Positions are numbers of chunks.
  const LoopEnd& end() const { return end_; }
  std::uint64_t iterations() const { return iterations_.load(); }
  double seconds() const { return static_cast<double>(nanoseconds_.load()) * 1e-9; }

 private:
  // `alone`: the call with arrays that no other thread updates; null: there is none.
  void run_chunk(std::uint32_t index, const codegen::KernelCall* alone) {
    if (index > end_.trapped_at()) return;
    if (end_.asked_to_stop()) {
      end_.stop_at(index);
      return;
    }
    const IterationSpace box = chunking_.chunk(index);
    codegen::KernelChunk chunk;
    std::ranges::copy(box.low, chunk.low);
    std::ranges::copy(box.high, chunk.high);
    if (partials_ != nullptr)
      chunk.partials = partials_ + chunking_.blocks_before(index) * loop_.reductions.size();
    const PanelMemory::Piece panels(panels_);
    chunk.panels = panels.data();
    chunk.alone = alone != nullptr ? 1 : 0;
    const auto begin = Clock::now();
    const KernelStatus status = loop_.code(alone != nullptr ? alone : &call_, &chunk);
    const auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin);
    if (status == KernelStatus::kStopped) {
      end_.stop_at(index);
      return;
    }
    if (status == KernelStatus::kTrapped) {
      end_.trap_at(index, chunk.trap);
    } else {
      iterations_.fetch_add(*box.count(), std::memory_order_relaxed);
      nanoseconds_.fetch_add(static_cast<std::uint64_t>(elapsed.count()), std::memory_order_relaxed);
      if (loop_.progress != nullptr) loop_.progress->add(*box.count());
    }
    // Sequentially consistent, like the trap's position: of the thread that finishes the last chunk before the trap and
    // the one that finds the trap, at least one sees what the other did.
    done_[index].store(1);
    if (end_.trapped_at() != LoopEnd::kNowhere) cut_short();
  }

  void cut_short() {
    const std::uint64_t trapped = end_.trapped_at();
    for (std::uint64_t index = 0; index < trapped; ++index) {
      if (done_[index].load() == 0) return;
    }
    end_.decide();
  }

  const HostLoop& loop_;
  const codegen::KernelCall& call_;
  LoopEnd end_;
  const Chunking chunking_;
  std::vector<std::atomic<std::uint8_t>> done_;
  std::uint64_t* partials_;
  PanelMemory& panels_;
  std::vector<std::uint64_t> kept_;
  std::atomic<std::uint64_t> iterations_{0};
  std::atomic<std::uint64_t> nanoseconds_{0};
};

// One execution of a loop: rounds, one after the other.
class Execution {
 public:
  Execution(ThreadPool& pool, const HostLoop& loop, const LoopProfile& profile, std::uint64_t iterations)
      : pool_(pool),
        loop_(loop),
        stop_(loop.stop != nullptr ? *loop.stop : nobody_stops_),
        schedule_(pool, loop, profile, iterations),
        panels_(pool.size(), loop.panel_bytes),
        partials_(loop.partials) {
    if (loop.open != nullptr) open_ = *loop.open;
  }

  // The bytes for panels that the system refused.
  std::size_t missing_bytes() const { return panels_.missing(); }

  LoopOutcome run() {
    for (RemainingSpace remaining(loop_.space); !remaining.empty();) {
      if (loop_.reductions.empty()) {
        run_chunks(remaining);
      } else {
        run_blocks(remaining);
      }
      if (outcome_.status != KernelStatus::kDone) break;
    }
    return outcome_;
  }
  // Total over all rounds and threads.
  double seconds() const { return seconds_; }

 private:
  // Nothing but whole blocks, if there are reductions.
  void run_chunks(RemainingSpace& remaining) {
    const IterationSpace box = remaining.take(schedule_.round_iterations(), schedule_.unit());
    const std::uint64_t iterations = *box.count();
    const bool share = schedule_.worth_sharing();
    const Chunking chunking(box, share ? schedule_.chunk_iterations(iterations) : iterations,
                            schedule_.unit());
    Round round(loop_, call_, stop_, chunking, partials_, panels_);
    round.run(share ? &pool_ : nullptr, iterations);
    outcome_.parallel = outcome_.parallel || share;
    outcome_.chunks += chunking.count();
    note(round.end(), round.iterations(), round.seconds());
    if (outcome_.status != KernelStatus::kDone) return;
    if (partials_ == nullptr) {
      fold(round.kept());
    } else {
      partials_ += round.blocks() * loop_.reductions.size();
    }
    schedule_.learn(iterations, round.seconds());
  }

  void run_blocks(RemainingSpace& remaining) {
    const IterationSpace& front = remaining.front();
    const std::uint64_t left = open_.left(front);
    const std::uint64_t lanes = std::min<std::uint64_t>(open_.done + left, kReductionLanes);
    if (schedule_.shares_lanes(reduction_blocks(open_.with_done(front)), lanes)) {
      share_lanes(remaining.take(*front.count(), 1));
    } else if (open_.done != 0 && schedule_.shares_lanes(1, lanes)) {
      share_lanes(remaining.take(left, 1));
    } else if (open_.done != 0 || schedule_.trial_iterations() < left) {
      run_part(remaining.take(std::min(left, schedule_.trial_iterations()), 1), left);
    } else {
      run_chunks(remaining);
    }
  }

  void share_lanes(const IterationSpace& rest) {
    LaneRound round(loop_, call_, stop_, rest, open_);
    round.run(pool_);
    outcome_.parallel = true;
    outcome_.chunks += round.parts();
    note(round.end(), round.iterations(), round.seconds());
    if (outcome_.status != KernelStatus::kDone) return;
    if (loop_.progress != nullptr) loop_.progress->add(round.iterations());
    open_.done = 0;
    deliver(round.values());
    schedule_.learn(round.iterations(), round.seconds());
  }

  // On this thread, a part of a block that has `left` iterations left.
  void run_part(const IterationSpace& part, std::uint64_t left) {
    const std::uint64_t iterations = *part.count();
    if (open_.done == 0) open_.begin(loop_.reductions);
    codegen::KernelChunk chunk;
    std::ranges::copy(part.low, chunk.low);
    std::ranges::copy(part.high, chunk.high);
    // The first iteration's lane comes first.
    const auto first = static_cast<std::ptrdiff_t>(open_.done % kReductionLanes);
    const auto rotate = [&](std::ptrdiff_t by) {
      for (auto lane = open_.lanes.begin(); lane != open_.lanes.end(); lane += kReductionLanes)
        std::rotate(lane, lane + by, lane + kReductionLanes);
    };
    rotate(first);
    chunk.lanes = open_.lanes.data();
    chunk.alone = 1;
    LoopEnd end(stop_);
    const auto begin = Clock::now();
    const KernelStatus status = end.asked_to_stop() ? KernelStatus::kStopped : loop_.code(&call_, &chunk);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (status == KernelStatus::kStopped) end.stop_at(0);
    if (status == KernelStatus::kTrapped) end.trap_at(0, chunk.trap);
    ++outcome_.chunks;
    note(end, status == KernelStatus::kDone ? iterations : 0, seconds);
    if (status != KernelStatus::kDone) return;
    rotate(kReductionLanes - first);
    if (loop_.progress != nullptr) loop_.progress->add(iterations);
    open_.done += iterations;
    schedule_.learn(iterations, seconds);
    if (iterations < left) return;
    open_.done = 0;
    std::vector<std::uint64_t> values;
    const std::span<std::uint64_t> lanes(open_.lanes);
    for (std::size_t n = 0; n < loop_.reductions.size(); ++n)
      values.push_back(
          combine_lanes(loop_.reductions[n], lanes.subspan(n * kReductionLanes).first<kReductionLanes>()));
    deliver(values);
  }

  void note(const LoopEnd& end, std::uint64_t iterations, double seconds) {
    outcome_.status = end.status();
    if (outcome_.status == KernelStatus::kTrapped) outcome_.trap = end.trap();
    outcome_.iterations += iterations;
    seconds_ += seconds;
  }

  // The values of blocks, in iteration order, go where they are wanted.
  void deliver(std::span<const std::uint64_t> values) {
    if (partials_ == nullptr) {
      fold(values);
    } else {
      partials_ = std::ranges::copy(values, partials_).out;
    }
  }
  // In the order that KernelRecord prescribes.
  void fold(std::span<const std::uint64_t> values) {
    const std::size_t width = loop_.reductions.size();
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::uint64_t& accumulator = loop_.accumulators[i % width];
      accumulator = combine(loop_.reductions[i % width], accumulator, values[i]);
    }
  }

  ThreadPool& pool_;
  const HostLoop& loop_;
  std::atomic<std::uint32_t> nobody_stops_{0};
  std::atomic<std::uint32_t>& stop_;
  const codegen::KernelCall call_{loop_.scalars, loop_.arrays, &stop_};
  LoopSchedule schedule_;
  PanelMemory panels_;
  OpenBlock open_;
  std::uint64_t* partials_;  // where the next block's go; null: they are folded
  LoopOutcome outcome_;
  double seconds_ = 0;
};

}  // namespace

void LoopProfile::add(double measured) {
  constexpr double kMostGrowth = 3;
  if (measurements == 0) {
    seconds_per_iteration = measured;
  } else if (measurements < kFirst) {
    seconds_per_iteration = std::min(seconds_per_iteration, measured);
  } else {
    seconds_per_iteration =
        (seconds_per_iteration + std::min(measured, kMostGrowth * seconds_per_iteration)) / 2;
  }
  measurements = std::min(measurements + 1, kFirst);
}

Result<LoopOutcome> run_on_host(ThreadPool& pool, const HostLoop& loop, LoopProfile& profile) {
  const std::optional<std::uint64_t> count = loop.space.count();
  if (!count)
    return error(ErrorCode::kUnsupported,
                 "a parallel loop of 2^63 iterations or more cannot be cut into chunks; run it interpreted");
  Execution execution(pool, loop, profile, *count);
  if (execution.missing_bytes() != 0) {
    return error(
        ErrorCode::kOutOfMemory,
        "the system has no memory for what a parallel loop packs: {} bytes for {} threads; run it on "
        "fewer threads",
        execution.missing_bytes(), pool.size());
  }
  const LoopOutcome outcome = execution.run();
  // The time of an execution that was cut short says nothing.
  if (outcome.status == KernelStatus::kDone && outcome.iterations > 0) {
    const double measured = std::max(execution.seconds(), 1e-9) / static_cast<double>(outcome.iterations);
    profile.add(measured);
  }
  return outcome;
}

}  // namespace dhpvm::offload
