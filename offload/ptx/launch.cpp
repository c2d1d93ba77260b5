// SPDX-License-Identifier: Apache-2.0
#include "offload/ptx/launch.h"

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "offload/ptx/lexer.h"

namespace dhpvm::ptx {
namespace {

// Phases are numbered over all launches of the process, so that memory recognises the traces of earlier launches.
std::uint64_t next_phases(std::uint64_t count) {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(count);
}

class BlockRun {
 public:
  explicit BlockRun(LaunchState& state) : state_(state) {}

  void run() {
    std::vector<Warp> warps;
    for (std::uint32_t first = 0; first < state_.block.count(); first += kWarpSize)
      warps.emplace_back(state_, first);
    while (!state_.fault) {
      for (Warp& warp : warps) {
        warp.run();
        if (state_.fault) return;
      }
      if (std::ranges::all_of(warps, &Warp::is_done)) return;
      pass(warps);
    }
  }

 private:
  void pass(std::vector<Warp>& warps) {
    const Warp& waiting = *std::ranges::find_if_not(warps, &Warp::is_done);
    const Op& barrier = waiting.barrier();
    std::uint64_t threads = 0;
    for (Warp& warp : warps) {
      threads += static_cast<unsigned>(std::popcount(warp.alive()));
      if (warp.is_done() || &warp.barrier() == &barrier) continue;
      return warp.fail(
          FaultKind::kBarrier, warp.barrier(), static_cast<unsigned>(std::countr_zero(warp.alive())),
          fmt::format("waits at this barrier while others of its block wait at the one in line {}",
                      barrier.at.line));
    }
    if (threads != state_.block.count()) {
      state_.fault =
          Fault{FaultKind::kBarrier,
                placed(barrier.at, fmt::format("{} of {} threads of the block wait at this barrier, and "
                                               "the others have ended",
                                               threads, state_.block.count()))};
      return;
    }
    state_.barrier_votes = 0;
    if (barrier.execute != nullptr) {
      for (Warp& warp : warps) state_.barrier_votes += warp.barrier_votes();
    }
    for (Warp& warp : warps) warp.pass_barrier();
    state_.moment.phase = next_phases(1);
  }

  LaunchState& state_;
};

}  // namespace

std::uint32_t parameter_bytes(const Function& entry) {
  return entry.parameters.empty() ? 0 : entry.parameters.back().offset + entry.parameters.back().bytes;
}

LaunchOutcome run(const KernelLaunch& launch) {
  std::vector<std::shared_ptr<Allocation>> blocks = launch.memory;
  if (launch.program->globals != nullptr) blocks.push_back(launch.program->globals);
  MemoryMap memory(std::move(blocks));
  std::shared_ptr<Allocation> shared;
  const std::uint32_t shared_bytes = launch.program->shared_bytes + launch.dynamic_shared;
  if (shared_bytes != 0) shared = Allocation::create(shared_bytes);
  LaunchState state;
  state.program = launch.program;
  state.entry = launch.entry;
  state.grid = launch.grid;
  state.block = launch.block;
  state.parameters = &launch.parameters;
  state.memory = &memory;
  state.shared = shared.get();
  state.limit = launch.limit;
  state.moment.launch = next_phases(1);
  std::optional<Meter> meter;
  if (launch.is_metered) state.meter = &meter.emplace(launch.block);
  for (std::uint64_t block = 0; block < launch.grid.count() && !state.fault; ++block) {
    state.block_index = {static_cast<std::uint32_t>(block % launch.grid.x),
                         static_cast<std::uint32_t>(block / launch.grid.x % launch.grid.y),
                         static_cast<std::uint32_t>(block / launch.grid.x / launch.grid.y)};
    state.moment.block = state.moment.phase = next_phases(1);
    if (shared != nullptr) shared->poison();
    BlockRun(state).run();
    if (meter) meter->end_block();
  }
  return {std::move(state.fault), state.executed, meter ? meter->counts() : Counts()};
}

}  // namespace dhpvm::ptx
