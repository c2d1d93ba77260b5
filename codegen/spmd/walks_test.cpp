// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/walks.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <string>

#include "codegen/spmd/test_kernel.h"

namespace dhpvm::codegen::spmd {
namespace {

// Rows of `turn`, a loop over %j from 0 to %n with the row of iteration %i at %row, and then `after`.
bool walks(const std::string& turn, std::string_view carried = "", const std::string& after = "") {
  const std::string text = R"(
    declare float @expf(float)
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
    entry:
      %begin = mul i64 %i, %n
      %row = getelementptr float, ptr %a, i64 %begin
      br label %loop
    loop:
      %j = phi i64 [ 0, %entry ], [ %next, %loop ]
      )" + std::string(carried) +
                           R"(
      %p = getelementptr float, ptr %row, i64 %j
      %x = load float, ptr %p
      )" + turn + R"(
      %next = add i64 %j, 1
      %again = icmp slt i64 %next, %n
      br i1 %again, label %loop, label %done
    done:
      )" + after + R"(
      ret i32 0
    })";
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssembly(llvm::MemoryBufferRef(text, "rows"), problem, context);
  EXPECT_NE(module, nullptr) << problem.getMessage().str();
  if (module == nullptr) return false;
  llvm::Function& body = *module->getFunction("body");
  const std::vector<ArgShape> args = {ArgShape::kLaneIndex, ArgShape::kUniform, ArgShape::kUniform,
                                      ArgShape::kUniform, ArgShape::kUniform};
  EXPECT_TRUE(prepare(body, args).ok());
  return walks_rows(body, args);
}

TEST(Walks, RowsThatAreScaled) {
  EXPECT_TRUE(walks(R"(
      %y = fmul float %x, 2.0
      store float %y, ptr %p)"));
}

TEST(Walks, NotWhereElementsWaitForEachOther) {
  EXPECT_FALSE(walks(R"(
      %y = fadd float %sum, %x
      store float %y, ptr %p)",
                     "%sum = phi float [ 0.0, %entry ], [ %y, %loop ]"));
}

TEST(Walks, SumsInAnyOrder) {
  const char* const sum = "%sum = phi float [ 0.0, %entry ], [ %y, %loop ]";
  const std::string kept = "store float %y, ptr %b";
  EXPECT_TRUE(walks("%y = fadd reassoc float %sum, %x", sum, kept));
  EXPECT_FALSE(walks("%y = fadd float %sum, %x", sum, kept));
  EXPECT_FALSE(walks("%y = fdiv reassoc float %sum, %x", sum, kept));
  EXPECT_FALSE(walks("%y = fadd reassoc float %sum, %x\n store float %y, ptr %p", sum));
}

TEST(Walks, CountsAlongTheRow) {
  EXPECT_TRUE(walks(R"(
      %bits = bitcast float %x to i32
      %more = add i32 %sum, %bits
      store i32 %more, ptr %p)",
                    "%sum = phi i32 [ 0, %entry ], [ %more, %loop ]"));
}

TEST(Walks, NotWhereLanesShareLines) {
  EXPECT_FALSE(walks(R"(
      %at = mul i64 %j, %n
      %to = add i64 %at, %i
      %q = getelementptr float, ptr %b, i64 %to
      store float %x, ptr %q)"));
}

TEST(Walks, NotWithFunctions) {
  EXPECT_FALSE(walks(R"(
      %y = call float @expf(float %x)
      store float %y, ptr %p)"));
}

TEST(Walks, NotThroughTables) {
  EXPECT_FALSE(walks(R"(
      %k = fptosi float %x to i64
      %q = getelementptr float, ptr %b, i64 %k
      %y = load float, ptr %q
      store float %y, ptr %p)"));
}

}  // namespace
}  // namespace dhpvm::codegen::spmd
