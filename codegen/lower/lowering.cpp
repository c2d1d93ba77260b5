// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/lowering.h"

#include <algorithm>
#include <utility>

#include "codegen/lower/arithmetic.h"

namespace dhpvm::codegen {

using bytecode::Family;
using llvm::BasicBlock;

Lowering::Lowering(const bytecode::Module& module, std::uint32_t index, llvm::IRBuilder<>& builder,
                   LoopSearch loops, const SeenCalls& seen, std::uint32_t loop)
    : module_(module),
      index_(index),
      source_(module.functions[index]),
      seen_(seen),
      flow_(module, source_, loops, seen, loop),
      b_(builder),
      ir_(builder),
      registers_(ir_, source_),
      stated_(module, source_),
      strips_(*this) {}

// ---- Registers
// -------------------------------------------------------------------------------------------------

// ---- Blocks
// ----------------------------------------------------------------------------------------------------

void Lowering::guard(Value* ok, const Instruction& i, TrapKind kind) {
  BasicBlock* go_on = nullptr;
  BasicBlock* const cold = ir_.likely(ok, go_on);
  b_.SetInsertPoint(cold);
  if (BasicBlock* const call = strips_.call_to_make(i)) {
    b_.CreateBr(call);
  } else {
    leave_with_trap(i, kind);
  }
  b_.SetInsertPoint(go_on);
}

std::array<Lowering::Value*, 3> Lowering::trap_operands(const Instruction& i) {
  std::array<Value*, 3> operands;
  operands.fill(llvm::PoisonValue::get(b_.getInt64Ty()));
  std::size_t count = 0;
  for_each_operand(i, [&](unsigned /*position*/, std::uint32_t reg) {
    if (count < operands.size()) operands[count++] = registers_.get_bits(reg);
  });
  return operands;
}

std::optional<std::uint32_t> Lowering::trap_reference(const Instruction& i) const {
  if ((i.row->ref_reads & bytecode::kInA) != 0) return i.a;
  if ((i.row->ref_reads & bytecode::kInB) != 0) return i.b;
  return std::nullopt;
}

BasicBlock* Lowering::entry_from_outside(std::uint32_t block) const {
  BasicBlock* const strip = strips_.begin_of(block);
  return strip != nullptr ? strip : entries_[block];
}

void Lowering::go_to(std::uint32_t successor) { b_.CreateBr(edge_to(successor)); }

// Registers are converted before the branch, into slots that no other successor reads.
BasicBlock* Lowering::edge_to(std::uint32_t successor, EdgeKind kind) {
  registers_.convert_to(flow_.blocks()[successor].entry_types);
  const std::optional<std::size_t> inside = strips_.loop_of(block_);
  if (inside && flow_.loops()[*inside].contains[successor]) {
    const bool again = successor == flow_.loops()[*inside].header;
    return again && strips_.is_careful() ? strips_.begin_of(successor) : entries_[successor];
  }
  BasicBlock* const target = entry_from_outside(successor);
  if (!inside || !flow_.loops()[*inside].counted || kind == EdgeKind::kPaid) return target;
  // Paid back-edges that were not taken are given back.
  BasicBlock* const edge = ir_.new_block("leave");
  const llvm::IRBuilderBase::InsertPointGuard restore(b_);
  b_.SetInsertPoint(edge);
  give_ticks(strips_.back_edges_left());
  b_.CreateBr(target);
  return edge;
}

void Lowering::enter_body() {
  registers_.convert_to(flow_.blocks().front().entry_types);
  b_.CreateBr(entry_from_outside(0));
}

void Lowering::lower_body() {
  entries_.clear();
  for (const Block& block : flow_.blocks()) entries_.push_back(ir_.new_block("b" + llvm::Twine(block.begin)));
  strips_.make();
  enter_body();
  strips_.begin();
  for (std::uint32_t number = 0; number < flow_.blocks().size(); ++number) {
    if (!is_outside(number) && !strips_.is_careful_only(number)) lower_block(number);
  }
  strips_.lower_carefully();
  for (std::uint32_t number = 0; number < flow_.blocks().size(); ++number) {
    if (!is_outside(number)) continue;
    if (entries_[number]->use_empty()) {
      entries_[number]->eraseFromParent();
      continue;
    }
    registers_.set_types(flow_.blocks()[number].entry_types);
    b_.SetInsertPoint(entries_[number]);
    lower_outside(number);
  }
}

void Lowering::lower_block(std::uint32_t number) {
  const Block& block = flow_.blocks()[number];
  previous_block_ = std::exchange(block_, number);
  registers_.set_types(block.entry_types);
  if (flow_.straight_before(number) != previous_block_) stated_.begin_block();
  b_.SetInsertPoint(entries_[number]);
  block_begins();
  std::uint32_t pc = block.begin;
  while (pc < block.end) {
    const Instruction i = decode(module_, source_, pc);
    if (strips_.is_careful()) strips_.enter_carefully(pc);
    if (!lower_seen_call(i)) lower(i);
    stated_.step(i);
    lowered(i);
    pc = i.next();
  }
  if (b_.GetInsertBlock()->getTerminator() == nullptr) go_to(block.successors.front());
}

// The start of an inlined call, and the returns of its callee.
bool Lowering::lower_seen_call(const Instruction& i) {
  if (const SeenCalls::Call* const call = seen_.begins_at(i.pc)) {
    const std::vector<std::uint32_t>& successors = flow_.blocks()[block_].successors;
    if (!strips_.in_strip()) {
      go_to(successors.back());
      return true;
    }
    if (Value* const ready = strips_.ready_for(*call)) {
      BasicBlock* const made = edge_to(successors.back());
      ir_.branch_cold(b_.CreateNot(ready), made, edge_to(successors.front()));
    } else {
      go_to(successors.front());
    }
    return true;
  }
  if (!seen_.ends_at(i.pc)) return false;
  take_ticks(ir_.constant(1));
  go_to(flow_.blocks()[block_].successors.front());
  return true;
}

// Every family is listed: a new one does not compile until it is added.
void Lowering::lower(const Instruction& i) {
  const auto read = [this](std::uint32_t reg, SlotType type) { return registers_.get(reg, type); };
  switch (i.row->family) {
    case Family::kNop: return;
    case Family::kJump: return lower_jump(i);
    case Family::kFor: return lower_for(i);
    case Family::kJumpIf: return lower_jump_if(i);
    case Family::kJumpCompare: return lower_jump_compare(i);
    case Family::kReturn:
    case Family::kReturnP:
    case Family::kReturnR: return lower_return(i);
    case Family::kTrap: return leave_with_trap(i, TrapKind::kTrapCode);
    case Family::kMoveP: return registers_.copy(i.a, i.b);
    case Family::kMoveR: return registers_.set_reference(i.a, registers_.get_reference(i.b));
    case Family::kConstant: return lower_constant(i);
    case Family::kInteger:
    case Family::kShift:
    case Family::kFloat:
    case Family::kCompare:
    case Family::kConvert: return registers_.set(i.a, compute(b_, i, read));
    case Family::kDivide: return lower_divide(i);
    case Family::kLoad:
    case Family::kLoadField: return lower_load(i);
    case Family::kStore:
    case Family::kStoreField: return lower_store(i);
    case Family::kArrayLength: return lower_length(i);
    case Family::kArrayDim: return lower_dimension(i);
    case Family::kIndex: return lower_index(i);
    case Family::kAtomic: return lower_atomic(i);
    case Family::kLocalLoad:
    case Family::kLocalStore: return lower_local(i);
    case Family::kLocalZero: return zero_local(i.a);
    case Family::kJumpNull:
    case Family::kTrapMessage:
    case Family::kNullCheck:
    case Family::kProtect:
    case Family::kCaught:
    case Family::kTrapAgain:
    case Family::kCall:
    case Family::kCallNative:
    case Family::kCallInterface:
    case Family::kParallelFor:
    case Family::kNull:
    case Family::kConstString:
    case Family::kSameObject:
    case Family::kIsNull:
    case Family::kNewArray:
    case Family::kArrayCopy:
    case Family::kArrayClose:
    case Family::kNew:
    case Family::kGetField:
    case Family::kPutField:
    case Family::kUpcast:
    case Family::kCast:
    case Family::kIsType:
    case Family::kNewWeak:
    case Family::kGetWeak:
    case Family::kStringLength:
    case Family::kStringByte:
    case Family::kStringConcat:
    case Family::kStringEq:
    case Family::kStringCompare: return lower_special(i);
  }
}

// ---- Registers, and instructions that may trap
// ----------------------------------------------------------------------------------------------------

void Lowering::lower_constant(const Instruction& i) { registers_.set_bits(i.a, constant_bits(i)); }

// Checks that the divisor is not 0. The processor traps for the most negative value / -1, so -1 is handled separately.
// A constant divisor is usually neither; then there is no check, and the instruction cannot trap.
void Lowering::lower_divide(const Instruction& i) {
  const bytecode::Kind kind = *i.row->kind;
  const SlotType type = slot_type(kind);
  const bool wide = type == SlotType::kI64;
  const bool with_sign = is_signed(kind);
  const bool remainder = i.row->operation == bytecode::Operation::kRem;
  Value* const left = registers_.get(i.b, type);
  const auto divided_by = [&](Value* divisor) {
    if (with_sign) return remainder ? b_.CreateSRem(left, divisor) : b_.CreateSDiv(left, divisor);
    return remainder ? b_.CreateURem(left, divisor) : b_.CreateUDiv(left, divisor);
  };
  llvm::Type* const llvm_int = ir_.llvm_type(type);
  if (const std::optional<std::uint64_t> stated = stated_.bits(i.c)) {
    auto* const divisor = llvm::cast<llvm::ConstantInt>(
        wide ? b_.getInt64(*stated) : b_.getInt32(static_cast<std::uint32_t>(*stated)));
    if (!divisor->isZero() && !(with_sign && divisor->isMinusOne())) {
      registers_.set(i.a, divided_by(divisor));
      return;
    }
  }
  Value* const right = registers_.get(i.c, type);
  guard(b_.CreateICmpNE(right, llvm::ConstantInt::get(llvm_int, 0)), i, TrapKind::kDivisionByZero);
  if (!with_sign) {
    registers_.set(i.a, divided_by(right));
    return;
  }
  Value* const is_minus_one = b_.CreateICmpEQ(right, llvm::ConstantInt::getSigned(llvm_int, -1));
  Value* const result = divided_by(b_.CreateSelect(is_minus_one, llvm::ConstantInt::get(llvm_int, 1), right));
  // x mod 1 is 0, as is x mod -1.
  registers_.set(i.a, remainder ? result : b_.CreateSelect(is_minus_one, b_.CreateNeg(left), result));
}

// ---- Memory
// ----------------------------------------------------------------------------------------------------

}  // namespace dhpvm::codegen
