// SPDX-License-Identifier: Apache-2.0
// Isolates that go on with a newer module, and the rights of single isolates.
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "vm/api/test_program.h"

namespace dhpvm {
namespace {

Module compiled(const Engine& engine, const std::string& source) {
  return need(Module::compile(engine, source, {.host_objects = true}));
}

constexpr const char* kOld = R"(
  class Box { n: i64; fn more() -> i64 { n += 1; return n; } }
  fn answer() -> i64 => 1;
  fn make() -> Box => Box(10);
  fn look(box: Box) -> i64 => box.n;
  fn other(x: f64) -> f64 => x;
)";

TEST(Reload, CallsGoToTheNewCode) {
  const Engine engine({.code_cache = false});
  Isolate isolate = need(Isolate::create(compiled(engine, kOld), {.limits = {.fuel = 1000}}));
  const auto answer = need(isolate.function<std::int64_t()>("answer"));
  const auto copy = answer;
  const auto make = need(isolate.function<Object()>("make"));
  const auto look = need(isolate.function<std::int64_t(Object)>("look"));
  const Object old_box = need(make());
  const auto more = need(old_box.method<std::int64_t()>("more"));
  EXPECT_EQ(need(answer()), 1);
  const std::uint64_t fuel = isolate.fuel_left();
  // Functions stand in another order, and the class has another layout.
  const Module newer = compiled(engine, R"(
    fn look(box: Box) -> i64 => 100 + box.n;
    fn helper() -> i64 => 40;
    class Box { label: str; n: i64; }
    fn make() -> Box => Box("b", 20);
    fn answer() -> i64 => helper() + 2;
  )");
  ASSERT_TRUE(isolate.reload(newer).ok());
  EXPECT_EQ(isolate.fuel_left(), fuel);
  EXPECT_EQ(need(answer()), 42);
  EXPECT_EQ(need(copy()), 42);
  EXPECT_EQ(need(need(isolate.function<std::int64_t()>("helper"))()), 40);
  EXPECT_EQ(need(look(need(make()))), 120);
  // Old objects have their old code, and are no arguments of the new one.
  EXPECT_EQ(need(more()), 11);
  const Error refused = look(old_box).error();
  EXPECT_EQ(refused.code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.message().find("of the code before its reload"), std::string::npos) << refused.message();
}

TEST(Reload, RefusesWhatDoesNotFit) {
  const Engine engine({.code_cache = false});
  Isolate isolate = need(Isolate::create(compiled(engine, kOld)));
  const auto answer = need(isolate.function<std::int64_t()>("answer"));
  const Error changed =
      isolate.reload(compiled(engine, "fn answer() -> f64 => 2.0; fn other(x: f64) -> f64 => x;")).error();
  EXPECT_EQ(changed.code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(changed.message().find("() -> f64 in the new module, and was () -> i64"), std::string::npos)
      << changed.message();
  EXPECT_EQ(isolate.reload(compiled(engine, "fn other(x: f64) -> f64 => x;")).error().code(),
            ErrorCode::kNotFound);
  EXPECT_EQ(isolate.reload(compiled(engine, "extern fn absent(); fn answer() -> i64 { absent(); return 3; }"))
                .error()
                .code(),
            ErrorCode::kLink);
  const Engine foreign({.code_cache = false});
  EXPECT_EQ(isolate.reload(compiled(foreign, kOld)).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(need(answer()), 1);
  // Functions that nobody has asked for may change.
  EXPECT_TRUE(isolate.reload(compiled(engine, "fn answer() -> i64 => 5;")).ok());
  EXPECT_EQ(need(answer()), 5);
}

TEST(Reload, CallsUnderWayEndInTheOldCode) {
  Engine engine({.code_cache = false});
  std::optional<Isolate> isolate;
  std::optional<Function<std::int64_t(std::int64_t)>> step;
  std::optional<Module> newer;
  ASSERT_TRUE(engine
                  .define("host.exchange",
                          [&](std::int64_t depth) -> Result<std::int64_t> {
                            if (depth > 0) return (*step)(depth - 1);
                            if (Status status = isolate->reload(*newer); !status.ok())
                              return std::move(status).error();
                            return (*step)(0);
                          })
                  .ok());
  const std::string head = "extern fn exchange(depth: i64) -> i64;";
  isolate = need(Isolate::create(
      compiled(engine, head + "fn step(n: i64) -> i64 { let m = exchange(n); return 10 * m + 1; }")));
  newer = compiled(engine, "fn step(n: i64) -> i64 => 7 + n;");
  step = need(isolate->function<std::int64_t(std::int64_t)>("step"));
  // Three calls of the old code around one of the new.
  EXPECT_EQ(need((*step)(2)), 7111);
  EXPECT_EQ(need((*step)(2)), 9);
  newer = compiled(engine, "fn step(n: i64) -> i64 => 8 + n;");
  ASSERT_TRUE(isolate->reload(*newer).ok());
  EXPECT_EQ(need((*step)(2)), 10);
}

// Requests about a call reach the code that runs it.
TEST(Reload, OldCodeExitsAndIsInterrupted) {
  Engine engine({.code_cache = false});
  std::optional<Isolate> isolate;
  std::optional<Module> newer;
  ASSERT_TRUE(engine.define("host.exchange", [&] { return isolate->reload(*newer); }).ok());
  ASSERT_TRUE(engine.define("host.stop", [&] { isolate->interrupt(); }).ok());
  const Module older = compiled(engine, R"(
    import os;
    extern fn exchange();
    extern fn stop();
    fn main() { exchange(); os.exit(7); }
    fn rest() -> i64 { exchange(); stop(); var n = 0; while true { n += 1; } return n; }
  )");
  newer = compiled(engine, "fn rest() -> i64 => 5;");
  isolate = need(Isolate::create(older));
  EXPECT_EQ(need(isolate->run_main({})), 7);
  isolate = need(Isolate::create(older, {.limits = {.fuel = 1'000'000}}));
  const auto rest = need(isolate->function<std::int64_t()>("rest"));
  EXPECT_EQ(rest().error().code(), ErrorCode::kInterrupted);
  EXPECT_EQ(need(rest()), 5);
  isolate->interrupt();
  EXPECT_EQ(rest().error().code(), ErrorCode::kInterrupted);
}

TEST(Reload, ManyTimes) {
  const Engine engine({.code_cache = false});
  Isolate isolate = need(Isolate::create(compiled(engine, kOld)));
  const auto answer = need(isolate.function<std::int64_t()>("answer"));
  const Module modules[] = {compiled(engine, "fn answer() -> i64 => 0;"),
                            compiled(engine, "fn answer() -> i64 => 1;")};
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(isolate.reload(modules[i % 2]).ok());
    ASSERT_EQ(need(answer()), i % 2);
    (void)need(isolate.function<std::int64_t()>("answer"));
  }
}

TEST(Rights, AnIsolateHasThoseThatItsEngineHas) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "dhpvm-rights-test";
  std::filesystem::create_directories(folder / "in");
  for (const char* const name : {"in/a.txt", "b.txt"}) std::ofstream(folder / name) << "text";
  const auto read = [&](const EngineOptions& options, const std::optional<SystemRights>& rights,
                        const std::string& name) {
    const Engine engine(options);
    const Module module = compiled(engine, R"(
      import io;
      fn read(path: str) -> str => io.read_text(path) catch { "denied" };
    )");
    const Isolate isolate = need(Isolate::create(module, {.rights = rights}));
    return need(need(isolate.function<std::string(std::string)>("read"))((folder / name).string()));
  };
  const SystemRights inner{.read = {(folder / "in").string()}};
  const SystemRights outer{.read = {folder.string()}};
  EXPECT_EQ(read({}, std::nullopt, "b.txt"), "text");
  EXPECT_EQ(read({}, inner, "in/a.txt"), "text");
  EXPECT_NE(read({}, inner, "b.txt"), "text");
  EXPECT_NE(read({}, SystemRights(), "in/a.txt"), "text");
  EXPECT_EQ(read({.rights = outer}, inner, "in/a.txt"), "text");
  EXPECT_NE(read({.rights = outer}, inner, "b.txt"), "text");
  EXPECT_EQ(read({.rights = inner}, outer, "in/a.txt"), "text");
  EXPECT_NE(read({.rights = inner}, outer, "b.txt"), "text");
  EXPECT_EQ(read({.rights = outer}, std::nullopt, "b.txt"), "text");
}

}  // namespace
}  // namespace dhpvm
