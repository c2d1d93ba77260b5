// SPDX-License-Identifier: Apache-2.0
// A program with one exported function per row of the table of natives, so that tests call natives like
// functions: str.slice as str_slice.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "dhpvm/dhpvm.h"
#include "stdlib/native/natives.h"
#include "vm/api/test_program.h"

namespace dhpvm {

inline std::string native_program() {
  std::string imports, functions;
  for (const stdlib::NativeRow& row : stdlib::natives()) {
    std::string signature = stdlib::without_parameter_names(row.signature);
    // The text form knows nothing of null, and has no parentheses around several results.
    std::erase(signature, '?');
    if (const std::size_t at = signature.find("-> ("); at != signature.npos) {
      signature.erase(at + 3, 1);
      signature.pop_back();
    }
    std::string name(row.name);
    imports += fmt::format("import {}{}\n", name, signature);
    std::replace(name.begin(), name.end(), '.', '_');
    functions +=
        fmt::format("function {}{} registers 8 8 exported\n  call.native p0, r0, {}\n  return\nend\n", name,
                    signature, row.name);
  }
  return "module 1.0\ntype string str\ntype resource resource\ntype array [u8]: u8\ntype array [i32]: i32\n"
         "type array [str]: str\ntype array [i64]: i64\ntype array [f64]: f64\n"
         "type array [f32]: f32\ntype array [f32, 2]: f32 rank 2\ntype array [f64, 2]: f64 rank 2\n" +
         imports + functions;
}

struct Natives : testing::Test {
  Natives()
      : isolate(
            need(Isolate::create(need(Module::assemble(host.engine, native_program())), {.gc_stress = 1}))) {}

  // Calls the native `name` and insists on a value.
  template <typename R, typename... A>
  R call(const char* name, const A&... arguments) {
    auto result = need(isolate.function<R(A...)>(name))(arguments...);
    if constexpr (std::is_void_v<R>) {
      EXPECT_TRUE(result.ok()) << name << ": " << result.error().to_string();
    } else {
      return need(std::move(result));
    }
  }
  // Calls it and insists on a trap.
  template <typename R, typename... A>
  Error trap(const char* name, const A&... arguments) {
    const auto result = need(isolate.function<R(A...)>(name))(arguments...);
    if (!result.ok()) return result.error();
    ADD_FAILURE() << name << " did not trap";
    return Error(ErrorCode::kInternal, "no trap");
  }

  TestHost host;
  Isolate isolate;
};

}  // namespace dhpvm
