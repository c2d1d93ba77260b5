// SPDX-License-Identifier: Apache-2.0
// The functions between compiled bodies and the virtual machine: entries for the interpreter, and stubs for functions
// that are not compiled (yet).
#include "bytecode/loop_tree.h"
#include "codegen/lower/function_lowering.h"

namespace dhpvm::codegen {

using bytecode::ValueType;
using llvm::BasicBlock;
using llvm::Value;

namespace {

// Converts between typed values and the windows of registers that the interpreter and the virtual machine
// use.
class WindowAccess {
 public:
  WindowAccess(llvm::IRBuilder<>& builder, Value* p, Value* r) : b_(builder), p_(p), r_(r) {}

  void put(const ValueType& type, Value* value) {
    if (type.is_ref()) {
      b_.CreateStore(value, next_reference());
      return;
    }
    if (value->getType()->isFloatTy()) value = b_.CreateBitCast(value, b_.getInt32Ty());
    if (value->getType()->isDoubleTy()) value = b_.CreateBitCast(value, b_.getInt64Ty());
    b_.CreateStore(b_.CreateZExt(value, b_.getInt64Ty()), next_primitive());
  }

  Value* take(const ValueType& type) {
    if (type.is_ref()) return b_.CreateLoad(b_.getPtrTy(), next_reference());
    Value* const bits = b_.CreateLoad(b_.getInt64Ty(), next_primitive());
    switch (slot_type(type.kind)) {
      case SlotType::kI32: return b_.CreateTrunc(bits, b_.getInt32Ty());
      case SlotType::kF32: return b_.CreateBitCast(b_.CreateTrunc(bits, b_.getInt32Ty()), b_.getFloatTy());
      case SlotType::kF64: return b_.CreateBitCast(bits, b_.getDoubleTy());
      default: return bits;
    }
  }

 private:
  Value* next_primitive() { return b_.CreateConstInBoundsGEP1_32(b_.getInt64Ty(), p_, primitives_++); }
  Value* next_reference() { return b_.CreateConstInBoundsGEP1_32(b_.getPtrTy(), r_, references_++); }

  llvm::IRBuilder<>& b_;
  Value* p_;
  Value* r_;
  unsigned primitives_ = 0;
  unsigned references_ = 0;
};

constexpr unsigned kFirstParameter = 4;

// The rest of a function with the interface of a body: makes the call through windows, by `call`.
void call_through_windows(Unit& unit, std::uint32_t callee, llvm::Function& function, llvm::IRBuilder<>& b,
                          RuntimeCall call) {
  const bytecode::Signature& signature = unit.bytecode.functions[callee].signature;
  Value* const state = function.getArg(0);
  Value* const r = function.getArg(1);
  Value* const p = b.CreateLoad(
      b.getPtrTy(), b.CreateInBoundsGEP(b.getInt8Ty(), state, b.getInt64(unit.layout.state.primitives)));
  WindowAccess arguments(b, p, r);
  unsigned argument = kFirstParameter;
  for (const ValueType& parameter : signature.parameters)
    arguments.put(parameter, function.getArg(argument++));
  // Slots for results are roots as well.
  for (std::uint32_t n = split(signature.parameters).references; n < split(signature.results).references;
       ++n) {
    b.CreateStore(llvm::ConstantPointerNull::get(b.getPtrTy()),
                  b.CreateConstInBoundsGEP1_32(b.getPtrTy(), r, n));
  }
  Value* const ticks = call_runtime(b, unit.module, call,
                                    {state, r, function.getArg(2), function.getArg(3), b.getInt32(callee)});
  Value* value = b.CreateInsertValue(llvm::PoisonValue::get(function.getReturnType()), ticks, 0);
  BasicBlock* const trapped = BasicBlock::Create(b.getContext(), "trapped", &function);
  BasicBlock* const returned = BasicBlock::Create(b.getContext(), "returned", &function);
  b.CreateCondBr(b.CreateICmpSLT(ticks, b.getInt64(0)), trapped, returned);
  b.SetInsertPoint(trapped);
  b.CreateRet(value);
  b.SetInsertPoint(returned);
  WindowAccess results(b, p, r);
  unsigned position = 1;
  for (const ValueType& result : signature.results) {
    value = b.CreateInsertValue(value, results.take(result), position++);
  }
  b.CreateRet(value);
}

llvm::Function* make_function(Unit& unit, std::uint32_t callee, const char* prefix) {
  llvm::Function* const function = llvm::Function::Create(
      unit.body_type(callee), llvm::GlobalValue::InternalLinkage, Unit::symbol(prefix, callee), unit.module);
  function->setCallingConv(kBodyConvention);
  function->setDoesNotThrow();
  return function;
}

}  // namespace

llvm::Function* Unit::interpreted(std::uint32_t function) {
  llvm::Function*& interpreted = interpreted_[function];
  if (interpreted == nullptr) {
    interpreted = make_function(*this, function, "interpret");
    interpreted->addFnAttr(llvm::Attribute::Cold);
    interpreted->addFnAttr(llvm::Attribute::NoInline);
    llvm::IRBuilder<> b(BasicBlock::Create(module.getContext(), "entry", interpreted));
    call_through_windows(*this, function, *interpreted, b, RuntimeCall::kInterpret);
  }
  return interpreted;
}

llvm::Function* Unit::callee(std::uint32_t function) {
  const auto body = bodies_.find(function);
  if (body != bodies_.end()) return body->second;
  llvm::Function*& stub = stubs_[function];
  if (stub != nullptr) return stub;
  stub = make_function(*this, function, "stub");
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> b(BasicBlock::Create(context, "entry", stub));
  Value* const table = b.CreateLoad(
      b.getPtrTy(), b.CreateInBoundsGEP(b.getInt8Ty(), stub->getArg(0), b.getInt64(layout.state.functions)));
  Value* const compiled =
      b.CreateLoad(b.getPtrTy(), b.CreateConstInBoundsGEP1_64(b.getPtrTy(), table, function));
  BasicBlock* const found = BasicBlock::Create(context, "compiled", stub);
  BasicBlock* const missing = BasicBlock::Create(context, "not.compiled", stub);
  b.CreateCondBr(b.CreateIsNotNull(compiled), found, missing);
  b.SetInsertPoint(found);
  llvm::SmallVector<Value*> arguments;
  for (llvm::Argument& argument : stub->args()) arguments.push_back(&argument);
  llvm::CallInst* const call = b.CreateCall(body_type(function), compiled, arguments);
  call->setCallingConv(kBodyConvention);
  call->setTailCall();
  b.CreateRet(call);
  b.SetInsertPoint(missing);
  call_through_windows(*this, function, *stub, b, RuntimeCall::kCall);
  return stub;
}

namespace {

// An EnterFunction, or a function with additional parameters.
llvm::Function* make_entry(Unit& unit, const std::string& name,
                           llvm::GlobalValue::LinkageTypes linkage = llvm::GlobalValue::ExternalLinkage,
                           llvm::ArrayRef<llvm::Type*> more = {}) {
  llvm::LLVMContext& context = unit.module.getContext();
  llvm::Type* const pointer = llvm::PointerType::getUnqual(context);
  llvm::Type* const i64 = llvm::Type::getInt64Ty(context);
  llvm::SmallVector<llvm::Type*> parameters = {pointer, pointer, pointer, i64, i64, pointer};
  parameters.append(more.begin(), more.end());
  llvm::Function* const function =
      llvm::Function::Create(llvm::FunctionType::get(i64, parameters, false), linkage, name, unit.module);
  function->setDoesNotThrow();
  function->addParamAttr(0, llvm::Attribute::NoAlias);
  return function;
}

}  // namespace

void lower_function(Unit& unit, std::uint32_t function) {
  llvm::Function* const body = unit.callee(function);
  llvm::IRBuilder<> builder(unit.module.getContext());
  FunctionLowering(unit, function, builder, *body, FunctionLowering::Form::kBody).run_body();

  llvm::Function* const entry = make_entry(unit, Unit::symbol("enter", function));
  llvm::IRBuilder<> b(BasicBlock::Create(unit.module.getContext(), "entry", entry));
  const bytecode::Signature& signature = unit.bytecode.functions[function].signature;
  WindowAccess window(b, entry->getArg(1), entry->getArg(2));
  llvm::SmallVector<Value*> arguments = {entry->getArg(0), entry->getArg(2), entry->getArg(3),
                                         entry->getArg(4)};
  for (const ValueType& parameter : signature.parameters) arguments.push_back(window.take(parameter));
  llvm::CallInst* const call = b.CreateCall(body, arguments);
  call->setCallingConv(kBodyConvention);
  // Only the interpreter calls entries, so the body is not inlined.
  call->setIsNoInline();
  Value* const ticks = b.CreateExtractValue(call, 0);
  BasicBlock* const done = BasicBlock::Create(b.getContext(), "done", entry);
  BasicBlock* const results = BasicBlock::Create(b.getContext(), "results", entry);
  b.CreateCondBr(b.CreateICmpSLT(ticks, b.getInt64(0)), done, results);
  b.SetInsertPoint(results);
  WindowAccess out(b, entry->getArg(1), entry->getArg(2));
  unsigned position = 1;
  for (const ValueType& result : signature.results) out.put(result, b.CreateExtractValue(call, position++));
  b.CreateBr(done);
  b.SetInsertPoint(done);
  b.CreateRet(ticks);
}

void lower_continuations(Unit& unit, std::uint32_t function) {
  const Flow flow(unit.bytecode, unit.bytecode.functions[function], LoopSearch::kNone,
                  unit.seen_calls(function));
  const bytecode::LoopTree loops(flow.blocks());
  llvm::LLVMContext& context = unit.module.getContext();
  for (const std::uint32_t loop : loops.outermost()) {
    const auto begin = [&](std::uint32_t header) {
      return "." + std::to_string(unit.seen_calls(function).original(flow.blocks()[header].begin));
    };
    llvm::Function* const code =
        make_entry(unit, Unit::symbol("loop", function) + begin(loop), llvm::GlobalValue::InternalLinkage,
                   {llvm::Type::getInt32Ty(context)});
    llvm::IRBuilder<> builder(context);
    FunctionLowering(unit, function, builder, *code, loop).run_continuation();
    std::vector<std::uint32_t> headers = loops.inside(loop);
    headers.push_back(loop);
    // All entries share one copy.
    if (headers.size() > 1) code->addFnAttr(llvm::Attribute::NoInline);
    for (const std::uint32_t header : headers) {
      llvm::Function* const entry = make_entry(unit, Unit::symbol("continue", function) + begin(header));
      llvm::IRBuilder<> b(BasicBlock::Create(context, "entry", entry));
      llvm::SmallVector<Value*> arguments;
      for (llvm::Argument& argument : entry->args()) arguments.push_back(&argument);
      arguments.push_back(b.getInt32(header));
      b.CreateRet(b.CreateCall(code, arguments));
    }
  }
}

}  // namespace dhpvm::codegen
