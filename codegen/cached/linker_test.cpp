// SPDX-License-Identifier: Apache-2.0
#include "codegen/cached/linker.h"

#include <gtest/gtest.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "codegen/cached/object_file.h"
#include "codegen/host/emit.h"
#include "codegen/host/ir_for_tests.h"

// As gdb sees them.
struct DebuggerEntry {
  DebuggerEntry *next, *previous;
  const char* file;
  std::uint64_t size;
};
struct DebuggerList {
  std::uint32_t version, action;
  DebuggerEntry *relevant, *first;
};
extern "C" DebuggerList __jit_debug_descriptor;

namespace dhpvm::codegen {
namespace {

// The permissions of the page at `address`, such as "r-xp"; empty when there is none.
std::string permissions_at(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t dash = line.find('-');
    const auto low = std::stoull(line.substr(0, dash), nullptr, 16);
    const auto high = std::stoull(line.substr(dash + 1), nullptr, 16);
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    if (wanted >= low && wanted < high) return line.substr(line.find(' ') + 1, 4);
  }
  return {};
}

std::string returning(int value) {
  return "@counter = global i32 0\n"
         "define i32 @get() {\n"
         "  %old = load i32, ptr @counter\n"
         "  %new = add i32 %old, " +
         std::to_string(value) +
         "\n"
         "  store i32 %new, ptr @counter\n"
         "  ret i32 %new\n"
         "}\n";
}

std::vector<std::byte> object_of(const HostCompiler& compiler, const std::string& text) {
  const IrModule ir = parse(compiler, text);
  auto machine = compiler.target().new_machine();
  EXPECT_TRUE(machine.ok());
  auto object = emit_object(*ir.module, **machine, Pipeline::kFunctions);
  EXPECT_TRUE(object.ok()) << object.error().to_string();
  const auto bytes = std::as_bytes(std::span((*object)->getBufferStart(), (*object)->getBufferSize()));
  return {bytes.begin(), bytes.end()};
}

TEST(Linker, VersionsOfAFunctionComeAndGoAlone) {
  const auto compiler = new_compiler();
  auto first = compiler->compile(parse(*compiler, returning(1)), Pipeline::kFunctions);
  ASSERT_TRUE(first.ok());
  const void* address = nullptr;
  {
    auto second = compiler->compile(parse(*compiler, returning(10)), Pipeline::kFunctions);
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(second->function<int()>("get")(), 10);
    EXPECT_EQ(first->function<int()>("get")(), 1);
    EXPECT_EQ(second->function<int()>("get")(), 20);
    address = second->address("get");
    EXPECT_EQ(permissions_at(address), "r-xp");
    EXPECT_EQ(permissions_at(second->address("counter")), "rw-p");
  }
  EXPECT_EQ(permissions_at(address), "");
  EXPECT_EQ(first->function<int()>("get")(), 2);
}

TEST(Linker, CodeOutlivesTheLinker) {
  auto compiler = new_compiler();
  auto code = compiler->compile(parse(*compiler, returning(3)), Pipeline::kFunctions);
  ASSERT_TRUE(code.ok());
  compiler.reset();
  EXPECT_EQ(code->function<int()>("get")(), 3);
  LoadedCode moved = std::move(code).value();
  EXPECT_EQ(moved.function<int()>("get")(), 6);
}

TEST(Linker, NoPageIsWritableAndExecutable) {
  const auto compiler = new_compiler();
  auto code = compiler->compile(parse(*compiler, returning(1)), Pipeline::kFunctions);
  ASSERT_TRUE(code.ok());
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::string permissions = line.substr(line.find(' ') + 1, 4);
    EXPECT_FALSE(permissions[1] == 'w' && permissions[2] == 'x') << line;
  }
}

TEST(Linker, BytesThatAreNoObjectAreErrors) {
  const auto compiler = new_compiler();
  auto linker = Linker::create(std::make_unique<SymbolTable>());
  ASSERT_TRUE(linker.ok());
  for (const std::string bytes : {"", "not an object file", "\x7f\x45LF"}) {
    auto code = (*linker)->load(std::as_bytes(std::span(bytes)));
    ASSERT_FALSE(code.ok());
    EXPECT_EQ(code.error().code(), ErrorCode::kInternal);
  }
  const std::vector<std::byte> object = object_of(*compiler, returning(1));
  for (std::size_t size = 0; size < object.size(); size += 16)
    EXPECT_FALSE((*linker)->load(std::span(object).first(size)).ok()) << size;
  EXPECT_TRUE((*linker)->load(object).ok());
}

// For any bytes: an error or code, and no access outside of them.
TEST(Linker, ChangedObjectsAreErrorsOrCode) {
  const auto compiler = new_compiler();
  auto linker = Linker::create(std::make_unique<SymbolTable>());
  ASSERT_TRUE(linker.ok());
  const std::vector<std::byte> object = object_of(*compiler, returning(1));
  std::size_t errors = 0;
  for (std::size_t at = 0; at < object.size(); ++at) {
    for (const int value : {0, 0x7f, 0xff}) {
      // Memory that ends with the object, so that a sanitizer detects reads beyond it.
      std::vector<std::byte> changed(object);
      changed[at] = std::byte(value);
      changed.shrink_to_fit();
      errors += (*linker)->load(changed).ok() ? 0 : 1;
    }
  }
  EXPECT_GT(errors, 100u);
}

// Outside symbols may be anywhere: calls use stubs, data the table of addresses.
TEST(Linker, ReachesWhatIsFarAway) {
  const auto compiler = new_compiler();
  const auto add = +[](int a, int b) { return a + b; };
  int far = 40;
  const NamedAddress outside[] = {{"far_add", reinterpret_cast<const void*>(add)}, {"far_value", &far}};
  auto code = compiler->compile(parse(*compiler, R"(
    @far_value = external global i32
    @table = constant [2 x ptr] [ptr @one, ptr @two]
    declare i32 @far_add(i32, i32)
    define internal i32 @one() {
      ret i32 1
    }
    define internal i32 @two() {
      ret i32 2
    }
    define i32 @run(i64 %i) {
      %slot = getelementptr [2 x ptr], ptr @table, i64 0, i64 %i
      %function = load ptr, ptr %slot
      %x = call i32 %function()
      %y = load i32, ptr @far_value
      %sum = call i32 @far_add(i32 %x, i32 %y)
      ret i32 %sum
    })"),
                                Pipeline::kFunctions, outside);
  ASSERT_TRUE(code.ok()) << code.error().to_string();
  EXPECT_EQ(code->function<int(std::int64_t)>("run")(0), 41);
  EXPECT_EQ(code->function<int(std::int64_t)>("run")(1), 42);
}

TEST(Linker, ManyThreadsCompileAtOnce) {
  const auto compiler = new_compiler();
  std::vector<std::thread> threads;
  for (int i = 1; i <= 4; ++i) {
    threads.emplace_back([&compiler, i] {
      for (int round = 1; round <= 15; ++round) {
        auto code = compiler->compile(parse(*compiler, returning(i * round)), Pipeline::kKernels);
        ASSERT_TRUE(code.ok()) << code.error().to_string();
        EXPECT_EQ(code->function<int()>("get")(), i * round);
        // A failure concerns only its own thread.
        auto failed = compiler->compile(parse(*compiler,
                                              "declare void @lost()\n"
                                              "define void @f() {\n call void @lost()\n ret void\n}"),
                                        Pipeline::kKernels);
        EXPECT_EQ(failed.error().code(), ErrorCode::kLink);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(compiler->stats().compiled, 60U);
  EXPECT_EQ(compiler->stats().failed, 60U);
}

TEST(Linker, TellsTheDebugger) {
  // In a child process, because such code is never unloaded.
  EXPECT_EQ(in_child([] {
              HostOptions options;
              options.linker.debugger = true;
              const auto compiler = new_compiler("native", options);
              auto code = compiler->compile(parse(*compiler, returning(1)), Pipeline::kFunctions);
              if (!code.ok()) return 1;
              const DebuggerEntry* entry = __jit_debug_descriptor.first;
              if (entry == nullptr || entry != __jit_debug_descriptor.relevant) return 2;
              const auto file = read_object_file(std::as_bytes(std::span(entry->file, entry->size)));
              if (!file.ok()) return 3;
              for (const ObjectFile::Symbol& symbol : file->symbols) {
                if (symbol.name != "get") continue;
                const auto section = file->sections[symbol.entry.st_shndx].header.sh_addr;
                const auto wanted = reinterpret_cast<std::uint64_t>(code->address("get"));
                return section + symbol.entry.st_value == wanted ? 0 : 4;
              }
              return 5;
            }),
            0);
}

TEST(Linker, TellsTheProfiler) {
  EXPECT_EQ(in_child([] {
              HostOptions options;
              options.linker.profiler = true;
              const auto compiler = new_compiler("native", options);
              auto code = compiler->compile(parse(*compiler, returning(1)), Pipeline::kFunctions);
              if (!code.ok()) return 1;
              const std::string path = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
              std::ifstream map(path);
              std::string start, size, name;
              map >> start >> size >> name;
              ::unlink(path.c_str());
              const auto address = reinterpret_cast<std::uintptr_t>(code->address("get"));
              return name == "get" && std::stoull(start, nullptr, 16) == address && size != "0" ? 0 : 2;
            }),
            0);
}

TEST(Linker, TellsWhatIsLoaded) {
  std::vector<std::pair<const void*, std::string>> loaded;
  HostOptions options;
  options.linker.loaded = [&](const void* begin, std::size_t size, std::string_view name) {
    EXPECT_NE(size, 0u);
    loaded.emplace_back(begin, name);
  };
  const auto compiler = new_compiler("native", options);
  auto code = compiler->compile(parse(*compiler, returning(1)), Pipeline::kFunctions);
  ASSERT_TRUE(code.ok()) << code.error().to_string();
  ASSERT_EQ(loaded.size(), 1u);
  EXPECT_EQ(loaded[0], std::pair(static_cast<const void*>(code->address("get")), std::string("get")));
}

TEST(Linker, FindsVectorMath) {
  SymbolTable symbols;
  if (symbols.find("_ZGVbN2v_sin") == nullptr) GTEST_SKIP() << "this system has no libmvec";
  const auto compiler = new_compiler();
  auto code = compiler->compile(parse(*compiler, R"(
    declare <2 x double> @_ZGVbN2v_sin(<2 x double>)
    define void @run(ptr %p) {
      %x = load <2 x double>, ptr %p, align 8
      %y = call <2 x double> @_ZGVbN2v_sin(<2 x double> %x)
      store <2 x double> %y, ptr %p, align 8
      ret void
    })"),
                                Pipeline::kKernels);
  ASSERT_TRUE(code.ok()) << code.error().to_string();
  double values[2] = {0.5, -2};
  code->function<void(double*)>("run")(values);
  EXPECT_NEAR(values[0], std::sin(0.5), 1e-15);
  EXPECT_NEAR(values[1], std::sin(-2.0), 1e-15);
}

TEST(Symbols, HoldsWhatItWasGivenAndMathematicsOnly) {
  SymbolTable symbols;
  const int mine = 0;
  symbols.add({"mine", &mine});
  EXPECT_EQ(symbols.find("mine"), &mine);
  EXPECT_NE(symbols.find("cos"), nullptr);
  EXPECT_NE(symbols.find("memcpy"), nullptr);
  for (const char* name : {"", "system", "malloc", "_ZGVbN2v_nothing", "main"}) {
    EXPECT_EQ(symbols.find(name), nullptr) << name;
  }
}

}  // namespace
}  // namespace dhpvm::codegen
