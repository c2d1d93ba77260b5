// SPDX-License-Identifier: Apache-2.0
#include "offload/ptx/warp.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "offload/ptx/lexer.h"

namespace dhpvm::ptx {
namespace {

constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();
// The number of operations after which a group yields to another that it may be waiting for.
constexpr std::uint32_t kQuantum = 256;
constexpr std::uint32_t kDeepestCall = 256;
constexpr std::uint32_t kMostRegisters = 1 << 18;  // of all calls of a thread
constexpr std::uint64_t kPoison = 0xcbcbcbcbcbcbcbcb;

unsigned first_of(LaneMask mask) { return static_cast<unsigned>(std::countr_zero(mask)); }

}  // namespace

Warp::Warp(LaunchState& launch, std::uint32_t first_thread)
    : launch_(launch), program_(*launch.program), first_thread_(first_thread) {
  const std::uint64_t threads = std::min<std::uint64_t>(launch.block.count() - first_thread, kWarpSize);
  alive_ = threads == kWarpSize ? kAllLanes : (1U << threads) - 1;
  Frame frame;
  frame.function = launch.entry;
  frame.lanes = alive_;
  frames_.push_back(frame);
  pc_.fill(launch.entry->begin);
  enter(0);
}

// Makes room for the uninitialised registers and local memory of a frame.
void Warp::enter(std::uint32_t frame) {
  const Frame& entered = frames_[frame];
  const Function& function = *entered.function;
  const std::size_t registers = entered.registers + function.registers;
  if (registers_.size() < registers) {
    Lanes poison;
    poison.v.fill(kPoison);
    registers_.resize(registers, poison);
  }
  const std::size_t predicates = entered.predicates + function.predicates;
  if (predicates_.size() < predicates) predicates_.resize(predicates, 0);
  const std::size_t local = entered.local + function.local_bytes;
  for (LaneMask rest = entered.lanes; rest != 0; rest &= rest - 1) {
    const unsigned lane = first_of(rest);
    if (local_[lane].size() < local) {
      local_[lane].resize(local);
      local_written_[lane].resize(local);
    }
    std::fill(local_written_[lane].begin() + entered.local, local_written_[lane].end(), std::uint8_t{0});
    frame_[lane] = frame;
  }
}

Extent Warp::position_of(unsigned lane) const {
  const std::uint32_t thread = thread_of(lane);
  const Extent& block = launch_.block;
  return {thread % block.x, thread / block.x % block.y, thread / block.x / block.y};
}

void Warp::fail(FaultKind kind, const Op& op, unsigned lane, const std::string& message) {
  if (launch_.fault) return;
  const Extent at = position_of(lane);
  const Extent& block = launch_.block_index;
  launch_.fault = Fault{kind, placed(op.at, fmt::format("thread ({}, {}, {}) of block ({}, {}, {}) {}", at.x,
                                                        at.y, at.z, block.x, block.y, block.z, message))};
}

// Chooses the lanes to run: those in the deepest calls first, then those at the earliest operation.
bool Warp::choose_group() {
  LaneMask candidates = alive_ & ~parked_;
  if (candidates == 0) return false;
  if (turn_ != 0 && (candidates & ~group_) != 0) {
    // Another group takes its turn.
    const LaneMask later = candidates & ~group_ & (kAllLanes << (turn_ % kWarpSize));
    const unsigned lane = first_of(later != 0 ? later : candidates & ~group_);
    turn_ = 0;
    group_frame_ = frame_[lane];
    group_ = 1U << lane;
  } else {
    turn_ = 0;
    unsigned best = first_of(candidates);
    for (LaneMask rest = candidates; rest != 0; rest &= rest - 1) {
      const unsigned lane = first_of(rest);
      const Frame& frame = frames_[frame_[lane]];
      const Frame& chosen = frames_[frame_[best]];
      if (frame.depth > chosen.depth || (frame.depth == chosen.depth && pc_[lane] < pc_[best])) best = lane;
    }
    group_frame_ = frame_[best];
    group_ = 1U << best;
  }
  const std::uint32_t pc = pc_[first_of(group_)];
  stop_ = kNowhere;
  for (LaneMask rest = candidates; rest != 0; rest &= rest - 1) {
    const unsigned lane = first_of(rest);
    if (frame_[lane] != group_frame_) continue;
    if (pc_[lane] == pc) group_ |= 1U << lane;
    if (pc_[lane] > pc) stop_ = std::min(stop_, pc_[lane]);
  }
  look_at(group_frame_);
  return true;
}

// Makes `frame` the current one: registers are those of this frame.
void Warp::look_at(std::uint32_t frame) {
  group_frame_ = frame;
  base_ = frames_[frame].registers;
  predicate_base_ = frames_[frame].predicates;
}

void Warp::run() {
  do {
    while (!launch_.fault && choose_group()) run_group();
  } while (!launch_.fault && release_converged());
  if (launch_.fault || alive_ == 0) return;
  for (LaneMask rest = alive_; rest != 0; rest &= rest - 1) {
    const unsigned lane = first_of(rest);
    if (pc_[lane] == pc_[first_of(alive_)]) continue;
    fail(FaultKind::kBarrier, program_.ops[pc_[lane]], lane,
         fmt::format("waits at this barrier while another of its warp waits at the one in line {}",
                     barrier().at.line));
  }
}

// Runs until control moves to another group.
void Warp::run_group() {
  std::uint32_t pc = pc_[first_of(group_)];
  const Op* const ops = program_.ops.data();
  const bool others = (alive_ & ~parked_ & ~group_) != 0;
  for (std::uint32_t steps = 0;; ++steps) {
    const Op& op = ops[pc];
    LaneMask mask = group_;
    if (op.guard != kNoSlot) {
      const LaneMask value = predicate(op.guard);
      mask &= op.guard_negated ? ~value : value;
    }
    launch_.executed += static_cast<unsigned>(std::popcount(mask));
    if (op.flow == Flow::kPlain) {
      if (mask != 0) op.execute(*this, op, mask);
      if (launch_.meter != nullptr) launch_.meter->end_operation(static_cast<unsigned>(std::popcount(mask)));
      ++pc;
    } else {
      pc = step_flow(op, mask, pc);
      if (pc == kNowhere) return;
    }
    if (launch_.fault) return;
    if (pc >= stop_ || (steps & (kQuantum - 1)) == kQuantum - 1) {
      if (launch_.executed > launch_.limit)
        return fail(FaultKind::kLimit, ops[pc], first_of(group_),
                    fmt::format("is still running after {} instructions of all threads", launch_.limit));
      if (pc < stop_ && !others) continue;
      if (pc < stop_) turn_ = first_of(group_) + 1;
      break;
    }
  }
  for (LaneMask rest = group_; rest != 0; rest &= rest - 1) pc_[first_of(rest)] = pc;
}

// The operation at which the whole group continues; kNowhere if it diverged, and then each lane has its own.
std::uint32_t Warp::step_flow(const Op& op, LaneMask mask, std::uint32_t pc) {
  if (op.flow == Flow::kBranch) return branch(op, mask, pc);
  if (op.flow == Flow::kConverge) return converge(op, mask, pc);
  for (LaneMask rest = group_; rest != 0; rest &= rest - 1) pc_[first_of(rest)] = pc + 1;
  if (mask == 0) return pc + 1;
  switch (op.flow) {
    case Flow::kBranchIndex: branch_by_index(op, mask); break;
    case Flow::kCall: call(op, mask, pc); break;
    case Flow::kReturn: leave(mask); break;
    case Flow::kExit: exit_lanes(mask); break;
    case Flow::kBarrier:
      for (LaneMask rest = mask; rest != 0; rest &= rest - 1) pc_[first_of(rest)] = pc;
      parked_ |= mask;
      break;
    default: fail(FaultKind::kTrap, op, first_of(mask), "executed a trap"); break;
  }
  return kNowhere;
}

std::uint32_t Warp::branch(const Op& op, LaneMask mask, std::uint32_t pc) {
  if (mask == group_) return op.target;
  if (mask == 0) return pc + 1;
  for (LaneMask rest = group_; rest != 0; rest &= rest - 1) {
    const unsigned lane = first_of(rest);
    pc_[lane] = (mask >> lane & 1) != 0 ? op.target : pc + 1;
  }
  return kNowhere;
}

void Warp::branch_by_index(const Op& op, LaneMask mask) {
  const std::vector<std::uint32_t>& table = program_.tables[op.target];
  for (LaneMask rest = mask; rest != 0; rest &= rest - 1) {
    const unsigned lane = first_of(rest);
    const auto index = static_cast<std::uint32_t>(from(op.from[0]).v[lane]);
    if (index >= table.size())
      return fail(FaultKind::kTrap, op, lane,
                  fmt::format("branches to target {} of {}", index, table.size()));
    pc_[lane] = table[index];
  }
}

void Warp::copy_passed(LaneMask mask, std::uint32_t bytes, std::uint32_t from, std::uint32_t to) {
  for (LaneMask rest = mask; rest != 0; rest &= rest - 1) {
    const unsigned lane = first_of(rest);
    std::copy_n(local_[lane].begin() + from, bytes, local_[lane].begin() + to);
    std::copy_n(local_written_[lane].begin() + from, bytes, local_written_[lane].begin() + to);
  }
}

// The callee. If threads call several functions, the mask keeps those of one, and the others wait.
const Function* Warp::callee_of(const Op& op, const CallSite& site, LaneMask& mask, std::uint32_t pc) {
  if (!site.is_indirect) {
    const Function& named = program_.functions[site.function];
    if (named.is_defined) return &named;
    fail(FaultKind::kAddress, op, first_of(mask),
         fmt::format("calls function '{}', which has no body", named.name));
    return nullptr;
  }
  const Lanes& targets = from(op.from[0]);
  const unsigned first = first_of(mask);
  const std::uint64_t target = targets.v[first];
  for (LaneMask rest = mask; rest != 0; rest &= rest - 1) {
    const unsigned lane = first_of(rest);
    if (targets.v[lane] == target) continue;
    mask &= ~(1U << lane);
    pc_[lane] = pc;
  }
  const std::uint64_t index = target & ~kWindowMask;
  if ((target & kWindowMask) != kFunctionWindow || index >= program_.functions.size()) {
    fail(FaultKind::kAddress, op, first, fmt::format("calls {:#x}, where there is no function", target));
    return nullptr;
  }
  const Function& callee = program_.functions[index];
  const auto fits = [](const std::vector<Passed>& given, const std::vector<Variable>& wanted) {
    return std::ranges::equal(given, wanted,
                              [](const Passed& a, const Variable& b) { return a.bytes >= b.bytes; });
  };
  if (callee.is_entry || !callee.is_defined || !fits(site.arguments, callee.parameters) ||
      !fits(site.results, callee.results)) {
    fail(FaultKind::kAddress, op, first,
         fmt::format("calls function '{}', which has other parameters or results, or no body", callee.name));
    return nullptr;
  }
  return &callee;
}

void Warp::call(const Op& op, LaneMask mask, std::uint32_t pc) {
  const CallSite& site = program_.calls[op.target];
  const Function* const callee = callee_of(op, site, mask, pc);
  if (callee == nullptr) return;
  const Frame caller = frames_[group_frame_];
  if (caller.depth + 1 == kDeepestCall)
    return fail(FaultKind::kStack, op, first_of(mask), fmt::format("calls deeper than {}", kDeepestCall));
  const std::uint32_t local = (caller.local + caller.function->local_bytes + 15) / 16 * 16;
  const std::uint32_t registers = caller.registers + caller.function->registers;
  if (local + callee->local_bytes > kMostLocal || registers + callee->registers > kMostRegisters)
    return fail(FaultKind::kStack, op, first_of(mask),
                fmt::format("has no room for the {} bytes and {} registers of '{}'", callee->local_bytes,
                            callee->registers, callee->name));
  Frame frame;
  frame.parent = group_frame_;
  frame.depth = caller.depth + 1;
  frame.registers = registers;
  frame.predicates = caller.predicates + caller.function->predicates;
  frame.local = local;
  frame.return_to = pc + 1;
  frame.call = op.target;
  frame.function = callee;
  frame.lanes = mask;
  frames_.push_back(frame);
  enter(static_cast<std::uint32_t>(frames_.size() - 1));
  for (std::size_t i = 0; i < callee->parameters.size(); ++i) {
    const Variable& parameter = callee->parameters[i];
    copy_passed(mask, parameter.bytes, caller.local + site.arguments[i].place,
                frame.local + parameter.offset);
  }
  for (LaneMask rest = mask; rest != 0; rest &= rest - 1) pc_[first_of(rest)] = frame.function->begin;
}

void Warp::leave(LaneMask mask) {
  Frame& frame = frames_[group_frame_];
  if (frame.depth == 0) return exit_lanes(mask);
  const std::uint32_t caller = frames_[frame.parent].local;
  for (std::size_t i = 0; i < frame.function->results.size(); ++i) {
    const Variable& result = frame.function->results[i];
    copy_passed(mask, result.bytes, frame.local + result.offset,
                caller + program_.calls[frame.call].results[i].place);
  }
  for (LaneMask rest = mask; rest != 0; rest &= rest - 1) {
    const unsigned lane = first_of(rest);
    pc_[lane] = frame.return_to;
    frame_[lane] = frame.parent;
  }
  frame.lanes &= ~mask;
  while (frames_.back().lanes == 0) frames_.pop_back();
}

void Warp::exit_lanes(LaneMask mask) {
  alive_ &= ~mask;
  for (Frame& frame : frames_) frame.lanes &= ~mask;
}

std::uint32_t Warp::converge(const Op& op, LaneMask mask, std::uint32_t pc) {
  if (mask == 0) return pc + 1;
  const unsigned first = first_of(mask);
  const auto named = static_cast<LaneMask>(from(op.from[4]).v[first]);
  if ((named & mask) != mask)
    fail(FaultKind::kBarrier, op, first, fmt::format("is not in its own mask of threads {:#x}", named));
  if ((named & alive_ & ~mask) != 0) {
    // Wait until the other lanes arrive.
    for (LaneMask rest = group_; rest != 0; rest &= rest - 1) {
      const unsigned lane = first_of(rest);
      pc_[lane] = (mask >> lane & 1) != 0 ? pc : pc + 1;
    }
    parked_ |= mask;
    return kNowhere;
  }
  if (!launch_.fault) op.execute(*this, op, mask);
  return pc + 1;
}

// Called when no lane can run: releases the lanes that have all arrived at an operation that they execute together.
bool Warp::release_converged() {
  for (LaneMask rest = parked_ & alive_; rest != 0; rest &= rest - 1) {
    const unsigned lane = first_of(rest);
    const Op& op = program_.ops[pc_[lane]];
    if (op.flow != Flow::kConverge) continue;
    LaneMask here = 0;
    for (unsigned other = 0; other < kWarpSize; ++other) {
      if ((parked_ >> other & 1) != 0 && pc_[other] == pc_[lane] && frame_[other] == frame_[lane])
        here |= 1U << other;
    }
    base_ = frames_[frame_[lane]].registers;
    const auto named = static_cast<LaneMask>(from(op.from[4]).v[lane]);
    if ((named & alive_ & ~here) == 0) {
      parked_ &= ~here;
      return true;
    }
    fail(FaultKind::kBarrier, op, lane,
         fmt::format("waits for the threads {:#x} of its warp, which do not come here",
                     named & alive_ & ~here));
    return false;
  }
  return false;
}

std::uint32_t Warp::barrier_votes() {
  if (alive_ == 0) return 0;
  const Op& op = barrier();
  look_at(frame_[first_of(alive_)]);
  const LaneMask votes = predicate(op.from[1]) ^ (op.has(FlagBit::kNegated) ? kAllLanes : 0);
  return static_cast<std::uint32_t>(std::popcount(votes & alive_));
}

void Warp::pass_barrier() {
  for (LaneMask rest = alive_; rest != 0; rest &= rest - 1) {
    const unsigned lane = first_of(rest);
    const Op& op = program_.ops[pc_[lane]];
    if (op.execute != nullptr && rest == alive_) {
      look_at(frame_[lane]);
      op.execute(*this, op, alive_);
    }
    ++pc_[lane];
  }
  parked_ = 0;
}

std::byte* Warp::allocated(const Op& op, unsigned lane, Allocation& memory, std::uint64_t offset,
                           std::size_t bytes, AccessKind kind) {
  const bool reads = kind == AccessKind::kRead || kind == AccessKind::kStrongRead;
  if (reads && !memory.is_written(offset, bytes)) {
    fail(FaultKind::kUnwritten, op, lane,
         fmt::format("reads {} bytes at offset {} of a block of {}, which nobody has written", bytes, offset,
                     memory.size()));
    return nullptr;
  }
  Moment& now = launch_.moment;
  now.thread = thread_of(lane);
  now.line = op.at.line;
  if (const std::optional<Conflict> conflict = memory.note(offset, bytes, kind, now)) {
    fail(FaultKind::kRace, op, lane,
         fmt::format(
             "{} {} bytes at offset {} of a block of {}, which {} in line {} {}, with no barrier or atomic "
             "operation between: a race",
             reads ? "reads" : "writes", bytes, offset, memory.size(),
             conflict->other_block ? "a thread of another block"
                                   : fmt::format("thread {} of the block", conflict->thread),
             conflict->line, conflict->was_write ? "writes" : "reads"));
    return nullptr;
  }
  if (!reads) memory.mark_written(offset, bytes);
  return memory.bytes() + offset;
}

std::byte* Warp::local_memory(const Op& op, unsigned lane, std::uint64_t address, std::size_t bytes,
                              AccessKind kind) {
  std::vector<std::byte>& memory = local_[lane];
  if (address > memory.size() || bytes > memory.size() - address) {
    fail(FaultKind::kAddress, op, lane,
         fmt::format("accesses {} bytes at {:#x} of its {} bytes of local memory", bytes, address,
                     memory.size()));
    return nullptr;
  }
  const auto marks = local_written_[lane].begin() + static_cast<std::ptrdiff_t>(address);
  if (kind == AccessKind::kWrite || kind == AccessKind::kStrongWrite) {
    std::fill_n(marks, bytes, std::uint8_t{1});
  } else if (std::find(marks, marks + static_cast<std::ptrdiff_t>(bytes), 0) !=
             marks + static_cast<std::ptrdiff_t>(bytes)) {
    fail(
        FaultKind::kUnwritten, op, lane,
        fmt::format("reads {} bytes at {:#x} of its local memory, which it has not written", bytes, address));
    return nullptr;
  }
  return memory.data() + address;
}

std::byte* Warp::access(const Op& op, unsigned lane, std::uint64_t address, std::size_t bytes,
                        AccessKind kind) {
  Space space = op.space;
  if (space == Space::kGeneric) {
    const std::uint64_t window = address & kWindowMask;
    space = window == kSharedWindow  ? Space::kShared
            : window == kLocalWindow ? Space::kLocal
                                     : Space::kGlobal;
    if (space != Space::kGlobal) address &= ~kWindowMask;
  }
  if (address % bytes != 0) {
    fail(FaultKind::kAlignment, op, lane,
         fmt::format("accesses {} bytes at {:#x}, which is no multiple of {}", bytes, address, bytes));
    return nullptr;
  }
  if (space == Space::kLocal) return local_memory(op, lane, address, bytes, kind);
  Allocation* const memory = space == Space::kShared ? launch_.shared : launch_.memory->find(address);
  const std::uint64_t offset =
      memory == nullptr || space == Space::kShared ? address : address - memory->address();
  if (memory == nullptr || offset > memory->size() || bytes > memory->size() - offset) {
    fail(FaultKind::kAddress, op, lane,
         memory == nullptr
             ? fmt::format("accesses {} bytes at {:#x} of {} memory, where there is none", bytes, address,
                           text_of(space))
             : fmt::format(
                   "accesses {} bytes at {:#x} of {} memory, {} bytes behind the begin of a block of {}",
                   bytes, address, text_of(space), offset, memory->size()));
    return nullptr;
  }
  if (launch_.meter != nullptr) launch_.meter->add(space, thread_of(lane), address, bytes);
  return allocated(op, lane, *memory, offset, bytes, kind);
}

}  // namespace dhpvm::ptx
