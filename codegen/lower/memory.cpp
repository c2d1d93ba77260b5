// SPDX-License-Identifier: Apache-2.0
// Elements of arrays, their dimensions, atomic updates, local arrays.
#include <algorithm>

#include "bytecode/field_place.h"
#include "bytecode/isa_table.h"
#include "codegen/lower/lowering.h"

namespace dhpvm::codegen {

using bytecode::Family;
using bytecode::Kind;
using bytecode::Operation;
using llvm::BasicBlock;

namespace {

// Elements of different kinds never overlap, except for signedness.
Access element_access(Kind kind) {
  const std::uint64_t family = kind == Kind::kRef ? 3 : is_float(kind) ? 2 : 1;
  return {Access::kElement, family << 8 | bits_of(kind)};
}

// The accessed part: the element itself, or a field of it.
bytecode::FieldPlace place_of(const Instruction& i) {
  return bytecode::field_place(i.row->family, i.row->x, i.x)
      .value_or(bytecode::FieldPlace{size_of(*i.row->kind), 0});
}

}  // namespace

// The address of an element, or of a field `offset` bytes behind its start, after the bounds check.
Lowering::Value* Lowering::element_address(const Instruction& i, std::uint32_t array_register,
                                           std::uint32_t index_register, bool write, std::uint64_t size,
                                           std::uint64_t offset) {
  Value* const array = registers_.get_reference(array_register);
  Value* const index = registers_.get_i64(index_register);
  const LoopStrips::KeptReference* const kept = strips_.kept_array(i);
  if (!is_proven(i) && !strips_.is_stepped(i) && !strips_.go_on_if_covered(i)) {
    if (kept == nullptr) check_array(i, array);
    Value* const accessible = kept != nullptr
                                  ? b_.CreateLoad(b_.getInt64Ty(), write ? kept->writable : kept->readable)
                                  : array_field(array, write ? ArrayField::kWritable : ArrayField::kReadable);
    BasicBlock* go_on = nullptr;
    BasicBlock* const cold = ir_.likely(b_.CreateICmpULT(index, accessible), go_on);
    b_.SetInsertPoint(cold);
    if (BasicBlock* const careful = strips_.careful_entry(i)) {
      b_.CreateBr(careful);
    } else {
      inaccessible(i, array, index, write, go_on);
    }
    b_.SetInsertPoint(go_on);
  }
  Value* const data =
      kept != nullptr ? b_.CreateLoad(b_.getPtrTy(), kept->data) : array_field(array, ArrayField::kData);
  if (size == 0) return data;
  // With the element's own type, which analyses recognise as contiguous.
  if (offset == 0 && (size == 1 || size == 2 || size == 4 || size == 8)) {
    return b_.CreateInBoundsGEP(b_.getIntNTy(static_cast<unsigned>(8 * size)), data, index);
  }
  Value* const element = b_.CreateInBoundsGEP(llvm::ArrayType::get(b_.getInt8Ty(), size), data, index);
  return ir_.byte_offset(element, offset);
}

Lowering::Value* Lowering::load_reference(Value* data, Value* index) {
  return ir_.load(b_.getPtrTy(), b_.CreateInBoundsGEP(b_.getInt64Ty(), data, index),
                  element_access(Kind::kRef));
}

void Lowering::lower_load(const Instruction& i) {
  if (strips_.take_reference(i)) return;
  const Kind kind = *i.row->kind;
  const bytecode::FieldPlace place = place_of(i);
  Value* const address = element_address(i, i.b, i.c, false, place.size, place.offset);
  if (kind == Kind::kRef) {
    registers_.set_reference(i.a, ir_.load(b_.getPtrTy(), address, element_access(kind)));
  } else {
    registers_.set(i.a, ir_.load_value(kind, address, element_access(kind)));
  }
}

void Lowering::lower_store(const Instruction& i) {
  const Kind kind = *i.row->kind;
  const bytecode::FieldPlace place = place_of(i);
  Value* const address = element_address(i, i.a, i.b, true, place.size, place.offset);
  if (kind == Kind::kRef) {
    ir_.store(registers_.get_reference(i.c), address, element_access(kind));
    element_stored(i);
  } else {
    registers_.store_value(kind, address, i.c, element_access(kind));
  }
}

void Lowering::lower_length(const Instruction& i) {
  Value* const array = registers_.get_reference(i.b);
  if (const LoopStrips::KeptReference* const kept = strips_.kept_array(i)) {
    Value* const length = b_.CreateLoad(b_.getInt64Ty(), kept->length);
    BasicBlock* const there = ir_.new_block("there");
    ir_.branch_cold(b_.CreateICmpSLT(length, ir_.constant(0)), strips_.careful_entry(i), there);
    b_.SetInsertPoint(there);
    registers_.set(i.a, length);
    return;
  }
  check_array(i, array);
  registers_.set(i.a, array_field(array, ArrayField::kLength));
}

void Lowering::lower_dimension(const Instruction& i) {
  Value* const array = registers_.get_reference(i.b);
  check_array(i, array);
  registers_.set(i.a, array_dimension(array, i.c, true));
}

void Lowering::lower_index(const Instruction& i) {
  Value* const array = registers_.get_reference(i.b);
  const bool third = i.row->x == bytecode::Operand::kPP;
  const LoopStrips::KeptReference* const kept = strips_.kept_array(i);
  if (kept == nullptr) check_array(i, array);
  Value* const indices[] = {registers_.get_i64(i.c), registers_.get_i64(i.x0()),
                            third ? registers_.get_i64(i.x1()) : nullptr};
  Value* ok = nullptr;
  Value* linear = nullptr;
  const bool proven = is_proven(i) || strips_.is_stepped(i) || strips_.go_on_if_covered(i);
  for (unsigned d = 0; d < (third ? 3u : 2u); ++d) {
    Value* const size = kept != nullptr ? b_.CreateLoad(b_.getInt64Ty(), kept->dimensions[d])
                                        : array_dimension(array, d, false);
    if (!proven) {
      Value* const inside = b_.CreateICmpULT(indices[d], size);
      ok = ok == nullptr ? inside : b_.CreateAnd(ok, inside);
    }
    // Checked indices give a linear index far below 2^63.
    linear = linear == nullptr ? indices[d] : b_.CreateNSWAdd(b_.CreateNSWMul(linear, size), indices[d]);
  }
  if (kept != nullptr && ok != nullptr) {
    BasicBlock* const inside = ir_.new_block("inside");
    ir_.branch_cold(b_.CreateNot(ok), strips_.careful_entry(i), inside);
    b_.SetInsertPoint(inside);
  } else if (ok != nullptr) {
    guard(ok, i, TrapKind::kDimension);
  }
  registers_.set(i.a, linear);
}

// ---- Atomic updates
// ----------------------------------------------------------------------------------------------

namespace {

using Rmw = llvm::AtomicRMWInst;

// LLVM's operation for an update; BAD_BINOP if it has none (Cas).
constexpr Rmw::BinOp update_of(Operation operation, Kind kind) {
  switch (operation) {
    case Operation::kAdd: return is_float(kind) ? Rmw::FAdd : Rmw::Add;
    case Operation::kMin:
      if (is_float(kind)) return Rmw::BAD_BINOP;
      return is_signed(kind) ? Rmw::Min : Rmw::UMin;
    case Operation::kMax:
      if (is_float(kind)) return Rmw::BAD_BINOP;
      return is_signed(kind) ? Rmw::Max : Rmw::UMax;
    case Operation::kAnd: return Rmw::And;
    case Operation::kOr: return Rmw::Or;
    case Operation::kXor: return Rmw::Xor;
    case Operation::kExchange: return Rmw::Xchg;
    default: return Rmw::BAD_BINOP;
  }
}

static_assert(std::ranges::all_of(bytecode::kInfo,
                                  [](const bytecode::OpInfo& op) {
                                    return op.family != Family::kAtomic || op.operation == Operation::kCas ||
                                           update_of(op.operation, *op.kind) != Rmw::BAD_BINOP;
                                  }),
              "an atomic update has no lowering");

// The content of the element after the update, if no other thread accesses it.
llvm::Value* updated(llvm::IRBuilder<>& b, Rmw::BinOp update, llvm::Value* old, llvm::Value* operand) {
  switch (update) {
    case Rmw::FAdd: return b.CreateFAdd(old, operand);
    case Rmw::Add: return b.CreateAdd(old, operand);
    case Rmw::Min: return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, old, operand);
    case Rmw::UMin: return b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, old, operand);
    case Rmw::Max: return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, old, operand);
    case Rmw::UMax: return b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, old, operand);
    case Rmw::And: return b.CreateAnd(old, operand);
    case Rmw::Or: return b.CreateOr(old, operand);
    case Rmw::Xor: return b.CreateXor(old, operand);
    default: return operand;  // Xchg
  }
}

}  // namespace

void Lowering::lower_atomic(const Instruction& i) {
  constexpr auto kOrdering = llvm::AtomicOrdering::SequentiallyConsistent;
  const Kind kind = *i.row->kind;
  const SlotType type = slot_type(kind);
  const bytecode::FieldPlace place = place_of(i);
  Value* const address = element_address(i, i.b, i.c, true, place.size, place.offset);
  Value* const operand = registers_.get(i.x0(), type);
  const Access access = element_access(kind);
  if (i.row->operation == Operation::kCas) {
    Value* const replacement = registers_.get(i.x1(), type);
    if (needs_atomics()) {
      auto* const exchange =
          b_.CreateAtomicCmpXchg(address, operand, replacement, llvm::MaybeAlign(), kOrdering, kOrdering);
      return registers_.set(i.a, b_.CreateExtractValue(exchange, 0));
    }
    Value* const old =
        b_.CreateLoad(ir_.llvm_type(type), address);  // any kind: exchanges of floats use their bits
    b_.CreateStore(b_.CreateSelect(b_.CreateICmpEQ(old, operand), replacement, old), address);
    return registers_.set(i.a, old);
  }
  const Rmw::BinOp update = update_of(i.row->operation, kind);
  if (needs_atomics()) {
    return registers_.set(i.a, b_.CreateAtomicRMW(update, address, operand, llvm::MaybeAlign(), kOrdering));
  }
  if (update == Rmw::Xchg) {
    Value* const old = b_.CreateLoad(ir_.llvm_type(type), address);
    b_.CreateStore(operand, address);
    return registers_.set(i.a, old);
  }
  Value* const old = ir_.load(ir_.llvm_type(type), address, access);
  ir_.store(updated(b_, update, old, operand), address, access);
  registers_.set(i.a, old);
}

// ---- Local arrays
// ------------------------------------------------------------------------------------------------

void Lowering::lower_local(const Instruction& i) {
  const bool is_load = i.row->memory == bytecode::Memory::kReadsLocal;
  const std::uint32_t number = is_load ? i.b : i.a;
  const Kind kind = *i.row->kind;
  Value* const index = registers_.get_i64(is_load ? i.c : i.b);
  if (!is_proven(i)) {
    guard(b_.CreateICmpULT(index, ir_.constant(source_.locals[number].count)), i, TrapKind::kLocalIndex);
  }
  Value* const address = b_.CreateInBoundsGEP(b_.getIntNTy(bits_of(kind)), locals_[number], index);
  // This memory is private: no alias classes needed.
  const Access access = {Access::kElement, 1000 + number};
  if (is_load) {
    registers_.set(i.a, ir_.load_value(kind, address, access));
  } else {
    registers_.store_value(kind, address, i.c, access);
  }
}

void Lowering::make_locals() {
  for (std::size_t number = 0; number < source_.locals.size(); ++number) {
    const bytecode::LocalArray& local = source_.locals[number];
    llvm::Type* const element = b_.getIntNTy(8 * bytecode::size_of(local.kind));
    llvm::AllocaInst* const memory =
        ir_.entry_alloca(llvm::ArrayType::get(element, local.count), "local" + llvm::Twine(number));
    memory->setAlignment(llvm::Align(16));
    locals_.push_back(memory);
  }
}

void Lowering::zero_local(std::size_t number) {
  const bytecode::LocalArray& local = source_.locals[number];
  b_.CreateMemSet(locals_[number], b_.getInt8(0), std::uint64_t{local.count} * bytecode::size_of(local.kind),
                  llvm::MaybeAlign(16));
}

}  // namespace dhpvm::codegen
