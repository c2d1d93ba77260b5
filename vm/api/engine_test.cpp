// SPDX-License-Identifier: Apache-2.0
// Host functions, and modules in all their forms.
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "vm/api/test_program.h"

namespace dhpvm {
namespace {

TEST(HostFunction, TakesAndReturnsValues) {
  const TestHost host;
  const Isolate isolate = host.isolate();
  EXPECT_EQ(need(need(isolate.function<std::int64_t(std::int64_t, std::int32_t)>("host_add"))(40, -2)), 38);
  EXPECT_EQ(need(need(isolate.function<std::string(bool)>("host_name"))(true)), "Ada");
  EXPECT_EQ(
      need(need(isolate.function<std::vector<std::int32_t>(std::string_view)>("host_histogram"))("abcaa")),
      (std::vector<std::int32_t>{3, 1, 1}));
  EXPECT_EQ(need(need(isolate.function<std::tuple<double, std::string>()>("host_pair"))()),
            (std::tuple<double, std::string>(0.5, "half")));
}

TEST(HostFunction, WorksOnTheProgramsArrays) {
  const TestHost host;
  const Isolate isolate = host.isolate();
  const auto scale = need(isolate.function<void(std::span<double>, double)>("host_scale"));
  std::vector<double> numbers{1, 2, 3};
  ASSERT_TRUE(scale(numbers, 10).ok());
  EXPECT_EQ(numbers, (std::vector<double>{10, 20, 30}));
  // An array that was lent for reading stays so on its way back.
  const auto read_only = need(isolate.function<void(std::span<const double>, double)>("host_scale"));
  EXPECT_EQ(read_only(numbers, 10).error().code(), ErrorCode::kBorrowEnded);
  EXPECT_EQ(need(need(isolate.function<double(std::span<const double>)>("host_sum"))(numbers)), 60);
}

TEST(HostFunction, ObjectsOfTheHostTravelAsResources) {
  TestHost host;
  std::weak_ptr<Dog> last;
  host.define("host.make", [&last](std::int64_t age) {
    auto dog = std::make_shared<Dog>(Dog{age});
    last = dog;
    return dog;
  });
  Isolate isolate = host.isolate();
  const auto make = need(isolate.function<Object(std::int64_t)>("host_make"));
  const auto look = need(isolate.function<std::int64_t(const Object&)>("host_look"));
  const auto look_direct = need(isolate.function<std::int64_t(std::shared_ptr<Dog>)>("host_look"));
  {
    const Object dog = need(make(7));
    isolate.collect();
    EXPECT_EQ(need(look(dog)), 7);
    EXPECT_FALSE(last.expired());
  }
  isolate.collect();
  EXPECT_TRUE(last.expired());
  EXPECT_EQ(need(look_direct(std::make_shared<Dog>(Dog{3}))), 3);
  EXPECT_EQ(look_direct(nullptr).error().code(), ErrorCode::kNullReference);

  // A resource of another kind is told apart.
  const auto look_wrong = need(isolate.function<std::int64_t(std::shared_ptr<int>)>("host_look"));
  EXPECT_EQ(look_wrong(std::make_shared<int>(1)).error().code(), ErrorCode::kBadCast);
  const auto open = need(isolate.function<Object(std::string_view, std::string_view)>("open"));
  EXPECT_EQ(look(need(open("/dev/null", "r"))).error().code(), ErrorCode::kBadCast);
}

TEST(HostFunction, ErrorsAndExceptionsEndTheProgram) {
  TestHost host;
  host.define("host.call", [](std::int64_t x) -> Result<std::int64_t> {
    if (x == 1) return Error(ErrorCode::kUserTrap, "not today");
    if (x == 2) return Error(ErrorCode::kNotFound, "no such account");
    if (x == 3) throw std::runtime_error("thrown");
    if (x == 4) throw 4;
    return x;
  });
  const Isolate isolate = host.isolate();
  const auto call = need(isolate.function<std::int64_t(std::int64_t)>("host_call"));
  EXPECT_EQ(need(call(0)), 0);

  const auto trap = call(1);
  EXPECT_EQ(trap.error().code(), ErrorCode::kUserTrap);
  EXPECT_NE(trap.error().to_string().find("in host function 'host.call'"), std::string::npos)
      << trap.error().to_string();
  EXPECT_NE(trap.error().to_string().find("not today"), std::string::npos) << trap.error().to_string();
  ASSERT_FALSE(trap.error().frames().empty());
  EXPECT_EQ(trap.error().frames()[0].function, "host_call");
  EXPECT_EQ(trap.error().frames()[0].line, 70u);

  const auto user = call(2);
  EXPECT_EQ(user.error().code(), ErrorCode::kHostException);
  EXPECT_EQ(user.error().message(), "host function 'host.call' failed: not found: no such account");
  EXPECT_EQ(call(3).error().message(), "host function 'host.call' threw: thrown");
  EXPECT_EQ(call(3).error().code(), ErrorCode::kHostException);
  EXPECT_EQ(call(4).error().code(), ErrorCode::kHostException);
  EXPECT_EQ(need(call(5)), 5);
}

TEST(HostFunction, CallsNest) {
  TestHost host;
  Isolate* running = nullptr;
  host.define("host.call", [&running](std::int64_t depth) -> Result<std::int64_t> {
    if (depth == 0) return 100;
    DHPVM_ASSIGN(const auto again, running->function<std::int64_t(std::int64_t)>("host_call"));
    DHPVM_ASSIGN(const std::int64_t inner, again(depth - 1));
    DHPVM_ASSIGN(const auto greet, running->function<std::string(std::string_view)>("greet"));
    DHPVM_ASSIGN(const std::string text, greet("x"));
    return inner + static_cast<std::int64_t>(text.size());
  });
  Isolate isolate = host.isolate({.gc_stress = 3});
  running = &isolate;
  const auto call = need(isolate.function<std::int64_t(std::int64_t)>("host_call"));
  EXPECT_EQ(need(call(10)), 100 + 10 * 8);
  // Nesting without end is a trap, too.
  const auto deep = call(1'000'000);
  ASSERT_FALSE(deep.ok());
  EXPECT_EQ(deep.error().code(), ErrorCode::kStackOverflow);
  // The host function is named once, and its calls are counted.
  const std::string text = deep.error().to_string();
  EXPECT_NE(text.find("in host function 'host.call' ("), std::string::npos) << text;
  EXPECT_NE(text.find("because: "), std::string::npos);
  EXPECT_EQ(text.find("because: "), text.rfind("because: ")) << text;
  EXPECT_EQ(need(call(1)), 108);
}

TEST(HostFunction, TrapsOfNestedCallsAreKept) {
  TestHost host;
  Isolate* running = nullptr;
  host.define("host.call", [&running](std::int64_t x) -> Result<std::int64_t> {
    DHPVM_ASSIGN(const auto divide, running->function<std::int64_t(std::int64_t, std::int64_t)>("divide"));
    return divide(x, 0);
  });
  Isolate isolate = host.isolate();
  running = &isolate;
  const auto trap = need(isolate.function<std::int64_t(std::int64_t)>("host_call"))(1);
  EXPECT_EQ(trap.error().code(), ErrorCode::kDivisionByZero);
  EXPECT_NE(trap.error().to_string().find("divide (test.dhp:12)"), std::string::npos)
      << trap.error().to_string();
  EXPECT_NE(trap.error().to_string().find("host_call (test.dhp:70)"), std::string::npos)
      << trap.error().to_string();
}

// The same failures, where the program declares the function with a result.
TEST(HostFunction, FailuresAreValuesWhereTheProgramWantsThem) {
  Engine engine;
  ASSERT_TRUE(engine
                  .define("host.load",
                          [](std::int64_t x) -> Result<std::string> {
                            if (x == 1) return Error(ErrorCode::kNotFound, "no such account");
                            if (x == 2) throw std::runtime_error("thrown");
                            if (x == 3) return Error(ErrorCode::kUserTrap, "a trap stays one");
                            return std::string("loaded");
                          })
                  .ok());
  const Isolate isolate = need(Isolate::create(need(Module::compile(engine, R"(
extern fn load(x: i64) -> str!;
fn run(x: i64) -> str => load(x) catch err { f"{err.kind.name()}: {err.message}" };
)"))));
  const auto run = need(isolate.function<std::string(std::int64_t)>("run"));
  EXPECT_EQ(need(run(0)), "loaded");
  EXPECT_EQ(need(run(1)),
            "host function failed: host function 'host.load' failed: not found: no such account");
  EXPECT_EQ(need(run(2)), "host function failed: host function 'host.load' threw: thrown");
  EXPECT_EQ(run(3).error().code(), ErrorCode::kUserTrap);
  EXPECT_EQ(need(run(4)), "loaded");
}

TEST(HostFunction, AcceptsAnyCallable) {
  Engine engine;
  EXPECT_TRUE(engine.define("host.a", +[](int x) { return x; }).ok());
  EXPECT_TRUE(engine.define("host.b", std::function<Status(bool)>([](bool) { return Status(); })).ok());
  EXPECT_TRUE(engine.define("host.c", [count = 0]() mutable noexcept { return ++count; }).ok());
  EXPECT_TRUE(engine.define("host.d", [](NdSpan<float, 3>, std::string) -> Result<void> { return {}; }).ok());
  for (const char* name : {"", "log", ".log", "host."}) {
    EXPECT_EQ(engine.define(name, [] {}).error().code(), ErrorCode::kInvalidArgument) << name;
  }
}

TEST(Link, MissingAndMismatchedHostFunctionsAreNamed) {
  const Engine bare;
  const auto missing = Isolate::create(need(Module::assemble(bare, kTestProgram)));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), ErrorCode::kLink);
  EXPECT_NE(missing.error().message().find("host."), std::string::npos) << missing.error().message();

  TestHost host;
  host.define("host.add", [](double, std::int32_t) { return std::int64_t{1}; });
  const auto mismatched = Isolate::create(host.module());
  ASSERT_FALSE(mismatched.ok());
  EXPECT_EQ(mismatched.error().code(), ErrorCode::kLink);
  EXPECT_NE(mismatched.error().message().find("(i64, i32) -> i64"), std::string::npos)
      << mismatched.error().message();
  EXPECT_NE(mismatched.error().message().find("(f64, i32) -> i64"), std::string::npos)
      << mismatched.error().message();
}

TEST(Link, SystemAccessCanBeDenied) {
  const Engine engine(EngineOptions{.system_access = false});
  const auto create = [&engine](const char* source) {
    return Isolate::create(need(Module::compile(engine, source)));
  };
  const auto refused = create("import io;  fn f() -> str! => io.read_text(\"/etc/passwd\");");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kLink);
  EXPECT_NE(refused.error().to_string().find("io.read_text"), std::string::npos)
      << refused.error().to_string();
  EXPECT_NE(refused.error().to_string().find("may not reach files"), std::string::npos);
  EXPECT_EQ(refused.error().cause(), nullptr);
  // Another function that is missing has nothing to do with it.
  const auto missing = create("extern \"host.missing\" fn missing() -> i64;  fn f() -> i64 => missing();");
  EXPECT_EQ(missing.error().to_string().find("may not reach files"), std::string::npos);
  // Imports that the module does not use do no harm.
  EXPECT_TRUE(create("import io;  import os;  fn f() { print(os.cpu_count()); }").ok());
}

class ModuleFiles : public testing::Test {
 protected:
  ModuleFiles() : folder_(testing::TempDir() + "dhpvm-module-files-" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~ModuleFiles() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, std::string_view content) const {
    std::ofstream(path(name)) << content;
  }

  std::string folder_;
  TestHost host_;
};

TEST_F(ModuleFiles, BytesTextAndFilesAreTheSameModule) {
  const Module module = host_.module();
  const std::string text = module.disassemble();
  EXPECT_EQ(need(Module::load(host_.engine, module.bytes())).disassemble(), text);
  EXPECT_EQ(need(Module::assemble(host_.engine, text)).disassemble(), text);
  ASSERT_TRUE(module.save(path("a.bc")).ok());
  ASSERT_TRUE(module.save_text(path("a.dasm")).ok());
  EXPECT_EQ(need(Module::open(host_.engine, path("a.bc"))).disassemble(), text);
  EXPECT_EQ(need(Module::open(host_.engine, path("a.dasm"))).disassemble(), text);
  // By its content, whatever the name.
  ASSERT_TRUE(module.save(path("program")).ok());
  EXPECT_EQ(need(Module::open(host_.engine, path("program"))).disassemble(), text);
  EXPECT_LT(module.bytes(true).size(), module.bytes().size());
  EXPECT_TRUE(need(Module::load(host_.engine, module.bytes(true))).has_main());
}

TEST_F(ModuleFiles, ListsExports) {
  const auto exports = host_.module().exports();
  EXPECT_NE(std::find(exports.begin(), exports.end(), "sum([f64]) -> f64"), exports.end());
  EXPECT_NE(std::find(exports.begin(), exports.end(), "host_pair() -> (f64, str)"), exports.end());
}

TEST_F(ModuleFiles, BadFilesAreNamedInOneLine) {
  std::vector<std::byte> bytes = host_.module().bytes();
  const auto open = [&](const std::string& name) { return Module::open(host_.engine, path(name)).error(); };
  const auto as_text = [](std::span<const std::byte> data) {
    return std::string_view(reinterpret_cast<const char*>(data.data()), data.size());
  };
  write("cut.bc", as_text(bytes).substr(0, bytes.size() / 2));
  write("empty.bc", "");
  bytes[bytes.size() / 2] ^= std::byte{0x10};
  write("flipped.bc", as_text(bytes));
  for (const char* name : {"cut.bc", "empty.bc", "flipped.bc"}) {
    const Error error = open(name);
    EXPECT_EQ(error.code(), ErrorCode::kMalformed) << error.message();
    EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
    EXPECT_NE(error.message().find(name), std::string::npos) << error.message();
  }
  EXPECT_EQ(open("missing.bc").code(), ErrorCode::kNotFound);
  EXPECT_EQ(open("").code(), ErrorCode::kIo);  // the folder
  write("bad.dasm", "module 1.0\nfrobnicate\n");
  EXPECT_EQ(open("bad.dasm").code(), ErrorCode::kCompile);
  write("wrong.dasm",
        "module 1.0\ntype string str\ntype resource resource\nfunction f() registers 0 0\n  nop\nend\n");
  EXPECT_EQ(open("wrong.dasm").code(), ErrorCode::kUnverified);
  EXPECT_EQ(host_.module().save(path("no/such/folder/a.bc")).error().code(), ErrorCode::kIo);
}

TEST(Engine, WritesATraceWhenAskedTo) {
  const std::string path = testing::TempDir() + "dhpvm-trace-" + std::to_string(::getpid()) + ".json";
  const TestHost plain;
  EXPECT_EQ(plain.engine.write_trace(path).error().code(), ErrorCode::kInvalidArgument);

  const Engine engine(EngineOptions{.trace = true});
  const Module module = need(Module::assemble(engine,
                                              "module 1.0\ntype string str\ntype resource resource\n"
                                              "function empty() registers 0 0 exported\n  return\nend\n"));
  const Isolate isolate = need(Isolate::create(module));
  ASSERT_TRUE(need(isolate.function<void()>("empty"))().ok());
  ASSERT_TRUE(engine.write_trace(path).ok());
  std::ifstream file(path);
  const std::string json((std::istreambuf_iterator<char>(file)), {});
  EXPECT_NE(json.find("\"empty\""), std::string::npos) << json;
  std::filesystem::remove(path);
}

TEST(Engine, KnowsItsVersion) { EXPECT_EQ(library_version(), DHPVM_VERSION); }

TEST(Engine, SettlesAtOnceWhileNothingIsCompiled) {
  EXPECT_TRUE(Engine().settle(std::chrono::nanoseconds(0)));
  EXPECT_TRUE(Engine().finish_compiling(std::chrono::nanoseconds(0)));
}

}  // namespace
}  // namespace dhpvm
