// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/test_kernel.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "codegen/spmd/equal_turns.h"
#include "codegen/spmd/staging.h"
#include "codegen/spmd/values.h"

namespace dhpvm::codegen::spmd {
namespace {

constexpr unsigned kFixedArguments = 5;

std::vector<llvm::Value*> elements_of(llvm::IRBuilder<>& builder, llvm::Value* value) {
  std::vector<llvm::Value*> elements;
  if (value->getType()->isVoidTy()) return elements;
  if (auto* structure = llvm::dyn_cast<llvm::StructType>(value->getType())) {
    for (unsigned i = 0; i < structure->getNumElements(); ++i)
      elements.push_back(builder.CreateExtractValue(value, i));
  } else {
    elements.push_back(value);
  }
  return elements;
}

llvm::Type* as_words(llvm::Type* type) {
  return type->getWithNewType(llvm::Type::getInt64Ty(type->getContext()));
}

// Converts between `value` and 64-bit words, one for each lane.
llvm::Value* to_words(llvm::IRBuilder<>& builder, llvm::Value* value) {
  llvm::Type* type = value->getType();
  if (type->isPtrOrPtrVectorTy()) return builder.CreatePtrToInt(value, as_words(type));
  if (type->isFPOrFPVectorTy()) {
    llvm::Type* integers = builder.getIntNTy(type->getScalarSizeInBits());
    value = builder.CreateBitCast(value, type->getWithNewType(integers));
  }
  return builder.CreateZExt(value, as_words(type));
}

llvm::Value* from_words(llvm::IRBuilder<>& builder, llvm::Value* words, llvm::Type* type) {
  if (type->isPtrOrPtrVectorTy()) return builder.CreateIntToPtr(words, type);
  llvm::Type* integers = type->getWithNewType(builder.getIntNTy(type->getScalarSizeInBits()));
  return builder.CreateBitCast(builder.CreateTrunc(words, integers), type);
}

// A function of the type TestKernel::Run around `callee`.
llvm::Function* declare_runner(llvm::Module& module, const char* name) {
  llvm::Type* i64 = llvm::Type::getInt64Ty(module.getContext());
  llvm::Type* ptr = llvm::PointerType::getUnqual(module.getContext());
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()),
                                       {i64, ptr, ptr, ptr, i64, ptr, i64}, false);
  return llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
}

// Calls `callee` for one iteration, or for all of a vector, and stores its result.
void call_once(llvm::IRBuilder<>& builder, llvm::Function& runner, llvm::Function& callee, llvm::Value* index,
               llvm::Value* lane, unsigned width, bool tail) {
  std::vector<llvm::Value*> arguments{index};
  for (unsigned i = 1; i < kFixedArguments; ++i) arguments.push_back(runner.getArg(i));
  const auto address = [&](llvm::Value* base, unsigned number) {
    base = builder.CreateGEP(builder.getInt64Ty(), base, builder.getInt64(width * number));
    return builder.CreateGEP(builder.getInt64Ty(), base, lane);
  };
  const auto own = static_cast<unsigned>(callee.arg_size()) - (tail ? 1 : 0);
  for (unsigned i = kFixedArguments; i < own; ++i) {
    llvm::Type* type = callee.getArg(i)->getType();
    llvm::Value* from = address(runner.getArg(3), i - kFixedArguments);
    arguments.push_back(
        from_words(builder, builder.CreateAlignedLoad(as_words(type), from, llvm::Align(8)), type));
  }
  if (tail) arguments.push_back(runner.getArg(6));
  unsigned number = 0;
  for (llvm::Value* element : elements_of(builder, builder.CreateCall(&callee, arguments))) {
    builder.CreateAlignedStore(to_words(builder, element), address(runner.getArg(5), number++),
                               llvm::Align(8));
  }
}

void make_scalar_runner(llvm::Module& module, llvm::Function& body, unsigned width) {
  llvm::Function* runner = declare_runner(module, "run_scalar");
  llvm::LLVMContext& context = module.getContext();
  llvm::BasicBlock* entry = llvm::BasicBlock::Create(context, "entry", runner);
  llvm::BasicBlock* loop = llvm::BasicBlock::Create(context, "loop", runner);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(context, "done", runner);
  llvm::IRBuilder<> builder(entry);
  builder.CreateBr(loop);
  builder.SetInsertPoint(loop);
  llvm::PHINode* lane = builder.CreatePHI(builder.getInt64Ty(), 2);
  lane->addIncoming(builder.getInt64(0), entry);
  call_once(builder, *runner, body, builder.CreateAdd(runner->getArg(0), lane), lane, width, false);
  llvm::Value* next = builder.CreateAdd(lane, builder.getInt64(1));
  lane->addIncoming(next, loop);
  builder.CreateCondBr(builder.CreateICmpULT(next, runner->getArg(6)), loop, done);
  llvm::ReturnInst::Create(context, done);
}

void make_vector_runner(llvm::Module& module, llvm::Function& body, const char* name, unsigned width,
                        bool tail) {
  llvm::Function* runner = declare_runner(module, name);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(module.getContext(), "entry", runner));
  call_once(builder, *runner, body, runner->getArg(0), builder.getInt64(0), width, tail);
  builder.CreateRetVoid();
}

}  // namespace

HostCompiler& test_compiler() {
  static const std::unique_ptr<HostCompiler> compiler = [] {
    auto made = HostCompiler::create("native", std::make_unique<SymbolTable>());
    return made.ok() ? std::move(made).value() : nullptr;
  }();
  return *compiler;
}

Result<TestKernel> TestKernel::create(const std::string& text, unsigned width, unsigned vector_bits) {
  IrModule ir = test_compiler().new_module("test");
  llvm::SMDiagnostic problem;
  if (llvm::parseAssemblyInto(llvm::MemoryBufferRef(text, "test"), ir.module.get(), nullptr, problem)) {
    return error(ErrorCode::kMalformed, "line {}: {}", problem.getLineNo(), problem.getMessage().str());
  }
  llvm::Function* body = ir.module->getFunction("body");
  // The reference is the unprepared function.
  llvm::ValueToValueMapTy values;
  llvm::Function* reference = llvm::CloneFunction(body, values);
  body->setLinkage(llvm::GlobalValue::InternalLinkage);

  SpmdOptions options;
  options.width = width;
  options.vector_bits = std::min(vector_bits, test_compiler().target().vector_bits());
  options.args = {ArgShape::kLaneIndex, ArgShape::kUniform, ArgShape::kUniform, ArgShape::kUniform,
                  ArgShape::kUniform};
  options.args.resize(body->arg_size(), ArgShape::kVarying);
  DHPVM_TRY(prepare(*body, options.args));
  split_equal_turns(*body, options.args);
  stage_operands(*body, {.spmd = options});
  auto symbols = std::make_shared<SymbolTable>();
  options.has_symbol = [symbols](std::string_view name) { return symbols->find(name) != nullptr; };
  DHPVM_ASSIGN(llvm::Function * full, vectorize(*body, options));
  options.tail = true;
  DHPVM_ASSIGN(llvm::Function * tail, vectorize(*body, options));
  std::string vector_text;
  llvm::raw_string_ostream(vector_text) << *full;
  make_scalar_runner(*ir.module, *reference, width);
  make_vector_runner(*ir.module, *full, "run_full", width, false);
  make_vector_runner(*ir.module, *tail, "run_tail", width, true);
  DHPVM_ASSIGN(LoadedCode code, test_compiler().compile(std::move(ir), Pipeline::kKernels));
  return TestKernel(std::move(code), width, std::move(vector_text));
}

void TestKernel::run(const char* name, TestData& data, std::int64_t begin, std::int64_t n,
                     std::int64_t active) const {
  code_.function<Run>(name)(begin, data.arrays[0].data(), data.arrays[1].data(), data.arrays[2].data(), n,
                            data.results.data(), active);
}

void TestKernel::run_scalar(TestData& data, std::int64_t begin, std::int64_t n, unsigned count) const {
  run("run_scalar", data, begin, n, count);
}

void TestKernel::run_full(TestData& data, std::int64_t begin, std::int64_t n) const {
  run("run_full", data, begin, n, width_);
}

void TestKernel::run_tail(TestData& data, std::int64_t begin, std::int64_t n, unsigned active) const {
  run("run_tail", data, begin, n, active);
}

}  // namespace dhpvm::codegen::spmd
