// SPDX-License-Identifier: Apache-2.0
// Innermost loops of a function, and what is known of them.
#include <algorithm>
#include <set>
#include <utility>

#include "codegen/lower/flow.h"
#include "codegen/lower/reference_search.h"
#include "codegen/lower/step_search.h"

namespace dhpvm::codegen {

using bytecode::Family;
using bytecode::Op;

namespace {

// Whether the primitive register may hold something else after the instruction. The window of a call begins at its
// first register.
bool may_write(const Instruction& i, std::uint32_t reg) {
  return i.has(bytecode::kCall) ? i.a <= reg : i.row->writes != 0 && i.a == reg;
}

// More words of called code than this are too long for a stretch of iterations without a look at the stop flag, which
// is kept below milliseconds.
constexpr std::uint32_t kMaximumCalledWords = 256;

// Whether the call ends soon, because what it calls, directly or not, has no loops and few words; `words` are left.
bool calls_straight_code(const bytecode::Module& module, const Instruction& call, std::uint32_t& words) {
  if (call.row->family != Family::kCall) return false;
  const bytecode::Function& callee = module.functions[call.c];
  if (callee.code_size > words) return false;
  words -= callee.code_size;
  for (std::uint32_t pc = 0; pc < callee.code_size;) {
    const Instruction i = decode(module, callee, pc);
    if (i.has(bytecode::kBackEdge)) return false;
    if (i.has(bytecode::kCall) && !calls_straight_code(module, i, words)) return false;
    pc = i.next();
  }
  return true;
}

}  // namespace

template <typename Visit>
void Flow::for_each_instruction(const InnerLoop& loop, Visit&& visit) const {
  for (std::uint32_t number = 0; number < blocks_.size(); ++number) {
    if (!loop.contains[number]) continue;
    for (std::uint32_t pc = blocks_[number].begin; pc < blocks_[number].end;) {
      const Instruction i = decode(module_, function_, pc);
      pc = i.next();
      visit(i, number);
    }
  }
}

// The natural loop of loop.header: everything that reaches a back-edge to it without passing it. False if it
// has another entry, a loop inside, or calls something; in kernels, which are lowered with all that they call,
// something with a loop. Rare blocks of functions may call, and catch what the loop traps: they stand in the careful
// copy alone.
bool Flow::find_body(InnerLoop& loop, LoopSearch search) const {
  if (rare_->contains(loop.header)) return false;
  loop.contains.assign(blocks_.size(), false);
  loop.contains[loop.header] = true;
  std::vector<std::uint32_t> work;
  for (const std::uint32_t block : blocks_[loop.header].predecessors) {
    if (last_of(blocks_[block]).has(bytecode::kBackEdge)) work.push_back(block);
  }
  while (!work.empty()) {
    const std::uint32_t block = work.back();
    work.pop_back();
    if (loop.contains[block]) continue;
    // Reached from outside without passing the header.
    if (block == 0) return false;
    loop.contains[block] = true;
    work.insert(work.end(), blocks_[block].predecessors.begin(), blocks_[block].predecessors.end());
  }
  bool ok = true;
  std::uint32_t words = kMaximumCalledWords;
  for_each_instruction(loop, [&](const Instruction& i, std::uint32_t number) {
    const bool is_rare = search != LoopSearch::kCounted && rare_->contains(number);
    if (i.row->family == Family::kParallelFor || (i.has(bytecode::kCall) && !is_rare))
      ok = ok && may_call(i, number, search, words);
    if (seen_.begins_at(i.pc) != nullptr && !is_rare) loop.seen_calls.push_back(i.pc);
    ok = ok && (is_rare || i.row->family != Family::kCaught) &&
         (number == loop.header || !blocks_[number].is_loop_header);
  });
  return ok;
}

// `words`: of code that counted loops of kernels may still call.
bool Flow::may_call(const Instruction& i, std::uint32_t block, LoopSearch search,
                    std::uint32_t& words) const {
  if (search == LoopSearch::kCounted) return calls_straight_code(module_, i, words);
  return search == LoopSearch::kSeeingThrough && seen_callee(module_, function_, *this, block, i).has_value();
}

// Fills in InnerLoop's facts about counted loops.
bool Flow::is_counted(InnerLoop& loop) const {
  unsigned back_edges = 0;
  Instruction branch{};
  for_each_instruction(loop, [&](const Instruction& i, std::uint32_t number) {
    if (!i.has(bytecode::kBackEdge)) return;
    ++back_edges;
    branch = i;
    if (!rare_->contains(number)) loop.latches.push_back(number);
  });
  if (back_edges != 1 || loop.latches.empty() || (branch.op != Op::kForI32 && branch.op != Op::kForI64))
    return false;
  loop.counter = branch.a;
  loop.bound = branch.b;
  loop.wide = branch.op == Op::kForI64;
  bool ok = loop.counter != loop.bound;
  for_each_instruction(loop, [&](const Instruction& i, std::uint32_t) {
    ok = ok && (i.pc == branch.pc || (!may_write(i, loop.counter) && !may_write(i, loop.bound)));
  });
  return ok;
}

// The constant that the register holds wherever it holds something, if there is one.
std::optional<std::uint64_t> Flow::only_constant(std::uint32_t reg) const {
  if (reg < split(function_.signature.parameters).primitives) return std::nullopt;
  std::optional<Instruction> write;
  bool ok = true;
  for (const Block& block : blocks_) {
    for (std::uint32_t pc = block.begin; pc < block.end && ok;) {
      const Instruction i = decode(module_, function_, pc);
      pc = i.next();
      if (!may_write(i, reg)) continue;
      ok = !write && i.row->family == Family::kConstant;
      write = i;
    }
  }
  return ok && write ? std::optional(constant_bits(*write)) : std::nullopt;
}

// The constant that the register holds where the counted loop is entered.
std::optional<std::int64_t> Flow::constant_before(const InnerLoop& loop, std::uint32_t reg) const {
  std::optional<std::uint64_t> found;
  for (const std::uint32_t from : blocks_[loop.header].predecessors) {
    if (loop.contains[from]) continue;
    std::optional<Instruction> i;
    // Rare blocks count: one of them may have written another number.
    for (std::optional<std::uint32_t> here = from; here && !i; here = straight_before(*here))
      i = last_write(*here, blocks_[from].end, reg);
    std::optional<std::uint64_t> bits;
    if (!i) bits = only_constant(reg);
    if (i && i->row->family == Family::kConstant) bits = constant_bits(*i);
    if (!bits || (found && found != bits)) return std::nullopt;
    found = bits;
  }
  if (!found) return std::nullopt;
  return loop.wide ? static_cast<std::int64_t>(*found) : std::int64_t{static_cast<std::int32_t>(*found)};
}

std::optional<std::int64_t> Flow::known_bound(const InnerLoop& loop) const {
  // More turns than that are worth vectors, and LLVM would no longer put one behind the other.
  constexpr std::uint64_t kFewTurns = 12;
  const std::optional<std::int64_t> first = constant_before(loop, loop.counter);
  const std::optional<std::int64_t> bound = constant_before(loop, loop.bound);
  if (!first || !bound || *first >= *bound) return std::nullopt;
  const std::uint64_t turns = static_cast<std::uint64_t>(*bound) - static_cast<std::uint64_t>(*first);
  return turns <= kFewTurns ? bound : std::nullopt;
}

void Flow::find_references(InnerLoop& loop) const {
  loop.keeps_handles = true;
  ReferenceSearch::Writes writes;
  for_each_instruction(loop, [&](const Instruction& i, std::uint32_t number) {
    if (rare_->contains(number)) return;
    if (i.has(bytecode::kCollects) || i.row->family == Family::kArrayCopy ||
        i.row->family == Family::kArrayClose) {
      loop.keeps_handles = false;
    }
    if (i.row->writes != 0) writes.primitives.insert(i.a);
    for_each_reference_write(module_, i, [&](std::uint32_t reg) { writes.references.insert(reg); });
    const bool is_reference = i.row->kind && *i.row->kind == bytecode::Kind::kRef;
    if (i.row->family == Family::kPutField) (is_reference ? writes.fields : writes.number_fields).insert(i.b);
    if (!is_reference) return;
    if (i.row->family == Family::kStore || i.row->family == Family::kStoreField) writes.elements = true;
  });
  if (!loop.keeps_handles) return;
  ReferenceSearch search(*this, loop, std::move(writes));
  std::uint32_t block = bytecode::kNoIndex;
  for_each_instruction(loop, [&](const Instruction& i, std::uint32_t number) {
    if (rare_->contains(number)) return;
    if (number != block) search.begin_block(number);
    block = number;
    search.visit(module_, i);
  });
  search.finish();
}

std::optional<Instruction> Flow::definition(std::uint32_t block, std::uint32_t pc, std::uint32_t reg) const {
  std::optional<Instruction> found;
  for (std::optional<std::uint32_t> here = block; here && !found; here = usually_before(*here))
    found = last_write(*here, pc, reg);
  return found;
}

// The last instruction of `block` before the word `pc` that writes the register.
std::optional<Instruction> Flow::last_write(std::uint32_t block, std::uint32_t pc, std::uint32_t reg) const {
  std::optional<Instruction> found;
  for (std::uint32_t at = blocks_[block].begin; at < std::min(pc, blocks_[block].end);) {
    const Instruction i = decode(module_, function_, at);
    if (may_write(i, reg)) found = i;
    at = i.next();
  }
  return found;
}

// By block: whether the loop cannot go back to its header without it, rare blocks aside.
std::vector<bool> Flow::blocks_of_all_iterations(const InnerLoop& loop) const {
  std::vector<bool> result(blocks_.size(), false);
  for (std::uint32_t left_out = 0; left_out < blocks_.size(); ++left_out) {
    if (!loop.contains[left_out] || rare_->contains(left_out)) continue;
    std::vector<bool> seen(blocks_.size(), false);
    std::vector<std::uint32_t> work;
    if (left_out != loop.header) work.push_back(loop.header);
    while (!work.empty()) {
      const std::uint32_t block = work.back();
      work.pop_back();
      if (seen[block] || block == left_out || !loop.contains[block] || rare_->contains(block)) continue;
      seen[block] = true;
      work.insert(work.end(), blocks_[block].successors.begin(), blocks_[block].successors.end());
    }
    result[left_out] = std::ranges::none_of(loop.latches, [&](std::uint32_t latch) { return seen[latch]; });
  }
  return result;
}

void InnerLoop::want(std::uint32_t reference) {
  InvariantReference& wanted = references[reference];
  if (std::exchange(wanted.wanted, true) || wanted.origin == InvariantReference::Origin::kRegister) return;
  if (wanted.origin == InvariantReference::Origin::kElement) references[wanted.parent].read = true;
  want(wanted.parent);
}

std::optional<BoundCheck> Flow::bound_check(const InnerLoop& loop, std::uint32_t block,
                                            const Instruction& i) const {
  using bytecode::Operation;
  if (i.row->family != Family::kJumpCompare) return std::nullopt;
  const bool with_sign = *i.row->kind == bytecode::Kind::kI64;
  if (!with_sign && *i.row->kind != bytecode::Kind::kU64) return std::nullopt;
  const std::uint32_t next = blocks_[block].successors.front();
  const std::uint32_t target = blocks_[block].successors.back();
  const auto is_other = [&](std::uint32_t to) {
    return !loop.contains[to] || rare_->is_rare_edge(block, to);
  };
  if (is_other(next) == is_other(target)) return std::nullopt;
  const bool usually_taken = is_other(next);
  BoundCheck check;
  check.with_sign = with_sign;
  check.leaves = !loop.contains[usually_taken ? next : target];
  check.inside = usually_taken ? target : next;
  check.low.reg = i.a;
  if (i.row->b == bytecode::Operand::kImm) {
    check.high.constant = static_cast<std::int16_t>(i.b);
  } else {
    check.high.reg = i.b;
  }
  // As a < b or a <= b where it is taken.
  switch (i.row->operation) {
    case Operation::kLt: check.strict = true; break;
    case Operation::kLe: break;
    case Operation::kGt:
      check.strict = true;
      std::swap(check.low, check.high);
      break;
    case Operation::kGe: std::swap(check.low, check.high); break;
    case Operation::kEq:
    case Operation::kNe:
      // Loops that leave where numbers are equal may never do so.
      if (check.leaves || (i.row->operation == Operation::kNe) != usually_taken) return std::nullopt;
      check.strict = check.unequal = true;
      check.with_sign = false;
      return check;
    default: return std::nullopt;
  }
  if (usually_taken) return check;
  std::swap(check.low, check.high);
  check.strict = !check.strict;
  return check;
}

void Flow::find_loops(LoopSearch search) {
  for (std::uint32_t number = 0; number < blocks_.size(); ++number) {
    if (!blocks_[number].is_loop_header) continue;
    InnerLoop loop;
    loop.header = number;
    if (!find_body(loop, search)) continue;
    if (search == LoopSearch::kSeeingThrough) {
      loops_.push_back(std::move(loop));
      continue;
    }
    loop.counted = is_counted(loop);
    if (search == LoopSearch::kInner) {
      find_references(loop);
      for (std::uint32_t block = 0; block < blocks_.size(); ++block)
        loop.has_rare_blocks = loop.has_rare_blocks || (loop.contains[block] && rare_->contains(block));
      // A copy of its own for what fails is worth it where the rest need not look at handles again.
      if (loop.has_rare_blocks && !loop.keeps_handles) continue;
    }
    loop.paid = loop.counted;
    if (loop.counted && loop.keeps_handles) loop.known_bound = known_bound(loop);
    if (loop.keeps_handles && !loop.latches.empty())
      StepSearch(module_, function_, *this, loop, blocks_of_all_iterations(loop)).run();
    // Objects whose numbers alone the loop looks at are not kept.
    const bool keeps = std::ranges::any_of(loop.references, [](const InvariantReference& reference) {
      return reference.wanted || reference.origin != InvariantReference::Origin::kRegister;
    });
    if (loop.paid || keeps) loops_.push_back(std::move(loop));
  }
}

}  // namespace dhpvm::codegen
