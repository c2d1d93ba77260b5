// SPDX-License-Identifier: Apache-2.0
// Objects, strings, and arrays as a whole: allocation, fields, casts, the write barrier.
#include <algorithm>
#include <bit>

#include "codegen/lower/function_lowering.h"
#include "codegen/object_marks.h"

namespace dhpvm::codegen {

using bytecode::TypeKind;
using llvm::BasicBlock;

namespace {

// With more classes, an interface check uses a table.
constexpr std::size_t kMaximumComparisons = 8;
// Arrays up to this size are made in the allocation area; larger ones go to blocks of their own size class, which
// compiled code does not handle (gc::kMediumThreshold).
constexpr std::uint64_t kSmallArray = 256;

}  // namespace

FunctionLowering::Value* FunctionLowering::type_of(Value* object) {
  return ir_.load(b_.getInt32Ty(), ir_.byte_offset(object, unit_.layout.object.type), {Access::kHeader});
}

// Allocates `size` bytes, a multiple of a granule, from the open hole, as gc::AllocationArea does; they are zero
// already. Continues if the hole has room and `also` holds, if that is not null.
FunctionLowering::OpenMemory FunctionLowering::take_open_memory(Value* size, Value* also) {
  OpenMemory memory;
  Value* const area = frame_.state_field(unit_.layout.state.allocation_area, Access::kConstant);
  memory.start = ir_.load(b_.getPtrTy(), area, {Access::kAllocator, 0});
  Value* const limit = ir_.load(b_.getPtrTy(), ir_.byte_offset(area, 8), {Access::kAllocator, 1});
  Value* const room = b_.CreateSub(b_.CreatePtrToInt(limit, b_.getInt64Ty()),
                                   b_.CreatePtrToInt(memory.start, b_.getInt64Ty()));
  Value* fits = b_.CreateICmpUGE(room, size);
  if (also != nullptr) fits = b_.CreateAnd(also, fits);
  memory.cold = ir_.likely(fits, memory.taken);
  b_.SetInsertPoint(memory.taken);
  ir_.store(b_.CreateInBoundsGEP(b_.getInt8Ty(), memory.start, size), area, {Access::kAllocator, 0});
  return memory;
}

// The object is in the open memory, or `make` requests one from the virtual machine.
void FunctionLowering::finish_object(const Instruction& i, const OpenMemory& memory,
                                     llvm::function_ref<Value*(Value* r)> make) {
  BasicBlock* const done = ir_.new_block("allocated");
  b_.CreateBr(done);
  b_.SetInsertPoint(memory.cold);
  Value* const made = make(frame_.mirror_in_slow_path(i));
  frame_.leave_if_null(made);
  BasicBlock* const slow = b_.GetInsertBlock();
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  llvm::PHINode* const object = b_.CreatePHI(b_.getPtrTy(), 2);
  object->addIncoming(memory.start, memory.taken);
  object->addIncoming(made, slow);
  registers_.set_reference(i.a, object);
}

void FunctionLowering::lower_new(const Instruction& i) {
  const ObjectLayout& layout = unit_.layout.object;
  const std::uint64_t granules =
      (std::uint64_t{module_.types[i.type()].size} + layout.granule - 1) / layout.granule;
  const auto ask = [&](Value* r) {
    return call_runtime(b_, unit_.module, RuntimeCall::kNewObject,
                        {frame_.state, r, frame_.left, frame_.site(i), b_.getInt32(i.type())});
  };
  frame_.mirror_ahead(i);
  if (flow_.rare().contains(block_)) {
    Value* const made = ask(frame_.mirror_in_slow_path(i));
    frame_.leave_if_null(made);
    registers_.set_reference(i.a, made);
    return;
  }
  Value* const size = ir_.constant(granules * layout.granule);
  const OpenMemory memory = take_open_memory(size, nullptr);
  llvm::StoreInst* const header = ir_.store(
      ir_.constant(std::uint64_t{i.type()} | granules << layout.size_shift), memory.start, {Access::kHeader});
  // Tests of omitted root stores need the object in the heap.
  if (unit_.mutation == nullptr) ir_.mark(*header, kNewObjectMark, size);
  finish_object(i, memory, ask);
}

void FunctionLowering::lower_get_field(const Instruction& i) {
  if (strips_.take_reference(i)) return;
  Value* const object = registers_.get_reference(i.b);
  null_check(i, object);
  const Access access = {Access::kField, i.c};
  const bytecode::Kind kind = *i.row->kind;
  if (kind == bytecode::Kind::kRef) {
    registers_.set_reference(i.a, ir_.load(b_.getPtrTy(), ir_.byte_offset(object, i.c), access));
  } else {
    registers_.set(i.a, ir_.load_value(kind, ir_.byte_offset(object, i.c), access));
  }
}

void FunctionLowering::lower_put_field(const Instruction& i) {
  Value* const object = registers_.get_reference(i.a);
  null_check(i, object);
  const Access access = {Access::kField, i.b};
  const bytecode::Kind kind = *i.row->kind;
  if (kind != bytecode::Kind::kRef) {
    registers_.store_value(kind, ir_.byte_offset(object, i.b), i.c, access);
    return;
  }
  ir_.store(registers_.get_reference(i.c), ir_.byte_offset(object, i.b), access);
  if (fresh_.contains(i.a)) return;
  barrier(object,
          [&] { return call_runtime(b_, unit_.module, RuntimeCall::kLogObject, {frame_.state, object}); });
}

void FunctionLowering::element_stored(const Instruction& i) {
  if (fresh_.contains(i.a)) return;
  Value* const array = registers_.get_reference(i.a);
  Value* const index = registers_.get_i64(i.b);
  barrier(array, [&] {
    return call_runtime(b_, unit_.module, RuntimeCall::kLogElement, {frame_.state, array, index});
  });
}

void FunctionLowering::barrier(Value* holder, llvm::function_ref<llvm::CallInst*()> log) {
  Mutation* const mutation = unit_.mutation;
  if (mutation != nullptr && !strips_.is_careful() && mutation->barriers++ == mutation->barrier) return;
  Value* const flags =
      ir_.load(b_.getInt8Ty(), ir_.byte_offset(holder, unit_.layout.object.flags), {Access::kFlags});
  Value* const unlogged = b_.CreateAnd(flags, b_.getInt8(unit_.layout.object.unlogged));
  BasicBlock* go_on = nullptr;
  BasicBlock* const cold = ir_.likely(b_.CreateICmpEQ(unlogged, b_.getInt8(0)), go_on);
  b_.SetInsertPoint(cold);
  // It changes the flags and the collector's lists: fields and elements stay valid in registers.
  ir_.touches_only(*log(), {Access::kFlags});
  b_.CreateBr(go_on);
  b_.SetInsertPoint(go_on);
}

// The object is not null.
FunctionLowering::Value* FunctionLowering::is_instance(Value* object, std::uint32_t type) {
  if (module_.types[type].kind != TypeKind::kInterface) {
    return b_.CreateICmpEQ(type_of(object), b_.getInt32(type));
  }
  const std::vector<std::uint32_t> classes = implementers(module_, type);
  if (classes.size() > kMaximumComparisons) {
    Value* const found =
        call_runtime(b_, unit_.module, RuntimeCall::kIsInstance, {frame_.state, object, b_.getInt32(type)});
    return b_.CreateICmpNE(found, b_.getInt32(0));
  }
  Value* is = b_.getFalse();
  Value* const own = type_of(object);
  for (const std::uint32_t id : classes) is = b_.CreateOr(is, b_.CreateICmpEQ(own, b_.getInt32(id)));
  return is;
}

// Null is accepted.
void FunctionLowering::lower_cast(const Instruction& i) {
  Value* const object = registers_.get_reference(i.b);
  BasicBlock* const check = ir_.new_block("cast");
  BasicBlock* const done = ir_.new_block("cast.done");
  b_.CreateCondBr(b_.CreateIsNull(object), done, check);
  b_.SetInsertPoint(check);
  guard(is_instance(object, i.type()), i, TrapKind::kBadCast);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  registers_.set_reference(i.a, object);
}

void FunctionLowering::lower_is_type(const Instruction& i) {
  Value* const object = registers_.get_reference(i.b);
  BasicBlock* const before = b_.GetInsertBlock();
  BasicBlock* const check = ir_.new_block("is");
  BasicBlock* const done = ir_.new_block("is.done");
  b_.CreateCondBr(b_.CreateIsNull(object), done, check);
  b_.SetInsertPoint(check);
  Value* const is = is_instance(object, i.type());
  BasicBlock* const checked = b_.GetInsertBlock();
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  llvm::PHINode* const result = b_.CreatePHI(b_.getInt1Ty(), 2);
  result->addIncoming(b_.getFalse(), before);
  result->addIncoming(is, checked);
  registers_.set(i.a, b_.CreateZExt(result, b_.getInt32Ty()));
}

void FunctionLowering::lower_new_weak(const Instruction& i) {
  // The call itself keeps the target alive.
  Value* const target = registers_.get_reference(i.b);
  Value* const r = frame_.mirror(i);
  Value* const weak =
      call_runtime(b_, unit_.module, RuntimeCall::kNewWeak,
                   {frame_.state, r, frame_.left, frame_.site(i), b_.getInt32(i.type()), target});
  frame_.leave_if_null(weak);
  registers_.set_reference(i.a, weak);
}

void FunctionLowering::lower_get_weak(const Instruction& i) {
  Value* const weak = registers_.get_reference(i.b);
  null_check(i, weak);
  // Only a collection changes it, so it has its own alias class.
  registers_.set_reference(
      i.a,
      ir_.load(b_.getPtrTy(), ir_.byte_offset(weak, unit_.layout.object.weak_target), {Access::kField, 1}));
}

// ---- Strings
// ----------------------------------------------------------------------------------------------------

void FunctionLowering::lower_const_string(const Instruction& i) {
  const auto number = static_cast<std::uint32_t>(i.bc);
  Value* const table = frame_.state_field(unit_.layout.state.strings, Access::kConstant);
  Value* const place = b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), table, number);
  Value* const known = ir_.load(b_.getPtrTy(), place, {Access::kContext, Access::kStrings});
  BasicBlock* go_on = nullptr;
  BasicBlock* const before = b_.GetInsertBlock();
  BasicBlock* const cold = ir_.likely(b_.CreateIsNotNull(known), go_on);
  b_.SetInsertPoint(cold);
  Value* const made =
      call_runtime(b_, unit_.module, RuntimeCall::kStringConstant,
                   {frame_.state, frame_.r, frame_.left, frame_.site(i), b_.getInt32(number)});
  ir_.branch_cold(b_.CreateIsNull(made), frame_.callee_trapped(), go_on);
  b_.SetInsertPoint(go_on);
  llvm::PHINode* const string = b_.CreatePHI(b_.getPtrTy(), 2);
  string->addIncoming(known, before);
  string->addIncoming(made, cold);
  registers_.set_reference(i.a, string);
}

// The size in bytes, an i64, of a string, after a null check.
FunctionLowering::Value* FunctionLowering::string_size(const Instruction& i, Value* string) {
  null_check(i, string);
  Value* const size32 = ir_.load(b_.getInt32Ty(), ir_.byte_offset(string, unit_.layout.object.string_size),
                                 {Access::kImmutable, 2});
  return b_.CreateZExt(size32, b_.getInt64Ty());
}

void FunctionLowering::lower_string_length(const Instruction& i) {
  registers_.set(i.a, string_size(i, registers_.get_reference(i.b)));
}

void FunctionLowering::lower_string_byte(const Instruction& i) {
  Value* const string = registers_.get_reference(i.b);
  Value* const size = string_size(i, string);
  Value* const index = registers_.get_i64(i.c);
  guard(b_.CreateICmpULT(index, size), i, TrapKind::kStringIndex);
  Value* const bytes = ir_.byte_offset(string, unit_.layout.object.string_bytes);
  Value* const address = b_.CreateInBoundsGEP(b_.getInt8Ty(), bytes, index);
  registers_.set(i.a,
                 b_.CreateZExt(ir_.load(b_.getInt8Ty(), address, {Access::kImmutable, 3}), b_.getInt32Ty()));
}

void FunctionLowering::lower_string_concat(const Instruction& i) {
  Value* const r = frame_.mirror(i);
  for (std::uint32_t n = 0; n < i.c; ++n) {
    ir_.store(registers_.get_reference(i.b + n), frame_.reference_place(r, n), {Access::kMirror});
  }
  Value* const joined = call_runtime(b_, unit_.module, RuntimeCall::kStringConcat,
                                     {frame_.state, r, frame_.left, frame_.site(i), b_.getInt32(i.c)});
  frame_.leave_if_null(joined);
  registers_.set_reference(i.a, joined);
}

// Different texts usually have different sizes: bytes are compared, by a call, only for equal sizes.
void FunctionLowering::lower_string_eq(const Instruction& i) {
  Value* const left = registers_.get_reference(i.b);
  Value* const right = registers_.get_reference(i.c);
  BasicBlock* const done = ir_.new_block("strings.compared");
  std::vector<std::pair<Value*, BasicBlock*>> results;
  const auto decide = [&](Value* decided, bool equal) {
    BasicBlock* const go_on = ir_.new_block("strings");
    b_.CreateCondBr(decided, done, go_on);
    results.emplace_back(b_.getInt32(equal ? 1 : 0), b_.GetInsertBlock());
    b_.SetInsertPoint(go_on);
  };
  const auto size = [&](Value* string) {
    return ir_.load(b_.getInt32Ty(), ir_.byte_offset(string, unit_.layout.object.string_size),
                    {Access::kImmutable, 2});
  };
  decide(b_.CreateICmpEQ(left, right), true);
  decide(b_.CreateOr(b_.CreateIsNull(left), b_.CreateIsNull(right)), false);
  decide(b_.CreateICmpNE(size(left), size(right)), false);
  results.emplace_back(call_runtime(b_, unit_.module, RuntimeCall::kStringEqual, {left, right}),
                       b_.GetInsertBlock());
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  llvm::PHINode* const result = b_.CreatePHI(b_.getInt32Ty(), static_cast<unsigned>(results.size()));
  for (const auto& [value, from] : results) result->addIncoming(value, from);
  registers_.set(i.a, result);
}

void FunctionLowering::lower_string_compare(const Instruction& i) {
  Value* const left = registers_.get_reference(i.b);
  Value* const right = registers_.get_reference(i.c);
  null_check(i, left);
  null_check(i, right);
  registers_.set(i.a, call_runtime(b_, unit_.module, RuntimeCall::kStringCompare, {left, right}));
}

// ---- Arrays as a whole
// ----------------------------------------------------------------------------------------------------

// The size of an element of an array type.
std::uint64_t FunctionLowering::element_size(const bytecode::Type& array) const {
  const bytecode::ValueType& element = array.element;
  if (element.is_ref() && module_.types[element.type].kind == TypeKind::kStruct)
    return module_.types[element.type].size;
  return size_of(element.kind);
}

void FunctionLowering::lower_new_array(const Instruction& i) {
  const bytecode::Type& type = module_.types[i.type()];
  Value* sizes[3];
  for (unsigned d = 0; d < 3; ++d) sizes[d] = d < type.rank ? registers_.get_i64(i.b + d) : ir_.constant(1);
  const auto make = [&](Value* r) {
    return call_runtime(
        b_, unit_.module, RuntimeCall::kNewArray,
        {frame_.state, r, frame_.left, frame_.site(i), b_.getInt32(i.type()), sizes[0], sizes[1], sizes[2]});
  };
  const ObjectLayout& layout = unit_.layout.object;
  const std::uint64_t per_element = element_size(type);
  if (type.rank != 1 || layout.vector_handle_size + per_element > kSmallArray) {
    Value* const array = make(frame_.mirror(i));
    frame_.leave_if_null(array);
    registers_.set_reference(i.a, array);
    return;
  }
  // Negative lengths count as large ones.
  Value* const length = sizes[0];
  Value* const is_small =
      b_.CreateICmpULE(length, ir_.constant((kSmallArray - layout.vector_handle_size) / per_element));
  Value* const bytes = b_.CreateAdd(b_.CreateMul(length, ir_.constant(per_element)),
                                    ir_.constant(layout.vector_handle_size + layout.granule - 1));
  Value* const size = b_.CreateAnd(bytes, ir_.constant(~std::uint64_t{layout.granule - 1}));
  frame_.mirror_ahead(i);
  const OpenMemory memory = take_open_memory(size, is_small);
  const unsigned granule_shift = static_cast<unsigned>(std::countr_zero(layout.granule));
  Value* const header =
      b_.CreateOr(b_.CreateShl(size, layout.size_shift - granule_shift), ir_.constant(i.type()));
  ir_.store(header, memory.start, {Access::kHeader});
  const auto at = [&](std::uint32_t offset) { return ir_.byte_offset(memory.start, offset); };
  ir_.store(at(layout.vector_handle_size), at(layout.array_data), {Access::kHandle, 0});
  ir_.store(length, at(layout.array_readable), {Access::kHandle, 1});
  ir_.store(length, at(layout.array_writable), {Access::kHandle, 2});
  ir_.store(length, at(layout.array_length), {Access::kImmutable, 0});
  finish_object(i, memory, make);
}

void FunctionLowering::lower_array_copy(const Instruction& i) {
  Value* const ok =
      call_runtime(b_, unit_.module, RuntimeCall::kArrayCopy,
                   {frame_.state, frame_.r, frame_.left, frame_.site(i), registers_.get_reference(i.a),
                    registers_.get_reference(i.b), registers_.get_i64(i.c), registers_.get_i64(i.c + 1u),
                    registers_.get_i64(i.c + 2u)});
  BasicBlock* const go_on = ir_.new_block("copied");
  ir_.branch_cold(b_.CreateICmpEQ(ok, b_.getInt32(0)), frame_.callee_trapped(), go_on);
  b_.SetInsertPoint(go_on);
}

void FunctionLowering::lower_array_close(const Instruction& i) {
  Value* const array = registers_.get_reference(i.a);
  null_check(i, array);
  call_runtime(b_, unit_.module, RuntimeCall::kArrayClose, {frame_.state, array});
}

}  // namespace dhpvm::codegen
