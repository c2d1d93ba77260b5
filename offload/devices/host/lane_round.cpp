// SPDX-License-Identifier: Apache-2.0
#include "offload/devices/host/lane_round.h"

#include <algorithm>
#include <chrono>
#include <span>

namespace dhpvm::offload {
namespace {

using bytecode::kReductionBlock;
using bytecode::kReductionLanes;
using codegen::KernelStatus;
using Clock = std::chrono::steady_clock;

// Iterations of the longest block.
std::uint64_t longest(const IterationSpace& space) {
  return std::min<std::uint64_t>(space.extent(space.inner()), kReductionBlock);
}

}  // namespace

LaneRound::LaneRound(const HostLoop& loop, const codegen::KernelCall& call, std::atomic<std::uint32_t>& stop,
                     const IterationSpace& rest, const OpenBlock& open)
    : loop_(loop),
      call_(call),
      blocks_(open.with_done(rest), longest(open.with_done(rest)), kReductionBlock),
      width_(std::min<std::uint64_t>(loop.width, kReductionLanes)),
      groups_(kReductionLanes / width_),
      end_(stop) {
  OpenBlock fresh;
  fresh.begin(loop.reductions);
  for (std::uint64_t block = 0; block < blocks_.count(); ++block) {
    const std::uint64_t done = block == 0 ? open.done : 0;
    const std::vector<std::uint64_t>& lanes = done != 0 ? open.lanes : fresh.lanes;
    lanes_.insert(lanes_.end(), lanes.begin(), lanes.end());
    const IterationSpace box = blocks_.chunk(block);
    for (std::uint64_t group = 0; group < groups_; ++group) {
      std::uint64_t first = done - done % kReductionLanes + group * width_;
      if (first + width_ <= done) first += kReductionLanes;
      first = std::max(first, done);
      if (first >= box.extent(box.inner())) continue;
      ready_.emplace(block * kReductionBlock + first, block * groups_ + group);
      ++parts_;
    }
  }
}

void LaneRound::run(ThreadPool& pool) {
  pool.parallel_for_chunks(static_cast<std::uint32_t>(std::min<std::uint64_t>(pool.size(), parts_)),
                           [this](std::uint32_t) { work(); });
  end_.settle();
}

// Each thread does what comes first in iteration order, of that which no other does. So there is always one
// that comes to the first trap, even if iterations behind it, which others have begun, never end.
void LaneRound::work() {
  std::unique_lock lock(mutex_);
  // A part that is running goes on with the thread that has it.
  while (!ready_.empty()) {
    const Step step = ready_.top();
    if (end_.trapped_at() < step.first) return;
    if (end_.asked_to_stop()) {
      end_.stop_at(step.first);
      return;
    }
    ready_.pop();
    running_.push_back(step.first);
    lock.unlock();
    codegen::KernelTrap trap;
    const auto begin = Clock::now();
    const KernelStatus status = run_step(step, trap);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    lock.lock();
    if (status == KernelStatus::kDone) seconds_ += seconds;
    finish(step, status, trap);
  }
}

// The position behind the step's iterations.
std::uint64_t LaneRound::end_of(const Step& step) const {
  const IterationSpace block = blocks_.chunk(step.second / groups_);
  const std::uint64_t first = step.first % kReductionBlock;
  const std::uint64_t end = std::min(first - first % width_ + width_, block.extent(block.inner()));
  return step.first - first + end;
}

KernelStatus LaneRound::run_step(const Step& step, codegen::KernelTrap& trap) {
  const std::uint64_t number = step.second / groups_;
  const IterationSpace block = blocks_.chunk(number);
  const unsigned inner = block.inner();
  const std::uint64_t first = step.first % kReductionBlock;
  const std::uint64_t count = end_of(step) - step.first;
  codegen::KernelChunk chunk;
  std::ranges::copy(block.low, chunk.low);
  std::ranges::copy(block.high, chunk.high);
  chunk.low[inner] += static_cast<std::int64_t>(first);
  chunk.high[inner] = chunk.low[inner] + static_cast<std::int64_t>(count);
  // The code reads and writes the registers of all lanes, and other threads have the others.
  const std::size_t reductions = loop_.reductions.size();
  std::vector<std::uint64_t> own(kReductionLanes * reductions);
  std::uint64_t* const lanes =
      lanes_.data() + number * kReductionLanes * reductions + first % kReductionLanes;
  for (std::size_t n = 0; n < reductions; ++n)
    std::copy_n(lanes + n * kReductionLanes, count, own.data() + n * kReductionLanes);
  chunk.lanes = own.data();
  const KernelStatus status = loop_.code(&call_, &chunk);
  trap = chunk.trap;
  for (std::size_t n = 0; n < reductions; ++n)
    std::copy_n(own.data() + n * kReductionLanes, count, lanes + n * kReductionLanes);
  return status;
}

// With the mutex.
void LaneRound::finish(const Step& step, KernelStatus status, const codegen::KernelTrap& trap) {
  std::erase(running_, step.first);
  if (status == KernelStatus::kDone) {
    const IterationSpace block = blocks_.chunk(step.second / groups_);
    const std::uint64_t first = step.first % kReductionBlock;
    const std::uint64_t next = first - first % width_ + kReductionLanes;
    if (next < block.extent(block.inner())) ready_.emplace(step.first - first + next, step.second);
    iterations_ += end_of(step) - step.first;
  } else if (status == KernelStatus::kStopped) {
    end_.stop_at(step.first);
  } else {
    const IterationSpace block = blocks_.chunk(step.second / groups_);
    const unsigned inner = block.inner();
    const std::uint64_t behind =
        static_cast<std::uint64_t>(trap.index[inner]) - static_cast<std::uint64_t>(block.low[inner]);
    end_.trap_at(step.first - step.first % kReductionBlock + behind, trap);
  }
  if (end_.trapped_at() != LoopEnd::kNowhere) cut_short();
}

// With the mutex, after a trap.
void LaneRound::cut_short() {
  const std::uint64_t trapped = end_.trapped_at();
  if (!ready_.empty() && ready_.top().first < trapped) return;
  if (std::ranges::all_of(running_, [&](std::uint64_t position) { return position > trapped; }))
    end_.decide();
}

std::vector<std::uint64_t> LaneRound::values() {
  std::vector<std::uint64_t> values;
  const std::span<std::uint64_t> all(lanes_);
  for (std::size_t at = 0; at < lanes_.size(); at += kReductionLanes) {
    const auto& reduction = loop_.reductions[at / kReductionLanes % loop_.reductions.size()];
    values.push_back(combine_lanes(reduction, all.subspan(at).first<kReductionLanes>()));
  }
  return values;
}

}  // namespace dhpvm::offload
