// SPDX-License-Identifier: Apache-2.0
// For tests: a program written in assembly, verified, linked and running in its own isolate.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bytecode/assembler.h"
#include "bytecode/verifier.h"
#include "vm/isolate.h"
#include "vm/values.h"

namespace dhpvm::vm {

class Program {
 public:
  explicit Program(std::string_view text, const IsolateOptions& options = {},
                   const NativeRegistry& natives = {}) {
    auto isolate = start(text, options, natives);
    if (isolate.ok()) {
      isolate_ = std::move(isolate).value();
    } else {
      ADD_FAILURE() << isolate.error().to_string();
    }
  }

  // Only if the program is right; otherwise the test fails and ends here.
  Isolate& isolate() {
    if (!isolate_) std::abort();
    return *isolate_;
  }
  Isolate* operator->() { return &isolate(); }

  // Calls the exported function `name` with primitives. Its first primitive result, or 0.
  std::uint64_t run(std::string_view name, std::initializer_list<std::uint64_t> arguments = {}) {
    const Status status = call(name, arguments);
    EXPECT_TRUE(status.ok()) << name << ": " << status.error().to_string();
    return registers_[0];
  }
  // The same, for a function that must trap.
  Error trap(std::string_view name, std::initializer_list<std::uint64_t> arguments = {}) {
    const Status status = call(name, arguments);
    EXPECT_FALSE(status.ok()) << name << " does not trap";
    return status.ok() ? Error(ErrorCode::kInternal, "no trap") : status.error();
  }

  std::uint32_t find(std::string_view name) {
    const std::optional<std::uint32_t> function = isolate().find_export(name);
    EXPECT_TRUE(function) << "no function " << name;
    return function.value_or(0);
  }

 private:
  Status call(std::string_view name, std::initializer_list<std::uint64_t> arguments) {
    registers_.assign(arguments);
    registers_.resize(std::max<std::size_t>(registers_.size(), 8));
    references_.assign(8, nullptr);
    return isolate().call(find(name), registers_, references_);
  }
  static Result<std::unique_ptr<Isolate>> start(std::string_view text, const IsolateOptions& options,
                                                const NativeRegistry& natives) {
    DHPVM_ASSIGN(bytecode::Module module, bytecode::assemble(text));
    DHPVM_TRY(bytecode::verify(module));
    DHPVM_ASSIGN(auto linked,
                 LinkedModule::link(std::make_shared<const bytecode::Module>(std::move(module)), natives));
    IsolateOptions actual = options;
    // Every test is also run with a collection before each n-th allocation.
    if (const char* stress = std::getenv("DHPVM_TEST_GC_STRESS"); stress != nullptr) {
      actual.gc_stress = static_cast<std::uint32_t>(std::atoi(stress));
      actual.gc_verify = true;
    }
    return Isolate::create(std::move(linked), actual);
  }

  std::unique_ptr<Isolate> isolate_;
  std::vector<std::uint64_t> registers_;
  std::vector<gc::Ref> references_;
};

}  // namespace dhpvm::vm
