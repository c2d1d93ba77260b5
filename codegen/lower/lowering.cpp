// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/lowering.h"

#include <algorithm>

#include "codegen/lower/arithmetic.h"

namespace dhpvm::codegen {

using bytecode::Family;
using llvm::BasicBlock;

Lowering::Lowering(const bytecode::Module& module, std::uint32_t index, llvm::IRBuilder<>& builder,
                   LoopSearch loops)
    : module_(module),
      index_(index),
      source_(module.functions[index]),
      flow_(module, source_, loops),
      b_(builder),
      tbaa_(builder.getContext()),
      stated_(module, source_),
      types_(source_.primitive_registers, SlotType::kUnset),
      reference_slots_(source_.reference_registers, nullptr),
      strips_(flow_.loops().size()) {}

// ---- Registers
// -------------------------------------------------------------------------------------------------

llvm::Type* Lowering::llvm_type(SlotType type) {
  switch (type) {
    case SlotType::kI32: return b_.getInt32Ty();
    case SlotType::kF32: return b_.getFloatTy();
    case SlotType::kF64: return b_.getDoubleTy();
    default: return b_.getInt64Ty();
  }
}

llvm::AllocaInst* Lowering::entry_alloca(llvm::Type* type, const llvm::Twine& name) {
  BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at(&entry, entry.begin());
  return at.CreateAlloca(type, nullptr, name);
}

llvm::AllocaInst* Lowering::slot(std::uint32_t reg, SlotType type) {
  if (type == SlotType::kBits) type = SlotType::kI64;
  llvm::AllocaInst*& slot = slots_[{reg, type}];
  if (slot == nullptr) slot = entry_alloca(llvm_type(type), "p" + llvm::Twine(reg));
  return slot;
}

Lowering::Value* Lowering::to_bits(Value* value) {
  llvm::Type* const type = value->getType();
  if (type->isFloatTy()) value = b_.CreateBitCast(value, b_.getInt32Ty());
  if (type->isDoubleTy()) value = b_.CreateBitCast(value, b_.getInt64Ty());
  return b_.CreateZExt(value, b_.getInt64Ty());
}

Lowering::Value* Lowering::from_bits(Value* bits, SlotType type) {
  switch (type) {
    case SlotType::kI32: return b_.CreateTrunc(bits, b_.getInt32Ty());
    case SlotType::kF32: return b_.CreateBitCast(b_.CreateTrunc(bits, b_.getInt32Ty()), b_.getFloatTy());
    case SlotType::kF64: return b_.CreateBitCast(bits, b_.getDoubleTy());
    default: return bits;
  }
}

Lowering::Value* Lowering::get(std::uint32_t reg, SlotType type) {
  const SlotType now = types_[reg];
  if (now == SlotType::kUnset) return llvm::PoisonValue::get(llvm_type(type));  // nobody reads it
  llvm::AllocaInst* const from = slot(reg, now);
  Value* const value = b_.CreateLoad(from->getAllocatedType(), from);
  return now == type ? value : from_bits(to_bits(value), type);
}

void Lowering::set(std::uint32_t reg, Value* value) {
  llvm::Type* const type = value->getType();
  SlotType slot_type = SlotType::kI64;
  if (type->isIntegerTy(32)) slot_type = SlotType::kI32;
  if (type->isFloatTy()) slot_type = SlotType::kF32;
  if (type->isDoubleTy()) slot_type = SlotType::kF64;
  b_.CreateStore(value, slot(reg, slot_type));
  types_[reg] = slot_type;
}

void Lowering::set_bits(std::uint32_t reg, std::uint64_t bits) {
  b_.CreateStore(constant(bits), slot(reg, SlotType::kBits));
  types_[reg] = SlotType::kBits;
}

llvm::AllocaInst* Lowering::reference_slot(std::uint32_t reg) {
  llvm::AllocaInst*& slot = reference_slots_[reg];
  if (slot == nullptr) slot = entry_alloca(b_.getPtrTy(), "r" + llvm::Twine(reg));
  return slot;
}

Lowering::Value* Lowering::get_reference(std::uint32_t reg) {
  return b_.CreateLoad(b_.getPtrTy(), reference_slot(reg));
}

void Lowering::set_reference(std::uint32_t reg, Value* value) { b_.CreateStore(value, reference_slot(reg)); }

// ---- Blocks
// ----------------------------------------------------------------------------------------------------

BasicBlock* Lowering::new_block(const llvm::Twine& name) {
  return BasicBlock::Create(b_.getContext(), name, b_.GetInsertBlock()->getParent());
}

void Lowering::branch_cold(Value* rare, BasicBlock* cold, BasicBlock* go_on) {
  llvm::MDBuilder metadata(b_.getContext());
  b_.CreateCondBr(rare, cold, go_on, metadata.createBranchWeights(1, 1 << 20));
}

BasicBlock* Lowering::likely(Value* ok, BasicBlock*& go_on) {
  BasicBlock* const cold = new_block("cold");
  go_on = new_block("ok");
  branch_cold(b_.CreateNot(ok), cold, go_on);
  b_.SetInsertPoint(go_on);
  return cold;
}

void Lowering::guard(Value* ok, const Instruction& i, TrapKind kind) {
  BasicBlock* go_on = nullptr;
  BasicBlock* const cold = likely(ok, go_on);
  b_.SetInsertPoint(cold);
  leave_with_trap(i, kind);
  b_.SetInsertPoint(go_on);
}

std::array<Lowering::Value*, 3> Lowering::trap_operands(const Instruction& i) {
  std::array<Value*, 3> operands;
  operands.fill(llvm::PoisonValue::get(b_.getInt64Ty()));
  std::size_t count = 0;
  const std::pair<unsigned, std::uint32_t> positions[] = {{bytecode::kInA, i.a},
                                                          {bytecode::kInB, i.b},
                                                          {bytecode::kInC, i.c},
                                                          {bytecode::kInX0, i.x0()},
                                                          {bytecode::kInX1, i.x1()}};
  for (const auto& [position, reg] : positions) {
    if ((i.row->reads & position) != 0 && count < operands.size()) operands[count++] = get_bits(reg);
  }
  return operands;
}

std::optional<std::uint32_t> Lowering::trap_reference(const Instruction& i) const {
  if ((i.row->ref_reads & bytecode::kInA) != 0) return i.a;
  if ((i.row->ref_reads & bytecode::kInB) != 0) return i.b;
  return std::nullopt;
}

BasicBlock* Lowering::entry_from_outside(std::uint32_t block) const {
  for (std::size_t number = 0; number < strips_.size(); ++number) {
    if (flow_.loops()[number].header == block) return strips_[number].begin;
  }
  return entries_[block];
}

void Lowering::go_to(std::uint32_t successor) { b_.CreateBr(edge_to(successor)); }

std::optional<std::size_t> Lowering::loop_of(std::uint32_t block) const {
  for (std::size_t loop = 0; loop < strips_.size(); ++loop) {
    if (flow_.loops()[loop].contains[block]) return loop;
  }
  return std::nullopt;
}

Lowering::Value* Lowering::back_edges_left() {
  const std::optional<std::size_t> number = loop_of(block_);
  if (!number || !flow_.loops()[*number].counted) return nullptr;
  const InnerLoop& loop = flow_.loops()[*number];
  const SlotType type = loop.wide ? SlotType::kI64 : SlotType::kI32;
  Value* const end = b_.CreateLoad(llvm_type(type), strips_[*number].end);
  return b_.CreateZExt(b_.CreateSub(end, get(loop.counter, type)), b_.getInt64Ty());
}

// Registers are converted before the branch, into slots that no other successor looks at.
BasicBlock* Lowering::edge_to(std::uint32_t successor, EdgeKind kind) {
  convert_registers(flow_.blocks()[successor].entry_types);
  const std::optional<std::size_t> inside = loop_of(block_);
  if (inside && flow_.loops()[*inside].contains[successor]) {
    const bool again = successor == flow_.loops()[*inside].header;
    return again && careful_ ? strips_[*inside].begin : entries_[successor];
  }
  BasicBlock* const target = entry_from_outside(successor);
  if (!inside || !flow_.loops()[*inside].counted || kind == EdgeKind::kPaid) return target;
  // The back-edges that were paid for and not taken are given back.
  BasicBlock* const edge = new_block("leave");
  const llvm::IRBuilderBase::InsertPointGuard restore(b_);
  b_.SetInsertPoint(edge);
  give_ticks(back_edges_left());
  b_.CreateBr(target);
  return edge;
}

void Lowering::convert_registers(const std::vector<SlotType>& wanted) {
  for (std::uint32_t reg = 0; reg < wanted.size(); ++reg) {
    const SlotType now = types_[reg];
    if (wanted[reg] == now || now == SlotType::kUnset || wanted[reg] == SlotType::kUnset) continue;
    const bool same_slot = wanted[reg] == SlotType::kI64 && now == SlotType::kBits;
    if (!same_slot) b_.CreateStore(get(reg, wanted[reg]), slot(reg, wanted[reg]));
  }
}

void Lowering::enter_body() {
  convert_registers(flow_.blocks().front().entry_types);
  b_.CreateBr(entry_from_outside(0));
}

void Lowering::lower_body() {
  entries_.clear();
  for (const Block& block : flow_.blocks()) entries_.push_back(new_block("b" + llvm::Twine(block.begin)));
  for (std::size_t number = 0; number < strips_.size(); ++number) make_strip(number);
  enter_body();
  for (std::size_t number = 0; number < strips_.size(); ++number) begin_strip(number);
  for (std::uint32_t number = 0; number < flow_.blocks().size(); ++number) lower_block(number);
  for (std::size_t number = 0; number < strips_.size(); ++number) lower_carefully(number);
}

void Lowering::lower_block(std::uint32_t number) {
  const Block& block = flow_.blocks()[number];
  block_ = number;
  types_ = block.entry_types;
  stated_.begin_block();
  b_.SetInsertPoint(entries_[number]);
  block_begins();
  std::uint32_t pc = block.begin;
  while (pc < block.end) {
    const Instruction i = decode(module_, source_, pc);
    if (careful_) enter_carefully(pc);
    lower(i);
    stated_.step(i);
    lowered(i);
    pc = i.next();
  }
  if (b_.GetInsertBlock()->getTerminator() == nullptr) go_to(block.successors.front());
}

// Every family is here: what a new one needs is decided before anything compiles.
void Lowering::lower(const Instruction& i) {
  const auto read = [this](std::uint32_t reg, SlotType type) { return get(reg, type); };
  switch (i.row->family) {
    case Family::kNop: return;
    case Family::kJump: return lower_jump(i);
    case Family::kFor: return lower_for(i);
    case Family::kJumpIf: return lower_jump_if(i);
    case Family::kJumpCompare: return lower_branch(condition_of(b_, i, read));
    case Family::kReturn:
    case Family::kReturnP:
    case Family::kReturnR: return lower_return(i);
    case Family::kTrap: return leave_with_trap(i, TrapKind::kTrapCode);
    case Family::kMoveP: return lower_move(i);
    case Family::kMoveR: return set_reference(i.a, get_reference(i.b));
    case Family::kConstant: return lower_constant(i);
    case Family::kInteger:
    case Family::kShift:
    case Family::kFloat:
    case Family::kCompare:
    case Family::kConvert: return set(i.a, compute(b_, i, read));
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

// ---- Registers as they are, and what may trap
// ----------------------------------------------------------------------------------------------------

void Lowering::lower_move(const Instruction& i) {
  const SlotType type = current_type(i.b);
  set(i.a, get(i.b, type));
  // A copied constant may still be read as anything.
  if (type == SlotType::kBits) types_[i.a] = SlotType::kBits;
}

void Lowering::lower_constant(const Instruction& i) {
  set_bits(i.a, i.row->x == bytecode::Operand::kImm64 ? i.x : static_cast<std::uint64_t>(std::int64_t{i.bc}));
}

// The divisor is not 0. The processor traps for the most negative value / -1, so that -1 is treated apart. A
// divisor that the program states is neither, mostly; then nothing is checked, and the instruction cannot
// trap.
void Lowering::lower_divide(const Instruction& i) {
  const bytecode::Kind kind = *i.row->kind;
  const SlotType type = slot_type(kind);
  const bool wide = type == SlotType::kI64;
  const bool with_sign = is_signed(kind);
  const bool remainder = i.row->operation == bytecode::Operation::kRem;
  Value* const left = get(i.b, type);
  const auto divided_by = [&](Value* divisor) {
    if (with_sign) return remainder ? b_.CreateSRem(left, divisor) : b_.CreateSDiv(left, divisor);
    return remainder ? b_.CreateURem(left, divisor) : b_.CreateUDiv(left, divisor);
  };
  llvm::Type* const llvm_int = llvm_type(type);
  if (const std::optional<std::uint64_t> stated = stated_.bits(i.c)) {
    auto* const divisor = llvm::cast<llvm::ConstantInt>(
        wide ? b_.getInt64(*stated) : b_.getInt32(static_cast<std::uint32_t>(*stated)));
    if (!divisor->isZero() && !(with_sign && divisor->isMinusOne())) {
      set(i.a, divided_by(divisor));
      return;
    }
  }
  Value* const right = get(i.c, type);
  guard(b_.CreateICmpNE(right, llvm::ConstantInt::get(llvm_int, 0)), i, TrapKind::kDivisionByZero);
  if (!with_sign) {
    set(i.a, divided_by(right));
    return;
  }
  Value* const is_minus_one = b_.CreateICmpEQ(right, llvm::ConstantInt::getSigned(llvm_int, -1));
  Value* const result = divided_by(b_.CreateSelect(is_minus_one, llvm::ConstantInt::get(llvm_int, 1), right));
  // Any value modulo 1 is 0, as it is modulo -1.
  set(i.a, remainder ? result : b_.CreateSelect(is_minus_one, b_.CreateNeg(left), result));
}

// ---- Memory
// ----------------------------------------------------------------------------------------------------

Lowering::Value* Lowering::byte_offset(Value* base, std::uint64_t offset) {
  return offset == 0 ? base : b_.CreateInBoundsGEP(b_.getInt8Ty(), base, constant(offset));
}

llvm::LoadInst* Lowering::load(llvm::Type* type, Value* address, Access access) {
  llvm::LoadInst* const load = b_.CreateLoad(type, address);
  load->setMetadata(llvm::LLVMContext::MD_tbaa, tbaa_.tag(access));
  // Not of what is immutable: LLVM would load it later, behind a collection, when the object may be gone.
  if (access.family == Access::kConstant) {
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
  }
  return load;
}

llvm::StoreInst* Lowering::store(Value* value, Value* address, Access access) {
  llvm::StoreInst* const store = b_.CreateStore(value, address);
  store->setMetadata(llvm::LLVMContext::MD_tbaa, tbaa_.tag(access));
  return store;
}

}  // namespace dhpvm::codegen
