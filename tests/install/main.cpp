// SPDX-License-Identifier: Apache-2.0
// A host application that is built against an installed DHPVM: it compiles a script and calls it.
#include <dhpvm/dhpvm.h>

#include <cstdint>
#include <cstdio>
#include <string_view>

namespace {

dhpvm::Result<std::int64_t> answer() {
  dhpvm::Engine engine;
  DHPVM_ASSIGN(dhpvm::Module module,
               dhpvm::Module::compile(engine, "fn times_seven(x: i64) -> i64 { return 7 * x; }"));
  DHPVM_ASSIGN(dhpvm::Isolate isolate, dhpvm::Isolate::create(module));
  DHPVM_ASSIGN(const auto times_seven, isolate.function<std::int64_t(std::int64_t)>("times_seven"));
  return times_seven(6);
}

}  // namespace

int main() {
  const dhpvm::Result<std::int64_t> result = answer();
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
    return 1;
  }
  const std::string_view version = dhpvm::library_version();
  std::printf("the answer is %d, says DHPVM %.*s\n", static_cast<int>(*result),
              static_cast<int>(version.size()), version.data());
  return 0;
}
