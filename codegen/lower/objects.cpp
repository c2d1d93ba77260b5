// SPDX-License-Identifier: Apache-2.0
// Objects, strings, and arrays as a whole: allocation, fields, casts, the write barrier.
#include <algorithm>

#include "codegen/lower/function_lowering.h"

namespace dhpvm::codegen {

using bytecode::TypeKind;
using llvm::BasicBlock;

namespace {

// More classes than this behind an interface are looked up in a table.
constexpr std::size_t kMaximumComparisons = 8;

}  // namespace

FunctionLowering::Value* FunctionLowering::type_of(Value* object) {
  return load(b_.getInt32Ty(), byte_offset(object, unit_.layout.object.type), {Access::kHeader});
}

// Takes memory from the open hole if it fits, as gc::AllocationArea does; it is zero already.
void FunctionLowering::lower_new(const Instruction& i) {
  const ObjectLayout& layout = unit_.layout.object;
  const std::uint64_t granules =
      (std::uint64_t{module_.types[i.type()].size} + layout.granule - 1) / layout.granule;
  const std::uint64_t size = granules * layout.granule;
  Value* const area = state_field(unit_.layout.state.allocation_area, true);
  Value* const cursor = load(b_.getPtrTy(), area, {Access::kAllocator, 0});
  Value* const limit = load(b_.getPtrTy(), byte_offset(area, 8), {Access::kAllocator, 1});
  Value* const room =
      b_.CreateSub(b_.CreatePtrToInt(limit, b_.getInt64Ty()), b_.CreatePtrToInt(cursor, b_.getInt64Ty()));
  BasicBlock* go_on = nullptr;
  BasicBlock* const cold = likely(b_.CreateICmpUGE(room, constant(size)), go_on);
  BasicBlock* const done = new_block("allocated");
  b_.SetInsertPoint(go_on);
  store(b_.CreateInBoundsGEP(b_.getInt8Ty(), cursor, constant(size)), area, {Access::kAllocator, 0});
  store(constant(std::uint64_t{i.type()} | granules << layout.size_shift), cursor, {Access::kHeader});
  b_.CreateBr(done);

  b_.SetInsertPoint(cold);
  Value* const r = mirror(i);
  Value* const made = b_.CreateCall(runtime_call(unit_.module, RuntimeCall::kNewObject),
                                    {state_, r, left_, site(i), b_.getInt32(i.type())});
  leave_if_null(made);
  BasicBlock* const slow = b_.GetInsertBlock();
  b_.CreateBr(done);

  b_.SetInsertPoint(done);
  llvm::PHINode* const object = b_.CreatePHI(b_.getPtrTy(), 2);
  object->addIncoming(cursor, go_on);
  object->addIncoming(made, slow);
  set_reference(i.a, object);
}

void FunctionLowering::lower_get_field(const Instruction& i) {
  Value* const object = get_reference(i.b);
  null_check(i, object);
  const Access access = {Access::kField, i.c};
  const bytecode::Kind kind = *i.row->kind;
  if (kind == bytecode::Kind::kRef) {
    set_reference(i.a, load(b_.getPtrTy(), byte_offset(object, i.c), access));
  } else {
    set(i.a, load_value(kind, byte_offset(object, i.c), access));
  }
}

void FunctionLowering::lower_put_field(const Instruction& i) {
  Value* const object = get_reference(i.a);
  null_check(i, object);
  const Access access = {Access::kField, i.b};
  const bytecode::Kind kind = *i.row->kind;
  if (kind != bytecode::Kind::kRef) {
    store_value(kind, byte_offset(object, i.b), i.c, access);
    return;
  }
  store(get_reference(i.c), byte_offset(object, i.b), access);
  if (fresh_.contains(i.a)) return;
  barrier(object,
          [&] { b_.CreateCall(runtime_call(unit_.module, RuntimeCall::kLogObject), {state_, object}); });
}

void FunctionLowering::element_stored(const Instruction& i) {
  Value* const array = get_reference(i.a);
  Value* const index = get_i64(i.b);
  barrier(array, [&] {
    b_.CreateCall(runtime_call(unit_.module, RuntimeCall::kLogElement), {state_, array, index});
  });
}

void FunctionLowering::barrier(Value* holder, llvm::function_ref<void()> log) {
  Mutation* const mutation = unit_.mutation;
  if (mutation != nullptr && !is_careful() && mutation->barriers++ == mutation->barrier) return;
  Value* const flags = load(b_.getInt8Ty(), byte_offset(holder, unit_.layout.object.flags), {Access::kFlags});
  Value* const unlogged = b_.CreateAnd(flags, b_.getInt8(unit_.layout.object.unlogged));
  BasicBlock* go_on = nullptr;
  BasicBlock* const cold = likely(b_.CreateICmpEQ(unlogged, b_.getInt8(0)), go_on);
  b_.SetInsertPoint(cold);
  log();
  b_.CreateBr(go_on);
  b_.SetInsertPoint(go_on);
}

// Of an object that is not null.
FunctionLowering::Value* FunctionLowering::is_instance(Value* object, std::uint32_t type) {
  if (module_.types[type].kind != TypeKind::kInterface) {
    return b_.CreateICmpEQ(type_of(object), b_.getInt32(type));
  }
  const std::vector<std::uint32_t> classes = implementers(module_, type);
  if (classes.size() > kMaximumComparisons) {
    Value* const found = b_.CreateCall(runtime_call(unit_.module, RuntimeCall::kIsInstance),
                                       {state_, object, b_.getInt32(type)});
    return b_.CreateICmpNE(found, b_.getInt32(0));
  }
  Value* is = b_.getFalse();
  Value* const own = type_of(object);
  for (const std::uint32_t id : classes) is = b_.CreateOr(is, b_.CreateICmpEQ(own, b_.getInt32(id)));
  return is;
}

// Null passes.
void FunctionLowering::lower_cast(const Instruction& i) {
  Value* const object = get_reference(i.b);
  BasicBlock* const check = new_block("cast");
  BasicBlock* const done = new_block("cast.done");
  b_.CreateCondBr(b_.CreateIsNull(object), done, check);
  b_.SetInsertPoint(check);
  guard(is_instance(object, i.type()), i, TrapKind::kBadCast);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  set_reference(i.a, object);
}

void FunctionLowering::lower_is_type(const Instruction& i) {
  Value* const object = get_reference(i.b);
  BasicBlock* const before = b_.GetInsertBlock();
  BasicBlock* const check = new_block("is");
  BasicBlock* const done = new_block("is.done");
  b_.CreateCondBr(b_.CreateIsNull(object), done, check);
  b_.SetInsertPoint(check);
  Value* const is = is_instance(object, i.type());
  BasicBlock* const checked = b_.GetInsertBlock();
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  llvm::PHINode* const result = b_.CreatePHI(b_.getInt1Ty(), 2);
  result->addIncoming(b_.getFalse(), before);
  result->addIncoming(is, checked);
  set(i.a, b_.CreateZExt(result, b_.getInt32Ty()));
}

void FunctionLowering::lower_new_weak(const Instruction& i) {
  // The target is kept alive by the call itself.
  Value* const target = get_reference(i.b);
  Value* const r = mirror(i);
  Value* const weak = b_.CreateCall(runtime_call(unit_.module, RuntimeCall::kNewWeak),
                                    {state_, r, left_, site(i), b_.getInt32(i.type()), target});
  leave_if_null(weak);
  set_reference(i.a, weak);
}

void FunctionLowering::lower_get_weak(const Instruction& i) {
  Value* const weak = get_reference(i.b);
  null_check(i, weak);
  // Only a collection changes it: a memory of its own.
  set_reference(i.a,
                load(b_.getPtrTy(), byte_offset(weak, unit_.layout.object.weak_target), {Access::kField, 1}));
}

// ---- Strings
// ----------------------------------------------------------------------------------------------------

void FunctionLowering::lower_const_string(const Instruction& i) {
  const auto number = static_cast<std::uint32_t>(i.bc);
  Value* const table = state_field(unit_.layout.state.strings, true);
  Value* const place = b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), table, number);
  Value* const known = load(b_.getPtrTy(), place, {Access::kContext, 2});
  BasicBlock* go_on = nullptr;
  BasicBlock* const before = b_.GetInsertBlock();
  BasicBlock* const cold = likely(b_.CreateIsNotNull(known), go_on);
  b_.SetInsertPoint(cold);
  Value* const made = b_.CreateCall(runtime_call(unit_.module, RuntimeCall::kStringConstant),
                                    {state_, r_, left_, site(i), b_.getInt32(number)});
  branch_cold(b_.CreateIsNull(made), callee_trapped(), go_on);
  b_.SetInsertPoint(go_on);
  llvm::PHINode* const string = b_.CreatePHI(b_.getPtrTy(), 2);
  string->addIncoming(known, before);
  string->addIncoming(made, cold);
  set_reference(i.a, string);
}

// Of a string that is checked for null: its number of bytes, an i64.
FunctionLowering::Value* FunctionLowering::string_size(const Instruction& i, Value* string) {
  null_check(i, string);
  Value* const size32 =
      load(b_.getInt32Ty(), byte_offset(string, unit_.layout.object.string_size), {Access::kImmutable, 2});
  return b_.CreateZExt(size32, b_.getInt64Ty());
}

void FunctionLowering::lower_string_length(const Instruction& i) {
  set(i.a, string_size(i, get_reference(i.b)));
}

void FunctionLowering::lower_string_byte(const Instruction& i) {
  Value* const string = get_reference(i.b);
  Value* const size = string_size(i, string);
  Value* const index = get_i64(i.c);
  guard(b_.CreateICmpULT(index, size), i, TrapKind::kStringIndex);
  Value* const bytes = byte_offset(string, unit_.layout.object.string_bytes);
  Value* const address = b_.CreateInBoundsGEP(b_.getInt8Ty(), bytes, index);
  set(i.a, b_.CreateZExt(load(b_.getInt8Ty(), address, {Access::kImmutable, 3}), b_.getInt32Ty()));
}

void FunctionLowering::lower_string_concat(const Instruction& i) {
  Value* const r = mirror(i);
  for (std::uint32_t n = 0; n < i.c; ++n) {
    store(get_reference(i.b + n), reference_place(r, n), {Access::kMirror});
  }
  Value* const joined = b_.CreateCall(runtime_call(unit_.module, RuntimeCall::kStringConcat),
                                      {state_, r, left_, site(i), b_.getInt32(i.c)});
  leave_if_null(joined);
  set_reference(i.a, joined);
}

void FunctionLowering::lower_string_eq(const Instruction& i) {
  Value* const left = get_reference(i.b);
  set(i.a, b_.CreateCall(runtime_call(unit_.module, RuntimeCall::kStringEqual), {left, get_reference(i.c)}));
}

void FunctionLowering::lower_string_compare(const Instruction& i) {
  Value* const left = get_reference(i.b);
  Value* const right = get_reference(i.c);
  null_check(i, left);
  null_check(i, right);
  set(i.a, b_.CreateCall(runtime_call(unit_.module, RuntimeCall::kStringCompare), {left, right}));
}

// ---- Arrays as a whole
// ----------------------------------------------------------------------------------------------------

void FunctionLowering::lower_new_array(const Instruction& i) {
  Value* const r = mirror(i);
  const unsigned rank = module_.types[i.type()].rank;
  Value* sizes[3];
  for (unsigned d = 0; d < 3; ++d) sizes[d] = d < rank ? get_i64(i.b + d) : constant(1);
  Value* const array =
      b_.CreateCall(runtime_call(unit_.module, RuntimeCall::kNewArray),
                    {state_, r, left_, site(i), b_.getInt32(i.type()), sizes[0], sizes[1], sizes[2]});
  leave_if_null(array);
  set_reference(i.a, array);
}

void FunctionLowering::lower_array_copy(const Instruction& i) {
  Value* const ok = b_.CreateCall(runtime_call(unit_.module, RuntimeCall::kArrayCopy),
                                  {state_, r_, left_, site(i), get_reference(i.a), get_reference(i.b),
                                   get_i64(i.c), get_i64(i.c + 1u), get_i64(i.c + 2u)});
  BasicBlock* const go_on = new_block("copied");
  branch_cold(b_.CreateICmpEQ(ok, b_.getInt32(0)), callee_trapped(), go_on);
  b_.SetInsertPoint(go_on);
}

void FunctionLowering::lower_array_close(const Instruction& i) {
  Value* const array = get_reference(i.a);
  null_check(i, array);
  b_.CreateCall(runtime_call(unit_.module, RuntimeCall::kArrayClose), {state_, array});
}

}  // namespace dhpvm::codegen
