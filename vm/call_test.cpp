// SPDX-License-Identifier: Apache-2.0
// Calls: within the program, to natives, from C++, nested; and the stack traces of traps in them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/reservation_pool.h"
#include "vm/invocation.h"
#include "vm/test_program.h"
#include "vm/test_programs.h"

namespace dhpvm::vm {
namespace {

TEST(Calls, Recursion) {
  Program program(kRecursion);
  EXPECT_EQ(program.run("fib", {20}), 6765u);
  EXPECT_EQ(program.run("deep", {100'000}), 100'000u);
  EXPECT_EQ(program.run("twice", {5}), 7u);
}

TEST(Calls, SeveralResults) {
  Program program(kRecursion);
  Invocation call(program.isolate(), program.find("swap"));
  call.p()[0] = 1;
  call.p()[1] = 2;
  call.r()[0] = reinterpret_cast<gc::Ref>(*program->new_string("one"));
  call.r()[1] = reinterpret_cast<gc::Ref>(*program->new_string("two"));
  ASSERT_TRUE(call.run().ok());
  EXPECT_EQ(call.p()[0], 2u);
  EXPECT_EQ(call.p()[1], 1u);
  EXPECT_EQ(reinterpret_cast<gc::String*>(call.r()[0])->view(), "two");
  EXPECT_EQ(reinterpret_cast<gc::String*>(call.r()[1])->view(), "one");
}

TEST(Calls, EndlessRecursionTraps) {
  Program program(kRecursion);
  const Error error = program.trap("deep", {std::uint64_t{1} << 40});
  EXPECT_EQ(error.code(), ErrorCode::kStackOverflow);
  // The innermost 20 calls, one line for those left out, the outermost 10.
  ASSERT_EQ(error.frames().size(), 31u);
  EXPECT_EQ(error.frames()[0].function, "deep");
  EXPECT_EQ(error.frames()[0].line, 7u);
  EXPECT_TRUE(error.frames()[20].function.ends_with(" more calls ...")) << error.frames()[20].function;
  EXPECT_EQ(error.frames()[30].function, "deep");
  // The isolate goes on as if nothing had happened.
  EXPECT_EQ(program.run("fib", {10}), 55u);
}

TEST(Calls, TheStackLimitCountsBytes) {
  IsolateOptions options;
  options.limits.stack_bytes = std::size_t{1} << 16;
  Program program(kRecursion, options);
  // A frame record and two registers per call.
  const std::uint64_t depth = (1 << 16) / program->linked().functions()[program.find("deep")].stack_cost;
  EXPECT_EQ(program.run("deep", {depth - 1}), depth - 1);
  EXPECT_EQ(program.trap("deep", {depth}).code(), ErrorCode::kStackOverflow);
}

TEST(Calls, AStackWithoutRoomForTheFirstCallIsTooSmall) {
  IsolateOptions options;
  options.limits.stack_bytes = 0;
  Program program(kRecursion, options);
  Invocation call(program.isolate(), program.find("deep"));
  ASSERT_FALSE(call.ok());
  const Status status = call.run();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::kStackOverflow);
  EXPECT_EQ(status.error().message(), "the stack limit leaves no room for a call: raise it");
}

// The next isolate finds references there that it has not stored, if anything is left.
TEST(Calls, StacksAreCleanForTheNextIsolate) {
  constexpr std::size_t kStack = std::size_t{1} << 20;
  constexpr std::string_view kDeep = R"(
module 1.0
type string str
type resource resource

function deep(i64, str) -> i64 registers 3 3 exported
  local i64 5
  imm p1, 0
  imm p2, -1
  local.store.i64 l0, p1, p2
  move.r r1, r0
  move.r r2, r0
  call p2, r2, deep
  return.p p2
end
)";
  IsolateOptions options;
  options.limits.stack_bytes = kStack;
  options.address_space = std::make_shared<ReservationPool>();
  {
    Program program(kDeep, options);
    Invocation call(program.isolate(), program.find("deep"));
    call.r()[0] = reinterpret_cast<gc::Ref>(*program->new_string("text"));
    EXPECT_EQ(call.run().error().code(), ErrorCode::kStackOverflow);
  }
  constexpr std::size_t kPage = 4096;
  const Reservation left = options.address_space->take(4 * (kStack + kPage), kPage);
  ASSERT_NE(left.data(), nullptr);
  const std::span bytes(left.data(), left.size());
  EXPECT_EQ(std::ranges::count(bytes, std::byte{0}), static_cast<std::ptrdiff_t>(bytes.size()));
}

TEST(Calls, AMillionDeep) {
  IsolateOptions options;
  options.limits.stack_bytes = std::size_t{1} << 30;
  Program program(kRecursion, options);
  EXPECT_EQ(program.run("deep", {1'000'000}), 1'000'000u);
}

TEST(Calls, TracesShowTheLineOfEachCall) {
  Program program(kRecursion);
  const Error error = program.trap("fail_at", {2});
  EXPECT_EQ(error.to_string(),
            "division by zero: 0 / 0\n"
            "  at fail_at (deep.dhp:24)\n"
            "  at fail_at (deep.dhp:21)\n"
            "  at fail_at (deep.dhp:21)");
  // As many as are shown at most without leaving any out.
  EXPECT_EQ(program.trap("fail_at", {30}).frames().size(), 31u);
  EXPECT_EQ(program.trap("fail_at", {30}).frames()[20].function, "fail_at");
}

TEST(Calls, ArgumentSpansAreChecked) {
  Program program(kRecursion);
  std::uint64_t p[2] = {};
  gc::Ref r[2] = {};
  const std::uint32_t swap = program.find("swap");
  EXPECT_EQ(program->call(swap, {p, 1}, r).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(program->call(swap, p, {r, 1}).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(program->call(9999, p, r).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(program->call(swap, p, r).ok());
}

TEST(Calls, OnlyExportsAreFound) {
  Program program(kRecursion);
  EXPECT_TRUE(program->find_export("fib"));
  EXPECT_FALSE(program->find_export("increment"));
  EXPECT_FALSE(program->find_export("nothing"));
}

struct Natives : testing::Test {
  static NativeRegistry registry(const std::string& target) {
    NativeRegistry natives;
    const auto define = [&](const char* name, const char* signature, NativeFunction function) {
      EXPECT_TRUE(natives.define(name, signature, std::move(function)).ok());
    };
    define("add", "(i32, i64, f32, f64, bool) -> f64", [](NativeCall& call) -> Status {
      const double sum = get<std::int32_t>(call.p[0]) + static_cast<double>(get<std::int64_t>(call.p[1])) +
                         static_cast<double>(get<float>(call.p[2])) + get<double>(call.p[3]) +
                         static_cast<double>(call.p[4]);
      call.p[0] = put(sum);
      return {};
    });
    define("greet", "(str) -> str", [](NativeCall& call) -> Status {
      const std::string name(reinterpret_cast<gc::String*>(call.r[0])->view());
      DHPVM_ASSIGN(gc::String* const text, call.isolate.new_string("hello, " + name));
      call.r[0] = reinterpret_cast<gc::Ref>(text);
      return {};
    });
    define("fail", "(i64)",
           [](NativeCall& call) -> Status { return Error(static_cast<ErrorCode>(call.p[0]), "as asked"); });
    define("maybe", "(str?) -> bool", [](NativeCall& call) -> Status {
      call.p[0] = call.r[0] == nullptr ? 1 : 0;
      return {};
    });
    define("sum", "([u8]) -> i64", [](NativeCall& call) -> Status {
      auto& array = *reinterpret_cast<gc::Array*>(call.r[0]);
      DHPVM_TRY(call.isolate.make_accessible(array, false));
      std::uint64_t sum = 0;
      for (std::int64_t i = 0; i < array.length; ++i) sum += static_cast<std::uint8_t>(array.data[i]);
      call.p[0] = sum;
      return {};
    });
    define("several", "(i64) -> (i64, str, i64)", [](NativeCall& call) -> Status {
      call.p[1] = call.p[0] + 1;
      DHPVM_ASSIGN(gc::String* const text, call.isolate.new_string("text"));
      call.r[0] = reinterpret_cast<gc::Ref>(text);
      return {};
    });
    define("again", "(i64) -> i64", [target](NativeCall& call) -> Status {
      std::uint64_t p[1] = {call.p[0]};
      DHPVM_TRY(call.isolate.call(*call.isolate.find_export(call.p[0] == 0 ? target : "nested"), p, {}));
      call.p[0] = p[0];
      return {};
    });
    return natives;
  }
  Program program{kNatives, {}, registry("nested")};
};

TEST_F(Natives, TakeAndReturnPrimitives) {
  EXPECT_EQ(get<double>(program.run("call_add", {put(-1), put(std::int64_t{10}), put(0.5f), put(0.25), 1})),
            10.75);
}

TEST_F(Natives, TakeAndReturnObjects) {
  Invocation call(program.isolate(), program.find("call_greet"));
  call.r()[0] = reinterpret_cast<gc::Ref>(*program->new_string("world"));
  ASSERT_TRUE(call.run().ok());
  EXPECT_EQ(reinterpret_cast<gc::String*>(call.r()[0])->view(), "hello, world");
  EXPECT_EQ(program.run("call_sum", {10}), 3u);
  Invocation several(program.isolate(), program.find("call_several"));
  several.p()[0] = 7;
  ASSERT_TRUE(several.run().ok());
  EXPECT_EQ(several.p()[0], 7u);
  EXPECT_EQ(several.p()[1], 8u);
  EXPECT_EQ(reinterpret_cast<gc::String*>(several.r()[0])->view(), "text");
}

TEST_F(Natives, AreProtectedFromNull) {
  const Error error = program.trap("call_greet");
  EXPECT_EQ(error.code(), ErrorCode::kNullReference);
  EXPECT_EQ(error.message(), "reference argument 1 of 'greet' is null");
  EXPECT_EQ(error.frames()[0].line, 3u);
  EXPECT_EQ(program.run("call_maybe"), 1u);
}

TEST(FastPaths, GoBeforeTheFunction) {
  NativeRegistry natives;
  const auto function = [](NativeCall& call) -> Status {
    call.p[0] = reinterpret_cast<gc::String*>(call.r[0])->size;
    return {};
  };
  // For all but short texts, and for none, the function is called.
  const auto fast_path = [](NativeCall& call) {
    if (call.r[0] == nullptr || reinterpret_cast<gc::String*>(call.r[0])->size > 3) return false;
    call.p[0] = 1000;
    return true;
  };
  ASSERT_TRUE(natives.define("size", "(str) -> i64", function, fast_path).ok());
  Program program(R"(
import size(str) -> i64
function size_of(str) -> i64 registers 1 1 exported
  call.native p0, r0, size
  return
end
)",
                  {}, natives);
  const auto size_of = [&](std::string_view text) {
    Invocation call(program.isolate(), program.find("size_of"));
    call.r()[0] = reinterpret_cast<gc::Ref>(*program->new_string(text));
    EXPECT_TRUE(call.run().ok());
    return call.p()[0];
  };
  EXPECT_EQ(size_of("abc"), 1000u);
  EXPECT_EQ(size_of("abcd"), 4u);
  EXPECT_EQ(program.trap("size_of").code(), ErrorCode::kNullReference);
}

TEST_F(Natives, ErrorsBecomeTraps) {
  const auto trap = [&](ErrorCode code) {
    return program.trap("call_fail", {static_cast<std::uint64_t>(code)});
  };
  EXPECT_EQ(trap(ErrorCode::kClosed).code(), ErrorCode::kClosed);
  EXPECT_EQ(trap(ErrorCode::kInternal).code(), ErrorCode::kInternal);
  EXPECT_EQ(trap(ErrorCode::kIo).code(), ErrorCode::kIoTrap);
  EXPECT_EQ(trap(ErrorCode::kNotFound).code(), ErrorCode::kIoTrap);
  EXPECT_EQ(trap(ErrorCode::kInvalidArgument).code(), ErrorCode::kHostException);
  EXPECT_EQ(trap(ErrorCode::kIo).to_string(), "input/output failed: as asked\n  at call_fail (n.dhp:6)");
}

TEST_F(Natives, MayCallBack) {
  EXPECT_EQ(program.run("nested", {50}), 50u);
  EXPECT_EQ(program->stats().host_calls, 51u);
}

TEST_F(Natives, NestingTooDeeplyTraps) {
  const Error error = program.trap("nested", {100'000});
  EXPECT_EQ(error.code(), ErrorCode::kStackOverflow);
  EXPECT_EQ(program.run("nested", {50}), 50u);
}

TEST_F(Natives, InnerTrapsReachTheOuterProgram) {
  Program trapping(kNatives, {}, registry("nested_trap"));
  const Error error = trapping.trap("nested", {2});
  EXPECT_EQ(error.to_string(),
            "division by zero: 0 / 0\n"
            "  at nested_trap (n.dhp:50)\n"
            "  at nested (n.dhp:42)\n"
            "  at nested (n.dhp:42)");
}

// A native may also go on after an inner trap: the outer call is not disturbed.
TEST(NestedCalls, ATrapCanBeHandled) {
  NativeRegistry natives;
  ASSERT_TRUE(natives
                  .define("attempt", "(i64) -> bool",
                          [](NativeCall& call) -> Status {
                            std::uint64_t p[1] = {call.p[0]};
                            const Status status =
                                call.isolate.call(*call.isolate.find_export("divide"), p, {});
                            call.p[0] = status.ok() ? 1 : 0;
                            return {};
                          })
                  .ok());
  Program program(R"(
import attempt(i64) -> bool
function divide(i64) -> i64 registers 2 0 exported
  div.i64 p1, p0, p0
  return.p p1
end
function both() -> i64 registers 4 0 exported
  imm p1, 10
  imm p2, 1
  call.native p2, r0, attempt
  add.imm.i64 p3, p1, 5
  mul.i64 p1, p2, p3
  imm p2, 0
  call.native p2, r0, attempt
  add.i64 p0, p1, p2
  return
end
)",
                  {}, natives);
  // 1 * 15 + 0
  EXPECT_EQ(program.run("both"), 15u);
}

TEST(Linking, MissingAndMistypedNativesAreNamed) {
  const auto link = [](std::string_view signature) {
    NativeRegistry natives;
    if (!signature.empty()) {
      EXPECT_TRUE(natives.define("f", signature, [](NativeCall&) -> Status { return {}; }).ok());
    }
    auto module = bytecode::assemble("import f(i64, str) -> bool\n");
    return LinkedModule::link(std::make_shared<const bytecode::Module>(*module), natives);
  };
  EXPECT_TRUE(link("(i64, str) -> bool").ok());
  const auto missing = link("");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), ErrorCode::kLink);
  EXPECT_NE(missing.error().message().find("'f' with the type (i64, str) -> bool"), std::string::npos);
  const auto mistyped = link("(i32, str)");
  ASSERT_FALSE(mistyped.ok());
  EXPECT_NE(mistyped.error().message().find("(i64, str) -> bool"), std::string::npos);
  EXPECT_NE(mistyped.error().message().find("(i32, str)"), std::string::npos);
}

// References that only stand in the window of a native call, or in an Invocation, survive collections.
TEST(Roots, WindowsAreRoots) {
  NativeRegistry natives;
  ASSERT_TRUE(natives
                  .define("collect", "(str, str) -> str",
                          [](NativeCall& call) -> Status {
                            call.isolate.heap().collect(gc::CollectionKind::kFull);
                            call.r[0] = call.r[1];
                            return {};
                          })
                  .ok());
  IsolateOptions options;
  options.gc_verify = true;
  Program program(R"(
import collect(str, str) -> str
function f(str, str) -> str registers 0 4 exported
  string.concat r2, r0, 2
  move.r r3, r2
  string.concat r2, r0, 2
  call.native p0, r2, collect
  string.concat r0, r0, 3
  return
end
)",
                  options, natives);
  Invocation call(program.isolate(), program.find("f"));
  call.r()[0] = reinterpret_cast<gc::Ref>(*program->new_string("a"));
  program->heap().collect(gc::CollectionKind::kFull);
  call.r()[1] = reinterpret_cast<gc::Ref>(*program->new_string("b"));
  ASSERT_TRUE(call.run().ok());
  program->heap().collect(gc::CollectionKind::kFull);
  EXPECT_EQ(reinterpret_cast<gc::String*>(call.r()[0])->view(), "abab");
}

}  // namespace
}  // namespace dhpvm::vm
