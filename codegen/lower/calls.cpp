// SPDX-License-Identifier: Apache-2.0
// Calls of functions, methods, natives and parallel loops.
#include <algorithm>
#include <map>

#include "codegen/cached/code_keys.h"
#include "codegen/lower/function_lowering.h"
#include "codegen/lower/loop_in_place.h"
#include "codegen/lower/rare_blocks.h"

namespace dhpvm::codegen {

using bytecode::Family;
using bytecode::ValueType;
using llvm::BasicBlock;

namespace {

// An interface with more classes dispatches through a table.
constexpr std::size_t kMaximumTargets = 8;

}  // namespace

// ---- Compiled functions calling each other
// -----------------------------------------------------------------------

// The caller checks the stack limit and pays the tick, as in the interpreter; a trap belongs to it. Returns the
// results.
std::vector<Lowering::Value*> FunctionLowering::call_function(const Instruction& i, std::uint32_t callee,
                                                              Value* r) {
  // The remainder is never negative. An inlined callee needs the difference only on rare paths.
  guard(has_room_for(callee), i, TrapKind::kStackOverflow);
  Value* const left = b_.CreateSub(frame_.left, ir_.constant(unit_.facts[callee].stack_cost));
  tick(i, nullptr);
  llvm::SmallVector<Value*> arguments = {frame_.state, r, frame_.ticks(), left};
  std::uint32_t p_register = i.a;
  std::uint32_t r_register = i.b;
  const bytecode::Signature& signature = module_.functions[callee].signature;
  for (const ValueType& parameter : signature.parameters) {
    arguments.push_back(parameter.is_ref() ? registers_.get_reference(r_register++)
                                           : registers_.get(p_register++, slot_type(parameter.kind)));
  }
  Value* const call = call_body(callee, arguments);
  Value* const ticks_left = b_.CreateExtractValue(call, 0);
  BasicBlock* const trapped = ir_.new_block("callee.trapped");
  BasicBlock* const returned = ir_.new_block("returned");
  ir_.branch_cold(b_.CreateICmpSLT(ticks_left, ir_.constant(0)), trapped, returned);
  b_.SetInsertPoint(trapped);
  call_runtime(b_, unit_.module, RuntimeCall::kUnwind, {frame_.state, frame_.site(i)});
  frame_.leave();
  b_.SetInsertPoint(returned);
  b_.CreateStore(ticks_left, frame_.ticks_slot);
  std::vector<Value*> results;
  for (unsigned n = 0; n < signature.results.size(); ++n)
    results.push_back(b_.CreateExtractValue(call, n + 1));
  return results;
}

// If the machine's stack is exhausted, the interpreter takes over, which needs none. The caller checks, so that leaf
// functions and early returns need not.
Lowering::Value* FunctionLowering::call_body(std::uint32_t callee, llvm::ArrayRef<Value*> arguments) {
  const bool is_rare = flow_.rare().contains(block_);
  const auto call = [&](llvm::Function* function) {
    llvm::CallInst* const call = b_.CreateCall(function, arguments);
    call->setCallingConv(function->getCallingConv());
    if (is_rare) {
      call->setIsNoInline();
      call->addFnAttr(llvm::Attribute::Cold);
    }
    return call;
  };
  if (!is_rare && callee == index_ && form_ == Form::kBody && unit_.has_copy(callee))
    return call(unit_.copy(callee));
  if (unit_.takes_little_stack(callee)) return call(unit_.callee(callee));
  BasicBlock* room = nullptr;
  BasicBlock* const cold = ir_.likely(frame_.stack_has_room(), room);
  BasicBlock* const called = ir_.new_block("called");
  Value* const compiled = call(unit_.callee(callee));
  b_.CreateBr(called);
  b_.SetInsertPoint(cold);
  Value* const interpreted = call(unit_.interpreted(callee));
  b_.CreateBr(called);
  b_.SetInsertPoint(called);
  llvm::PHINode* const result = b_.CreatePHI(compiled->getType(), 2);
  result->addIncoming(compiled, room);
  result->addIncoming(interpreted, cold);
  return result;
}

void FunctionLowering::set_results(const Instruction& i, const std::vector<ValueType>& types,
                                   const std::vector<Value*>& values) {
  std::uint32_t p = i.a;
  std::uint32_t r = i.b;
  for (std::size_t n = 0; n < types.size(); ++n) {
    if (types[n].is_ref()) {
      registers_.set_reference(r++, values[n]);
    } else {
      registers_.set(p++, values[n]);
    }
  }
}

void FunctionLowering::lower_call(const Instruction& i) {
  Value* const r = frame_.mirror(i);
  set_results(i, module_.functions[i.c].signature.results, call_function(i, i.c, r));
}

// ---- Interfaces
// --------------------------------------------------------------------------------------------------

// The classes of a module are fixed, so all implementations of an interface are known: each gets a direct call, which
// LLVM may inline.
void FunctionLowering::lower_call_interface(const Instruction& i) {
  Value* const receiver = registers_.get_reference(i.b);
  null_check(i, receiver);
  Value* const r = frame_.mirror(i);
  const std::vector<ValueType>& types = called_signature(module_, i).results;
  std::map<std::uint32_t, std::vector<std::uint32_t>> classes;  // by function
  for (const std::uint32_t type : implementers(module_, i.type())) {
    const auto& implementations = module_.types[type].implementations;
    const auto found = std::ranges::find(implementations, i.type(), &bytecode::Implementation::interface);
    classes[found->functions[i.c]].push_back(type);
  }
  if (classes.empty() || classes.size() > kMaximumTargets) {
    set_results(i, types, call_method(i, r));
    return;
  }
  if (classes.size() == 1) {
    set_results(i, types, call_function(i, classes.begin()->first, r));
    return;
  }
  // The branches store their results in allocas, which SROA turns into phis.
  std::vector<llvm::AllocaInst*> slots;
  for (const ValueType& type : types) {
    slots.push_back(
        ir_.entry_alloca(type.is_ref() ? b_.getPtrTy() : ir_.llvm_type(slot_type(type.kind)), "result"));
  }
  BasicBlock* const join = ir_.new_block("method.done");
  BasicBlock* const nowhere = ir_.new_block("no.such.class");
  llvm::SwitchInst* const dispatch = b_.CreateSwitch(type_of(receiver), nowhere);
  for (const auto& [function, implementers] : classes) {
    BasicBlock* const arm = ir_.new_block("method");
    for (const std::uint32_t type : implementers) dispatch->addCase(b_.getInt32(type), arm);
    b_.SetInsertPoint(arm);
    const std::vector<Value*> results = call_function(i, function, r);
    for (std::size_t n = 0; n < slots.size(); ++n) b_.CreateStore(results[n], slots[n]);
    b_.CreateBr(join);
  }
  b_.SetInsertPoint(nowhere);
  b_.CreateUnreachable();  // the verifier has proved that the receiver implements the interface
  b_.SetInsertPoint(join);
  std::vector<Value*> results;
  for (llvm::AllocaInst* slot : slots) results.push_back(b_.CreateLoad(slot->getAllocatedType(), slot));
  set_results(i, types, results);
}

std::vector<Lowering::Value*> FunctionLowering::call_method(const Instruction& i, Value* r) {
  const bytecode::Signature& signature = called_signature(module_, i);
  const Split in = split(signature.parameters);
  const Windows windows =
      store_windows(i, in.primitives, in.references + 1, split(signature.results).references, r);
  Value* const ticks_left = call_runtime(b_, unit_.module, RuntimeCall::kCallMethod,
                                         {frame_.state, r, frame_.ticks(), frame_.left, frame_.site(i),
                                          b_.getInt32(i.type()), b_.getInt32(i.c)});
  frame_.leave_if_trapped(ticks_left);
  return load_windows(windows, signature.results);
}

// ---- Calls that take their arguments in windows
// -------------------------------------------------------------------------

// Copies the arguments to the first free registers. Reference slots for results are null, because they are roots.
FunctionLowering::Windows FunctionLowering::store_windows(const Instruction& i, std::uint32_t primitives,
                                                          std::uint32_t references,
                                                          std::uint32_t result_references, Value* r) {
  const Windows windows = {frame_.state_field(unit_.layout.state.primitives, Access::kContext), r};
  for (std::uint32_t n = 0; n < primitives; ++n) {
    ir_.store(registers_.get_bits(i.a + n), b_.CreateConstInBoundsGEP1_32(b_.getInt64Ty(), windows.p, n),
              {Access::kWindow});
  }
  for (std::uint32_t n = 0; n < std::max(references, result_references); ++n) {
    Value* const value =
        n < references ? registers_.get_reference(i.b + n) : llvm::ConstantPointerNull::get(b_.getPtrTy());
    ir_.store(value, frame_.reference_place(windows.r, n), {Access::kMirror});
  }
  return windows;
}

std::vector<Lowering::Value*> FunctionLowering::load_windows(const Windows& windows,
                                                             const std::vector<ValueType>& types) {
  std::vector<Value*> values;
  std::uint32_t p = 0;
  std::uint32_t r = 0;
  for (const ValueType& type : types) {
    if (type.is_ref()) {
      values.push_back(ir_.load(b_.getPtrTy(), frame_.reference_place(windows.r, r++), {Access::kMirror}));
    } else {
      Value* const address = b_.CreateConstInBoundsGEP1_32(b_.getInt64Ty(), windows.p, p++);
      values.push_back(
          ir_.from_bits(ir_.load(b_.getInt64Ty(), address, {Access::kWindow}), slot_type(type.kind)));
    }
  }
  return values;
}

void FunctionLowering::lower_call_native(const Instruction& i) {
  Value* const r = frame_.mirror(i);
  tick(i, nullptr);
  const bytecode::Signature& signature = module_.imports[i.c].signature;
  const Split in = split(signature.parameters);
  const Windows windows =
      store_windows(i, in.primitives, in.references, split(signature.results).references, r);
  frame_.leave_if_trapped(
      call_runtime(b_, unit_.module, RuntimeCall::kCallNative,
                   {frame_.state, r, frame_.ticks(), frame_.left, frame_.site(i), b_.getInt32(i.c)}));
  set_results(i, signature.results, load_windows(windows, signature.results));
}

void FunctionLowering::lower_parallel_for(const Instruction& i) {
  BasicBlock* const over = ir_.new_block("loop.over");
  frame_.mirror_ahead(i);
  BasicBlock* behind_in_place = nullptr;
  std::vector<Value*> results_in_place;
  if (std::optional<LoopInPlace> in_place = LoopInPlace::find(unit_, *this, frame_, i)) {
    BasicBlock* const otherwise = ir_.new_block("loop");
    results_in_place = in_place->emit(otherwise);
    behind_in_place = b_.GetInsertBlock();
    b_.SetInsertPoint(otherwise);
  }
  Value* const r = frame_.mirror_in_slow_path(i);
  const bytecode::KernelRecord& kernel = module_.kernels[i.c];
  const bytecode::Signature& signature = module_.functions[kernel.function].signature;
  // The window has both bounds of each dimension where the kernel has an index.
  const Split in = split(signature.parameters);
  const Windows windows = store_windows(i, in.primitives + kernel.dimensions, in.references, 0, r);
  frame_.leave_if_trapped(
      call_runtime(b_, unit_.module, RuntimeCall::kParallelFor,
                   {frame_.state, r, frame_.ticks(), frame_.left, frame_.site(i), b_.getInt32(i.c)}));
  set_results(i, signature.results, load_windows(windows, signature.results));
  b_.CreateBr(over);
  // Both paths write the same registers, whose types may have differed so far.
  if (behind_in_place != nullptr) {
    b_.SetInsertPoint(behind_in_place);
    set_results(i, signature.results, results_in_place);
    b_.CreateBr(over);
  }
  b_.SetInsertPoint(over);
}

// ---- The functions of a module
// -----------------------------------------------------------------------------------

std::string Unit::symbol(const char* prefix, std::uint32_t function) {
  return function_symbol(prefix, function);
}

llvm::FunctionType* Unit::body_type(std::uint32_t function) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* const i64 = llvm::Type::getInt64Ty(context);
  llvm::Type* const pointer = llvm::PointerType::getUnqual(context);
  const auto type_of = [&](const ValueType& type) -> llvm::Type* {
    if (type.is_ref()) return pointer;
    switch (slot_type(type.kind)) {
      case SlotType::kI32: return llvm::Type::getInt32Ty(context);
      case SlotType::kF32: return llvm::Type::getFloatTy(context);
      case SlotType::kF64: return llvm::Type::getDoubleTy(context);
      default: return i64;
    }
  };
  const bytecode::Signature& signature = bytecode.functions[function].signature;
  std::vector<llvm::Type*> parameters = {pointer, pointer, i64, i64};
  for (const ValueType& parameter : signature.parameters) parameters.push_back(type_of(parameter));
  std::vector<llvm::Type*> results = {i64};
  for (const ValueType& result : signature.results) results.push_back(type_of(result));
  return llvm::FunctionType::get(llvm::StructType::get(context, results), parameters, false);
}

std::uint32_t Unit::usual_words(std::uint32_t function) {
  const auto [place, is_new] = usual_words_.try_emplace(function);
  if (is_new)
    place->second = codegen::usual_words(bytecode, bytecode.functions[function], seen_calls(function));
  return place->second;
}

bool Unit::has_copy(std::uint32_t function) {
  // The number of words outside rare blocks up to which a recursive call is inlined.
  constexpr std::uint32_t kMaximumWords = 80;
  return usual_words(function) <= kMaximumWords;
}

bool Unit::takes_little_stack(std::uint32_t function) {
  // A sixteenth of the stack that the virtual machine reserves for functions without a check (vm/compiled.cpp).
  constexpr std::uint64_t kLittle = std::uint64_t{16} << 10;
  constexpr unsigned kLevels = 4;  // of calls; limits the search
  return stack_use(function, kLevels) <= kLittle;
}

// An upper bound of the machine's stack used by the function and its callees: all local arrays and registers, and a
// slot for the value of each word of code. kUnbounded if there is none, or calls are nested deeper than `levels`.
std::uint64_t Unit::stack_use(std::uint32_t function, unsigned levels) {
  constexpr std::uint64_t kUnbounded = ~std::uint64_t{0};
  if (levels == 0) return kUnbounded;
  const auto [place, is_new] = stack_use_.try_emplace({function, levels});
  if (!is_new) return place->second;
  const bytecode::Function& code = bytecode.functions[function];
  std::uint64_t below = 0;
  for (std::uint32_t pc = 0; pc < code.code_size && below != kUnbounded;) {
    const Instruction i = decode(bytecode, code, pc);
    // Natives and parallel loops run on the reserved stack, wherever they are called.
    if (i.row->family == Family::kCall) below = std::max(below, stack_use(i.c, levels - 1));
    if (i.row->family == Family::kCallInterface) below = kUnbounded;
    pc = i.next();
  }
  const std::uint64_t own = std::uint64_t{facts[function].stack_cost} + 8 * std::uint64_t{code.code_size};
  place->second = below == kUnbounded ? kUnbounded : own + below;
  return place->second;
}

llvm::Function* Unit::copy(std::uint32_t function) {
  llvm::Function*& copy = copies_[function];
  if (copy == nullptr) {
    copy = llvm::Function::Create(body_type(function), llvm::GlobalValue::InternalLinkage,
                                  symbol("copy", function), module);
    copy->setCallingConv(kBodyConvention);
    copy->setDoesNotThrow();
    copy->addFnAttr(llvm::Attribute::AlwaysInline);
    llvm::IRBuilder<> builder(module.getContext());
    FunctionLowering(*this, function, builder, *copy, FunctionLowering::Form::kCopy).run_body();
  }
  return copy;
}

namespace {

// Attributes of all bodies and stubs.
void set_up(llvm::Function& function) {
  function.setCallingConv(kBodyConvention);
  function.setDoesNotThrow();
  // Not `noalias`: inlining would create scopes that differ between calls, and GVN drops all alias metadata of accesses
  // whose scopes differ. TBAA separates the machine's state from objects.
  function.addParamAttr(0, llvm::Attribute::NonNull);
  function.addParamAttr(1, llvm::Attribute::NonNull);
}

}  // namespace

void Unit::declare(std::uint32_t function) {
  // A call costs its arguments, the stack check, a tick and the test for a trap, so small functions are worth inlining.
  // LLVM would count their traps, slow paths and rare blocks as if they were frequent.
  constexpr std::uint32_t kShortWords = 48;
  constexpr std::uint32_t kShortThreshold = 800;
  constexpr std::uint32_t kUsualThreshold = 225;  // LLVM's own
  constexpr std::uint32_t kForRareWord = 30;
  llvm::Function* const body = llvm::Function::Create(body_type(function), llvm::GlobalValue::ExternalLinkage,
                                                      symbol("body", function), module);
  set_up(*body);
  const std::uint32_t usual = usual_words(function);
  const std::uint32_t threshold = (usual <= kShortWords ? kShortThreshold : kUsualThreshold) +
                                  kForRareWord * (bytecode.functions[function].code_size - usual);
  body->addFnAttr("function-inline-threshold", std::to_string(threshold));
  body->setDSOLocal(true);
  bodies_[function] = body;
}

}  // namespace dhpvm::codegen
