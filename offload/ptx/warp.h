// SPDX-License-Identifier: Apache-2.0
// A warp: 32 threads that execute operations together. Diverged lanes reconverge at the earliest operation in the text;
// a group that runs too long while others wait yields, so that loops that wait for another lane end.
#pragma once

#include <array>
#include <bit>
#include <optional>
#include <string>
#include <vector>

#include "offload/ptx/meter.h"
#include "offload/ptx/program.h"

namespace dhpvm::ptx {

enum class FaultKind : std::uint8_t {
  kAddress,
  kAlignment,
  kUnwritten,
  kRace,
  kBarrier,
  kTrap,
  kLimit,
  kStack
};

struct Fault {
  FaultKind kind = FaultKind::kTrap;
  std::string message;  // "line:column: ..."
};

// The state that the threads of a launch share.
struct LaunchState {
  const Program* program = nullptr;
  const Function* entry = nullptr;
  Extent grid;
  Extent block;
  const std::vector<std::byte>* parameters = nullptr;
  MemoryMap* memory = nullptr;
  Allocation* shared = nullptr;  // of the running block; null: none
  Moment moment;
  Extent block_index = {0, 0, 0};
  std::uint32_t barrier_votes = 0;  // threads that voted true at the current barrier
  std::uint64_t executed = 0;       // operations, times lanes
  std::uint64_t limit = 0;
  Meter* meter = nullptr;  // null: the launch is not metered
  std::optional<Fault> fault;
};

class Warp {
 public:
  Warp(LaunchState& launch, std::uint32_t first_thread);

  // Runs until all threads have ended or wait at a barrier, or there is a fault.
  void run();
  bool is_done() const { return alive_ == 0; }
  // The barrier that all living threads wait at.
  const Op& barrier() const { return program_.ops[pc_[static_cast<unsigned>(std::countr_zero(alive_))]]; }
  // At a barrier that counts votes: the number of threads of this warp that vote true.
  std::uint32_t barrier_votes();
  void pass_barrier();

  // For operations.
  LaunchState& launch() { return launch_; }
  Lanes& to(std::int32_t slot) { return registers_[base_ + static_cast<std::uint32_t>(slot)]; }
  const Lanes& from(std::int32_t slot) const {
    return slot < 0 ? program_.constants[static_cast<std::uint32_t>(~slot)]
                    : registers_[base_ + static_cast<std::uint32_t>(slot)];
  }
  LaneMask predicate(std::int32_t slot) const {
    if (slot >= 0) return predicates_[predicate_base_ + static_cast<std::uint32_t>(slot)];
    return slot == kTrue ? kAllLanes : 0;
  }
  void set_predicate(std::int32_t slot, LaneMask value, LaneMask mask) {
    if (slot < 0) return;
    LaneMask& old = predicates_[predicate_base_ + static_cast<std::uint32_t>(slot)];
    old = (old & ~mask) | (value & mask);
  }
  LaneMask carry() const { return carry_; }
  void set_carry(LaneMask value, LaneMask mask) { carry_ = (carry_ & ~mask) | (value & mask); }
  std::uint32_t thread_of(unsigned lane) const { return first_thread_ + lane; }
  Extent position_of(unsigned lane) const;
  LaneMask alive() const { return alive_; }
  // The memory of a lane's access; null after reporting a fault.
  std::byte* access(const Op& op, unsigned lane, std::uint64_t address, std::size_t bytes, AccessKind kind);
  std::uint64_t local_base() const { return frames_[group_frame_].local; }
  void fail(FaultKind kind, const Op& op, unsigned lane, const std::string& message);

 private:
  struct Frame {
    std::uint32_t parent = 0;
    std::uint32_t depth = 0;
    std::uint32_t registers = 0;  // index of the first
    std::uint32_t predicates = 0;
    std::uint32_t local = 0;
    std::uint32_t return_to = 0;
    std::uint32_t call = 0;  // the call that entered the frame
    const Function* function = nullptr;
    LaneMask lanes = 0;  // that have not returned
  };

  bool choose_group();
  void enter(std::uint32_t frame);
  void look_at(std::uint32_t frame);
  const Function* callee_of(const Op& op, const CallSite& site, LaneMask& mask, std::uint32_t pc);
  void run_group();
  std::uint32_t step_flow(const Op& op, LaneMask mask, std::uint32_t pc);
  std::uint32_t branch(const Op& op, LaneMask mask, std::uint32_t pc);
  void branch_by_index(const Op& op, LaneMask mask);
  void call(const Op& op, LaneMask mask, std::uint32_t pc);
  void leave(LaneMask mask);
  void exit_lanes(LaneMask mask);
  std::uint32_t converge(const Op& op, LaneMask mask, std::uint32_t pc);
  bool release_converged();
  std::byte* local_memory(const Op& op, unsigned lane, std::uint64_t address, std::size_t bytes,
                          AccessKind kind);
  std::byte* allocated(const Op& op, unsigned lane, Allocation& memory, std::uint64_t offset,
                       std::size_t bytes, AccessKind kind);
  void copy_passed(LaneMask mask, std::uint32_t bytes, std::uint32_t from, std::uint32_t to);

  LaunchState& launch_;
  const Program& program_;
  std::uint32_t first_thread_;
  LaneMask alive_;
  LaneMask parked_ = 0;  // waiting at a barrier, or for other lanes
  LaneMask group_ = 0;
  std::uint32_t group_frame_ = 0;
  std::uint32_t stop_ = 0;  // where another group waits
  LaneMask carry_ = 0;
  std::uint32_t base_ = 0;
  std::uint32_t predicate_base_ = 0;
  std::uint32_t turn_ = 0;
  std::array<std::uint32_t, kWarpSize> pc_{};
  std::array<std::uint32_t, kWarpSize> frame_{};
  std::vector<Frame> frames_;
  std::vector<Lanes> registers_;
  std::vector<LaneMask> predicates_;
  std::array<std::vector<std::byte>, kWarpSize> local_;
  std::array<std::vector<std::uint8_t>, kWarpSize> local_written_;
};

}  // namespace dhpvm::ptx
