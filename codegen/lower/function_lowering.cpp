// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/function_lowering.h"

#include <llvm/IR/Intrinsics.h>

namespace dhpvm::codegen {

using bytecode::Family;
using llvm::BasicBlock;

namespace {

constexpr unsigned kFixedParameters = 4;  // state, r, ticks, left

}  // namespace

FunctionLowering::FunctionLowering(Unit& unit, std::uint32_t index, llvm::IRBuilder<>& builder,
                                   llvm::Function& function, Form form)
    : Lowering(unit.bytecode, index, builder, LoopSearch::kInner, unit.seen_calls(index)),
      unit_(unit),
      function_(function),
      form_(form),
      frame_(unit, index, flow_, registers_, strips_, ir_, Mirror::Entry::kAtBegin) {
  begin_function();
}

FunctionLowering::FunctionLowering(Unit& unit, std::uint32_t index, llvm::IRBuilder<>& builder,
                                   llvm::Function& function, std::uint32_t loop)
    : Lowering(unit.bytecode, index, builder, LoopSearch::kInner, unit.seen_calls(index), loop),
      unit_(unit),
      function_(function),
      form_(Form::kBody),
      frame_(unit, index, flow_, registers_, strips_, ir_, Mirror::Entry::kInLoops),
      loop_(loop) {
  begin_function();
}

void FunctionLowering::begin_function() {
  b_.SetInsertPoint(BasicBlock::Create(b_.getContext(), "entry", &function_));
  frame_.ticks_slot = ir_.entry_alloca(b_.getInt64Ty(), "ticks");
  frame_.trapped = frame_.exit = ir_.new_block("trapped");
}

// ---- The frame
// ---------------------------------------------------------------------------------------------------

void FunctionLowering::run_body() {
  frame_.state = function_.getArg(0);
  frame_.r = function_.getArg(1);
  b_.CreateStore(function_.getArg(2), frame_.ticks_slot);
  frame_.left = function_.getArg(3);
  unsigned argument = kFixedParameters;
  std::uint32_t p = 0;
  std::uint32_t r = 0;
  for (const bytecode::ValueType& parameter : source_.signature.parameters) {
    Value* const value = function_.getArg(argument++);
    if (parameter.is_ref()) {
      registers_.set_reference(r++, value);
    } else {
      registers_.set(p++, value);
    }
  }
  make_locals();
  for (std::size_t local = 0; local < locals_.size(); ++local) zero_local(local);
  {
    const llvm::IRBuilderBase::InsertPointGuard restore(b_);
    make_exit();
    b_.SetInsertPoint(frame_.trapped);
    b_.CreateStore(b_.getInt64(static_cast<std::uint64_t>(-1)), result_slots_.front());
    b_.CreateBr(leave_body_);
  }
  lower_body();
}

// All exits join in one block, which builds the results. If the body is inlined, each result is a phi then, and LLVM
// can remove the test for a trap on paths without one; it does not look into phis of structs.
void FunctionLowering::make_exit() {
  auto* const results = llvm::cast<llvm::StructType>(function_.getReturnType());
  leave_body_ = ir_.new_block("leave.body");
  b_.SetInsertPoint(leave_body_);
  Value* all = llvm::PoisonValue::get(results);
  for (unsigned position = 0; position < results->getNumElements(); ++position) {
    llvm::Type* const type = results->getElementType(position);
    result_slots_.push_back(ir_.entry_alloca(type, "result"));
    all = b_.CreateInsertValue(all, b_.CreateLoad(type, result_slots_.back()), position);
  }
  b_.CreateRet(all);
}

void FunctionLowering::lower_return(const Instruction& i) {
  const auto& results = source_.signature.results;
  if (window_p_ != nullptr) {
    std::uint32_t p = 0;
    std::uint32_t r = 0;
    // Reads all before writing any, because they may share registers.
    std::vector<Value*> values;
    for (const bytecode::ValueType& result : results) {
      if (result.is_ref()) {
        values.push_back(registers_.get_reference(i.row->family == Family::kReturnR ? i.a : r++));
      } else {
        values.push_back(ir_.to_bits(
            registers_.get(i.row->family == Family::kReturnP ? i.a : p++, slot_type(result.kind))));
      }
    }
    p = r = 0;
    for (std::size_t n = 0; n < results.size(); ++n) {
      if (results[n].is_ref()) {
        ir_.store(values[n], frame_.reference_place(frame_.r, r++), {Access::kMirror});
      } else {
        ir_.store(values[n], b_.CreateConstInBoundsGEP1_32(b_.getInt64Ty(), window_p_, p++),
                  {Access::kWindow});
      }
    }
    b_.CreateRet(frame_.ticks());
    return;
  }
  std::uint32_t p = 0;
  std::uint32_t r = 0;
  auto slot = result_slots_.begin();
  b_.CreateStore(frame_.ticks(), *slot++);
  for (const bytecode::ValueType& result : results) {
    Value* const part =
        result.is_ref()
            ? registers_.get_reference(i.row->family == Family::kReturnR ? i.a : r++)
            : registers_.get(i.row->family == Family::kReturnP ? i.a : p++, slot_type(result.kind));
    b_.CreateStore(part, *slot++);
  }
  b_.CreateBr(leave_body_);
}

// ---- Ticks and traps
// ---------------------------------------------------------------------------------------------

void FunctionLowering::tick(const Instruction& i, BasicBlock* begin) {
  Value* const left = b_.CreateSub(frame_.ticks(), ir_.constant(1));
  b_.CreateStore(left, frame_.ticks_slot);
  BasicBlock* go_on = nullptr;
  BasicBlock* const cold = ir_.likely(b_.CreateICmpSGE(left, ir_.constant(0)), go_on);
  b_.SetInsertPoint(cold);
  llvm::CallInst* const refilled = call_runtime(b_, unit_.module, RuntimeCall::kTick,
                                                {frame_.state, frame_.r, frame_.left, frame_.site(i)});
  ir_.touches_only(*refilled, {Access::kContext, Access::kTicks});
  b_.CreateStore(refilled, frame_.ticks_slot);
  ir_.branch_cold(b_.CreateICmpSLT(refilled, ir_.constant(0)), frame_.trapped,
                  begin == nullptr ? go_on : begin);
  b_.SetInsertPoint(go_on);
}

FunctionLowering::Value* FunctionLowering::has_room_for(std::uint32_t callee) {
  return b_.CreateICmpSGE(frame_.left, ir_.constant(unit_.facts[callee].stack_cost));
}

void FunctionLowering::leave_with_trap(const Instruction& i, TrapKind kind) {
  const std::array<Value*, 3> operands = trap_operands(i);
  const std::optional<std::uint32_t> reference = trap_reference(i);
  Value* const object =
      reference ? registers_.get_reference(*reference) : llvm::ConstantPointerNull::get(b_.getPtrTy());
  call_runtime(
      b_, unit_.module, RuntimeCall::kTrap,
      {frame_.state, frame_.r, frame_.left, frame_.site(i), b_.getInt32(static_cast<std::uint32_t>(kind)),
       frame_.exact_ticks(), operands[0], operands[1], operands[2], object});
  frame_.leave();
}

void FunctionLowering::null_check(const Instruction& i, Value* reference) {
  guard(b_.CreateIsNotNull(reference), i, TrapKind::kNull);
}

// ---- Memory of the virtual machine
// -------------------------------------------------------------------------------

FunctionLowering::Value* FunctionLowering::array_field(Value* array, ArrayField field) {
  const ObjectLayout& layout = unit_.layout.object;
  switch (field) {
    case ArrayField::kData:
      return ir_.load(b_.getPtrTy(), ir_.byte_offset(array, layout.array_data), {Access::kHandle, 0});
    case ArrayField::kReadable:
      return ir_.load(b_.getInt64Ty(), ir_.byte_offset(array, layout.array_readable), {Access::kHandle, 1});
    case ArrayField::kWritable:
      return ir_.load(b_.getInt64Ty(), ir_.byte_offset(array, layout.array_writable), {Access::kHandle, 2});
    default:
      return ir_.load(b_.getInt64Ty(), ir_.byte_offset(array, layout.array_length), {Access::kImmutable, 0});
  }
}

// An array of rank 1 has no sizes after its handle; only its type tells the rank.
FunctionLowering::Value* FunctionLowering::array_dimension(Value* array, unsigned dimension,
                                                           bool may_be_vector) {
  const ObjectLayout& layout = unit_.layout.object;
  const auto stored = [&] {
    return ir_.load(b_.getInt64Ty(), ir_.byte_offset(array, layout.array_dims + 8 * dimension),
                    {Access::kImmutable, 1});
  };
  if (dimension != 0 || !may_be_vector) return stored();
  Value* const types = frame_.state_field(unit_.layout.state.types, Access::kConstant);
  Value* const type = b_.CreateZExt(type_of(array), b_.getInt64Ty());
  Value* const row =
      b_.CreateInBoundsGEP(llvm::ArrayType::get(b_.getInt8Ty(), layout.type_stride), types, type);
  Value* const size =
      ir_.load(b_.getInt32Ty(), ir_.byte_offset(row, layout.type_size), {Access::kConstant, 1});
  Value* const is_vector = b_.CreateICmpEQ(size, b_.getInt32(layout.vector_handle_size));
  // The offset of the outermost size in a matrix, of the length in a vector: valid for both.
  Value* const offset =
      b_.CreateSelect(is_vector, ir_.constant(layout.array_length), ir_.constant(layout.array_dims));
  // As a length, since compiled code writes those of vectors.
  return ir_.load(b_.getInt64Ty(), b_.CreateInBoundsGEP(b_.getInt8Ty(), array, offset),
                  {Access::kImmutable, 0});
}

void FunctionLowering::check_array(const Instruction& i, Value* array) { null_check(i, array); }

void FunctionLowering::inaccessible(const Instruction& i, Value* array, Value* index, bool write,
                                    BasicBlock* go_on) {
  llvm::CallInst* const retry = call_runtime(
      b_, unit_.module, RuntimeCall::kInaccessible,
      {frame_.state, frame_.r, frame_.left, frame_.site(i), array, index, b_.getInt32(write ? 1 : 0)});
  // It waits for the elements and updates the handle. Fields keep their references.
  ir_.touches_only(*retry, {Access::kHandle, Access::kAnyPart});
  ir_.branch_cold(b_.CreateICmpEQ(retry, b_.getInt32(0)), frame_.callee_trapped(), go_on);
}

void FunctionLowering::lower_special(const Instruction& i) {
  const auto boolean = [&](Value* value) { registers_.set(i.a, b_.CreateZExt(value, b_.getInt32Ty())); };
  switch (i.row->family) {
    case Family::kJumpNull: return lower_jump_null(i);
    case Family::kTrapMessage: return leave_with_trap(i, TrapKind::kTrapMessage);
    case Family::kProtect: return go_to(flow_.blocks()[block_].successors.front());
    case Family::kCaught: return handlers_.lower_caught(i);
    case Family::kTrapAgain: return handlers_.lower_trap_again(i);
    case Family::kNullCheck: return null_check(i, registers_.get_reference(i.a));
    case Family::kNull: return registers_.set_reference(i.a, llvm::ConstantPointerNull::get(b_.getPtrTy()));
    case Family::kSameObject:
      return boolean(b_.CreateICmpEQ(registers_.get_reference(i.b), registers_.get_reference(i.c)));
    case Family::kIsNull: return boolean(b_.CreateIsNull(registers_.get_reference(i.b)));
    case Family::kCall: return lower_call(i);
    case Family::kCallInterface: return lower_call_interface(i);
    case Family::kCallNative: return lower_call_native(i);
    case Family::kParallelFor: return lower_parallel_for(i);
    case Family::kNew: return lower_new(i);
    case Family::kGetField: return lower_get_field(i);
    case Family::kPutField: return lower_put_field(i);
    case Family::kUpcast: return registers_.set_reference(i.a, registers_.get_reference(i.b));
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
    // Lowering handles these.
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
  Value* const reference = registers_.get_reference(i.a);
  lower_branch(if_null ? b_.CreateIsNull(reference) : b_.CreateIsNotNull(reference));
}

void FunctionLowering::lowered(const Instruction& i) {
  if (i.has(bytecode::kCollects)) fresh_.clear();
  const bool fresh = i.row->family == Family::kNew || i.row->family == Family::kNewArray ||
                     (i.row->family == Family::kMoveR && fresh_.contains(i.b));
  for_each_reference_write(module_, i, [&](std::uint32_t reg) { fresh_.erase(reg); });
  if (fresh) fresh_.insert(i.a);
}

}  // namespace dhpvm::codegen
