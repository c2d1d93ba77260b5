// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/loop_strips.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "codegen/lower/lowering.h"

namespace dhpvm::codegen {

using bytecode::Family;
using bytecode::Op;
using llvm::BasicBlock;

LoopStrips::LoopStrips(Lowering& lowering)
    : lowering_(lowering),
      flow_(lowering.flow()),
      ir_(lowering.emitter()),
      registers_(lowering.registers()),
      b_(ir_.builder()),
      strips_(flow_.loops().size()) {}

void LoopStrips::make() {
  for (std::size_t number = 0; number < strips_.size(); ++number) make(number);
}

void LoopStrips::begin() {
  for (std::size_t number = 0; number < strips_.size(); ++number) begin(number);
}

void LoopStrips::lower_carefully() {
  for (std::size_t number = 0; number < strips_.size(); ++number) lower_carefully(number);
}

std::optional<std::size_t> LoopStrips::loop_of(std::uint32_t block) const {
  for (std::size_t loop = 0; loop < strips_.size(); ++loop) {
    if (flow_.loops()[loop].contains[block]) return loop;
  }
  return std::nullopt;
}

BasicBlock* LoopStrips::begin_of(std::uint32_t header) const {
  for (std::size_t number = 0; number < strips_.size(); ++number) {
    if (flow_.loops()[number].header == header) return strips_[number].begin;
  }
  return nullptr;
}

llvm::Value* LoopStrips::back_edges_left() {
  const std::optional<std::size_t> number = loop_of(lowering_.block());
  if (!number || !flow_.loops()[*number].counted) return nullptr;
  const InnerLoop& loop = flow_.loops()[*number];
  const SlotType type = loop.wide ? SlotType::kI64 : SlotType::kI32;
  llvm::Value* const end = b_.CreateLoad(ir_.llvm_type(type), strips_[*number].end);
  return b_.CreateZExt(b_.CreateSub(end, registers_.get(loop.counter, type)), b_.getInt64Ty());
}

void LoopStrips::make(std::size_t number) {
  const InnerLoop& loop = flow_.loops()[number];
  Strip& strip = strips_[number];
  strip.begin = ir_.new_block("strip");
  if (loop.counted) {
    strip.end = ir_.entry_alloca(b_.getIntNTy(loop.wide ? 64 : 32), "strip.end");
    if (lowering_.has_even_strips())
      strip.next = ir_.entry_alloca(b_.getIntNTy(loop.wide ? 64 : 32), "strip.next");
  }
  for (const InvariantArray& array : loop.arrays) {
    KeptArray& kept = strip.arrays[array.reg];
    if (array.read || array.written) kept.data = ir_.entry_alloca(b_.getPtrTy(), "data");
    if (array.read) kept.readable = ir_.entry_alloca(b_.getInt64Ty(), "readable");
    if (array.written) kept.writable = ir_.entry_alloca(b_.getInt64Ty(), "writable");
    if (array.length) kept.length = ir_.entry_alloca(b_.getInt64Ty(), "length");
    for (unsigned d = 0; d < array.dimensions; ++d) {
      kept.dimensions[d] = ir_.entry_alloca(b_.getInt64Ty(), "dimension");
    }
  }
}

// Sets up a stretch of loop `number`; control comes here from outside the loop, from its latch when a stretch
// is over, and from its careful copy.
void LoopStrips::begin(std::size_t number) {
  const InnerLoop& loop = flow_.loops()[number];
  const Strip& strip = strips_[number];
  registers_.set_types(flow_.blocks()[loop.header].entry_types);
  b_.SetInsertPoint(strip.begin);
  for (const InvariantArray& array : loop.arrays) keep_array(array, strip.arrays.at(array.reg));
  if (loop.counted) {
    const SlotType type = loop.wide ? SlotType::kI64 : SlotType::kI32;
    llvm::Value* const counter = registers_.get(loop.counter, type);
    b_.CreateStore(counter, strip.end);
    llvm::Value* const steps = loop.stepped.empty() ? nullptr : steps_in_range(number);
    llvm::Value* const bound = registers_.get(loop.bound, type);
    // Back-edges until the bound: the body runs once in any case.
    llvm::Value* const one = llvm::ConstantInt::get(ir_.llvm_type(type), 1);
    llvm::Value* const distance = b_.CreateSub(b_.CreateSub(bound, counter), one);
    llvm::Value* const remaining = b_.CreateSelect(b_.CreateICmpSLT(counter, bound),
                                                   b_.CreateZExt(distance, b_.getInt64Ty()), ir_.constant(0));
    llvm::Value* most = lowering_.ticks_at_hand();
    if (steps != nullptr) most = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, most, steps);
    llvm::Value* const count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, remaining, most);
    lowering_.take_ticks(count);
    b_.CreateStore(b_.CreateAdd(counter, b_.CreateTrunc(count, ir_.llvm_type(type))), strip.end);
    if (strip.next != nullptr) {
      llvm::Value* const full = b_.CreateAdd(counter, b_.CreateTrunc(most, ir_.llvm_type(type)));
      b_.CreateStore(b_.CreateAdd(full, one), strip.next);
    }
  }
  b_.CreateBr(lowering_.entries()[loop.header]);
}

void LoopStrips::keep_array(const InvariantArray& array, const KeptArray& kept) {
  llvm::Value* const reference = registers_.get_reference(array.reg);
  const std::pair<llvm::AllocaInst*, std::uint64_t> fields[] = {
      {kept.readable, 0},      {kept.writable, 0},      {kept.length, ~std::uint64_t{0}},
      {kept.dimensions[0], 0}, {kept.dimensions[1], 0}, {kept.dimensions[2], 0}};
  // Nothing of a null array is accessible; what that means is found out carefully.
  for (const auto& [field, value] : fields) {
    if (field != nullptr) b_.CreateStore(ir_.constant(value), field);
  }
  if (kept.data != nullptr) b_.CreateStore(llvm::ConstantPointerNull::get(b_.getPtrTy()), kept.data);
  BasicBlock* const there = ir_.new_block("keep");
  BasicBlock* const go_on = ir_.new_block("kept");
  b_.CreateCondBr(b_.CreateIsNull(reference), go_on, there);
  b_.SetInsertPoint(there);
  const auto keep = [&](llvm::AllocaInst* to, ArrayField field) {
    if (to != nullptr) b_.CreateStore(lowering_.array_field(reference, field), to);
  };
  keep(kept.data, ArrayField::kData);
  keep(kept.readable, ArrayField::kReadable);
  keep(kept.writable, ArrayField::kWritable);
  keep(kept.length, ArrayField::kLength);
  for (unsigned d = 0; d < array.dimensions; ++d) {
    b_.CreateStore(lowering_.array_dimension(reference, d, false), kept.dimensions[d]);
  }
  b_.CreateBr(go_on);
  b_.SetInsertPoint(go_on);
}

// ---- Accesses whose index grows with the counter
// -------------------------------------------------------------------------------------------------

// How many back-edges may be taken before one of them leaves its array. Goes on carefully where one does at once.
llvm::Value* LoopStrips::steps_in_range(std::size_t number) {
  const InnerLoop& loop = flow_.loops()[number];
  std::map<std::uint32_t, KeptArray>& arrays = strips_[number].arrays;
  BasicBlock*& careful = strips_[number].carefully[flow_.blocks()[loop.header].begin];
  if (careful == nullptr) careful = ir_.new_block("carefully");
  llvm::Value* steps = nullptr;
  // The index is below the limit; the last one of a number of indices goes on growing if `grows`.
  const auto stay_below = [&](llvm::Value* index, llvm::AllocaInst* field, bool grows) {
    llvm::Value* const limit = b_.CreateLoad(b_.getInt64Ty(), field);
    BasicBlock* const inside = ir_.new_block("inside");
    ir_.branch_cold(b_.CreateICmpUGE(index, limit), careful, inside);
    b_.SetInsertPoint(inside);
    if (!grows) return;
    llvm::Value* const left = b_.CreateSub(b_.CreateSub(limit, index), ir_.constant(1));
    steps = steps == nullptr ? left : b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, steps, left);
  };
  for (const SteppedAccess& access : loop.stepped) {
    const Instruction i = lowering_.instruction(access.pc);
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
llvm::Value* LoopStrips::at_strip(std::uint32_t block, std::uint32_t pc, std::uint32_t reg) {
  const std::optional<Instruction> i = flow_.definition(block, pc, reg);
  if (!i) return registers_.get_i64(reg);
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

llvm::Value* LoopStrips::element_at_strip(std::uint32_t block, const Instruction& i) {
  const bool third = i.op == Op::kIndex3;
  const KeptArray& kept = strips_[*loop_of(block)].arrays.at(i.b);
  llvm::Value* linear = at_strip(block, i.pc, i.c);
  for (unsigned d = 1; d < (third ? 3u : 2u); ++d) {
    llvm::Value* const size = b_.CreateLoad(b_.getInt64Ty(), kept.dimensions[d]);
    linear = b_.CreateAdd(b_.CreateMul(linear, size), at_strip(block, i.pc, d == 1 ? i.x0() : i.x1()));
  }
  return linear;
}

bool LoopStrips::is_stepped(const Instruction& i) const {
  const std::optional<std::size_t> loop = loop_of(lowering_.block());
  if (!loop || careful_) return false;
  return std::ranges::any_of(flow_.loops()[*loop].stepped,
                             [&](const SteppedAccess& access) { return access.pc == i.pc; });
}

const LoopStrips::KeptArray* LoopStrips::kept_array(std::uint32_t reg) {
  const std::optional<std::size_t> loop = loop_of(lowering_.block());
  if (!loop || careful_) return nullptr;
  const auto found = strips_[*loop].arrays.find(reg);
  return found == strips_[*loop].arrays.end() ? nullptr : &found->second;
}

// ---- The end of an iteration
// -------------------------------------------------------------------------------------------------

// Takes the back-edge `i`, which has not been paid for.
void LoopStrips::go_back(const Instruction& i, std::uint32_t successor) {
  BasicBlock* const target = lowering_.edge_to(successor);
  const std::optional<std::size_t> loop = loop_of(lowering_.block());
  const bool inside = loop && flow_.loops()[*loop].header == successor;
  lowering_.tick(i, inside ? strips_[*loop].begin : nullptr);
  b_.CreateBr(target);
}

// A stretch has been used up: goes on with the next, or leaves the loop.
void LoopStrips::end_strip(const Instruction& i, std::size_t number) {
  const InnerLoop& loop = flow_.loops()[number];
  const SlotType type = loop.wide ? SlotType::kI64 : SlotType::kI32;
  BasicBlock* const more = ir_.new_block("more");
  BasicBlock* const done = ir_.new_block("done");
  llvm::Value* const next =
      b_.CreateAdd(registers_.get(loop.counter, type), llvm::ConstantInt::get(ir_.llvm_type(type), 1));
  b_.CreateCondBr(b_.CreateICmpSLT(next, registers_.get(loop.bound, type)), more, done);

  b_.SetInsertPoint(more);
  // Where vector lanes count together they leave a stretch apart. That those with a next stretch have gone
  // all the way of this one is what keeps their counters a fixed distance from each other, and their accesses
  // contiguous.
  llvm::AllocaInst* const expected = strips_[number].next;
  registers_.set(loop.counter, expected != nullptr ? b_.CreateLoad(ir_.llvm_type(type), expected) : next);
  // The header is reached through a new stretch: edge_to would lead past it. It converts the registers all
  // the same.
  lowering_.edge_to(loop.header);
  lowering_.tick(i, nullptr);
  b_.CreateBr(strips_[number].begin);

  b_.SetInsertPoint(done);
  registers_.set(loop.counter, next);
  b_.CreateBr(
      lowering_.edge_to(flow_.blocks()[lowering_.block()].successors.front(), Lowering::EdgeKind::kPaid));
}

void LoopStrips::lower_latch(const Instruction& i, std::size_t number) {
  const InnerLoop& loop = flow_.loops()[number];
  if (careful_) {
    lowering_.give_ticks(back_edges_left());
    end_strip(i, number);
    return;
  }
  const SlotType type = loop.wide ? SlotType::kI64 : SlotType::kI32;
  llvm::Value* const counter = registers_.get(loop.counter, type);
  llvm::Value* const end = b_.CreateLoad(ir_.llvm_type(type), strips_[number].end);
  BasicBlock* const again = ir_.new_block("again");
  BasicBlock* const over = ir_.new_block("stretch.over");
  b_.CreateCondBr(b_.CreateICmpSLT(counter, end), again, over);

  b_.SetInsertPoint(again);
  registers_.set(loop.counter, b_.CreateNSWAdd(counter, llvm::ConstantInt::get(ir_.llvm_type(type), 1)));
  b_.CreateBr(lowering_.edge_to(loop.header));

  b_.SetInsertPoint(over);
  registers_.set(loop.counter, end);  // which it has reached
  end_strip(i, number);
}

// ---- The careful copy
// -------------------------------------------------------------------------------------------------

BasicBlock* LoopStrips::careful_entry(const Instruction& i) {
  const std::optional<std::size_t> loop = loop_of(lowering_.block());
  if (!loop || careful_ || !flow_.loops()[*loop].keeps_handles) return nullptr;
  BasicBlock*& entry = strips_[*loop].carefully[i.pc];
  if (entry == nullptr) entry = ir_.new_block("carefully");
  return entry;
}

void LoopStrips::lower_carefully(std::size_t number) {
  if (strips_[number].carefully.empty()) return;
  const InnerLoop& loop = flow_.loops()[number];
  const std::vector<BasicBlock*> entries = lowering_.entries();
  careful_ = true;
  for (std::uint32_t block = 0; block < lowering_.entries().size(); ++block) {
    if (loop.contains[block]) lowering_.entries()[block] = ir_.new_block("careful");
  }
  for (std::uint32_t block = 0; block < lowering_.entries().size(); ++block) {
    if (loop.contains[block]) lowering_.lower_block(block);
  }
  careful_ = false;
  lowering_.entries() = entries;
}

// The instruction at `pc` is about to be lowered: what has failed before comes in here. Registers are all
// that it needs.
void LoopStrips::enter_carefully(std::uint32_t pc) {
  const std::map<std::uint32_t, BasicBlock*>& entries = strips_[*loop_of(lowering_.block())].carefully;
  const auto found = entries.find(pc);
  if (found == entries.end()) return;
  b_.CreateBr(found->second);
  b_.SetInsertPoint(found->second);
}

}  // namespace dhpvm::codegen
