// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/local_objects.h"

#include <gtest/gtest.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <array>
#include <cstddef>
#include <string>

#include "codegen/host/ir_for_tests.h"
#include "codegen/host/optimise.h"
#include "codegen/object_marks.h"

namespace dhpvm::codegen {
namespace {

constexpr double kFirst = 3;  // the function's arguments
constexpr double kSecond = 4;

// IR that makes an object of 24 bytes, %NAME, as the lowering does: from the block NAME.begin on, into NAME.done.
std::string new_object(const std::string& name) {
  const std::string text = R"(
@.begin:
  %@.start = load ptr, ptr %area
  %@.limit.place = getelementptr inbounds i8, ptr %area, i64 8
  %@.limit = load ptr, ptr %@.limit.place
  %@.to = ptrtoint ptr %@.limit to i64
  %@.from = ptrtoint ptr %@.start to i64
  %@.room = sub i64 %@.to, %@.from
  %@.full = icmp ult i64 %@.room, 24
  br i1 %@.full, label %@.cold, label %@.taken
@.taken:
  %@.end = getelementptr inbounds i8, ptr %@.start, i64 24
  store ptr %@.end, ptr %area
  store i64 77, ptr %@.start, !dhpvm.new !0
  br label %@.done
@.cold:
  %@.made = call ptr @make(ptr %r)
  br label %@.done
@.done:
  %@ = phi ptr [ %@.start, %@.taken ], [ %@.made, %@.cold ]
  %@.x = getelementptr inbounds i8, ptr %@, i64 8
  %@.y = getelementptr inbounds i8, ptr %@, i64 16
)";
  std::string result;
  for (const char c : text) c == '@' ? result += name : result += c;
  // The function's name has the sign itself.
  const std::size_t call = result.find("ptr " + name + "make");
  return result.replace(call, 4 + name.size(), "ptr @");
}

struct Outcome {
  double result = 0;
  std::size_t taken = 0;  // bytes of new objects
  std::array<void*, 2> roots{};
};

// Runs `body` as double(ptr area, ptr r, double x, double y) with room for objects.
Outcome run(const std::string& body) {
  const std::string text =
      "define ptr @make(ptr %r) noinline {\n  ret ptr %r\n}\n"
      "define double @f(ptr %area, ptr %r, double %x, double %y) {\n" +
      body + "}\n!0 = !{i64 24}\n!1 = !{}\n";
  const auto compiler = new_compiler();
  IrModule ir = parse(*compiler, text);
  keep_objects_local(*ir.module->getFunction("f"));
  EXPECT_FALSE(llvm::verifyModule(*ir.module, &llvm::errs()));
  auto code = compiler->compile(std::move(ir), Pipeline::kFunctions);
  if (!code.ok()) {
    ADD_FAILURE() << code.error().to_string();
    return {};
  }
  std::array<std::byte, 4096> memory{};
  struct {
    std::byte* cursor;
    std::byte* limit;
  } area = {memory.data(), memory.data() + memory.size()};
  Outcome outcome;
  const auto function = code->function<double(void*, void**, double, double)>("f");
  outcome.result = function(&area, outcome.roots.data(), kFirst, kSecond);
  outcome.taken = static_cast<std::size_t>(area.cursor - memory.data());
  return outcome;
}

TEST(LocalObjects, TemporariesTakeNoMemory) {
  const Outcome outcome = run("br label %a.begin" + new_object("a") + R"(
  store double %x, ptr %a.x
  store double %y, ptr %a.y
  store ptr %a, ptr %r, !dhpvm.root !1
  %is.null = icmp eq ptr %a, null
  br i1 %is.null, label %null, label %there
null:
  store ptr %a, ptr %area
  ret double 0.0
there:
  %one = load double, ptr %a.x
  %two = load double, ptr %a.y
  %sum = fadd double %one, %two
  ret double %sum
)");
  EXPECT_EQ(outcome.result, kFirst + kSecond);
  EXPECT_EQ(outcome.taken, 0u);
  EXPECT_EQ(outcome.roots[0], nullptr);
}

TEST(LocalObjects, FieldsBeginWithZeroEachTime) {
  const Outcome outcome = run("br label %a.begin" + new_object("a") + R"(
  %i = load double, ptr %a.x
  %n = load double, ptr %r
  store double %x, ptr %a.x
  %next = fadd double %n, 1.0
  store double %next, ptr %r
  %more = fcmp olt double %next, 5.0
  br i1 %more, label %again, label %over
again:
  br label %a.begin
over:
  ret double %i
)");
  EXPECT_EQ(outcome.result, 0.0);
  EXPECT_EQ(outcome.taken, 0u);
}

// A sum of vectors: each turn makes a new one from the last.
TEST(LocalObjects, LoopsCarryThem) {
  const Outcome outcome = run("br label %a.begin" + new_object("a") + R"(
  store double %x, ptr %a.x
  br label %header
header:
  %sum = phi ptr [ %a, %a.done ], [ %b, %b.done ]
  %before = phi ptr [ %a, %a.done ], [ %sum, %b.done ]
  %i = phi i64 [ 0, %a.done ], [ %next, %b.done ]
  %done = icmp eq i64 %i, 10
  br i1 %done, label %over, label %b.begin
)" + new_object("b") + R"(
  %sum.x = getelementptr inbounds i8, ptr %sum, i64 8
  %sum.y = getelementptr inbounds i8, ptr %sum, i64 16
  %old.x = load double, ptr %sum.x
  %old.y = load double, ptr %sum.y
  %new.x = fadd double %old.x, 1.0
  %new.y = fadd double %old.y, %y
  store double %new.x, ptr %b.x
  store double %new.y, ptr %b.y
  %next = add i64 %i, 1
  br label %header
over:
  %last.x = getelementptr inbounds i8, ptr %sum, i64 8
  %last.y = getelementptr inbounds i8, ptr %before, i64 16
  %result.x = load double, ptr %last.x
  %result.y = load double, ptr %last.y
  %result = fadd double %result.x, %result.y
  ret double %result
)");
  EXPECT_EQ(outcome.result, kFirst + 10 + 9 * kSecond);
  EXPECT_EQ(outcome.taken, 0u);
}

TEST(LocalObjects, WhatIsStoredOrMixedStays) {
  const Outcome stored = run("br label %a.begin" + new_object("a") + R"(
  store double %x, ptr %a.x
  store ptr %a, ptr %r
  ret double %x
)");
  EXPECT_EQ(stored.taken, 24u);
  EXPECT_NE(stored.roots[0], nullptr);

  const Outcome mixed = run(R"(
  %which = fcmp olt double %x, %y
  br i1 %which, label %a.begin, label %other)" +
                            new_object("a") + R"(
  store double %x, ptr %a.x
  br label %join
other:
  br label %join
join:
  %object = phi ptr [ %a, %a.done ], [ %r, %other ]
  %place = getelementptr inbounds i8, ptr %object, i64 8
  %result = load double, ptr %place
  ret double %result
)");
  EXPECT_EQ(mixed.result, kFirst);
  EXPECT_EQ(mixed.taken, 24u);
}

// The phi and its operand are the same object.
TEST(LocalObjects, WhatChangesBehindAPhiStays) {
  const Outcome outcome =
      run("br label %a.begin" + new_object("a") + "br label %b.begin" + new_object("b") + R"(
  store double %x, ptr %a.x
  %which = fcmp olt double %x, %y
  br i1 %which, label %join, label %other
other:
  br label %join
join:
  %object = phi ptr [ %a, %b.done ], [ %b, %other ]
  store double %y, ptr %a.x
  %place = getelementptr inbounds i8, ptr %object, i64 8
  %result = load double, ptr %place
  ret double %result
)");
  EXPECT_EQ(outcome.result, kSecond);
  EXPECT_EQ(outcome.taken, 48u);
}

// The collector finds references in fields through the object.
TEST(LocalObjects, ObjectsWithReferencesStay) {
  const Outcome outcome = run("br label %a.begin" + new_object("a") + R"(
  store ptr %area, ptr %a.x
  %other = load ptr, ptr %a.x
  %result = load double, ptr %a.y
  ret double %result
)");
  EXPECT_EQ(outcome.taken, 24u);
}

}  // namespace
}  // namespace dhpvm::codegen
