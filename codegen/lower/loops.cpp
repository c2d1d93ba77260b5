// SPDX-License-Identifier: Apache-2.0
// Innermost loops of a function, and facts about them.
#include <algorithm>
#include <set>
#include <utility>

#include "bytecode/loop_tree.h"
#include "codegen/lower/flow.h"
#include "codegen/lower/reference_search.h"
#include "codegen/lower/stated_values.h"

namespace dhpvm::codegen {

using bytecode::Family;
using bytecode::Op;

namespace {

// A limit of the callees' code in words, because a strip must poll the stop flag within milliseconds.
constexpr std::uint32_t kMaximumCalledWords = 256;

// Whether the callee, with its own callees, has no loops and at most `words` words, from which they are subtracted.
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

// The natural loop of loop.header: all blocks that reach a back-edge to it without passing it. False if it has another
// entry, an inner loop, or calls; in kernels, which inline all calls, only calls of functions with loops matter. Rare
// blocks of functions may call, and handle traps of the loop: they exist only in the careful copy.
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
    // Reachable from outside without passing the header.
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

// `words`: the remaining limit for code that counted loops of kernels may call.
bool Flow::may_call(const Instruction& i, std::uint32_t block, LoopSearch search,
                    std::uint32_t& words) const {
  if (search == LoopSearch::kCounted) return calls_straight_code(module_, i, words);
  return search == LoopSearch::kSeeingThrough && seen_callee(module_, function_, *this, block, i).has_value();
}

// Fills in InnerLoop's fields for counted loops.
bool Flow::is_counted(InnerLoop& loop) const {
  unsigned back_edges = 0;
  Instruction branch{};
  for_each_instruction(loop, [&](const Instruction& i, std::uint32_t number) {
    if (!i.has(bytecode::kBackEdge)) return;
    ++back_edges;
    branch = i;
    loop.latch = number;
  });
  if (back_edges != 1 || rare_->contains(loop.latch) ||
      (branch.op != Op::kForI32 && branch.op != Op::kForI64))
    return false;
  loop.counter = branch.a;
  loop.bound = branch.b;
  loop.wide = branch.op == Op::kForI64;
  bool ok = loop.counter != loop.bound;
  for_each_instruction(loop, [&](const Instruction& i, std::uint32_t) {
    // The window of a call begins at its first register.
    const bool writes = i.has(bytecode::kCall)
                            ? i.a <= std::max(loop.counter, loop.bound)
                            : i.row->writes != 0 && (i.a == loop.counter || i.a == loop.bound);
    ok = ok && (i.pc == branch.pc || !writes);
  });
  return ok;
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
  for (std::optional<std::uint32_t> here = block; here && !found; here = usually_before(*here)) {
    for (std::uint32_t at = blocks_[*here].begin; at < std::min(pc, blocks_[*here].end);) {
      const Instruction i = decode(module_, function_, at);
      if (i.row->writes != 0 && i.a == reg) found = i;
      at = i.next();
    }
  }
  return found;
}

// By block: whether every path back to the header passes it, ignoring rare blocks.
std::vector<bool> Flow::blocks_of_all_iterations(const InnerLoop& loop) const {
  std::vector<bool> result(blocks_.size(), false);
  const auto goes_back = [&](std::uint32_t block) {
    return std::ranges::find(blocks_[block].successors, loop.header) != blocks_[block].successors.end();
  };
  for (std::uint32_t left_out = 0; left_out < blocks_.size(); ++left_out) {
    if (!loop.contains[left_out] || rare_->contains(left_out)) continue;
    std::vector<bool> seen(blocks_.size(), false);
    std::vector<std::uint32_t> work;
    bool always = true;
    if (left_out != loop.header) work.push_back(loop.header);
    while (!work.empty() && always) {
      const std::uint32_t block = work.back();
      work.pop_back();
      if (seen[block] || block == left_out || !loop.contains[block] || rare_->contains(block)) continue;
      seen[block] = true;
      always = !goes_back(block);
      work.insert(work.end(), blocks_[block].successors.begin(), blocks_[block].successors.end());
    }
    result[left_out] = always;
  }
  return result;
}

namespace {

// The depth limit for analysing expressions.
constexpr unsigned kMaximumDepth = 8;

// The growth of a value from one iteration to the next, if it is 0 or 1. StripValues computes the values that this
// analyses.
class Growth {
 public:
  // By register: how often the loop writes it.
  using Writes = std::map<std::uint32_t, unsigned>;
  // `counters`: 64-bit registers that an iteration increments at its end, and writes nowhere else.
  Growth(const Flow& flow, const InnerLoop& loop, const Writes& writes,
         const std::set<std::uint32_t>& counters)
      : flow_(flow), loop_(loop), writes_(writes), counters_(counters) {}

  // The growth of register `reg` before the instruction at `pc`.
  std::optional<unsigned> of(std::uint32_t block, std::uint32_t pc, std::uint32_t reg, unsigned depth = 0) {
    if (depth > kMaximumDepth) return std::nullopt;
    const std::optional<Instruction> i = flow_.definition(block, pc, reg);
    if (!i) {
      if (counters_.contains(reg)) return 1;
      return writes_.contains(reg) ? std::nullopt : std::optional<unsigned>(0);
    }
    const auto operand = [&](std::uint32_t of_reg) { return of(block, i->pc, of_reg, depth + 1); };
    switch (i->row->family) {
      case Family::kMoveP: return operand(i->b);
      case Family::kConstant: return 0;
      case Family::kGetField: return of_field(*i);
      case Family::kIndex: return of_index(block, *i, depth + 1);
      case Family::kInteger:
      case Family::kShift:
      case Family::kFloat:
      case Family::kCompare:
      case Family::kConvert: break;
      default: return std::nullopt;
    }
    switch (i->op) {
      case Op::kAddImmI64: return operand(i->b);
      case Op::kAddI64: return sum(operand(i->b), operand(i->c));
      case Op::kSubI64: return operand(i->c) == 0u ? operand(i->b) : std::nullopt;
      default: break;
    }
    if ((i->row->reads & bytecode::kInB) != 0 && operand(i->b) != 0u) return std::nullopt;
    if ((i->row->reads & bytecode::kInC) != 0 && operand(i->c) != 0u) return std::nullopt;
    return (i->row->reads & ~(bytecode::kInB | bytecode::kInC)) == 0 ? std::optional<unsigned>(0)
                                                                     : std::nullopt;
  }

  // The growth of the linear index that index2 or index3 computes.
  std::optional<unsigned> of_index(std::uint32_t block, const Instruction& i, unsigned depth = 0) {
    const bool third = i.op == Op::kIndex3;
    if (!loop_.arrays.contains(i.pc) || of(block, i.pc, i.c, depth) != 0u) return std::nullopt;
    if (third && of(block, i.pc, i.x0(), depth) != 0u) return std::nullopt;
    return of(block, i.pc, third ? i.x1() : i.x0(), depth);
  }

  // The objects, by number, whose fields have been used since the last call.
  std::set<std::uint32_t> take_holders() { return std::exchange(holders_, {}); }

 private:
  std::optional<unsigned> of_field(const Instruction& i) {
    const auto holder = loop_.fields.find(i.pc);
    if (holder == loop_.fields.end()) return std::nullopt;
    holders_.insert(holder->second);
    return 0;
  }
  static std::optional<unsigned> sum(std::optional<unsigned> left, std::optional<unsigned> right) {
    return left && right && *left + *right <= 1 ? std::optional<unsigned>(*left + *right) : std::nullopt;
  }

  const Flow& flow_;
  const InnerLoop& loop_;
  const Writes& writes_;
  const std::set<std::uint32_t>& counters_;
  std::set<std::uint32_t> holders_;
};

// Besides the loop's own counter, the index of `for i in 1..=n`, whose counter is another register.
std::set<std::uint32_t> counters_of(const bytecode::Module& module, const bytecode::Function& function,
                                    const InnerLoop& loop, const Block& latch, const Growth::Writes& writes) {
  std::set<std::uint32_t> counters;
  if (loop.wide) counters.insert(loop.counter);
  for (std::uint32_t pc = latch.begin; pc < latch.end;) {
    const Instruction i = decode(module, function, pc);
    pc = i.next();
    if (i.op == Op::kAddImmI64 && i.a == i.b && i.c == 1 && writes.at(i.a) == 1) counters.insert(i.a);
  }
  return counters;
}

// Marks a reference that strips load.
void want(InnerLoop& loop, std::uint32_t number) {
  InvariantReference& reference = loop.references[number];
  if (std::exchange(reference.wanted, true) || reference.origin == InvariantReference::Origin::kRegister)
    return;
  if (reference.origin == InvariantReference::Origin::kElement) loop.references[reference.parent].read = true;
  want(loop, reference.parent);
}

}  // namespace

// The conditional parts of the loop, by block: a block and those that always follow it are in the same part. Few
// iterations do not pay for checks at the start of a strip.
std::map<std::uint32_t, std::uint32_t> Flow::arms_of(const InnerLoop& loop,
                                                     const std::vector<bool>& always) const {
  constexpr std::size_t kMost = 8;  // each part has a flag
  std::map<std::uint32_t, std::uint32_t> arms;
  std::map<std::uint32_t, std::uint32_t> by_first_block;
  if (loop.is_short) return arms;
  for (std::uint32_t number = 0; number < blocks_.size(); ++number) {
    if (!loop.contains[number] || always[number] || rare_->contains(number)) continue;
    std::uint32_t first = number;
    for (auto before = usually_before(first); before && !always[*before]; before = usually_before(first))
      first = *before;
    if (by_first_block.size() == kMost && !by_first_block.contains(first)) continue;
    arms[number] = by_first_block.try_emplace(first, by_first_block.size()).first->second;
  }
  return arms;
}

void Flow::find_stepped(InnerLoop& loop) const {
  Growth::Writes writes;
  for_each_instruction(loop, [&](const Instruction& i, std::uint32_t number) {
    if (i.row->writes != 0 && !rare_->contains(number)) ++writes[i.a];
  });
  const std::set<std::uint32_t> counters = counters_of(module_, function_, loop, blocks_[loop.latch], writes);
  const std::vector<bool> always = blocks_of_all_iterations(loop);
  const std::map<std::uint32_t, std::uint32_t> arms = arms_of(loop, always);
  Growth growth(*this, loop, writes, counters);
  std::set<std::uint32_t> holders;
  for_each_instruction(loop, [&](const Instruction& i, std::uint32_t block) {
    const auto arm = arms.find(block);
    if (!always[block] && arm == arms.end()) return;
    SteppedAccess access = {.block = block, .pc = i.pc};
    if (!always[block]) access.arm = arm->second;
    if (loop.taken.contains(i.pc)) {
      loop.stepped.push_back(access);
      return;
    }
    std::optional<unsigned> by;
    growth.take_holders();
    if (const std::optional<IndexCheck> check = index_check(block, i)) {
      if (growth.of(block, i.pc, check->limit) == 0u) by = growth.of(block, i.pc, check->index);
    } else if (loop.arrays.contains(i.pc)) {
      switch (i.row->family) {
        case Family::kLoad:
        case Family::kLoadField: by = growth.of(block, i.pc, i.c); break;
        case Family::kStore:
        case Family::kStoreField: by = growth.of(block, i.pc, i.b); break;
        case Family::kIndex: by = growth.of_index(block, i); break;
        default: break;
      }
    }
    if (!by) return;
    access.grows = *by == 1u;
    loop.stepped.push_back(access);
    holders.merge(growth.take_holders());
  });
  for (const SteppedAccess& access : loop.stepped) {
    if (access.arm != bytecode::kNoIndex) loop.arms = std::max(loop.arms, access.arm + 1);
  }
  for (const std::uint32_t holder : holders) want(loop, holder);
}

void Flow::find_taken_always(InnerLoop& loop) const {
  if (loop.taken.empty()) return;
  const std::vector<bool> always = blocks_of_all_iterations(loop);
  for_each_instruction(loop, [&](const Instruction& i, std::uint32_t block) {
    if (always[block] && loop.taken.contains(i.pc)) loop.stepped.push_back({block, i.pc});
  });
}

namespace {

// The constant that the register usually holds on all edges into the loop from outside, if it is the same one.
std::optional<std::int64_t> stated_ahead(const Flow& flow, const InnerLoop& loop, std::uint32_t reg) {
  std::optional<std::int64_t> stated;
  for (const std::uint32_t from : flow.blocks()[loop.header].predecessors) {
    if (loop.contains[from]) continue;
    const std::optional<Instruction> i = flow.definition(from, bytecode::kNoIndex, reg);
    if (!i || i->row->family != Family::kConstant) return std::nullopt;
    const auto value = static_cast<std::int64_t>(constant_bits(*i));
    if (stated && *stated != value) return std::nullopt;
    stated = value;
  }
  return stated;
}

}  // namespace

// Whether the loop has constant bounds and few iterations. A heuristic: other paths may lead to the loop.
bool Flow::is_short(const InnerLoop& loop, const StatedValues& stated) const {
  // LLVM does not unroll most longer loops.
  constexpr std::uint64_t kFew = 16;
  const std::optional<std::int64_t> begin = stated_ahead(*this, loop, loop.counter);
  std::optional<std::int64_t> end = stated_ahead(*this, loop, loop.bound);
  if (const std::optional<std::uint64_t> bits = stated.bits(loop.bound))
    end = loop.wide ? static_cast<std::int64_t>(*bits) : static_cast<std::int32_t>(*bits);
  return begin && end && *begin < *end &&
         static_cast<std::uint64_t>(*end) - static_cast<std::uint64_t>(*begin) <= kFew;
}

std::optional<IndexCheck> Flow::index_check(std::uint32_t block, const Instruction& i) const {
  if (i.op != Op::kJLtU64 && i.op != Op::kJLeU64) return std::nullopt;
  const std::uint32_t next = blocks_[block].successors.front();
  const std::uint32_t target = blocks_[block].successors.back();
  const bool below = i.op == Op::kJLtU64;
  const std::uint32_t inside = below ? target : next;
  const std::uint32_t outside = below ? next : target;
  if (!rare_->is_rare_edge(block, outside) || rare_->is_rare_edge(block, inside)) return std::nullopt;
  return below ? IndexCheck{i.a, i.b, inside} : IndexCheck{i.b, i.a, inside};
}

void Flow::find_loops(LoopSearch search, std::uint32_t within) {
  const StatedValues stated(module_, function_);
  const std::optional<bytecode::LoopTree> tree =
      within == bytecode::kNoIndex ? std::nullopt : std::optional<bytecode::LoopTree>(blocks_);
  for (std::uint32_t number = 0; number < blocks_.size(); ++number) {
    if (!blocks_[number].is_loop_header || (tree && !tree->body(within)[number])) continue;
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
      // A careful copy for failed checks pays if the rest need not read handles again.
      if (loop.has_rare_blocks && !loop.keeps_handles) continue;
    }
    loop.is_short = loop.counted && loop.keeps_handles && is_short(loop, stated);
    if (loop.counted && loop.keeps_handles) find_stepped(loop);
    if (!loop.counted && loop.keeps_handles) find_taken_always(loop);
    if (loop.counted || !loop.references.empty()) loops_.push_back(std::move(loop));
  }
}

}  // namespace dhpvm::codegen
