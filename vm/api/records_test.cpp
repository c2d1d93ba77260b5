// SPDX-License-Identifier: Apache-2.0
// Structs as records, enums, and values that may be null, where types are known at run time only.
#include <array>
#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bytecode/assembler.h"
#include "bytecode/writer.h"
#include "vm/api/test_program.h"

namespace dhpvm {
namespace {

constexpr std::string_view kProgram = R"(
  import list; import map;
  struct Point { x: f64; y: f32; }
  struct Place { name: str; at: Point; floor: i64?; near: Point?; }
  struct Pair { has: bool; value: i64; }
  struct Holder { pair: Pair; color: Color; }
  struct Empty { }
  struct Complex { re: f64; im: f64; }
  enum Color { red, green, blue }
  class Car {
    place: Place; color: Color = Color.green; limit: i64?; spare: Point? = null;
    init(place: Place, limit: i64?) { this.place = place; this.limit = limit; }
    fn moved(by: Point) -> Point => Point(place.at.x + by.x, place.at.y + by.y);
  }
  interface Shape { fn corner(of: Point, far: bool) -> Point; }
  class Box : Shape { size: f64; fn corner(of: Point, far: bool) -> Point => Point(of.x + size, of.y); }

  fn swapped(p: Point) -> Point => Point(p.y as f64, p.x as f32);
  fn same(place: Place) -> Place => place;
  fn scaled(a: i64, p: Point, e: Empty, q: Point, b: i64) -> (Point, i64, i64?) {
    return (Point(p.x * q.x, p.y * q.y), a + b, a);
  }
  fn maybe(p: Point?, n: i64?) -> Point? { if n == null { return null; } return p; }
  fn holder(h: Holder) -> Holder => h;
  fn next(color: Color) -> Color { if color == Color.red { return Color.green; } return Color.blue; }
  fn points() -> [Point] => [Point(1.0, 2.0), Point(3.0, 4.0)];
  fn places() -> List<Place> {
    let all = List<Place>();
    all.push(Place("a", Point(1.0, 2.0), 3, null)); all.push(Place("b", Point(0.5, 0.0), null, Point(9.0, 8.0)));
    return all;
  }
  fn numbers() -> [i64?] { let all = [i64?](2); all[1] = 7; return all; }
  fn colors() -> [Color] => [Color.blue, Color.red];
  fn by_name() -> Map<str, Point> { let m = Map<str, Point>(); m.set("one", Point(1.0, 1.0)); return m; }
  fn by_point() -> Map<Point, i64> { let m = Map<Point, i64>(); m.set(Point(1.0, 1.0), 5); return m; }
  fn box() -> Shape => Box(10.0);
  fn mover() -> fn(Point, i64) -> Point => fn(p: Point, n: i64) -> Point => Point(p.x + (n as f64), p.y);
  fn first(points: [Point]) -> Point => points[0];
  fn turn(all: [Complex]) { parallel for i in 0..all.len { all[i] = Complex(-all[i].im, all[i].re); } }
  fn units(n: i64) -> [Complex] => [Complex](n, fill: Complex(1.0, 0.0));
  class Trip { via: Place? = null; }
  fn trip() -> Trip => Trip();
  fn car() -> Car => Car(Place("home", Point(0.0, 1.0), null, null), null);
)";

Record point(double x, double y) { return Record{{"x", x}, {"y", static_cast<float>(y)}}; }
Record place(const char* name, Record at, Value floor, Value near) {
  return Record{
      {"name", name}, {"at", std::move(at)}, {"floor", std::move(floor)}, {"near", std::move(near)}};
}

class Records : public testing::Test {
 protected:
  Value call(std::string_view name, std::initializer_list<Value> arguments = {}) {
    const std::vector<Value> results = need(isolate_.call(name, arguments));
    EXPECT_EQ(results.size(), 1u);
    return results.at(0);
  }
  Error refused(std::string_view name, std::initializer_list<Value> arguments) {
    const auto result = isolate_.call(name, arguments);
    EXPECT_FALSE(result.ok());
    return result.ok() ? Error(ErrorCode::kInternal, "") : result.error();
  }
  Object object(std::string_view name) { return need(call(name).as<Object>()); }

  Engine engine_;
  Module module_ = need(Module::compile(engine_, kProgram, {.host_objects = true}));
  Isolate isolate_ = need(Isolate::create(module_, {.gc_stress = 1, .gc_verify = true}));
};

TEST_F(Records, GoThroughCalls) {
  const Record swapped = need(call("swapped", {point(1, 2)}).as<Record>());
  EXPECT_EQ(swapped, point(2, 1));
  EXPECT_EQ(swapped.type, "Point");
  EXPECT_EQ(need(swapped.get<double>("x")), 2.0);
  EXPECT_EQ(swapped.get<double>("z").error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(call("swapped", {Record{{"y", 2}, {"x", 1}}}),
            Value(point(2, 1)));  // order and types do not matter

  const Record full = place("hall", point(1, 2), std::int64_t{3}, point(4, 5));
  const Record bare = place("", point(0, 0), Value(), Value());
  EXPECT_EQ(call("same", {full}), Value(full));
  EXPECT_EQ(call("same", {bare}), Value(bare));

  const auto results = need(isolate_.call("scaled", {1, point(2, 3), point(4, 5), 6}));
  EXPECT_EQ(results, (std::vector<Value>{point(8, 15), std::int64_t{7}, std::int64_t{1}}));
  EXPECT_EQ(call("maybe", {point(1, 2), 1}), Value(point(1, 2)));
  EXPECT_TRUE(call("maybe", {point(1, 2), Value()}).is_null());
  EXPECT_TRUE(call("maybe", {Value(), 1}).is_null());
  // A struct whose fields look like those of a nullable.
  const Record pair{{"has", true}, {"value", std::int64_t{4}}};
  const Record holder{{"pair", pair}, {"color", std::uint8_t{2}}};
  EXPECT_EQ(call("holder", {holder}), Value(holder));
  EXPECT_EQ(call("next", {0}), Value(std::uint8_t{1}));
}

TEST_F(Records, ThatDoNotFitAreExplained) {
  EXPECT_EQ(refused("swapped", {1.0, 2.0}).message(),
            "'swapped' takes (Point), and this call has 2 arguments");
  EXPECT_EQ(refused("swapped", {1.0}).cause()->message(), "the value is no record, and a struct is wanted");
  EXPECT_EQ(refused("swapped", {Record{{"x", 1.0}}}).cause()->message(),
            "the record has no field 'y', which the struct has");
  const Error unknown =
      refused("same", {Record{{"nane", "x"}, {"at", point(1, 2)}, {"floor", 1}, {"near", 1}}});
  EXPECT_EQ(unknown.code(), ErrorCode::kNotFound);
  EXPECT_EQ(unknown.message(), "argument 1 cannot be passed as Place");
  EXPECT_EQ(unknown.cause()->message(), "the struct has no field 'nane'; did you mean 'name'?");
  const Error inside = refused("same", {place("x", Record{{"x", 0.1}, {"y", 0.1}}, 1, Value())});
  EXPECT_EQ(inside.code(), ErrorCode::kBadCast);
  EXPECT_EQ(inside.cause()->message(), "field 'at' cannot be set");
  EXPECT_EQ(inside.cause()->cause()->message(), "field 'y' cannot be set");
  EXPECT_EQ(refused("swapped", {Record{{"x", 1}, {"y", 1}, {"y", 2}}}).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused("swapped", {Record{{"x", Value()}, {"y", 1}}}).code(), ErrorCode::kBadCast);
}

TEST_F(Records, AreElementsOfCollections) {
  EXPECT_EQ(need(object("points").values()), (std::vector<Value>{point(1, 2), point(3, 4)}));
  EXPECT_EQ(need(object("places").values()),
            (std::vector<Value>{place("a", point(1, 2), std::int64_t{3}, Value()),
                                place("b", point(0.5, 0), Value(), point(9, 8))}));
  EXPECT_EQ(need(object("numbers").values()), (std::vector<Value>{Value(), std::int64_t{7}}));
  EXPECT_EQ(need(object("colors").values()), (std::vector<Value>{std::uint8_t{2}, std::uint8_t{0}}));
  using Entries = std::vector<std::pair<Value, Value>>;
  EXPECT_EQ(need(object("by_name").entries()), (Entries{{"one", point(1, 1)}}));
  EXPECT_EQ(need(object("by_point").entries()), (Entries{{point(1, 1), std::int64_t{5}}}));
  // And back, through methods of the collection.
  const Object list = need(isolate_.make("List<Place>", {0}));
  const Record full = place("hall", point(1, 2), std::int64_t{3}, point(4, 5));
  ASSERT_TRUE(list.call("push", {full}).ok());
  EXPECT_EQ(need(list.values()), (std::vector<Value>{full}));
}

TEST_F(Records, AreFieldsOfObjects) {
  const Object car = object("car");
  std::vector<std::string> fields;
  for (const FieldEntry& field : car.fields()) fields.push_back(field.name + ": " + field.type);
  EXPECT_EQ(fields, (std::vector<std::string>{"place.name: str", "place.at.x: f64", "place.at.y: f32",
                                              "place.floor: i64?", "place.near?: bool", "place.near.x: f64",
                                              "place.near.y: f32", "color: u8", "limit: i64?", "spare?: bool",
                                              "spare.x: f64", "spare.y: f32"}));
  EXPECT_EQ(need(car.get<Record>("place")), place("home", point(0, 1), Value(), Value()));
  EXPECT_EQ(need(car.get<Record>("place.at")), point(0, 1));
  EXPECT_EQ(need(car.get<double>("place.at.x")), 0.0);
  EXPECT_EQ(need(car.get<Value>("color")), Value(std::uint8_t{1}));
  const Record moved = place("road", point(7, 8), std::int64_t{2}, point(1, 1));
  ASSERT_TRUE(car.set("place", moved).ok());
  EXPECT_EQ(need(car.get<Record>("place")), moved);
  EXPECT_EQ(need(car.call("moved", {point(1, 1)})).at(0), Value(point(8, 9)));

  // Fields that may be null.
  EXPECT_EQ(need(car.get<std::optional<std::int64_t>>("limit")), std::nullopt);
  EXPECT_EQ(car.get<std::int64_t>("limit").error().code(), ErrorCode::kNullReference);
  ASSERT_TRUE(car.set("limit", std::int64_t{50}).ok());
  EXPECT_EQ(need(car.get<std::int64_t>("limit")), 50);
  EXPECT_EQ(need(car.get<std::optional<std::int64_t>>("limit")), 50);
  ASSERT_TRUE(car.set("limit", std::optional<std::int64_t>()).ok());
  EXPECT_TRUE(need(car.get<Value>("limit")).is_null());
  EXPECT_TRUE(need(car.get<Value>("spare")).is_null());
  EXPECT_EQ(car.get<double>("spare.x").error().code(), ErrorCode::kNullReference);
  ASSERT_TRUE(car.set("spare", Value(point(1, 2))).ok());
  EXPECT_EQ(need(car.get<double>("spare.x")), 1.0);
  EXPECT_EQ(car.get<Record>("limit").error().code(), ErrorCode::kBadCast);
  EXPECT_EQ(car.get<Value>("plaze").error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(car.get<Value>("place.ax").error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(car.set("place", Record{{"name", 1}}).error().code(), ErrorCode::kBadCast);
}

// A record that does not fit leaves the field as it is, whatever comes before the part that does not.
TEST_F(Records, AreStoredAsAWholeOrNotAtAll) {
  const Object car = object("car");
  const Record before = need(car.get<Record>("place"));
  const Record after = place("road", point(7, 8), std::int64_t{2}, point(1, 1));
  const auto with = [&](const char* name, Value value) {
    Record changed = after;
    changed.set(name, std::move(value));
    return changed;
  };
  EXPECT_EQ(car.set("place", with("near", Record{{"x", 1}, {"y", "1"}})).error().code(), ErrorCode::kBadCast);
  EXPECT_EQ(car.set("place", with("floor", 0.5)).error().code(), ErrorCode::kBadCast);
  EXPECT_EQ(car.set("place", with("near", Record{{"x", 1}})).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(car.set("place", with("more", 1)).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(car.set("spare", Record{{"x", 1}, {"y", 0.1}}).error().code(), ErrorCode::kBadCast);
  EXPECT_EQ(need(car.get<Record>("place")), before);
  EXPECT_TRUE(need(car.get<Value>("spare")).is_null());
}

// Nothing is stored in a struct that is null, where the program would never see it.
TEST_F(Records, ThatAreNullHaveNoFields) {
  const Object car = object("car");
  EXPECT_TRUE(need(car.get<Value>("spare.x")).is_null());
  EXPECT_EQ(need(car.get<std::optional<double>>("place.near.x")), std::nullopt);
  EXPECT_EQ(car.set("spare.x", Value(1.0)).error().message(), "field 'spare' is null");
  EXPECT_EQ(car.set("place.near.x", 1.0).error().message(), "field 'place.near' is null");
  const Object trip = object("trip");
  EXPECT_EQ(trip.set("via.name", std::string("x")).error().message(), "field 'via' is null");
  EXPECT_EQ(trip.set("via.name", Object()).error().message(), "field 'via' is null");
  EXPECT_EQ(trip.set("via.at.x", Value(1)).error().message(), "field 'via' is null");
  ASSERT_TRUE(trip.set("via", place("x", point(1, 2), Value(), Value())).ok());
  ASSERT_TRUE(trip.set("via.name", std::string("y")).ok());
  ASSERT_TRUE(trip.set("via.floor", std::int64_t{3}).ok());
  EXPECT_EQ(trip.set("via.near.x", Value(1)).error().message(), "field 'via.near' is null");
  EXPECT_EQ(need(trip.get<Value>("via")), Value(place("y", point(1, 2), std::int64_t{3}, Value())));
  EXPECT_EQ(trip.get<Value>("via.").error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(trip.get<Value>("via.name.x").error().code(), ErrorCode::kNotFound);
}

TEST_F(Records, AreNoFieldsOfOtherTypes) {
  const Object car = need(isolate_.make("Car", {place("x", point(1, 2), 1, Value()), 30}));
  const std::string_view wanted =
      "field 'place' is a struct: ask for it as a record, or for a field of it, such as 'place.name'";
  EXPECT_EQ(car.get<double>("place").error().message(), wanted);
  EXPECT_EQ(car.get<double>("place").error().code(), ErrorCode::kBadCast);
  EXPECT_EQ(car.get<std::string>("place").error().message(), wanted);
  EXPECT_EQ(car.get<Object>("place").error().message(), wanted);
  EXPECT_EQ(car.set("place", 1.0).error().message(), wanted);
  EXPECT_EQ(car.get<Record>("plase").error().message(),
            "class Car has no field 'plase'; did you mean 'place'?");
}

TEST_F(Records, ReachMethodsClosuresAndConstructors) {
  EXPECT_EQ(need(object("box").call("corner", {point(1, 2), true})).at(0), Value(point(11, 2)));
  EXPECT_EQ(need(object("mover").call("invoke", {point(1, 2), 4})).at(0), Value(point(5, 2)));
  const Object car = need(isolate_.make("Car", {place("x", point(1, 2), 1, Value()), 30}));
  EXPECT_EQ(need(car.get<std::int64_t>("limit")), 30);
}

TEST(ResultsOfPrograms, AreValuesOrErrors) {
  const Engine engine;
  const Isolate isolate = need(Isolate::create(need(Module::compile(engine, R"(
    struct Point { x: f64; y: f32; }
    fn checked(n: i64) -> i64! { if n < 0 { return Error("negative"); } return n; }
    fn placed(n: i64) -> Point! => Point((try checked(n)) as f64, 2.0);
    fn done(n: i64) -> void! { try checked(n); }
    fn name(n: i64) -> str?! { if n < 0 { return Error("no name"); } return null; }
  )",
                                                                    {.file_name = "results.dhp"}))));
  EXPECT_EQ(need(isolate.call<std::int64_t>("checked", {5})), 5);
  EXPECT_EQ(need(isolate.call<Record>("placed", {3})), point(3, 2));
  EXPECT_TRUE(isolate.call<void>("done", {0}).ok());
  EXPECT_TRUE(need(isolate.call<Value>("name", {0})).is_null());
  const Result<Value> failed = isolate.call<Value>("placed", {-1});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code(), ErrorCode::kUserTrap);
  EXPECT_EQ(failed.error().message(), "negative");
  ASSERT_EQ(failed.error().frames().size(), 2u);
  EXPECT_EQ(failed.error().frames()[0].function, "checked");
  EXPECT_EQ(failed.error().frames()[1].line, 4u);
  EXPECT_EQ(isolate.call<void>("done", {-1}).error().message(), "negative");
  EXPECT_EQ(isolate.call<Value>("name", {-1}).error().message(), "no name");
  const auto typed = need(isolate.function<std::tuple<Object, std::int64_t>(std::int64_t)>("checked"));
  EXPECT_EQ(std::get<1>(need(typed(7))), 7);
  EXPECT_TRUE(std::get<0>(need(typed(-7))));
}

// Without host_objects, a host finds the methods that the program calls itself.
TEST(RecordsAndMethods, ThatTheProgramCalls) {
  const Engine engine;
  const Isolate isolate = need(Isolate::create(need(Module::compile(engine, R"(
    struct Point { x: f64; y: f32; }
    class Box { fn turned(p: Point) -> Point => Point(p.y as f64, p.x as f32); }
    fn box() -> Box { let b = Box(); b.turned(Point(0.0, 0.0)); return b; }
  )"))));
  const Object box = need(isolate.call<Object>("box"));
  EXPECT_EQ(need(box.call<Record>("turned", {point(1, 2)})), point(2, 1));
}

// Names of fields that no compiler writes: each leaf is found once, whatever they are.
TEST(RecordsOfOtherModules, HaveAnyNames) {
  std::string deep = "a";
  for (int i = 0; i < 200'000; ++i) deep += ".a";
  const std::string names[] = {".", "..", "?", "x.", "x..y", "x?.", "?.x", deep};
  const Engine engine;
  for (const std::string& name : names) {
    const std::string field = "field \"" + name + "\": bool\n";
    const std::string text =
        "module 1.0\ntype string str\ntype resource resource\ntype struct S\n" + field + field +
        "function f(bool, bool) -> bool, bool registers 2 0 exported\nstruct 0 S\nstruct 2 S\nreturn\nend\n"
        "function g() -> bool, bool registers 2 0 exported\nstruct 0 S\nimm p0, 1\nimm p1, 1\nreturn\nend\n";
    const auto module = bytecode::assemble(text);
    ASSERT_TRUE(module.ok()) << module.error().to_string();
    const Isolate isolate =
        need(Isolate::create(need(Module::load(engine, bytecode::write_module(*module)))));
    const Value given = need(isolate.call("g")).at(0);
    EXPECT_EQ(need(given.as<Record>()).type, "S") << name.substr(0, 9);
    EXPECT_FALSE(isolate.call("f", {Record{{"other", 1}}}).ok());
  }
}

TEST_F(Records, SurviveTheWayThroughAFile) {
  for (const bool strip : {false, true}) {
    const std::vector<std::byte> bytes = module_.bytes(strip);
    Isolate isolate = need(Isolate::create(need(Module::load(engine_, bytes))));
    EXPECT_EQ(need(isolate.call("swapped", {point(1, 2)})).at(0), Value(point(2, 1)));
  }
}

// ---- Arrays of structs, and enums, where the types are known.

struct Pixel {
  double re = 0;
  double im = 0;
};
enum class Color : std::uint8_t { kRed, kGreen, kBlue };

TEST_F(Records, UniformStructsAreLent) {
  const auto turn = need(isolate_.function<void(std::span<std::complex<double>>)>("turn"));
  std::vector<std::complex<double>> numbers{{1, 0}, {2, 3}};
  ASSERT_TRUE(turn(numbers).ok());
  EXPECT_EQ(numbers, (std::vector<std::complex<double>>{{0, 1}, {-3, 2}}));
  std::vector<Pixel> pixels{{1, 0}, {2, 3}};
  ASSERT_TRUE(need(isolate_.function<void(std::span<Pixel>)>("turn"))(pixels).ok());
  EXPECT_EQ(pixels[1].re, -3);
  const auto units = need(isolate_.function<std::vector<std::complex<double>>(std::int64_t)>("units"));
  EXPECT_EQ(need(units(2)), (std::vector<std::complex<double>>{{1, 0}, {1, 0}}));
  // Structs with numbers of another kind, or another number of them.
  EXPECT_EQ(isolate_.function<void(std::span<std::complex<float>>)>("turn").error().message(),
            "function 'turn' is ([class \"Complex\"]) in the program, and the host asks for ([(f32, f32)])");
  EXPECT_FALSE(isolate_.function<void(std::span<std::array<double, 3>>)>("turn").ok());
  EXPECT_FALSE(isolate_.function<void(std::span<double>)>("turn").ok());
  EXPECT_FALSE(isolate_.function<Pixel(std::span<Pixel>)>("first").ok());
}

TEST_F(Records, PlainEnumsAreEnumClasses) {
  const auto next = need(isolate_.function<Color(Color)>("next"));
  EXPECT_EQ(need(next(Color::kRed)), Color::kGreen);
  EXPECT_EQ(need(next(Color::kGreen)), Color::kBlue);
}

TEST(HostStructs, ArraysOfThemReachHostFunctions) {
  Engine engine;
  ASSERT_TRUE(
      engine
          .define("host.make",
                  [](std::int64_t n) { return std::vector<Pixel>(static_cast<std::size_t>(n), {1, 2}); })
          .ok());
  ASSERT_TRUE(engine
                  .define("host.sum",
                          [](std::span<const std::complex<double>> all) {
                            std::complex<double> sum;
                            for (const std::complex<double>& each : all) sum += each;
                            return sum.real() * 10 + sum.imag();
                          })
                  .ok());
  ASSERT_TRUE(
      engine
          .define("host.after", [](Color color) { return color == Color::kRed ? Color::kBlue : Color::kRed; })
          .ok());
  const Isolate isolate = need(Isolate::create(need(Module::compile(engine, R"(
    struct C { re: f64; im: f64; }
    extern fn make(n: i64) -> [C];
    extern fn sum(all: [C]) -> f64;
    extern fn after(color: u8) -> u8;
    fn total(n: i64) -> f64 => sum(make(n));
    fn last() -> bool => after(0) == 2;
  )"))));
  EXPECT_EQ(need(need(isolate.function<double(std::int64_t)>("total"))(3)), 36.0);
  EXPECT_TRUE(need(need(isolate.function<bool()>("last"))()));
}

struct Spot {
  double x = 0;
  double y = 0;
};
class Lamp {
 public:
  explicit Lamp(Spot at) : at_(at) {}
  void place(Spot to, Color color) {
    at_ = to;
    color_ = color;
  }
  Spot where() const { return at_; }
  std::tuple<std::string, Color> look() const { return {"lamp", color_}; }

 private:
  Spot at_;
  Color color_ = Color::kRed;
};

TEST(HostStructs, AreTuplesInHostClasses) {
  Engine engine;
  HostClass<Lamp> lamp("studio.Lamp");
  lamp.constructor<Spot>("new_lamp")
      .method("place", &Lamp::place)
      .method("where", &Lamp::where)
      .method("look", &Lamp::look);
  ASSERT_TRUE(engine.define(lamp).ok());
  const Isolate isolate = need(Isolate::create(need(Module::compile(engine, R"(
    import studio;
    fn lit() -> str {
      let lamp = studio.new_lamp((1.0, 2.0));
      let (x, y) = lamp.where();
      lamp.place((x + 10.0, y + 10.0), 2);
      let (name, color) = lamp.look();
      return f"{name} {lamp.where().0} {lamp.where().1} {color}";
    }
  )"))));
  EXPECT_EQ(need(need(isolate.function<std::string()>("lit"))()), "lamp 11.0 12.0 2");
}

// A class of the host is one of the program's for the host: host_objects has all its methods, with tuples as records.
TEST(HostStructs, ReachTheMethodsOfHostClassesByName) {
  Engine engine;
  HostClass<Lamp> lamp("studio.Lamp");
  lamp.constructor<Spot>("new_lamp").method("place", &Lamp::place).method("where", &Lamp::where);
  ASSERT_TRUE(engine.define(lamp).ok());
  const Isolate isolate = need(Isolate::create(
      need(Module::compile(engine, "import studio; fn lamp() -> studio.Lamp => studio.new_lamp((1.0, 2.0));",
                           {.host_objects = true}))));
  const Object made = need(isolate.call<Object>("lamp"));
  ASSERT_TRUE(made.call("place", {Record{{"0", 3}, {"1", 4}}, 1}).ok());
  EXPECT_EQ(need(made.call("where")), (std::vector<Value>{3.0, 4.0}));
}

}  // namespace
}  // namespace dhpvm
