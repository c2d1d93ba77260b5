// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes as a program, through the whole compiler. Must not crash, hang, or use memory
// out of proportion to the input; what compiles must pass the verifier, and what is refused must be refused
// with a reason in the source, never as a mistake of the compiler.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bytecode/verifier.h"
#include "compiler/compiler.h"

using namespace dhpvm;
using namespace dhpvm::compiler;

namespace {

// Small faces of the modules whose functions the checker knows by name.
constexpr BuiltinModule kModules[] = {
    {"array",
     "intrinsic fn copy<T>(dst: [T], at: i64, src: [T], from: i64, n: i64);"
     "intrinsic fn unset<T>(n: i64) -> [T]; intrinsic fn clear<T>(a: [T], i: i64);"},
    {"atomic",
     "intrinsic fn add<T>(element: T, value: T) -> T; intrinsic fn min<T>(element: T, value: T) -> T;"
     "intrinsic fn compare_exchange<T>(element: T, expected: T, desired: T) -> T;"},
    {"io",
     "extern \"io.write\" fn write(text: str); class File { fn close() { } fn read_line() -> str? { return "
     "null; } }"
     "fn open(path: str) -> File => File();"},
    {"list",
     "import array; class List<T> { items: [T]; size: i64; init() { items = array.unset<T>(4); }"
     "fn len() -> i64 => size; fn get(i: i64) -> T => items[i]; fn push(x: T) { items[size] = x; size += 1; "
     "} }"
     "fn map<T, U>(xs: List<T>, f: fn(T) -> U) -> List<U> {"
     "let out = List<U>(); for x in xs { out.push(f(x)); } return out; }"},
    {"math",
     "const pi: f64 = 3.14; intrinsic fn sqrt<T>(x: T) -> T; intrinsic fn abs<T>(x: T) -> T;"
     "intrinsic fn min<T>(a: T, b: T) -> T; intrinsic fn max<T>(a: T, b: T) -> T;"
     "intrinsic fn popcount<T>(x: T) -> T; intrinsic fn fma<T>(a: T, b: T, c: T) -> T;"
     "intrinsic fn bits(x: f64) -> u64; intrinsic fn mul_high(a: u64, b: u64) -> u64;"},
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  CompileOptions options;
  options.builtin_modules = kModules;
  options.read = [](const std::string& path) -> Result<std::string> {
    return Error(ErrorCode::kNotFound, "no file '" + path + "'");
  };
  const std::string text(data, data + size);
  const Result<bytecode::Module> module = compile(text, options);
  if (!module) {
    if (module.error().family() == ErrorFamily::kInternal || module.error().message().empty()) {
      std::fprintf(stderr, "%s\n", module.error().to_string().c_str());
      std::abort();
    }
    return 0;
  }
  if (const Status status = bytecode::verify(*module); !status) {
    std::fprintf(stderr, "%s\n", status.error().to_string().c_str());
    std::abort();
  }
  return 0;
}
