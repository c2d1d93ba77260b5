// SPDX-License-Identifier: Apache-2.0
// Objects, interfaces, casts, weak references and strings.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "vm/invocation.h"
#include "vm/test_program.h"
#include "vm/test_programs.h"

namespace dhpvm::vm {
namespace {

TEST(Objects, FieldsOfEveryKind) {
  struct KindCase {
    const char* op;
    const char* type;
    std::uint64_t stored;
    std::uint64_t loaded;
  };
  for (const KindCase& kind :
       {KindCase{"i8", "i8", 0x1ff80, 0xffffff80}, KindCase{"u8", "u8", 0x1ff80, 0x80},
        KindCase{"u8", "bool", 1, 1}, KindCase{"i16", "i16", 0x18000, 0xffff8000},
        KindCase{"u16", "u16", 0x18000, 0x8000}, KindCase{"i32", "i32", 0x1ffffffff, 0xffffffff},
        KindCase{"i64", "i64", 0x123456789abcdef0, 0x123456789abcdef0},
        KindCase{"f32", "f32", put(1.5f), put(1.5f)}, KindCase{"f64", "f64", put(0.1), put(0.1)}}) {
    Program program(fmt::format(R"(
type class C
  field first: i64
  field second: {1}
  field third: {1}
function f({1}) -> {1}, {1}, i64 registers 3 1 exported
  new r0, C
  get.i64 p2, r0, 8
  put.{0} r0, 16, p0
  get.{0} p0, r0, 16
  get.{0} p1, r0, {2}
  return
end
function get_null() -> {1} registers 1 1 exported
  null r0
  get.{0} p0, r0, 16
  return
end
function put_null({1}) registers 1 1 exported
  null r0
  put.{0} r0, 16, p0
  return
end
)",
                                kind.op, kind.type,
                                16 + (std::string_view(kind.op).ends_with("64")   ? 8
                                      : std::string_view(kind.op).ends_with("32") ? 4
                                      : std::string_view(kind.op).ends_with("16") ? 2
                                                                                  : 1)));
    Invocation call(program.isolate(), program.find("f"));
    call.p()[0] = kind.stored;
    ASSERT_TRUE(call.run().ok());
    EXPECT_EQ(call.p()[0], kind.loaded) << kind.type;
    EXPECT_EQ(call.p()[1], 0u) << kind.type;
    EXPECT_EQ(call.p()[2], 0u) << kind.type;
    EXPECT_EQ(program.trap("get_null").message(), "a field of null was read");
    EXPECT_EQ(program.trap("put_null", {1}).message(), "a field of null was written");
  }
}

TEST(Objects, InterfaceCallsFindTheMethodOfTheClass) {
  Program program(kShapes);
  Invocation call(program.isolate(), program.find("areas"));
  const Status status = call.run();
  ASSERT_TRUE(status.ok()) << status.error().to_string();
  EXPECT_EQ(get<double>(call.p()[0]), 4.0);
  EXPECT_EQ(get<double>(call.p()[1]), 12.0);
  EXPECT_EQ(get<double>(call.p()[2]), 3.5);
  EXPECT_EQ(call.p()[3], 42u);
  const Error error = program.trap("call_null");
  EXPECT_EQ(error.code(), ErrorCode::kNullReference);
  EXPECT_EQ(error.message(), "a method of null was called");
  EXPECT_EQ(error.frames()[0].line, 41u);
}

TEST(Objects, TypesAreTested) {
  Program program(kShapes);
  EXPECT_EQ(program.run("is_square", {0}), 0u);
  EXPECT_EQ(program.run("is_square", {1}), 1u);
  EXPECT_EQ(program.run("is_square", {2}), 0u);
  Invocation other(program.isolate(), program.find("other_is_shape"));
  ASSERT_TRUE(other.run().ok());
  EXPECT_EQ(other.p()[0], 0u);
  EXPECT_EQ(other.p()[1], 1u);
  Invocation square(program.isolate(), program.find("square_is_shape"));
  ASSERT_TRUE(square.run().ok());
  EXPECT_EQ(square.p()[0], 1u);
  EXPECT_EQ(square.p()[1], 1u);
}

TEST(Objects, CastsCheck) {
  Program program(kShapes);
  EXPECT_EQ(program.run("to_square", {0}), 1u) << "null passes";
  EXPECT_EQ(program.run("to_square", {1}), 0u);
  const Error error = program.trap("to_square", {2});
  EXPECT_EQ(error.code(), ErrorCode::kBadCast);
  EXPECT_EQ(error.message(), "the object is a 'Circle', not a 'Square'");
  EXPECT_EQ(program.trap("other_to_shape").message(), "the object is a 'Other', not a 'Shape'");
}

TEST(Objects, ReferencesAndNull) {
  Program program(R"(
type class Node
  field next: Node
function same() -> bool, bool, bool, bool registers 4 3 exported
  new r0, Node
  new r1, Node
  put.ref r0, 8, r1
  get.ref r2, r0, 8
  eq.ref p0, r1, r2
  eq.ref p1, r0, r1
  get.ref r2, r1, 8
  is.null p2, r2
  null r1
  eq.ref p3, r1, r2
  return
end
function branches() -> i32 registers 1 2 exported
  new r0, Node
  null r1
  jump.null r0, Bad
  jump.nonnull r1, Bad
  jump.null r1, Next
  jump Bad
Next:
  jump.nonnull r0, Good
Bad:
  imm p0, 0
  return
Good:
  imm p0, 1
  return
end
function check() registers 0 1 exported
  line "n.dhp" 9:1
  null r0
  null.check r0
  return
end
)");
  Invocation call(program.isolate(), program.find("same"));
  ASSERT_TRUE(call.run().ok());
  EXPECT_EQ(std::vector(call.p(), call.p() + 4), (std::vector<std::uint64_t>{1, 0, 1, 1}));
  EXPECT_EQ(program.run("branches"), 1u);
  const Error error = program.trap("check");
  EXPECT_EQ(error.code(), ErrorCode::kNullReference);
  EXPECT_EQ(error.frames()[0].line, 9u);
}

TEST(Objects, WeakReferencesForgetTheDead) {
  NativeRegistry natives;
  ASSERT_TRUE(natives
                  .define("collect", "()",
                          [](NativeCall& call) -> Status {
                            call.isolate.heap().collect(gc::CollectionKind::kFull);
                            return {};
                          })
                  .ok());
  Program program(R"(
type class Node
  field value: i64
type weak W: Node
import collect()
function f() -> bool, bool, bool registers 3 3 exported
  new r0, Node
  new.weak r1, r0, W
  call.native p0, r2, collect
  get.weak r2, r1
  is.null p0, r2
  null.check r0
  null r0
  null r2
  call.native p1, r2, collect
  get.weak r2, r1
  is.null p1, r2
  null r0
  new.weak r0, r0, W
  get.weak r0, r0
  is.null p2, r0
  return
end
function unused() -> bool registers 1 3 exported
  new r0, Node
  new.weak r1, r0, W
  call.native p0, r2, collect
  get.weak r2, r1
  is.null p0, r2
  return.p p0
end
function argument(Node) -> bool registers 1 3
  new.weak r1, r0, W
  call.native p0, r2, collect
  get.weak r2, r1
  is.null p0, r2
  return.p p0
end
function behind() -> bool registers 1 6 exported
  new r0, Node
  new r5, Node
  new.weak r1, r5, W
  move.r r2, r0
  call p0, r2, argument
  jump.ifnot p0, Out
  get.weak r2, r1
  is.null p0, r2
Out:
  return.p p0
end
function null_weak() registers 0 1 exported
  null r0
  get.weak r0, r0
  return
end
)",
                  {}, natives);
  Invocation call(program.isolate(), program.find("f"));
  ASSERT_TRUE(call.run().ok());
  EXPECT_EQ(std::vector(call.p(), call.p() + 3), (std::vector<std::uint64_t>{0, 1, 1}));
  EXPECT_EQ(program.trap("null_weak").code(), ErrorCode::kNullReference);
  // Registers that refer to the target, but are not read again: of the function that collects, of its callers, behind
  // the windows of calls.
  for (const char* const name : {"unused", "behind"}) {
    Invocation dead(program.isolate(), program.find(name));
    ASSERT_TRUE(dead.run().ok());
    EXPECT_EQ(dead.p()[0], 1u) << name;
  }
}

struct Strings : testing::Test {
  Status call(std::string_view name, std::vector<std::optional<std::string>> arguments) {
    invocation.reset();  // before the next one: they nest
    invocation = std::make_unique<Invocation>(program.isolate(), program.find(name));
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (!arguments[i]) continue;
      invocation->r()[i] = reinterpret_cast<gc::Ref>(*program->new_string(*arguments[i]));
    }
    return invocation->run();
  }
  std::string_view result() { return reinterpret_cast<gc::String*>(invocation->r()[0])->view(); }

  Program program{kStrings};
  std::unique_ptr<Invocation> invocation;
};

TEST_F(Strings, LengthAndBytes) {
  EXPECT_EQ(program.run("length"), 6u);
  EXPECT_EQ(program.run("byte", {1}), 0xc3u);
  EXPECT_EQ(program.trap("byte", {6}).message(), "byte 6 is out of range for a string of 6 bytes");
  EXPECT_EQ(program.trap("byte", {static_cast<std::uint64_t>(-1)}).frames()[0].line, 7u);
}

TEST_F(Strings, Comparison) {
  struct Order {
    const char* left;
    const char* right;
    std::uint32_t order;
  };
  for (const Order& test : {Order{"a", "b", 0xffffffff}, Order{"b", "a", 1}, Order{"a", "a", 0},
                            Order{"", "", 0}, Order{"a", "ab", 0xffffffff}, Order{"\xc3", "z", 1}}) {
    ASSERT_TRUE(call("compare", {test.left, test.right}).ok());
    EXPECT_EQ(invocation->p()[0], test.order) << test.left << " " << test.right;
    EXPECT_EQ(invocation->p()[1], test.order == 0 ? 1u : 0u);
  }
  EXPECT_EQ(call("compare", {"a", std::nullopt}).error().message(), "null was used as a string");
  ASSERT_TRUE(call("equal", {"a", std::nullopt}).ok());
  EXPECT_EQ(invocation->p()[0], 0u);
  ASSERT_TRUE(call("equal", {std::nullopt, std::nullopt}).ok());
  EXPECT_EQ(invocation->p()[0], 1u);
}

TEST_F(Strings, Concatenation) {
  ASSERT_TRUE(call("concat", {"ab", "", "cde"}).ok());
  EXPECT_EQ(result(), "abcde");
  ASSERT_TRUE(call("one", {"xyz"}).ok());
  EXPECT_EQ(result(), "xyz");
  EXPECT_EQ(call("concat", {"ab", std::nullopt, "cde"}).error().code(), ErrorCode::kNullReference);
  const std::string big(100'000, 'x');
  ASSERT_TRUE(call("concat", {big, big, big}).ok());
  EXPECT_EQ(result().size(), 300'000u);
}

TEST_F(Strings, ConstantsAreInterned) {
  ASSERT_TRUE(call("constant", {}).ok());
  const gc::Ref first = invocation->r()[0];
  EXPECT_EQ(result(), "constant");
  invocation.reset();
  program->heap().collect(gc::CollectionKind::kFull);
  ASSERT_TRUE(call("constant", {}).ok());
  EXPECT_EQ(invocation->r()[0], first);
}

TEST_F(Strings, TrapsWithMessages) {
  const Error error = call("fail", {"the file is empty"}).error();
  EXPECT_EQ(error.code(), ErrorCode::kUserTrap);
  EXPECT_EQ(error.to_string(), "trap: the file is empty\n  at fail (s.dhp:30)");
  EXPECT_EQ(call("fail", {std::nullopt}).error().code(), ErrorCode::kNullReference);
  EXPECT_EQ(program.trap("code").code(), ErrorCode::kUserTrap);
}

}  // namespace
}  // namespace dhpvm::vm
