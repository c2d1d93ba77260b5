// SPDX-License-Identifier: Apache-2.0
// Runs blocks of a reduction that are too few for the threads, while their iterations take long: the threads share the
// lanes of each block, which are combined when all are done. The order of the reduction (bytecode/module.h), and so the
// bits of its result, stay the same.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <queue>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "offload/devices/host/host_loop.h"
#include "offload/devices/host/loop_end.h"
#include "offload/devices/host/open_block.h"

namespace dhpvm::offload {

class LaneRound {
 public:
  // `rest` begins behind the iterations of `open` that have been done, and ends at the end of a block. If any have been
  // done, it lies in one row.
  LaneRound(const HostLoop& loop, const codegen::KernelCall& call, std::atomic<std::uint32_t>& stop,
            const IterationSpace& rest, const OpenBlock& open);

  void run(ThreadPool& pool);

  const LoopEnd& end() const { return end_; }
  std::uint64_t parts() const { return parts_; }
  std::uint64_t iterations() const { return iterations_; }
  double seconds() const { return seconds_; }
  // The values of the blocks in iteration order, one for each reduction. Call it once, after a loop that was not cut
  // short.
  std::vector<std::uint64_t> values();

 private:
  // The next iterations of a part, `width_` neighbouring lanes of a block: the position of the first, with
  // kReductionBlock positions for a block, and the part's number.
  using Step = std::pair<std::uint64_t, std::uint64_t>;

  void work();
  codegen::KernelStatus run_step(const Step& step, codegen::KernelTrap& trap);
  void finish(const Step& step, codegen::KernelStatus status, const codegen::KernelTrap& trap);
  std::uint64_t end_of(const Step& step) const;
  void cut_short();

  const HostLoop& loop_;
  const codegen::KernelCall& call_;
  const Chunking blocks_;  // each block is a chunk
  const std::uint64_t width_;
  const std::uint64_t groups_;  // parts of a block
  std::uint64_t parts_ = 0;     // the parts that have iterations
  // The lanes of all blocks, each as in OpenBlock. The thread that runs a step owns the step's lanes.
  std::vector<std::uint64_t> lanes_;
  LoopEnd end_;

  std::mutex mutex_;
  // The rest is guarded by mutex_ while threads work.
  std::priority_queue<Step, std::vector<Step>, std::greater<>> ready_;
  std::vector<std::uint64_t> running_;  // positions of steps
  std::uint64_t iterations_ = 0;
  double seconds_ = 0;
};

}  // namespace dhpvm::offload
