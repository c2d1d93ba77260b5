// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/function_lowering.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/TargetParser/Triple.h>

namespace dhpvm::codegen {

using bytecode::Family;
using bytecode::kNoIndex;
using llvm::BasicBlock;

namespace {

constexpr unsigned kFixedParameters = 4;  // state, r, ticks, left

}  // namespace

FunctionLowering::FunctionLowering(Unit& unit, std::uint32_t index, llvm::IRBuilder<>& builder,
                                   llvm::Function& function, bool is_copy)
    : Lowering(unit.bytecode, index, builder, LoopSearch::kInner),
      unit_(unit),
      function_(function),
      is_copy_(is_copy),
      mirror_(unit.bytecode, source_, flow_) {
  b_.SetInsertPoint(BasicBlock::Create(b_.getContext(), "entry", &function));
  ticks_ = entry_alloca(b_.getInt64Ty(), "ticks");
  trapped_ = new_block("trapped");
}

// ---- The frame
// ---------------------------------------------------------------------------------------------------

void FunctionLowering::run_body() {
  state_ = function_.getArg(0);
  r_ = function_.getArg(1);
  b_.CreateStore(function_.getArg(2), ticks_);
  left_ = function_.getArg(3);
  unsigned argument = kFixedParameters;
  std::uint32_t p = 0;
  std::uint32_t r = 0;
  for (const bytecode::ValueType& parameter : source_.signature.parameters) {
    Value* const value = function_.getArg(argument++);
    if (parameter.is_ref()) {
      set_reference(r++, value);
    } else {
      set(p++, value);
    }
  }
  make_locals();
  for (std::size_t local = 0; local < locals_.size(); ++local) zero_local(local);
  {
    const llvm::IRBuilderBase::InsertPointGuard restore(b_);
    b_.SetInsertPoint(trapped_);
    Value* const result = b_.CreateInsertValue(llvm::PoisonValue::get(function_.getReturnType()),
                                               b_.getInt64(static_cast<std::uint64_t>(-1)), 0);
    b_.CreateRet(result);
  }
  lower_body();
}

// Whether the machine's stack has room for one more compiled function.
FunctionLowering::Value* FunctionLowering::stack_has_room() {
  llvm::LLVMContext& context = b_.getContext();
  const llvm::Triple triple(unit_.module.getTargetTriple());
  const char* const name = triple.isX86() ? "rsp" : "sp";
  llvm::Metadata* const reg = llvm::MDNode::get(context, llvm::MDString::get(context, name));
  Value* const sp = b_.CreateIntrinsic(llvm::Intrinsic::read_register, {b_.getInt64Ty()},
                                       {llvm::MetadataAsValue::get(context, reg)});
  Value* const limit =
      load(b_.getInt64Ty(), byte_offset(state_, unit_.layout.state.native_limit), {Access::kContext, 1});
  return b_.CreateICmpUGE(sp, limit);
}

void FunctionLowering::lower_return(const Instruction& i) {
  const auto& results = source_.signature.results;
  if (window_p_ != nullptr) {
    std::uint32_t p = 0;
    std::uint32_t r = 0;
    // Read all before any is written: the places overlap nothing here, but the registers may.
    std::vector<Value*> values;
    for (const bytecode::ValueType& result : results) {
      if (result.is_ref()) {
        values.push_back(get_reference(i.row->family == Family::kReturnR ? i.a : r++));
      } else {
        values.push_back(to_bits(get(i.row->family == Family::kReturnP ? i.a : p++, slot_type(result.kind))));
      }
    }
    p = r = 0;
    for (std::size_t n = 0; n < results.size(); ++n) {
      if (results[n].is_ref()) {
        store(values[n], reference_place(r_, r++), {Access::kMirror});
      } else {
        store(values[n], b_.CreateConstInBoundsGEP1_32(b_.getInt64Ty(), window_p_, p++), {Access::kWindow});
      }
    }
    b_.CreateRet(ticks());
    return;
  }
  Value* value = b_.CreateInsertValue(llvm::PoisonValue::get(function_.getReturnType()), ticks(), 0);
  std::uint32_t p = 0;
  std::uint32_t r = 0;
  unsigned position = 1;
  for (const bytecode::ValueType& result : results) {
    Value* const part = result.is_ref()
                            ? get_reference(i.row->family == Family::kReturnR ? i.a : r++)
                            : get(i.row->family == Family::kReturnP ? i.a : p++, slot_type(result.kind));
    value = b_.CreateInsertValue(value, part, position++);
  }
  b_.CreateRet(value);
}

// ---- Ticks and traps
// ---------------------------------------------------------------------------------------------

void FunctionLowering::tick(const Instruction& i, BasicBlock* begin) {
  Value* const left = b_.CreateSub(ticks(), constant(1));
  b_.CreateStore(left, ticks_);
  BasicBlock* go_on = nullptr;
  BasicBlock* const cold = likely(b_.CreateICmpSGE(left, constant(0)), go_on);
  b_.SetInsertPoint(cold);
  Value* const refilled =
      b_.CreateCall(runtime_call(unit_.module, RuntimeCall::kTick), {state_, r_, left_, site(i)});
  b_.CreateStore(refilled, ticks_);
  branch_cold(b_.CreateICmpSLT(refilled, constant(0)), trapped_, begin == nullptr ? go_on : begin);
  b_.SetInsertPoint(go_on);
}

void FunctionLowering::leave_with_trap(const Instruction& i, TrapKind kind) {
  const std::array<Value*, 3> operands = trap_operands(i);
  const std::optional<std::uint32_t> reference = trap_reference(i);
  Value* const object = reference ? get_reference(*reference) : llvm::ConstantPointerNull::get(b_.getPtrTy());
  b_.CreateCall(runtime_call(unit_.module, RuntimeCall::kTrap),
                {state_, r_, left_, site(i), b_.getInt32(static_cast<std::uint32_t>(kind)), exact_ticks(),
                 operands[0], operands[1], operands[2], object});
  leave();
}

FunctionLowering::Value* FunctionLowering::exact_ticks() {
  Value* const untaken = back_edges_left();
  return untaken == nullptr ? ticks() : b_.CreateAdd(ticks(), untaken);
}

BasicBlock* FunctionLowering::callee_trapped() {
  const llvm::IRBuilderBase::InsertPointGuard restore(b_);
  BasicBlock* const block = new_block("callee.trapped");
  b_.SetInsertPoint(block);
  store(exact_ticks(), byte_offset(state_, unit_.layout.state.ticks), {Access::kContext, 3});
  leave();
  return block;
}

void FunctionLowering::leave_if_null(Value* result) {
  BasicBlock* const go_on = new_block("made");
  branch_cold(b_.CreateIsNull(result), callee_trapped(), go_on);
  b_.SetInsertPoint(go_on);
}

void FunctionLowering::leave_if_trapped(Value* ticks) {
  BasicBlock* const go_on = new_block("returned");
  branch_cold(b_.CreateICmpSLT(ticks, constant(0)), trapped_, go_on);
  b_.SetInsertPoint(go_on);
  b_.CreateStore(ticks, ticks_);
}

void FunctionLowering::null_check(const Instruction& i, Value* reference) {
  guard(b_.CreateIsNotNull(reference), i, TrapKind::kNull);
}

// ---- Memory of the virtual machine
// -------------------------------------------------------------------------------

FunctionLowering::Value* FunctionLowering::state_field(std::uint32_t offset, bool constant) {
  return load(b_.getPtrTy(), byte_offset(state_, offset),
              {constant ? Access::kConstant : Access::kContext, 0});
}

FunctionLowering::Value* FunctionLowering::reference_place(Value* r, std::uint32_t index) {
  return index == 0 ? r : b_.CreateConstInBoundsGEP1_32(b_.getPtrTy(), r, index);
}

FunctionLowering::Value* FunctionLowering::mirror(const Instruction& i) {
  const MirrorMap& map = mirror_.at(i.pc);
  Mutation* const mutation = unit_.mutation;
  for (std::uint32_t place = 0; place < map.size(); ++place) {
    if (mutation != nullptr && map[place] != kNoIndex && mutation->mirror_stores++ == mutation->mirror_store)
      continue;
    Value* const value =
        map[place] == kNoIndex ? llvm::ConstantPointerNull::get(b_.getPtrTy()) : get_reference(map[place]);
    store(value, reference_place(r_, place), {Access::kMirror});
  }
  return reference_place(r_, static_cast<std::uint32_t>(map.size()));
}

FunctionLowering::Value* FunctionLowering::array_field(Value* array, ArrayField field) {
  const ObjectLayout& layout = unit_.layout.object;
  switch (field) {
    case ArrayField::kData:
      return load(b_.getPtrTy(), byte_offset(array, layout.array_data), {Access::kHandle, 0});
    case ArrayField::kReadable:
      return load(b_.getInt64Ty(), byte_offset(array, layout.array_readable), {Access::kHandle, 1});
    case ArrayField::kWritable:
      return load(b_.getInt64Ty(), byte_offset(array, layout.array_writable), {Access::kHandle, 2});
    default: return load(b_.getInt64Ty(), byte_offset(array, layout.array_length), {Access::kImmutable, 0});
  }
}

// An array of rank 1 has no sizes behind its handle; which it is, only its type tells.
FunctionLowering::Value* FunctionLowering::array_dimension(Value* array, unsigned dimension,
                                                           bool may_be_vector) {
  const ObjectLayout& layout = unit_.layout.object;
  const auto stored = [&] {
    return load(b_.getInt64Ty(), byte_offset(array, layout.array_dims + 8 * dimension),
                {Access::kImmutable, 1});
  };
  if (dimension != 0 || !may_be_vector) return stored();
  Value* const types = state_field(unit_.layout.state.types, true);
  Value* const type = b_.CreateZExt(type_of(array), b_.getInt64Ty());
  Value* const row =
      b_.CreateInBoundsGEP(llvm::ArrayType::get(b_.getInt8Ty(), layout.type_stride), types, type);
  Value* const size = load(b_.getInt32Ty(), byte_offset(row, layout.type_size), {Access::kConstant, 1});
  Value* const is_vector = b_.CreateICmpEQ(size, b_.getInt32(layout.vector_handle_size));
  // The place of the outermost size in a matrix, of the length in a vector: a load from either.
  Value* const offset =
      b_.CreateSelect(is_vector, constant(layout.array_length), constant(layout.array_dims));
  return load(b_.getInt64Ty(), b_.CreateInBoundsGEP(b_.getInt8Ty(), array, offset), {Access::kImmutable, 1});
}

void FunctionLowering::check_array(const Instruction& i, Value* array) { null_check(i, array); }

void FunctionLowering::inaccessible(const Instruction& i, Value* array, Value* index, bool write,
                                    BasicBlock* go_on) {
  Value* const retry = b_.CreateCall(runtime_call(unit_.module, RuntimeCall::kInaccessible),
                                     {state_, r_, left_, site(i), array, index, b_.getInt32(write ? 1 : 0)});
  branch_cold(b_.CreateICmpEQ(retry, b_.getInt32(0)), callee_trapped(), go_on);
}

void FunctionLowering::lower_special(const Instruction& i) {
  const auto boolean = [&](Value* value) { set(i.a, b_.CreateZExt(value, b_.getInt32Ty())); };
  switch (i.row->family) {
    case Family::kJumpNull: return lower_jump_null(i);
    case Family::kTrapMessage: return leave_with_trap(i, TrapKind::kTrapMessage);
    case Family::kNullCheck: return null_check(i, get_reference(i.a));
    case Family::kNull: return set_reference(i.a, llvm::ConstantPointerNull::get(b_.getPtrTy()));
    case Family::kSameObject: return boolean(b_.CreateICmpEQ(get_reference(i.b), get_reference(i.c)));
    case Family::kIsNull: return boolean(b_.CreateIsNull(get_reference(i.b)));
    case Family::kCall: return lower_call(i);
    case Family::kCallInterface: return lower_call_interface(i);
    case Family::kCallNative: return lower_call_native(i);
    case Family::kParallelFor: return lower_parallel_for(i);
    case Family::kNew: return lower_new(i);
    case Family::kGetField: return lower_get_field(i);
    case Family::kPutField: return lower_put_field(i);
    case Family::kUpcast: return set_reference(i.a, get_reference(i.b));
    case Family::kCast: return lower_cast(i);
    case Family::kIsType: return lower_is_type(i);
    case Family::kNewWeak: return lower_new_weak(i);
    case Family::kGetWeak: return lower_get_weak(i);
    case Family::kConstString: return lower_const_string(i);
    case Family::kStringLength: return lower_string_length(i);
    case Family::kStringByte: return lower_string_byte(i);
    case Family::kStringConcat: return lower_string_concat(i);
    case Family::kStringEq: return lower_string_eq(i);
    case Family::kStringCompare: return lower_string_compare(i);
    case Family::kNewArray: return lower_new_array(i);
    case Family::kArrayCopy: return lower_array_copy(i);
    case Family::kArrayClose: return lower_array_close(i);
    // Those of Lowering.
    case Family::kNop:
    case Family::kJump:
    case Family::kFor:
    case Family::kJumpIf:
    case Family::kJumpCompare:
    case Family::kReturn:
    case Family::kReturnP:
    case Family::kReturnR:
    case Family::kTrap:
    case Family::kMoveP:
    case Family::kMoveR:
    case Family::kConstant:
    case Family::kInteger:
    case Family::kDivide:
    case Family::kShift:
    case Family::kFloat:
    case Family::kCompare:
    case Family::kConvert:
    case Family::kLoad:
    case Family::kStore:
    case Family::kLoadField:
    case Family::kStoreField:
    case Family::kArrayLength:
    case Family::kArrayDim:
    case Family::kIndex:
    case Family::kAtomic:
    case Family::kLocalLoad:
    case Family::kLocalStore:
    case Family::kLocalZero: break;
  }
}

void FunctionLowering::lower_jump_null(const Instruction& i) {
  const bool if_null = i.row->operation == bytecode::Operation::kEq;
  Value* const reference = get_reference(i.a);
  lower_branch(if_null ? b_.CreateIsNull(reference) : b_.CreateIsNotNull(reference));
}

void FunctionLowering::lowered(const Instruction& i) {
  if (i.has(bytecode::kCollects)) fresh_.clear();
  const bool fresh =
      i.row->family == Family::kNew || (i.row->family == Family::kMoveR && fresh_.contains(i.b));
  for_each_reference_write(module_, i, [&](std::uint32_t reg) { fresh_.erase(reg); });
  if (fresh) fresh_.insert(i.a);
}

}  // namespace dhpvm::codegen
