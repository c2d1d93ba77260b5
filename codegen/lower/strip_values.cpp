// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/strip_values.h"

#include "codegen/lower/arithmetic.h"

namespace dhpvm::codegen {

using bytecode::Family;
using bytecode::Op;
using llvm::BasicBlock;
using llvm::Value;

Value* StripValues::at(std::uint32_t block, std::uint32_t pc, std::uint32_t reg, SlotType type) {
  const std::optional<Instruction> i = flow_.definition(block, pc, reg);
  if (!i) return registers_.get(reg, type);
  const auto operand = [&](std::uint32_t of, SlotType of_type) { return at(block, i->pc, of, of_type); };
  Value* value = nullptr;
  switch (i->row->family) {
    case Family::kMoveP: return operand(i->b, type);
    case Family::kConstant: return ir_.from_bits(ir_.constant(constant_bits(*i)), type);
    case Family::kGetField: value = field(*i); break;
    case Family::kIndex: value = element(block, *i); break;
    default: value = compute(b_, *i, operand);
  }
  return value->getType() == ir_.llvm_type(type) ? value : ir_.from_bits(ir_.to_bits(value), type);
}

Value* StripValues::element(std::uint32_t block, const Instruction& i) {
  const bool third = i.op == Op::kIndex3;
  const LoopStrips::KeptReference& array = kept_[loop_.arrays.at(i.pc)];
  Value* linear = at(block, i.pc, i.c);
  for (unsigned d = 1; d < (third ? 3u : 2u); ++d) {
    Value* const size = b_.CreateLoad(b_.getInt64Ty(), array.dimensions[d]);
    linear = b_.CreateAdd(b_.CreateMul(linear, size), at(block, i.pc, d == 1 ? i.x0() : i.x1()));
  }
  return linear;
}

// 0 if there is no object: the loop traps before it uses the field.
Value* StripValues::field(const Instruction& i) {
  const std::uint32_t number = loop_.fields.at(i.pc);
  const InvariantReference& reference = loop_.references[number];
  Value* const holder = reference.origin == InvariantReference::Origin::kRegister
                            ? registers_.get_reference(reference.place)
                            : b_.CreateLoad(b_.getPtrTy(), kept_[number].reference);
  BasicBlock* const before = b_.GetInsertBlock();
  BasicBlock* const load = ir_.new_block("field");
  BasicBlock* const go_on = ir_.new_block("field.loaded");
  ir_.branch_cold(b_.CreateIsNull(holder), go_on, load);
  b_.SetInsertPoint(load);
  Value* const loaded = ir_.load_value(*i.row->kind, ir_.byte_offset(holder, i.c), {Access::kField, i.c});
  b_.CreateBr(go_on);
  b_.SetInsertPoint(go_on);
  llvm::PHINode* const value = b_.CreatePHI(loaded->getType(), 2);
  value->addIncoming(loaded, load);
  value->addIncoming(llvm::Constant::getNullValue(loaded->getType()), before);
  return value;
}

}  // namespace dhpvm::codegen
