// SPDX-License-Identifier: Apache-2.0
// Innermost loops that call nothing.
//
// A counted loop runs in stretches: as many back-edges as there are ticks at hand are paid for before a
// stretch begins, so that the loop itself has nothing but its own condition and LLVM can unroll and vectorise
// it. Count and order of fuel, deadline and interrupts are as if every back-edge had been paid for by itself.
//
// Where every stretch begins, the data pointers and lengths of arrays that do not change are loaded, once. An
// access that these do not allow may still be one that has to wait for a device first, after which the handle
// has changed. So it goes on in a second, careful copy of the loop's body, which checks as code outside of
// loops does, and whose next iteration begins with a new stretch of the first. The first has no calls at all
// then, which is what LLVM's loop passes need.
//
// Where the index of an access grows with the counter, a stretch ends before it would leave the array, and
// the access is not checked at all. The iteration that would leave it is done carefully.
#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "codegen/lower/lowering.h"

namespace dhpvm::codegen {

using bytecode::Family;
using bytecode::Op;
using llvm::BasicBlock;

void Lowering::make_strip(std::size_t number) {
  const InnerLoop& loop = flow_.loops()[number];
  Strip& strip = strips_[number];
  strip.begin = new_block("strip");
  if (loop.counted) {
    strip.end = entry_alloca(b_.getIntNTy(loop.wide ? 64 : 32), "strip.end");
    if (has_even_strips()) strip.next = entry_alloca(b_.getIntNTy(loop.wide ? 64 : 32), "strip.next");
  }
  for (const InvariantArray& array : loop.arrays) {
    KeptArray& kept = strip.arrays[array.reg];
    if (array.read || array.written) kept.data = entry_alloca(b_.getPtrTy(), "data");
    if (array.read) kept.readable = entry_alloca(b_.getInt64Ty(), "readable");
    if (array.written) kept.writable = entry_alloca(b_.getInt64Ty(), "writable");
    if (array.length) kept.length = entry_alloca(b_.getInt64Ty(), "length");
    for (unsigned d = 0; d < array.dimensions; ++d) {
      kept.dimensions[d] = entry_alloca(b_.getInt64Ty(), "dimension");
    }
  }
}

// Sets up a stretch of loop `number`; control comes here from outside the loop, from its latch when a stretch
// is over, and from its careful copy.
void Lowering::begin_strip(std::size_t number) {
  const InnerLoop& loop = flow_.loops()[number];
  const Strip& strip = strips_[number];
  types_ = flow_.blocks()[loop.header].entry_types;
  b_.SetInsertPoint(strip.begin);
  for (const InvariantArray& array : loop.arrays) keep_array(array, strip.arrays.at(array.reg));
  if (loop.counted) {
    const SlotType type = loop.wide ? SlotType::kI64 : SlotType::kI32;
    Value* const counter = get(loop.counter, type);
    b_.CreateStore(counter, strip.end);
    Value* const steps = loop.stepped.empty() ? nullptr : steps_in_range(number);
    Value* const bound = get(loop.bound, type);
    // Back-edges until the bound: the body runs once in any case.
    Value* const one = llvm::ConstantInt::get(llvm_type(type), 1);
    Value* const distance = b_.CreateSub(b_.CreateSub(bound, counter), one);
    Value* const remaining = b_.CreateSelect(b_.CreateICmpSLT(counter, bound),
                                             b_.CreateZExt(distance, b_.getInt64Ty()), constant(0));
    Value* most = ticks_at_hand();
    if (steps != nullptr) most = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, most, steps);
    Value* const count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, remaining, most);
    take_ticks(count);
    b_.CreateStore(b_.CreateAdd(counter, b_.CreateTrunc(count, llvm_type(type))), strip.end);
    if (strip.next != nullptr) {
      Value* const full = b_.CreateAdd(counter, b_.CreateTrunc(most, llvm_type(type)));
      b_.CreateStore(b_.CreateAdd(full, one), strip.next);
    }
  }
  b_.CreateBr(entries_[loop.header]);
}

void Lowering::keep_array(const InvariantArray& array, const KeptArray& kept) {
  Value* const reference = get_reference(array.reg);
  const std::pair<llvm::AllocaInst*, std::uint64_t> fields[] = {
      {kept.readable, 0},      {kept.writable, 0},      {kept.length, ~std::uint64_t{0}},
      {kept.dimensions[0], 0}, {kept.dimensions[1], 0}, {kept.dimensions[2], 0}};
  // Nothing of a null array is accessible; what that means is found out carefully.
  for (const auto& [field, value] : fields) {
    if (field != nullptr) b_.CreateStore(constant(value), field);
  }
  if (kept.data != nullptr) b_.CreateStore(llvm::ConstantPointerNull::get(b_.getPtrTy()), kept.data);
  BasicBlock* const there = new_block("keep");
  BasicBlock* const go_on = new_block("kept");
  b_.CreateCondBr(b_.CreateIsNull(reference), go_on, there);
  b_.SetInsertPoint(there);
  const auto keep = [&](llvm::AllocaInst* to, ArrayField field) {
    if (to != nullptr) b_.CreateStore(array_field(reference, field), to);
  };
  keep(kept.data, ArrayField::kData);
  keep(kept.readable, ArrayField::kReadable);
  keep(kept.writable, ArrayField::kWritable);
  keep(kept.length, ArrayField::kLength);
  for (unsigned d = 0; d < array.dimensions; ++d) {
    b_.CreateStore(array_dimension(reference, d, false), kept.dimensions[d]);
  }
  b_.CreateBr(go_on);
  b_.SetInsertPoint(go_on);
}

// ---- Accesses whose index grows with the counter
// -------------------------------------------------------------------------------------------------

// How many back-edges may be taken before one of them leaves its array. Goes on carefully where one does at once.
Lowering::Value* Lowering::steps_in_range(std::size_t number) {
  const InnerLoop& loop = flow_.loops()[number];
  std::map<std::uint32_t, KeptArray>& arrays = strips_[number].arrays;
  BasicBlock*& careful = strips_[number].carefully[flow_.blocks()[loop.header].begin];
  if (careful == nullptr) careful = new_block("carefully");
  Value* steps = nullptr;
  // The index is below the limit; the last one of a number of indices goes on growing if `grows`.
  const auto stay_below = [&](Value* index, llvm::AllocaInst* field, bool grows) {
    Value* const limit = b_.CreateLoad(b_.getInt64Ty(), field);
    BasicBlock* const inside = new_block("inside");
    branch_cold(b_.CreateICmpUGE(index, limit), careful, inside);
    b_.SetInsertPoint(inside);
    if (!grows) return;
    Value* const left = b_.CreateSub(b_.CreateSub(limit, index), constant(1));
    steps = steps == nullptr ? left : b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, steps, left);
  };
  for (const SteppedAccess& access : loop.stepped) {
    const Instruction i = decode(module_, source_, access.pc);
    const auto value = [&](std::uint32_t reg) { return at_strip(access.block, access.pc, reg); };
    switch (i.row->family) {
      case Family::kLoad:
      case Family::kLoadField: stay_below(value(i.c), arrays.at(i.b).readable, true); break;
      case Family::kStore:
      case Family::kStoreField: stay_below(value(i.b), arrays.at(i.a).writable, true); break;
      default: {
        const bool third = i.op == Op::kIndex3;
        const KeptArray& kept = arrays.at(i.b);
        stay_below(value(i.c), kept.dimensions[0], false);
        stay_below(value(i.x0()), kept.dimensions[1], !third);
        if (third) stay_below(value(i.x1()), kept.dimensions[2], true);
      }
    }
  }
  return steps;
}

// The value that the register will have before the instruction at `pc` in the first iteration of the stretch that is
// being set up; for what find_stepped has looked through.
Lowering::Value* Lowering::at_strip(std::uint32_t block, std::uint32_t pc, std::uint32_t reg) {
  const std::optional<Instruction> i = flow_.definition(block, pc, reg);
  if (!i) return get_i64(reg);
  const auto operand = [&](std::uint32_t of) { return at_strip(block, i->pc, of); };
  switch (i->op) {
    case Op::kMoveP: return operand(i->b);
    case Op::kAddImmI64:
      return b_.CreateAdd(operand(i->b),
                          llvm::ConstantInt::getSigned(b_.getInt64Ty(), static_cast<std::int16_t>(i->c)));
    case Op::kAddI64: return b_.CreateAdd(operand(i->b), operand(i->c));
    case Op::kSubI64: return b_.CreateSub(operand(i->b), operand(i->c));
    case Op::kMulI64: return b_.CreateMul(operand(i->b), operand(i->c));
    default: return element_at_strip(block, *i);
  }
}

Lowering::Value* Lowering::element_at_strip(std::uint32_t block, const Instruction& i) {
  const bool third = i.op == Op::kIndex3;
  const KeptArray& kept = strips_[*loop_of(block)].arrays.at(i.b);
  Value* linear = at_strip(block, i.pc, i.c);
  for (unsigned d = 1; d < (third ? 3u : 2u); ++d) {
    Value* const size = b_.CreateLoad(b_.getInt64Ty(), kept.dimensions[d]);
    linear = b_.CreateAdd(b_.CreateMul(linear, size), at_strip(block, i.pc, d == 1 ? i.x0() : i.x1()));
  }
  return linear;
}

bool Lowering::is_stepped(const Instruction& i) const {
  const std::optional<std::size_t> loop = loop_of(block_);
  if (!loop || careful_) return false;
  return std::ranges::any_of(flow_.loops()[*loop].stepped,
                             [&](const SteppedAccess& access) { return access.pc == i.pc; });
}

const Lowering::KeptArray* Lowering::kept_array(std::uint32_t reg) {
  const std::optional<std::size_t> loop = loop_of(block_);
  if (!loop || careful_) return nullptr;
  const auto found = strips_[*loop].arrays.find(reg);
  return found == strips_[*loop].arrays.end() ? nullptr : &found->second;
}

// ---- The end of an iteration
// -------------------------------------------------------------------------------------------------

// Takes the back-edge `i`, which has not been paid for.
void Lowering::go_back(const Instruction& i, std::uint32_t successor) {
  BasicBlock* const target = edge_to(successor);
  const std::optional<std::size_t> loop = loop_of(block_);
  const bool inside = loop && flow_.loops()[*loop].header == successor;
  tick(i, inside ? strips_[*loop].begin : nullptr);
  b_.CreateBr(target);
}

// A stretch has been used up: goes on with the next, or leaves the loop.
void Lowering::end_strip(const Instruction& i, std::size_t number) {
  const InnerLoop& loop = flow_.loops()[number];
  const SlotType type = loop.wide ? SlotType::kI64 : SlotType::kI32;
  BasicBlock* const more = new_block("more");
  BasicBlock* const done = new_block("done");
  Value* const next = b_.CreateAdd(get(loop.counter, type), llvm::ConstantInt::get(llvm_type(type), 1));
  b_.CreateCondBr(b_.CreateICmpSLT(next, get(loop.bound, type)), more, done);

  b_.SetInsertPoint(more);
  // Where vector lanes count together they leave a stretch apart. That those with a next stretch have gone
  // all the way of this one is what keeps their counters a fixed distance from each other, and their accesses
  // contiguous.
  llvm::AllocaInst* const expected = strips_[number].next;
  set(loop.counter, expected != nullptr ? b_.CreateLoad(llvm_type(type), expected) : next);
  // The header is reached through a new stretch: edge_to would lead past it. It converts the registers all
  // the same.
  edge_to(loop.header);
  tick(i, nullptr);
  b_.CreateBr(strips_[number].begin);

  b_.SetInsertPoint(done);
  set(loop.counter, next);
  b_.CreateBr(edge_to(flow_.blocks()[block_].successors.front(), EdgeKind::kPaid));
}

void Lowering::lower_counted_latch(const Instruction& i, std::size_t number) {
  const InnerLoop& loop = flow_.loops()[number];
  if (careful_) {
    give_ticks(back_edges_left());
    end_strip(i, number);
    return;
  }
  const SlotType type = loop.wide ? SlotType::kI64 : SlotType::kI32;
  Value* const counter = get(loop.counter, type);
  Value* const end = b_.CreateLoad(llvm_type(type), strips_[number].end);
  BasicBlock* const again = new_block("again");
  BasicBlock* const over = new_block("stretch.over");
  b_.CreateCondBr(b_.CreateICmpSLT(counter, end), again, over);

  b_.SetInsertPoint(again);
  set(loop.counter, b_.CreateNSWAdd(counter, llvm::ConstantInt::get(llvm_type(type), 1)));
  b_.CreateBr(edge_to(loop.header));

  b_.SetInsertPoint(over);
  set(loop.counter, end);  // which it has reached
  end_strip(i, number);
}

// ---- The careful copy
// -------------------------------------------------------------------------------------------------

BasicBlock* Lowering::careful_entry(const Instruction& i) {
  const std::optional<std::size_t> loop = loop_of(block_);
  if (!loop || careful_ || !flow_.loops()[*loop].keeps_handles) return nullptr;
  BasicBlock*& entry = strips_[*loop].carefully[i.pc];
  if (entry == nullptr) entry = new_block("carefully");
  return entry;
}

void Lowering::lower_carefully(std::size_t number) {
  if (strips_[number].carefully.empty()) return;
  const InnerLoop& loop = flow_.loops()[number];
  const std::vector<BasicBlock*> entries = entries_;
  careful_ = true;
  for (std::uint32_t block = 0; block < entries_.size(); ++block) {
    if (loop.contains[block]) entries_[block] = new_block("careful");
  }
  for (std::uint32_t block = 0; block < entries_.size(); ++block) {
    if (loop.contains[block]) lower_block(block);
  }
  careful_ = false;
  entries_ = entries;
}

// The instruction at `pc` is about to be lowered: what has failed before comes in here. Registers are all
// that it needs.
void Lowering::enter_carefully(std::uint32_t pc) {
  const std::map<std::uint32_t, BasicBlock*>& entries = strips_[*loop_of(block_)].carefully;
  const auto found = entries.find(pc);
  if (found == entries.end()) return;
  b_.CreateBr(found->second);
  b_.SetInsertPoint(found->second);
}

}  // namespace dhpvm::codegen
