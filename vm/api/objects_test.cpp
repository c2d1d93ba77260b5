// SPDX-License-Identifier: Apache-2.0
// Objects both ways: made and read by the host, given to host functions, and classes of the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vm/api/test_program.h"

namespace dhpvm {
namespace {

struct Point {
  double x = 0;
  float y = 0;
};
struct Named {
  std::string name;
  Point at;
  std::int64_t size = 0;
};

constexpr std::string_view kProgram = R"(
  import list; import map;
  struct Point { x: f64; y: f32; }
  struct Named { name: str; at: Point; size: i64; }
  class Node {
    value: i64 = 1; name: str = "node"; next: Node? = null;
    fn twice() -> i64 => 2 * value;
    fn rename(to: str) { name = to; }
  }
  class Counter {
    steps: [i64];
    init(count: i64) { steps = [i64](count); }
    fn len() -> i64 => steps.len;
  }
  class Shelf { books: List<str>; prices: Map<str, f64>; seen: Set<i64>; }
  interface Speaker { fn speak() -> str; }
  class Dog : Speaker { fn speak() -> str => "woof"; }
  fn stock() -> Shelf {
    let shelf = Shelf(List<str>(), Map<str, f64>(), Set<i64>());
    shelf.books.push("one"); shelf.books.push("two");
    shelf.prices.set("tea", 2.5); shelf.prices.set("gone", 1.0); shelf.prices.set("milk", 1.5);
    shelf.prices.remove("gone");
    shelf.seen.add(7); shelf.seen.add(3);
    return shelf;
  }
  fn total(numbers: List<f64>) -> f64 { var sum = 0.0; for x in numbers { sum += x; } return sum; }
  fn words() -> [str] => ["a", "b"];
  fn points() -> [Point] => [Point](3);
  fn name_of(node: Node?) -> str => node?.name ?? "none";
  fn moved(p: Point, by: f64) -> Point => Point(p.x + by, p.y);
  fn grown(n: Named) -> Named => Named(n.name + "!", moved(n.at, 1.0), n.size + 1);
  fn half(x: f32, all: bool) -> f32 { if all { return x / 2.0; } return x; }
  fn pair() -> (i64, Node) => (1, Node());
  fn adder(n: i64) -> fn(i64) -> i64 => fn(x: i64) -> i64 => x + n;
)";

class Objects : public testing::Test {
 protected:
  Objects() {
    module_ = std::make_unique<Module>(need(Module::compile(engine_, kProgram, {.host_objects = true})));
    isolate_ = std::make_unique<Isolate>(need(Isolate::create(*module_)));
  }
  Isolate& isolate() { return *isolate_; }

  Engine engine_;
  std::unique_ptr<Module> module_;
  std::unique_ptr<Isolate> isolate_;
};

TEST_F(Objects, AreMadeByTheirConstructors) {
  const Object last = need(isolate().make("Node", {7, "last", Object()}));
  EXPECT_EQ(need(last.get<std::int64_t>("value")), 7);
  const Object first = need(isolate().make("Node", {std::uint8_t{9}, std::string("first"), last}));
  EXPECT_TRUE(need(first.get<Object>("next")) == last);
  EXPECT_EQ(need(need(isolate().make("Counter", {5.0})).method<std::int64_t()>("len"))().value_or(0), 5);
  EXPECT_EQ(isolate().make("Counter", {-5}).error().code(), ErrorCode::kNegativeLength);

  const auto new_node = need(isolate().function<Object(std::int64_t, std::string, Object)>("new Node"));
  EXPECT_EQ(need(need(new_node(1, "typed", Object())).get<std::string>("name")), "typed");
  const auto exports = module_->exports();
  EXPECT_NE(std::ranges::find(exports, "new Counter(i64) -> class \"Counter\""), exports.end())
      << testing::PrintToString(exports);
}

class First {
 public:
  double size() const { return 1; }
};
class Second {
 public:
  double size() const { return 2; }
};

// Exports have different names: the class of the source has them.
TEST(ObjectsOfModules, WithClassesOfOneName) {
  Engine engine;
  HostClass<First> first("left.Part");
  first.constructor<>("new_part").method("size", &First::size);
  HostClass<Second> second("right.Part");
  second.constructor<>("new_part").method("size", &Second::size);
  ASSERT_TRUE(engine.define(first).ok());
  ASSERT_TRUE(engine.define(second).ok());
  const Module module = need(Module::compile(engine, R"(
    import left; import right;
    class Part { size: f64; fn twice() -> f64 => 2.0 * size; }
    fn parts() -> [left.Part] => [left.new_part()];
    fn sum(a: left.Part, b: right.Part) -> f64 => a.size() + b.size();
    fn other() -> right.Part => right.new_part();
  )",
                                             {.host_objects = true}));
  const Isolate isolate = need(Isolate::create(module));
  EXPECT_EQ(need(need(isolate.make("Part", {3})).call<double>("twice")), 6.0);
  const Object left = need(need(isolate.call<Object>("parts")).values<Object>()).at(0);
  const Object right = need(isolate.call<Object>("other"));
  EXPECT_EQ(need(isolate.call<double>("sum", {left, right})), 3.0);
  EXPECT_EQ(need(right.call<double>("size")), 2.0);
}

TEST_F(Objects, ThatCannotBeMadeAreExplained) {
  const auto wrong_name = isolate().make("Nod", {});
  EXPECT_EQ(wrong_name.error().code(), ErrorCode::kNotFound);
  EXPECT_NE(wrong_name.error().to_string().find("did you mean 'new Node'"), std::string::npos);
  EXPECT_EQ(isolate().make("Node", {7, "too few"}).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(isolate().make("Node", {7.5, "x", Object()}).error().code(), ErrorCode::kBadCast);
  EXPECT_EQ(isolate().make("Node", {7, 7, Object()}).error().code(), ErrorCode::kBadCast);
  const Isolate plain =
      need(Isolate::create(need(Module::compile(engine_, "class Node { x: i64; } fn f() {}"))));
  EXPECT_NE(plain.make("Node", {1}).error().to_string().find("host_objects"), std::string::npos);
}

TEST_F(Objects, HaveAllTheirMethods) {
  const Object node = need(isolate().make("Node", {21, "", Object()}));
  EXPECT_EQ(need(need(node.method<std::int64_t()>("twice"))()), 42);
  ASSERT_TRUE(node.call("rename", {"other"}).ok());
  EXPECT_EQ(need(node.get<std::string>("name")), "other");
  EXPECT_EQ(need(isolate().call("Node.twice", {node})).front(), Value(std::int64_t{42}));
  EXPECT_EQ(need(need(isolate().make("Dog")).call("speak")).front(), Value("woof"));
}

TEST_F(Objects, CollectionsAreFilledAndRead) {
  const Object numbers = need(isolate().make("List<f64>", {0}));
  for (int i = 1; i <= 4; ++i) ASSERT_TRUE(numbers.call("push", {i}).ok());
  EXPECT_EQ(need(isolate().call("total", {numbers})).front(), Value(10.0));
  double sum = 0;
  for (const Value& value : need(numbers.values())) sum += need(value.as<double>());
  EXPECT_EQ(sum, 10);

  const Object shelf = need(need(isolate().function<Object()>("stock"))());
  EXPECT_EQ(need(need(shelf.get<Object>("books")).values()), (std::vector<Value>{"one", "two"}));
  EXPECT_EQ(need(need(shelf.get<Object>("prices")).entries()),
            (std::vector<std::pair<Value, Value>>{{"tea", 2.5}, {"milk", 1.5}}));
  EXPECT_EQ(need(need(shelf.get<Object>("seen")).values()),
            (std::vector<Value>{std::int64_t{7}, std::int64_t{3}}));
  const Object map = need(isolate().make("Map<str, f64>"));
  ASSERT_TRUE(map.call("set", {"a", 1}).ok());
  EXPECT_EQ(need(map.entries()).size(), 1u);
  EXPECT_EQ(need(need(need(isolate().function<Object()>("words"))()).values()),
            (std::vector<Value>{"a", "b"}));

  EXPECT_EQ(need(numbers.values<std::int64_t>()), (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(need(need(shelf.get<Object>("prices")).entries<std::string, float>()),
            (std::vector<std::pair<std::string, float>>{{"tea", 2.5f}, {"milk", 1.5f}}));
  EXPECT_EQ((map.entries<std::string, bool>().error().code()), ErrorCode::kBadCast);
  EXPECT_EQ(numbers.values<std::string>().error().code(), ErrorCode::kBadCast);

  EXPECT_EQ(map.values().error().code(), ErrorCode::kBadCast);
  EXPECT_EQ(numbers.entries().error().code(), ErrorCode::kBadCast);
  EXPECT_EQ(Object().values().error().code(), ErrorCode::kNullReference);
}

TEST_F(Objects, FieldsAreReadAndWrittenAsValues) {
  const Object node = need(isolate().make("Node", {1, "x", Object()}));
  EXPECT_EQ(need(node.get<Value>("value")), Value(std::int64_t{1}));
  EXPECT_EQ(need(node.get<Value>("name")), Value("x"));
  EXPECT_TRUE(need(node.get<Value>("next")).is_null());
  ASSERT_TRUE(node.set("value", Value(5.0f)).ok());
  ASSERT_TRUE(node.set("name", Value("y")).ok());
  ASSERT_TRUE(node.set("next", Value(node)).ok());
  EXPECT_EQ(need(need(node.get<Object>("next")).get<std::string>("name")), "y");
  EXPECT_EQ(node.set("value", Value("5")).error().code(), ErrorCode::kBadCast);
  EXPECT_EQ(node.set("name", Value(5)).error().code(), ErrorCode::kBadCast);
}

TEST_F(Objects, CallsByNameConvertNumbers) {
  EXPECT_EQ(need(isolate().call("half", {3, true})).front(), Value(1.5f));
  EXPECT_EQ(isolate().call("half", {0.1, true}).error().code(), ErrorCode::kBadCast);
  EXPECT_EQ(isolate().call("half", {1, 1}).error().code(), ErrorCode::kBadCast);
  EXPECT_EQ(isolate().call("haf").error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(need(isolate().call("name_of", {Value()})).front(), Value("none"));
  EXPECT_EQ(need(isolate().call<float>("half", {3, true})), 1.5f);
  EXPECT_EQ(need(isolate().call<double>("half", {3, true})), 1.5);
  EXPECT_EQ(isolate().call<double>("pair").error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(isolate().call<void>("half", {3, true}).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(isolate().call<std::string>("half", {3, true}).error().code(), ErrorCode::kBadCast);
  const Object closure = need(need(isolate().call("adder", {40})).front().as<Object>());
  EXPECT_EQ(need(closure.call("invoke", {2})).front(), Value(std::int64_t{42}));
}

TEST(Values, ConvertNumbersThatAreTheSame) {
  EXPECT_EQ(need(Value(3.0).as<std::int32_t>()), 3);
  EXPECT_EQ(need(Value(-1).as<double>()), -1.0);
  EXPECT_EQ(need(Value(255).as<std::uint8_t>()), 255);
  EXPECT_FALSE(Value(256).as<std::uint8_t>().ok());
  EXPECT_FALSE(Value(-1).as<std::uint64_t>().ok());
  EXPECT_FALSE(Value(0.5).as<std::int64_t>().ok());
  EXPECT_FALSE(Value(0x1p63).as<std::int64_t>().ok());
  EXPECT_EQ(need(Value(-0x1p63).as<std::int64_t>()), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(need(Value(0x1p63).as<std::uint64_t>()), std::uint64_t{1} << 63);
  EXPECT_FALSE(Value(std::numeric_limits<std::int64_t>::max()).as<double>().ok());
  EXPECT_FALSE(Value(0.1).as<float>().ok());
  EXPECT_FALSE(Value(true).as<std::int32_t>().ok());
  EXPECT_FALSE(Value(1).as<bool>().ok());
  EXPECT_FALSE(Value("1").as<std::int32_t>().ok());
  EXPECT_FALSE(Value().as<std::string>().ok());
  EXPECT_FALSE(need(Value().as<Object>()));
}

TEST_F(Objects, ValuesOfAnyTypeAreResultsToo) {
  EXPECT_EQ(need(isolate().call<Value>("half", {3, true})), Value(1.5f));
  EXPECT_EQ(need(isolate().call<Value>("name_of", {Value()})), Value("none"));
  EXPECT_EQ(need(isolate().call<std::optional<double>>("half", {3, true})), 1.5);
  const Object shelf = need(isolate().call<Object>("stock"));
  const auto prices = need(need(shelf.get<Object>("prices")).entries<std::string, Value>());
  ASSERT_EQ(prices.size(), 2u);
  EXPECT_EQ(prices[1].first, "milk");
  EXPECT_EQ(prices[1].second, Value(1.5));
  EXPECT_EQ(need(need(shelf.get<Object>("books")).values<Value>())[1], Value("two"));
  EXPECT_EQ(need(Value().as<std::optional<std::string>>()), std::nullopt);
  EXPECT_EQ(Value(1).as<std::optional<std::string>>().error().code(), ErrorCode::kBadCast);
}

TEST_F(Objects, ResultsThatDoNotFitAreExplained) {
  EXPECT_EQ(isolate().call<void>("half", {3, true}).error().message(),
            "the function gives 1 result, and the call asks for none");
  EXPECT_EQ(isolate().call<double>("pair").error().message(),
            "the function gives 2 results, and the call asks for 1");
  EXPECT_EQ(isolate().call<std::string>("half", {3, true}).error().message(),
            "the value is 1.5 (f32), and does not convert to str");
  EXPECT_EQ(isolate().call<bool>("name_of", {Value()}).error().message(),
            "the value is the str 'none', and does not convert to bool");
  EXPECT_EQ(isolate().call("half", {1}).error().message(),
            "'half' takes (f32, bool), and this call has 1 argument");
  EXPECT_EQ(isolate().call("total").error().message(),
            "'total' takes (List<f64>), and this call has 0 arguments");
}

TEST_F(Objects, AggregatesAreStructs) {
  const auto moved = need(isolate().function<Point(Point, double)>("moved"));
  const Point point = need(moved({1, 2}, 3));
  EXPECT_EQ(point.x, 4);
  EXPECT_EQ(point.y, 2);
  const auto grown = need(isolate().function<Named(Named)>("grown"));
  const Named named = need(grown({"big", {1, 0.5f}, 41}));
  EXPECT_EQ(named.name, "big!");
  EXPECT_EQ(named.at.x, 2);
  EXPECT_EQ(named.at.y, 0.5f);
  EXPECT_EQ(named.size, 42);
  EXPECT_EQ(isolate().function<Point(Point)>("moved").error().code(), ErrorCode::kInvalidArgument);
}

// ---- What host functions take and give.

TEST(HostObjects, ClosuresNullsAndStructsReachTheHost) {
  Engine engine;
  std::vector<std::int64_t> visited;
  ASSERT_TRUE(engine
                  .define("host.each",
                          [&](const Object& visit, std::int64_t count) -> Status {
                            auto call = visit.closure<void(std::int64_t)>();
                            if (!call.ok()) return call.error();
                            for (std::int64_t i = 0; i < count; ++i) DHPVM_TRY((*call)(i));
                            return {};
                          })
                  .ok());
  ASSERT_TRUE(engine
                  .define("host.length",
                          [](const std::optional<std::string>& text) {
                            return text ? std::optional(static_cast<std::int64_t>(text->size()))
                                        : std::nullopt;
                          })
                  .ok());
  ASSERT_TRUE(engine.define("host.next", [](std::optional<double> x) { return x.value_or(-1) + 1; }).ok());
  ASSERT_TRUE(engine.define("host.flip", [](Point p) { return Point{p.y, static_cast<float>(p.x)}; }).ok());
  ASSERT_TRUE(engine
                  .define("host.value",
                          [](const Object& node) -> Result<std::int64_t> {
                            if (!node) return std::int64_t{-1};
                            return node.get<std::int64_t>("value");
                          })
                  .ok());
  ASSERT_TRUE(engine.define("host.same", [](const Object& node) { return node; }).ok());
  ASSERT_TRUE(engine.define("host.visit", [&](std::int64_t i) { visited.push_back(i); }).ok());
  const Module module = need(Module::compile(engine, R"(
    struct Point { x: f64; y: f32; }
    class Node { value: i64; }
    class Other { value: i64; }
    extern fn each(visit: fn(i64), count: i64);
    extern fn length(text: str?) -> i64?;
    extern fn next(x: f64?) -> f64;
    extern fn flip(p: Point) -> Point;
    extern fn value(node: Node?) -> i64;
    extern fn same(node: Node) -> Node;
    extern fn visit(i: i64);
    fn closures() { let offset = 10; each(fn(i: i64) { visit(i + offset); }, 3); }
    fn lengths() -> i64 => (length("four") ?? -1) * 100 + (length(null) ?? -1);
    fn numbers() -> f64 => next(null) * 100.0 + next(1.5);
    fn flipped() -> f64 { let p = flip(Point(1.0, 2.0)); return p.x * 10.0 + (p.y as f64); }
    fn objects() -> i64 => value(Node(5)) * 100 + value(null) + same(Node(7)).value;
  )"));
  for (const std::uint32_t stress : {0u, 1u}) {
    const Isolate isolate = need(Isolate::create(module, {.gc_stress = stress, .gc_verify = stress != 0}));
    visited.clear();
    ASSERT_TRUE(need(isolate.function<void()>("closures"))().ok());
    EXPECT_EQ(visited, (std::vector<std::int64_t>{10, 11, 12}));
    EXPECT_EQ(need(need(isolate.function<std::int64_t()>("lengths"))()), 399);
    EXPECT_EQ(need(need(isolate.function<double()>("numbers"))()), 2.5);
    EXPECT_EQ(need(need(isolate.function<double()>("flipped"))()), 21.0);
    EXPECT_EQ(need(need(isolate.function<std::int64_t()>("objects"))()), 506);
  }
}

TEST(HostObjects, OfAnotherClassOrIsolateAreRefused) {
  Engine engine;
  Object kept;
  ASSERT_TRUE(engine.define("host.node", [&] { return kept; }).ok());
  const Module module = need(Module::compile(engine, R"(
    class Node { value: i64; }
    class Other { value: i64; }
    extern fn node() -> Node?;
    fn value() -> i64 => node()?.value ?? -1;
    fn make() -> Node => Node(3);
    fn other() -> Other => Other(4);
  )"));
  const Isolate isolate = need(Isolate::create(module));
  const auto value = need(isolate.function<std::int64_t()>("value"));
  EXPECT_EQ(need(value()), -1);
  kept = need(need(isolate.function<Object()>("make"))());
  EXPECT_EQ(need(value()), 3);
  kept = need(need(isolate.function<Object()>("other"))());
  EXPECT_EQ(value().error().code(), ErrorCode::kBadCast);
  {
    const Isolate second = need(Isolate::create(module));
    kept = need(need(second.function<Object()>("make"))());
    EXPECT_FALSE(value().ok());
  }
  kept = {};
}

// ---- Classes of the host.

class Camera {
 public:
  explicit Camera(double start) : zoom(start) {}
  void move(double dx, double dy) {
    x_ += dx;
    y_ += dy;
  }
  double distance(bool squared) const { return squared ? x_ * x_ + y_ * y_ : x_ + y_; }
  double doubled() const { return 2 * zoom; }
  Status fail(std::string_view why) { return Error(ErrorCode::kUserTrap, std::string(why)); }
  std::optional<std::string> label() const { return label_; }
  void set_label(std::optional<std::string> text) { label_ = std::move(text); }
  double zoom;
  const std::int32_t serial = 12;

 private:
  double x_ = 0;
  double y_ = 0;
  std::optional<std::string> label_;
};

TEST(HostClasses, HaveMethodsAndProperties) {
  Engine engine;
  HostClass<Camera> camera("studio.Camera");
  camera.constructor<double>("new_camera")
      .method("move", &Camera::move)
      .method("distance", &Camera::distance)
      .method("fail", &Camera::fail)
      .method("sum",
              [](const Camera& self, std::span<const double> more) { return self.zoom + more[0] + more[1]; })
      .property("zoom", &Camera::zoom)
      .property("serial", &Camera::serial)
      .property("doubled", &Camera::doubled)
      .property("tripled", [](const Camera& self) { return 3 * self.zoom; })
      .property("label", &Camera::label, &Camera::set_label);
  ASSERT_TRUE(engine.define(camera).ok());
  const Module module = need(Module::compile(engine, R"(
    import studio;
    fn own() -> f64 {
      let c = studio.new_camera(2.0);
      c.move(3.0, 4.0);
      c.set_zoom(c.zoom() * 10.0);
      return c.distance(true) + c.zoom() + (c.serial() as f64) + c.sum([1.0, 2.0]) + c.tripled() - c.doubled();
    }
    fn label(of: resource) -> str {
      let c = studio.Camera(of);
      let before = c.label() ?? "none";
      c.set_label("front");
      return before + " " + (c.label() ?? "none");
    }
    fn wrong(of: resource) { studio.Camera(of).fail("broken lens"); }
  )"));
  const Isolate isolate = need(Isolate::create(module));
  EXPECT_EQ(need(need(isolate.function<double()>("own"))()), 25 + 20 + 12 + 23 + 60 - 40);
  const auto mine = std::make_shared<Camera>(1.0);
  const auto label = need(isolate.function<std::string(std::shared_ptr<Camera>)>("label"));
  EXPECT_EQ(need(label(mine)), "none front");
  EXPECT_EQ(mine->label(), "front");
  const auto wrong = need(isolate.function<void(std::shared_ptr<Camera>)>("wrong"));
  EXPECT_NE(wrong(mine).error().to_string().find("broken lens"), std::string::npos);
  // Another class behind the resource.
  const auto other = need(isolate.function<void(std::shared_ptr<int>)>("wrong"));
  EXPECT_EQ(other(std::make_shared<int>(1)).error().code(), ErrorCode::kBadCast);

  EXPECT_EQ(engine.define(HostClass<Camera>("list.Camera")).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(engine.define(HostClass<Camera>("studio")).error().code(), ErrorCode::kInvalidArgument);
  HostClass<Camera> odd("studio.Odd");
  odd.method("a b", &Camera::move);
  EXPECT_EQ(engine.define(odd).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(engine.define(HostClass<Camera>("match.Camera")).error().code(), ErrorCode::kInvalidArgument);
  for (const char* const taken : {"match", "handle", "make"}) {
    HostClass<Camera> other_class("studio.Taken");
    other_class.constructor<double>("make").method(taken, &Camera::move);
    EXPECT_EQ(engine.define(other_class).error().code(), ErrorCode::kInvalidArgument) << taken;
  }
}

TEST(HostClasses, ConstructorsThatAreFunctions) {
  Engine engine;
  HostClass<Camera> camera("studio.Camera");
  const auto shared = std::make_shared<Camera>(7.0);
  camera
      .constructor("open",
                   [](std::string_view name) -> Result<std::shared_ptr<Camera>> {
                     if (name.empty()) return Error(ErrorCode::kUserTrap, "a camera has a name");
                     return std::make_shared<Camera>(static_cast<double>(name.size()));
                   })
      .constructor("first", [shared] { return shared; })
      .constructor("none", [] { return std::shared_ptr<Camera>(); })
      .property("zoom", &Camera::zoom);
  ASSERT_TRUE(engine.define(camera).ok());
  const Module module = need(Module::compile(engine, R"(
    import studio;
    fn zoom_of(name: str) -> f64 => studio.open(name).zoom();
    fn change() -> f64 { let c = studio.first(); c.set_zoom(c.zoom() + 1.0); return studio.first().zoom(); }
    fn without() -> f64 => studio.none().zoom();
  )"));
  const Isolate isolate = need(Isolate::create(module));
  EXPECT_EQ(need(isolate.call<double>("zoom_of", {"front"})), 5);
  EXPECT_NE(isolate.call("zoom_of", {""}).error().to_string().find("a camera has a name"), std::string::npos);
  EXPECT_EQ(need(isolate.call<double>("change")), 8);
  EXPECT_EQ(shared->zoom, 8);
  EXPECT_TRUE(isolate.call("without").error().is_trap());
}

TEST(HostClasses, NamesThatJoinToTheSame) {
  Engine engine;
  HostClass<Camera> first("studio.A");
  first.method("b_c", [](const Camera& self) { return self.zoom; });
  HostClass<Camera> second("studio.A_b");
  second.method("c", [](const Camera& self) { return 10 * self.zoom; });
  ASSERT_TRUE(engine.define(first).ok() && engine.define(second).ok());
  const Isolate isolate = need(Isolate::create(need(Module::compile(engine, R"(
    import studio;
    fn both(of: resource) -> f64 => studio.A(of).b_c() + studio.A_b(of).c();
  )"))));
  const auto both = need(isolate.function<double(std::shared_ptr<Camera>)>("both"));
  EXPECT_EQ(need(both(std::make_shared<Camera>(1.0))), 11);
}

TEST(HostClasses, ProgramsOwnWhatTheyMake) {
  Engine engine;
  struct Counted {
    explicit Counted(int* counter) : alive(counter) { ++*alive; }
    ~Counted() { --*alive; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    int* alive;
  };
  int alive = 0;
  ASSERT_TRUE(engine.define("host.counted", [&] { return std::make_shared<Counted>(&alive); }).ok());
  const Module module = need(Module::compile(engine, R"(
    extern fn counted() -> resource;
    class Holder { held: resource; }
    fn hold() -> Holder => Holder(counted());
  )"));
  Isolate isolate = need(Isolate::create(module));
  Object holder = need(need(isolate.function<Object()>("hold"))());
  isolate.collect();
  EXPECT_EQ(alive, 1);
  holder = {};
  isolate.collect();
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace dhpvm
