// SPDX-License-Identifier: Apache-2.0
// Calls from C++ into a program: values, borrows, errors.
#include <cstdlib>
#include <limits>
#include <numeric>

#include "vm/api/test_program.h"

namespace dhpvm {
namespace {

TEST(Function, PassesEveryPrimitiveBothWays) {
  const TestHost host;
  const Isolate isolate = host.isolate();
  using Narrow =
      std::tuple<bool, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t>;
  const auto narrow = need(isolate.function<Narrow(bool, std::int8_t, std::uint8_t, std::int16_t,
                                                   std::uint16_t, std::int32_t, std::uint32_t)>("narrow"));
  const Narrow low{false, -128, 0, -32768, 0, std::numeric_limits<std::int32_t>::min(), 0};
  const Narrow high{true, 127, 255, 32767, 65535, std::numeric_limits<std::int32_t>::max(), 0xffffffffu};
  EXPECT_EQ(need(std::apply(narrow, low)), low);
  EXPECT_EQ(need(std::apply(narrow, high)), high);

  using Wide = std::tuple<std::int64_t, std::uint64_t, float, double>;
  const auto wide = need(isolate.function<Wide(std::int64_t, std::uint64_t, float, double)>("wide"));
  EXPECT_EQ(need(wide(-5, 1ull << 62, 0.25f, -1e300)), (Wide{-10, 1ull << 63, 0.5f, -2e300}));
}

TEST(Function, PassesText) {
  const TestHost host;
  const Isolate isolate = host.isolate();
  const auto greet = need(isolate.function<std::string(std::string_view)>("greet"));
  EXPECT_EQ(need(greet("Ada")), "Hello, Ada");
  for (const std::size_t size : {16, 63, 64, 65, 1000, 100'000})
    EXPECT_EQ(need(greet(std::string(size, 'x'))), "Hello, " + std::string(size, 'x'));
  EXPECT_EQ(need(greet("")), "Hello, ");
}

TEST(Function, NullIsAnErrorUnlessAskedForAsObject) {
  const TestHost host;
  const Isolate isolate = host.isolate();
  const auto text = need(isolate.function<std::string(bool)>("maybe"));
  EXPECT_EQ(need(text(true)), "here");
  EXPECT_EQ(text(false).error().code(), ErrorCode::kNullReference);
  const auto object = need(isolate.function<Object(bool)>("maybe"));
  EXPECT_EQ(need(need(object(true)).text()), "here");
  EXPECT_FALSE(need(object(false)));
}

TEST(Function, LendsSpansWithoutACopy) {
  const TestHost host;
  const Isolate isolate = host.isolate();
  std::vector<double> numbers(100'000);
  std::iota(numbers.begin(), numbers.end(), 1.0);
  const auto sum = need(isolate.function<double(std::span<const double>)>("sum"));
  const std::uint64_t before = isolate.statistics().bytes_allocated;
  EXPECT_EQ(need(sum(numbers)), 100'000.0 * 100'001.0 / 2);
  EXPECT_EQ(need(sum({})), 0.0);
  EXPECT_LT(isolate.statistics().bytes_allocated - before, 1000u);

  const auto store = need(isolate.function<void(std::span<double>, std::int64_t, double)>("store"));
  ASSERT_TRUE(store(numbers, 99'999, -1.0).ok());
  EXPECT_EQ(numbers.back(), -1.0);
  EXPECT_EQ(store(numbers, 100'000, -1.0).error().code(), ErrorCode::kIndexOutOfRange);
}

TEST(Function, LendsRowMajorGrids) {
  const TestHost host;
  const Isolate isolate = host.isolate();
  const float elements[] = {1, 2, 3, 4, 5, 6};
  const auto corner =
      need(isolate.function<std::tuple<float, std::int64_t>(NdSpan<const float, 2>)>("corner"));
  EXPECT_EQ(need(corner({elements, {2, 3}})), (std::tuple<float, std::int64_t>(6, 3)));
  EXPECT_EQ(need(corner({elements, {3, 1}})), (std::tuple<float, std::int64_t>(3, 1)));
  EXPECT_EQ(corner({elements, {2, -3}}).error().code(), ErrorCode::kNegativeLength);
}

TEST(Function, NothingCannotBeLent) {
  const TestHost host;
  const Isolate isolate = host.isolate();
  const auto sum = need(isolate.function<double(std::span<const double>)>("sum"));
  EXPECT_EQ(sum(std::span<const double>(static_cast<const double*>(nullptr), 3)).error().message(),
            "memory at the address null cannot be lent as '[f64]' of 3");
  EXPECT_EQ(need(sum(std::span<const double>(static_cast<const double*>(nullptr), 0))), 0.0);
}

TEST(Function, NullsThatTrapAreNamed) {
  const TestHost host;
  const Isolate isolate = host.isolate();
  const auto kept_first = need(isolate.function<double(const Object&)>("kept_first"));
  const auto trap = kept_first(Object());
  ASSERT_FALSE(trap.ok());
  EXPECT_EQ(trap.error().code(), ErrorCode::kNullReference);
  EXPECT_NE(trap.error().message().find("; null was passed as argument 1"), std::string::npos)
      << trap.error().message();
  EXPECT_EQ(trap.error().frames().size(), 1U);
  const auto called = isolate.call<double>("kept_first", {Value()});
  ASSERT_FALSE(called.ok());
  EXPECT_EQ(called.error().message(), trap.error().message());
}

TEST(Function, ConstSpansAreReadOnly) {
  const TestHost host;
  const Isolate isolate = host.isolate();
  const auto store = need(isolate.function<void(std::span<const double>, std::int64_t, double)>("store"));
  const std::vector<double> numbers{1, 2, 3};
  const Error error = store(numbers, 0, 9.0).error();
  EXPECT_EQ(error.code(), ErrorCode::kBorrowEnded);
  EXPECT_NE(error.message().find("for reading only; lend memory that may be written"), std::string::npos);
  EXPECT_EQ(numbers[0], 1);
}

TEST(Function, ALoanEndsWithTheCall) {
  const TestHost host;
  const Isolate isolate = host.isolate();
  const auto keep = need(isolate.function<Object(std::span<double>)>("keep"));
  const auto kept_first = need(isolate.function<double(const Object&)>("kept_first"));
  std::vector<double> numbers{1, 2, 3};
  const Object box = need(keep(numbers));
  const auto late = kept_first(box);
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code(), ErrorCode::kBorrowEnded);

  // A loan that the program has closed ends quietly.
  const auto close = need(isolate.function<void(std::span<double>)>("close"));
  EXPECT_TRUE(close(numbers).ok());
  EXPECT_EQ(numbers[2], 3);
}

TEST(Function, LoansSurviveCollections) {
  const TestHost host;
  const Isolate isolate = host.isolate({.gc_stress = 1, .gc_verify = true});
  const auto sum = need(isolate.function<double(std::span<const double>)>("sum"));
  const auto greet = need(isolate.function<std::string(std::string_view)>("greet"));
  const std::vector<double> numbers{1, 2, 3};
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(need(sum(numbers)), 6.0);
    EXPECT_EQ(need(greet("x")), "Hello, x");
  }
}

// More spans than a call has places for.
TEST(Function, ManyLoansEndWithTheCall) {
  const Engine engine;
  const Module module = need(Module::compile(engine, R"(
    class Kept { all: [[f64]]; }
    fn keep(a: [f64], b: [f64], c: [f64], d: [f64], e: [f64], f: [f64], g: [f64], h: [f64]) -> Kept {
      g[0] += a[0] + b[0] + c[0] + d[0] + e[0] + f[0] + h[0];
      return Kept([a, b, c, d, e, f, g, h]);
    }
    fn read(kept: Kept, i: i64) -> f64 => kept.all[i][0];
  )"));
  for (const std::uint32_t stress : {0u, 1u}) {
    const Isolate isolate = need(Isolate::create(module, {.gc_stress = stress, .gc_verify = stress != 0}));
    using Span = std::span<const double>;
    const auto keep =
        need(isolate.function<Object(Span, Span, Span, Span, Span, Span, std::span<double>, Span)>("keep"));
    const auto read = need(isolate.function<double(const Object&, std::int64_t)>("read"));
    const std::vector<double> one(3, 1.0);
    std::vector<double> sum(3, 0.5);
    const Object kept = need(keep(one, one, one, one, one, one, sum, one));
    EXPECT_EQ(sum[0], 7.5);
    for (std::int64_t i = 0; i < 8; ++i)
      EXPECT_EQ(read(kept, i).error().code(), ErrorCode::kBorrowEnded) << i;
  }
}

TEST(Function, CopiesArraysOut) {
  const TestHost host;
  const Isolate isolate = host.isolate();
  const auto bytes = need(isolate.function<std::vector<std::uint8_t>(std::int64_t)>("bytes"));
  EXPECT_EQ(need(bytes(4)), (std::vector<std::uint8_t>{0, 1, 2, 3}));
  EXPECT_TRUE(need(bytes(0)).empty());
  EXPECT_EQ(bytes(-1).error().code(), ErrorCode::kNegativeLength);
  // Large arrays live outside the heap; nothing of it shows.
  EXPECT_EQ(need(bytes(1'000'000)).at(255), 255);
}

TEST(Function, TrapsCarryTheStack) {
  const TestHost host;
  const Isolate isolate = host.isolate();
  const auto divide = need(isolate.function<std::int64_t(std::int64_t, std::int64_t)>("divide"));
  EXPECT_EQ(need(divide(7, 2)), 3);
  const auto trap = divide(7, 0);
  ASSERT_FALSE(trap.ok());
  EXPECT_EQ(trap.error().code(), ErrorCode::kDivisionByZero);
  ASSERT_EQ(trap.error().frames().size(), 1u);
  EXPECT_EQ(trap.error().frames()[0].function, "divide");
  EXPECT_EQ(trap.error().frames()[0].file, "test.dhp");
  EXPECT_EQ(trap.error().frames()[0].line, 12u);
  // The isolate goes on.
  EXPECT_EQ(need(divide(9, 3)), 3);

  const auto fail = need(isolate.function<void()>("fail"));
  EXPECT_EQ(fail().error().message(), "out of cheese");
}

TEST(Function, LookupExplainsWhatDoesNotFit) {
  const TestHost host;
  const Isolate isolate = host.isolate();
  const auto missing = isolate.function<void()>("grete");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message(), "the module exports no function 'grete'; did you mean 'greet'?");
  EXPECT_EQ(isolate.function<void()>("nothing_like_it").error().message(),
            "the module exports no function 'nothing_like_it'");

  const auto other = isolate.function<float(std::span<const float>, bool)>("sum");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(other.error().message(),
            "function 'sum' is ([f64]) -> f64 in the program, and the host asks for ([f32], bool) -> f32");

  EXPECT_FALSE(isolate.function<double(NdSpan<const double, 2>)>("sum").ok());
  EXPECT_FALSE(isolate.function<std::int32_t(std::int64_t, std::int64_t)>("divide").ok());
  EXPECT_FALSE(isolate.function<void(std::int64_t, std::int64_t)>("divide").ok());
  EXPECT_FALSE(isolate.function<std::string(double)>("greet").ok());
  EXPECT_FALSE(isolate.function<std::int64_t(std::shared_ptr<int>)>("unbox").ok());
  EXPECT_FALSE(isolate.function<Object(Object)>("bytes").ok());
}

TEST(Function, OutlivesTheIsolateHandle) {
  const TestHost host;
  auto isolate = std::make_unique<Isolate>(host.isolate());
  const auto greet = need(isolate->function<std::string(std::string_view)>("greet"));
  isolate.reset();
  EXPECT_EQ(need(greet("Bob")), "Hello, Bob");
}

TEST(Object, KeepsAliveAndIsChecked) {
  const TestHost host;
  Isolate isolate = host.isolate();
  const auto make = need(isolate.function<Object(std::int64_t)>("box"));
  const auto unbox = need(isolate.function<std::int64_t(const Object&)>("unbox"));
  const auto other = need(isolate.function<Object()>("other"));
  std::vector<Object> boxes;
  for (int i = 0; i < 100; ++i) boxes.push_back(need(make(i)));
  isolate.collect();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(need(unbox(boxes[static_cast<std::size_t>(i)])), i);
  EXPECT_EQ(boxes[0].type_name(), "Box");

  const Object copy = boxes[1];
  EXPECT_TRUE(copy == boxes[1]);
  EXPECT_FALSE(copy == boxes[2]);
  EXPECT_TRUE(Object() == Object());

  EXPECT_EQ(unbox(Object()).error().code(), ErrorCode::kNullReference);
  const auto wrong = unbox(need(other()));
  EXPECT_EQ(wrong.error().code(), ErrorCode::kBadCast);
  EXPECT_EQ(wrong.error().message(), "the parameter is of type Box, and the object of type Other");

  Isolate second = host.isolate();
  const auto foreign = need(second.function<std::int64_t(const Object&)>("unbox"));
  EXPECT_EQ(foreign(boxes[0]).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(boxes[0].text().error().code(), ErrorCode::kBadCast);
  EXPECT_EQ(boxes[0].elements<double>().error().code(), ErrorCode::kBadCast);
  EXPECT_EQ(Object().text().error().code(), ErrorCode::kNullReference);
  EXPECT_EQ(Object().type_name(), "null");
}

TEST(Object, FieldsAreReadAndWrittenByName) {
  const Engine engine;
  const Module module = need(Module::compile(engine, R"(
    struct Point { x: f64; y: f32; }
    class Node {
      flag: bool = true; small: i8 = -5; count: u16 = 65535; value: i64 = 7;
      where: Point = Point(1.5, 2.5);
      name: str = "first"; next: Node? = null; items: [f64] = [1.0, 2.0];
    }
    fn make() -> Node => Node();
    fn length(node: Node?) -> i64 { var n = 0; var at = node; while at != null { n += 1; at = at.next; } return n; }
    fn name_of(node: Node) -> str => node.name;
  )"));
  for (const std::uint32_t stress : {0u, 1u}) {
    const Isolate isolate = need(Isolate::create(module, {.gc_stress = stress, .gc_verify = true}));
    const auto make = need(isolate.function<Object()>("make"));
    const Object node = need(make());
    EXPECT_EQ(need(node.get<bool>("flag")), true);
    EXPECT_EQ(need(node.get<std::int8_t>("small")), -5);
    EXPECT_EQ(need(node.get<std::uint16_t>("count")), 65535);
    EXPECT_EQ(need(node.get<std::int64_t>("value")), 7);
    EXPECT_EQ(need(node.get<double>("where.x")), 1.5);
    EXPECT_EQ(need(node.get<std::string>("name")), "first");
    EXPECT_FALSE(need(node.get<Object>("next")));
    EXPECT_EQ(need(need(node.get<Object>("items")).elements<const double>())[1], 2.0);

    Object last = node;
    for (int i = 0; i < 50; ++i) {
      const Object next = need(make());
      ASSERT_TRUE(last.set("next", next).ok());
      ASSERT_TRUE(next.set("name", "node " + std::to_string(i)).ok());
      last = next;
    }
    EXPECT_EQ(need(need(isolate.function<std::int64_t(const Object&)>("length"))(node)), 51);
    EXPECT_EQ(need(need(isolate.function<std::string(const Object&)>("name_of"))(last)), "node 49");
    ASSERT_TRUE(node.set("where.y", 0.25f).ok());
    EXPECT_EQ(need(node.get<float>("where.y")), 0.25f);
    ASSERT_TRUE(node.set("next", Object()).ok());
    EXPECT_FALSE(need(node.get<Object>("next")));
    EXPECT_EQ(node.fields().size(), 9u);
    EXPECT_EQ(node.fields()[3].name + ": " + node.fields()[3].type, "value: i64");
  }
}

TEST(Object, FieldsThatDoNotFitAreExplained) {
  const TestHost host;
  const Isolate isolate = host.isolate();
  const Object box = need(need(isolate.function<Object(std::int64_t)>("box"))(5));
  EXPECT_EQ(box.get<std::int64_t>("numbre").error().message(),
            "class Box has no field 'numbre'; did you mean 'number'?");
  EXPECT_EQ(box.get<std::int64_t>("zzz").error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(box.get<double>("number").error().message(), "field 'number' is of type i64, and not f64");
  EXPECT_EQ(box.get<std::string>("array").error().code(), ErrorCode::kBadCast);
  EXPECT_EQ(box.get<Object>("number").error().message(),
            "field 'number' is of type i64, and not a reference");
  EXPECT_EQ(box.set("array", box).error().message(), "field 'array' is of type [f64], and not Box");
  EXPECT_EQ(box.set("array", std::string("x")).error().code(), ErrorCode::kBadCast);
  EXPECT_EQ(Object().get<bool>("x").error().code(), ErrorCode::kNullReference);
  EXPECT_TRUE(Object().fields().empty());
  Isolate second = host.isolate();
  const Object foreign = need(second.make_array<double>({3}));
  EXPECT_EQ(box.set("array", foreign).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(foreign.get<bool>("x").error().code(), ErrorCode::kBadCast);
  EXPECT_TRUE(foreign.fields().empty());
}

TEST(Object, ArraysOfTheProgramArePassedWithoutACopy) {
  const TestHost host;
  Isolate isolate = host.isolate();
  const Object array = need(isolate.make_array<double>({10'000}));
  const std::span<double> elements = need(array.elements<double>());
  ASSERT_EQ(elements.size(), 10'000u);
  elements[9'999] = 5;
  const auto sum = need(isolate.function<double(const Object&)>("sum"));
  EXPECT_EQ(need(sum(array)), 5);
  const auto store = need(isolate.function<void(const Object&, std::int64_t, double)>("store"));
  ASSERT_TRUE(store(array, 0, 1.5).ok());
  EXPECT_EQ(need(array.elements<const double>())[0], 1.5);
  EXPECT_EQ(array.sizes(), std::vector<std::int64_t>{10'000});
  EXPECT_EQ(array.type_name(), "[f64]");

  const auto close = need(isolate.function<void(const Object&)>("close"));
  ASSERT_TRUE(close(array).ok());
  EXPECT_EQ(array.elements<double>().error().code(), ErrorCode::kClosed);

  const Object grid = need(isolate.make_array<float>({3, 4}));
  EXPECT_EQ(grid.sizes(), (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(need(grid.elements<float>()).size(), 12u);
  EXPECT_EQ(isolate.make_array<float>({3}).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(isolate.make_array<double>({-3}).error().code(), ErrorCode::kNegativeLength);
  EXPECT_EQ(need(need(isolate.make_text("text")).text()), "text");
}

}  // namespace
}  // namespace dhpvm
