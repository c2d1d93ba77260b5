// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/host_compiler.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Support/SourceMgr.h>

#include <cmath>

namespace dhpvm::codegen {
namespace {

std::unique_ptr<HostCompiler> new_compiler() {
  auto compiler = HostCompiler::create("native", std::make_unique<SymbolTable>());
  EXPECT_TRUE(compiler.ok()) << compiler.error().to_string();
  return std::move(compiler).value();
}

IrModule parse(const HostCompiler& compiler, const char* text) {
  IrModule ir = compiler.new_module("test");
  llvm::SMDiagnostic problem;
  EXPECT_FALSE(
      llvm::parseAssemblyInto(llvm::MemoryBufferRef(text, "test"), ir.module.get(), nullptr, problem))
      << problem.getMessage().str();
  return ir;
}

TEST(HostCompiler, CompilesAndCalls) {
  const auto compiler = new_compiler();
  auto code = compiler->compile(parse(*compiler, R"(
    define i64 @add(i64 %a, i64 %b) {
      %c = add i64 %a, %b
      ret i64 %c
    })"),
                                Pipeline::kFunctions);
  ASSERT_TRUE(code.ok()) << code.error().to_string();
  auto* add = code->function<std::int64_t(std::int64_t, std::int64_t)>("add");
  ASSERT_NE(add, nullptr);
  EXPECT_EQ(add(40, 2), 42);
  EXPECT_EQ(code->address("subtract"), nullptr);
}

TEST(HostCompiler, CallsTheRuntimeAndTheMathLibrary) {
  const auto compiler = new_compiler();
  static std::int64_t seen;
  seen = 0;
  const auto record = [](std::int64_t value) { seen = value; };
  void (*const function)(std::int64_t) = record;
  const NamedAddress symbols[] = {{"record", reinterpret_cast<const void*>(function)}};
  auto code = compiler->compile(parse(*compiler, R"(
    declare void @record(i64)
    declare double @sin(double)
    define double @run(double %x) {
      call void @record(i64 7)
      %y = call double @sin(double %x)
      ret double %y
    })"),
                                Pipeline::kFunctions, symbols);
  ASSERT_TRUE(code.ok()) << code.error().to_string();
  EXPECT_EQ(code->function<double(double)>("run")(0.5), std::sin(0.5));
  EXPECT_EQ(seen, 7);
}

TEST(HostCompiler, NamesWhatIsUndefined) {
  const auto compiler = new_compiler();
  auto code = compiler->compile(parse(*compiler, R"(
    declare void @nowhere()
    declare i32 @system(ptr)
    define void @run() {
      call void @nowhere()
      call i32 @system(ptr null)
      ret void
    })"),
                                Pipeline::kFunctions);
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.error().code(), ErrorCode::kLink);
  EXPECT_NE(code.error().message().find("nowhere, system"), std::string::npos) << code.error().message();
}

}  // namespace
}  // namespace dhpvm::codegen
