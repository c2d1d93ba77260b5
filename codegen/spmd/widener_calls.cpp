// SPDX-License-Identifier: Apache-2.0
// Calls: intrinsics on whole vectors, mathematical functions in pieces of the width that their vector library has, and
// others lane by lane for the active lanes.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "base/trigonometry.h"
#include "codegen/spmd/math.h"
#include "codegen/spmd/second_body.h"
#include "codegen/spmd/widener.h"

namespace dhpvm::codegen::spmd {
namespace {

bool is_overflow_check(llvm::Intrinsic::ID id) {
  switch (id) {
    case llvm::Intrinsic::sadd_with_overflow:
    case llvm::Intrinsic::ssub_with_overflow:
    case llvm::Intrinsic::smul_with_overflow:
    case llvm::Intrinsic::uadd_with_overflow:
    case llvm::Intrinsic::usub_with_overflow:
    case llvm::Intrinsic::umul_with_overflow: return true;
    default: return false;
  }
}

// Hints and markers, which the vector function drops.
bool is_dispensable(llvm::Intrinsic::ID id) {
  switch (id) {
    case llvm::Intrinsic::assume:
    case llvm::Intrinsic::lifetime_start:
    case llvm::Intrinsic::lifetime_end:
    case llvm::Intrinsic::dbg_declare:
    case llvm::Intrinsic::dbg_label:
    case llvm::Intrinsic::dbg_value: return true;
    default: return false;
  }
}

}  // namespace

Status Widener::call(llvm::CallInst& call) {
  const llvm::Intrinsic::ID id = call.getIntrinsicID();
  if (is_dispensable(id)) return {};
  const bool uniform = divergence_.shape(&call).is_uniform();
  if (id == llvm::Intrinsic::experimental_noalias_scope_decl) return emit_scalar(call);
  if (const std::string name = math_function(call); !name.empty()) {
    return uniform ? emit_scalar(call) : mathematical(call, name);
  }
  if (id != llvm::Intrinsic::not_intrinsic && !call.mayReadOrWriteMemory() && !call.mayHaveSideEffects()) {
    return uniform ? emit_scalar(call) : intrinsic(call, id);
  }
  if (asks_about_lanes(call)) {
    answer(call);
    return {};
  }
  if (staged(call)) return {};
  if (call.hasFnAttr(kOnceForFirstLane) && call.getType()->isVoidTy()) {
    call_for_first_lane(call);
    return {};
  }
  return unsupported(call, "a call of something that has no vector form");
}

void Widener::answer(const llvm::CallInst& question) {
  const llvm::Value* value = question.getArgOperand(0);
  llvm::Value* result = values_.scalar(value);
  if (question.getCalledFunction()->getName().starts_with(kInLastLane)) {
    const auto distance = static_cast<std::uint64_t>(values_.shape(value).stride()) * (width_ - 1);
    result = builder_.CreateAdd(result, llvm::ConstantInt::get(result->getType(), distance));
  }
  values_.set_scalar(&question, result);
}

Status Widener::intrinsic(llvm::CallInst& call, llvm::Intrinsic::ID id) {
  llvm::Type* type = widen(call.getType(), width_);
  if (type == nullptr || !(llvm::isTriviallyVectorizable(id) || is_overflow_check(id))) {
    return unsupported(call, "an intrinsic that has no vector form");
  }
  llvm::SmallVector<llvm::Type*, 3> overloads;
  // The index -1 asks about the result. Overflow checks are named after the type of their operands.
  if (!is_overflow_check(id) && llvm::isVectorIntrinsicWithOverloadTypeAtArg(id, -1))
    overloads.push_back(type);
  llvm::SmallVector<llvm::Value*, 3> arguments;
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    const llvm::Value* argument = call.getArgOperand(i);
    if (llvm::isVectorIntrinsicWithScalarOpAtArg(id, i)) {
      if (!values_.shape(argument).is_uniform()) return unsupported(call, "an argument must be uniform");
      arguments.push_back(values_.scalar(argument));
    } else {
      arguments.push_back(values_.vector(argument));
    }
    const bool names = is_overflow_check(id)
                           ? i == 0
                           : llvm::isVectorIntrinsicWithOverloadTypeAtArg(id, static_cast<int>(i));
    if (names) overloads.push_back(arguments.back()->getType());
  }
  llvm::Function* callee = llvm::Intrinsic::getDeclaration(result_.getParent(), id, overloads);
  llvm::CallInst* made = builder_.CreateCall(callee, arguments, call.getName());
  if (llvm::isa<llvm::FPMathOperator>(made)) made->copyFastMathFlags(&call);
  values_.set_vector(&call, made);
  return {};
}

VectorFunction Widener::vector_function_of(const llvm::CallInst& call, const std::string& name) const {
  const unsigned bits = call.getType()->isFloatTy() ? 32 : 64;
  return vector_function(name, call.arg_size(), bits, width_, options_.vector_bits, options_.has_symbol);
}

Status Widener::mathematical(llvm::CallInst& call, const std::string& name) {
  const VectorFunction function = vector_function_of(call, name);
  if (function.symbol.empty()) return lane_by_lane(call);
  if (is_wrong_for_large_angles(name)) return angle_functions(call);
  values_.set_vector(&call, call_pieces(call, function.symbol, function.lanes));
  return {};
}

// Calls vector functions, or the scalar ones for each lane if any of them has a large angle. The test comes first, so
// that the angles are not live across the calls; and once for the sine and the cosine of an angle: it alone makes a
// vector of either take 8 % longer.
Status Widener::angle_functions(llvm::CallInst& call) {
  if (angles_done_.contains(&call)) return {};
  llvm::LLVMContext& context = builder_.getContext();
  llvm::Value* angles = values_.vector(call.getArgOperand(0));
  llvm::Value* magnitudes = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, angles);
  llvm::Value* bound = llvm::ConstantFP::get(angles->getType(), kLargeAngle);
  llvm::Value* large = any(builder_.CreateAnd(mask_, builder_.CreateFCmpOGE(magnitudes, bound)));
  llvm::BasicBlock* by_lanes = llvm::BasicBlock::Create(context, "angles.large", &result_);
  llvm::BasicBlock* together = llvm::BasicBlock::Create(context, "angles.small", &result_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "angles.done", &result_);
  builder_.CreateCondBr(large, by_lanes, together, llvm::MDBuilder(context).createUnlikelyBranchWeights());

  llvm::SmallVector<llvm::CallInst*, 2> calls = {&call};
  if (llvm::CallInst* other = other_function_of_angle(call)) calls.push_back(other);
  llvm::SmallVector<llvm::Value*, 2> from_lanes;
  builder_.SetInsertPoint(by_lanes);
  for (llvm::CallInst* one : calls) {
    DHPVM_TRY(lane_by_lane(*one));
    from_lanes.push_back(values_.vector(one));
  }
  by_lanes = builder_.GetInsertBlock();
  builder_.CreateBr(after);

  llvm::SmallVector<llvm::Value*, 2> at_once;
  builder_.SetInsertPoint(together);
  for (llvm::CallInst* one : calls) {
    const VectorFunction function = vector_function_of(*one, math_function(*one));
    at_once.push_back(call_pieces(*one, function.symbol, function.lanes));
  }
  builder_.CreateBr(after);

  builder_.SetInsertPoint(after);
  for (std::size_t n = 0; n < calls.size(); ++n) {
    llvm::PHINode* result = builder_.CreatePHI(angles->getType(), 2);
    result->addIncoming(from_lanes[n], by_lanes);
    result->addIncoming(at_once[n], together);
    values_.set_vector(calls[n], result);
    angles_done_.insert(calls[n]);
  }
  return {};
}

// The cosine of the same angle in the same block for a sine, and vice versa; null if there is none.
llvm::CallInst* Widener::other_function_of_angle(const llvm::CallInst& call) const {
  const std::string name = math_function(call);
  for (llvm::User* user : call.getArgOperand(0)->users()) {
    auto* const other = llvm::dyn_cast<llvm::CallInst>(user);
    if (other == nullptr || other->getParent() != call.getParent()) continue;
    const std::string other_name = math_function(*other);
    if (other_name == name || !is_wrong_for_large_angles(other_name)) continue;
    if (!angles_done_.contains(other) && !vector_function_of(*other, other_name).symbol.empty()) return other;
  }
  return nullptr;
}

void Widener::call_for_first_lane(llvm::CallInst& call) {
  // needs_lanes guarantees that there is one.
  llvm::Value* bits = builder_.CreateBitCast(mask_, builder_.getIntNTy(width_));
  llvm::Value* lane = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, builder_.getTrue());
  lane = builder_.CreateZExtOrTrunc(lane, builder_.getInt32Ty());
  builder_.Insert(copy_for_lane(call, lane));
}

// `instruction` with its operands of that lane.
llvm::Instruction* Widener::copy_for_lane(const llvm::Instruction& instruction, llvm::Value* lane) {
  llvm::Instruction* copy = copy_of(instruction);
  for (llvm::Use& operand : copy->operands()) {
    if (!llvm::isa<llvm::Argument, llvm::Instruction>(operand)) continue;
    operand = values_.lane(operand, lane, builder_);
  }
  return copy;
}

// Splits the arguments into vectors of `piece` lanes, calls `symbol` for each, and joins the results. With fewer lanes,
// a piece is filled by repeating them.
llvm::Value* Widener::call_pieces(llvm::CallInst& call, const std::string& symbol, unsigned piece) {
  llvm::Type* type = llvm::FixedVectorType::get(call.getType(), piece);
  llvm::SmallVector<llvm::Value*, 2> arguments;
  for (const llvm::Use& argument : call.args()) {
    // The library takes a slow path if any lane's argument, active or not, is out of the common range.
    llvm::Value* vector = values_.vector(argument);
    arguments.push_back(blend(mask_, vector, llvm::ConstantFP::get(vector->getType(), 1.0)));
  }
  const llvm::SmallVector<llvm::Type*, 2> types(arguments.size(), type);
  llvm::FunctionCallee callee =
      result_.getParent()->getOrInsertFunction(symbol, llvm::FunctionType::get(type, types, false));
  if (auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee())) {
    function->setDoesNotAccessMemory();
    function->setDoesNotThrow();
    function->setWillReturn();
  }
  llvm::SmallVector<llvm::Value*, 8> results;
  for (unsigned begin = 0; begin < width_; begin += piece) {
    llvm::SmallVector<int, 16> lanes;
    for (unsigned lane = 0; lane < piece; ++lane) lanes.push_back(static_cast<int>((begin + lane) % width_));
    llvm::SmallVector<llvm::Value*, 2> parts;
    for (llvm::Value* argument : arguments) {
      parts.push_back(piece == width_ ? argument : builder_.CreateShuffleVector(argument, lanes));
    }
    results.push_back(builder_.CreateCall(callee, parts));
  }
  llvm::Value* joined = llvm::concatenateVectors(builder_, results);
  if (piece <= width_) return joined;
  llvm::SmallVector<int, 16> used;
  for (unsigned lane = 0; lane < width_; ++lane) used.push_back(static_cast<int>(lane));
  return builder_.CreateShuffleVector(joined, used);
}

// A loop over the set bits of the mask, whose code size does not depend on the number of lanes. The mask may be empty
// if the instruction has no effect (needs_lanes excludes the others), hence the test before it.
Status Widener::lane_by_lane(llvm::Instruction& instruction) {
  llvm::Type* type = instruction.getType()->isVoidTy() ? nullptr : widen(instruction.getType(), width_);
  if (type == nullptr && !instruction.getType()->isVoidTy()) {
    return unsupported(instruction, "a result of this type has no vector form");
  }
  llvm::LLVMContext& context = builder_.getContext();
  llvm::Type* bits_type = builder_.getIntNTy(width_);
  llvm::Value* all_bits = builder_.CreateBitCast(mask_, bits_type);
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* loop = llvm::BasicBlock::Create(context, "lane", &result_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "lanes.done", &result_);
  llvm::SmallVector<llvm::Value*, 4> vectors;
  builder_.CreateCondBr(any(mask_), loop, after);
  builder_.SetInsertPoint(loop);
  llvm::PHINode* bits = builder_.CreatePHI(bits_type, 2);
  bits->addIncoming(all_bits, before);
  llvm::PHINode* results = type == nullptr ? nullptr : builder_.CreatePHI(type, 2);
  llvm::Value* lane = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, builder_.getTrue());
  lane = builder_.CreateZExtOrTrunc(lane, builder_.getInt32Ty());

  llvm::Instruction* copy = copy_for_lane(instruction, lane);
  builder_.Insert(copy);
  llvm::Value* updated = nullptr;
  if (results != nullptr) {
    updated = llvm::PoisonValue::get(type);
    results->addIncoming(updated, before);
    if (auto* structure = llvm::dyn_cast<llvm::StructType>(type)) {
      updated = results;
      for (unsigned i = 0; i < structure->getNumElements(); ++i) {
        llvm::Value* element = builder_.CreateInsertElement(builder_.CreateExtractValue(results, i),
                                                            builder_.CreateExtractValue(copy, i), lane);
        updated = builder_.CreateInsertValue(updated, element, i);
      }
    } else {
      updated = builder_.CreateInsertElement(results, copy, lane);
    }
    results->addIncoming(updated, loop);
  }
  // Clears its lowest bit.
  llvm::Value* rest =
      builder_.CreateAnd(bits, builder_.CreateSub(bits, llvm::ConstantInt::get(bits_type, 1)));
  bits->addIncoming(rest, loop);
  builder_.CreateCondBr(builder_.CreateIsNotNull(rest), loop, after);

  builder_.SetInsertPoint(after);
  if (results != nullptr) {
    llvm::PHINode* result = builder_.CreatePHI(type, 2);
    result->addIncoming(llvm::PoisonValue::get(type), before);
    result->addIncoming(updated, loop);
    values_.set_vector(&instruction, result);
  }
  return {};
}

}  // namespace dhpvm::codegen::spmd
