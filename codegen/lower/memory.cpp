// SPDX-License-Identifier: Apache-2.0
// Elements of arrays, their dimensions, atomic updates, local arrays.
#include "bytecode/isa.h"
#include "codegen/lower/lowering.h"

namespace dhpvm::codegen {

using bytecode::Op;
using bytecode::Rule;
using llvm::BasicBlock;

namespace {

unsigned bits_of(std::string_view kind) {
  if (kind == "ref" || kind.ends_with("64")) return 64;
  if (kind.ends_with("32")) return 32;
  return kind.ends_with("16") ? 16 : 8;
}

// Elements of different kinds never overlap; signedness apart.
Access element_access(std::string_view kind) {
  const std::uint64_t family = kind == "ref" ? 3 : kind.front() == 'f' ? 2 : 1;
  return {Access::kElement, family << 8 | bits_of(kind)};
}

}  // namespace

// Values narrower than 32 bits are extended by their signedness.
Lowering::Value* Lowering::load_value(std::string_view kind, Value* address, Access access) {
  if (kind == "f32") return load(b_.getFloatTy(), address, access);
  if (kind == "f64") return load(b_.getDoubleTy(), address, access);
  Value* const value = load(b_.getIntNTy(bits_of(kind)), address, access);
  if (bits_of(kind) >= 32) return value;
  return kind.front() == 'i' ? b_.CreateSExt(value, b_.getInt32Ty()) : b_.CreateZExt(value, b_.getInt32Ty());
}

void Lowering::store_value(std::string_view kind, Value* address, std::uint32_t reg, Access access) {
  if (kind == "f32") {
    store(get_f32(reg), address, access);
  } else if (kind == "f64") {
    store(get_f64(reg), address, access);
  } else if (bits_of(kind) == 64) {
    store(get_i64(reg), address, access);
  } else {
    store(b_.CreateTrunc(get_i32(reg), b_.getIntNTy(bits_of(kind))), address, access);
  }
}

// The address of an element, or of a field `offset` bytes behind its start, after the check that it may be
// accessed.
Lowering::Value* Lowering::element_address(const Instruction& i, std::uint32_t array_register,
                                           std::uint32_t index_register, bool write, std::uint64_t size,
                                           std::uint64_t offset) {
  Value* const array = get_reference(array_register);
  Value* const index = get_i64(index_register);
  const KeptArray* const kept = kept_array(array_register);
  if (!is_proven(i) && !is_stepped(i)) {
    if (kept == nullptr) check_array(i, array);
    Value* const accessible = kept != nullptr
                                  ? b_.CreateLoad(b_.getInt64Ty(), write ? kept->writable : kept->readable)
                                  : array_field(array, write ? ArrayField::kWritable : ArrayField::kReadable);
    BasicBlock* go_on = nullptr;
    BasicBlock* const cold = likely(b_.CreateICmpULT(index, accessible), go_on);
    b_.SetInsertPoint(cold);
    if (BasicBlock* const careful = careful_entry(i)) {
      b_.CreateBr(careful);
    } else {
      inaccessible(i, array, index, write, go_on);
    }
    b_.SetInsertPoint(go_on);
  }
  Value* const data =
      kept != nullptr ? b_.CreateLoad(b_.getPtrTy(), kept->data) : array_field(array, ArrayField::kData);
  if (size == 0) return data;
  // As elements of their own type: what analyses recognise as contiguous.
  if (offset == 0 && (size == 1 || size == 2 || size == 4 || size == 8)) {
    return b_.CreateInBoundsGEP(b_.getIntNTy(static_cast<unsigned>(8 * size)), data, index);
  }
  Value* const element = b_.CreateInBoundsGEP(llvm::ArrayType::get(b_.getInt8Ty(), size), data, index);
  return byte_offset(element, offset);
}

bool Lowering::lower_memory(const Instruction& i) {
  switch (i.row->rule) {
    case Rule::kLoad:
    case Rule::kLoadField: {
      const bool field = i.row->rule == Rule::kLoadField;
      const std::string_view kind = kind_suffix(i.op);
      const std::uint64_t size = field ? bytecode::element_size_of(i.x) : bits_of(kind) / 8;
      const std::uint64_t offset = field ? bytecode::element_offset_of(i.x) : 0;
      Value* const address = element_address(i, i.b, i.c, false, size, offset);
      if (kind == "ref") {
        set_reference(i.a, load(b_.getPtrTy(), address, element_access(kind)));
      } else {
        set(i.a, load_value(kind, address, element_access(kind)));
      }
      return true;
    }
    case Rule::kStore:
    case Rule::kStoreField: {
      const bool field = i.row->rule == Rule::kStoreField;
      const std::string_view kind = kind_suffix(i.op);
      const std::uint64_t size = field ? bytecode::element_size_of(i.x) : bits_of(kind) / 8;
      const std::uint64_t offset = field ? bytecode::element_offset_of(i.x) : 0;
      Value* const address = element_address(i, i.a, i.b, true, size, offset);
      if (kind == "ref") {
        store(get_reference(i.c), address, element_access(kind));
        element_stored(i);
      } else {
        store_value(kind, address, i.c, element_access(kind));
      }
      return true;
    }
    case Rule::kArrayLength: {
      Value* const array = get_reference(i.b);
      if (const KeptArray* const kept = kept_array(i.b)) {
        Value* const length = b_.CreateLoad(b_.getInt64Ty(), kept->length);
        BasicBlock* const there = new_block("there");
        branch_cold(b_.CreateICmpSLT(length, constant(0)), careful_entry(i), there);
        b_.SetInsertPoint(there);
        set(i.a, length);
        return true;
      }
      check_array(i, array);
      set(i.a, array_field(array, ArrayField::kLength));
      return true;
    }
    case Rule::kArrayDim: {
      Value* const array = get_reference(i.b);
      check_array(i, array);
      set(i.a, array_dimension(array, i.c, true));
      return true;
    }
    case Rule::kIndex: {
      Value* const array = get_reference(i.b);
      const bool third = i.op == Op::kIndex3;
      const KeptArray* const kept = kept_array(i.b);
      if (kept == nullptr) check_array(i, array);
      Value* const indices[] = {get_i64(i.c), get_i64(i.x0()), third ? get_i64(i.x1()) : nullptr};
      Value* ok = nullptr;
      Value* linear = nullptr;
      const bool proven = is_proven(i) || is_stepped(i);
      for (unsigned d = 0; d < (third ? 3u : 2u); ++d) {
        Value* const size = kept != nullptr ? b_.CreateLoad(b_.getInt64Ty(), kept->dimensions[d])
                                            : array_dimension(array, d, false);
        if (!proven) {
          Value* const inside = b_.CreateICmpULT(indices[d], size);
          ok = ok == nullptr ? inside : b_.CreateAnd(ok, inside);
        }
        // Checked indices give an element's number, which is far below 2^63.
        linear = linear == nullptr ? indices[d] : b_.CreateNSWAdd(b_.CreateNSWMul(linear, size), indices[d]);
      }
      if (kept != nullptr && ok != nullptr) {
        BasicBlock* const inside = new_block("inside");
        branch_cold(b_.CreateNot(ok), careful_entry(i), inside);
        b_.SetInsertPoint(inside);
      } else if (ok != nullptr) {
        guard(ok, i, TrapKind::kDimension);
      }
      set(i.a, linear);
      return true;
    }
    default: return false;
  }
}

// ---- Atomic updates
// ----------------------------------------------------------------------------------------------

bool Lowering::lower_atomic(const Instruction& i) {
  if (i.row->rule != Rule::kAtomic) return false;
  const std::string_view kind = kind_suffix(i.op);
  const std::string_view mnemonic = bytecode::info(i.op).mnemonic;
  const std::string_view operation = mnemonic.substr(7, mnemonic.rfind('.') - 7);
  const bool is_float = kind.front() == 'f';
  const bool is_signed = kind.front() == 'i';
  const SlotType type = is_float ? (kind == "f32" ? SlotType::kF32 : SlotType::kF64)
                                 : (bits_of(kind) == 32 ? SlotType::kI32 : SlotType::kI64);
  Value* const address = element_address(i, i.b, i.c, true, bits_of(kind) / 8, 0);
  Value* const operand = get(i.x0(), type);
  const Access access = element_access(kind);
  if (operation == "cas") {
    Value* const replacement = get(i.x1(), type);
    if (needs_atomics()) {
      auto* const exchange = b_.CreateAtomicCmpXchg(address, operand, replacement, llvm::MaybeAlign(),
                                                    llvm::AtomicOrdering::SequentiallyConsistent,
                                                    llvm::AtomicOrdering::SequentiallyConsistent);
      set(i.a, b_.CreateExtractValue(exchange, 0));
      return true;
    }
    Value* const old = load(llvm_type(type), address, access);
    store(b_.CreateSelect(b_.CreateICmpEQ(old, operand), replacement, old), address, access);
    set(i.a, old);
    return true;
  }
  if (needs_atomics()) {
    using Rmw = llvm::AtomicRMWInst;
    Rmw::BinOp op = Rmw::Xchg;
    if (operation == "add") op = is_float ? Rmw::FAdd : Rmw::Add;
    if (operation == "min") op = is_signed ? Rmw::Min : Rmw::UMin;
    if (operation == "max") op = is_signed ? Rmw::Max : Rmw::UMax;
    if (operation == "and") op = Rmw::And;
    if (operation == "or") op = Rmw::Or;
    if (operation == "xor") op = Rmw::Xor;
    set(i.a, b_.CreateAtomicRMW(op, address, operand, llvm::MaybeAlign(),
                                llvm::AtomicOrdering::SequentiallyConsistent));
    return true;
  }
  Value* const old = load(llvm_type(type), address, access);
  Value* updated = operand;
  if (operation == "add") updated = is_float ? b_.CreateFAdd(old, operand) : b_.CreateAdd(old, operand);
  if (operation == "min" || operation == "max") {
    const bool minimum = operation == "min";
    const llvm::Intrinsic::ID id = is_signed ? (minimum ? llvm::Intrinsic::smin : llvm::Intrinsic::smax)
                                             : (minimum ? llvm::Intrinsic::umin : llvm::Intrinsic::umax);
    updated = b_.CreateBinaryIntrinsic(id, old, operand);
  }
  if (operation == "and") updated = b_.CreateAnd(old, operand);
  if (operation == "or") updated = b_.CreateOr(old, operand);
  if (operation == "xor") updated = b_.CreateXor(old, operand);
  store(updated, address, access);
  set(i.a, old);
  return true;
}

// ---- Local arrays
// ------------------------------------------------------------------------------------------------

bool Lowering::lower_local(const Instruction& i) {
  if (i.row->rule != Rule::kLocal) return false;
  if (i.op == Op::kLocalZero) {
    zero_local(i.a);
    return true;
  }
  const bool is_load = i.row->a == bytecode::Operand::kPd;
  const std::uint32_t number = is_load ? i.b : i.a;
  const std::string_view kind = kind_suffix(i.op);
  Value* const index = get_i64(is_load ? i.c : i.b);
  if (!is_proven(i)) {
    guard(b_.CreateICmpULT(index, constant(source_.locals[number].count)), i, TrapKind::kLocalIndex);
  }
  Value* const address = b_.CreateInBoundsGEP(b_.getIntNTy(bits_of(kind)), locals_[number], index);
  // Nobody else can see this memory: no alias classes needed.
  const Access access = {Access::kElement, 1000 + number};
  if (is_load) {
    set(i.a, load_value(kind, address, access));
  } else {
    store_value(kind, address, i.c, access);
  }
  return true;
}

void Lowering::make_locals() {
  for (std::size_t number = 0; number < source_.locals.size(); ++number) {
    const bytecode::LocalArray& local = source_.locals[number];
    llvm::Type* const element = b_.getIntNTy(8 * bytecode::size_of(local.kind));
    llvm::AllocaInst* const memory =
        entry_alloca(llvm::ArrayType::get(element, local.count), "local" + llvm::Twine(number));
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
