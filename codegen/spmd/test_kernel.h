// SPDX-License-Identifier: Apache-2.0
// For tests: a function in LLVM assembly and its vector forms, compiled, and run for comparison.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "codegen/host/host_compiler.h"
#include "codegen/spmd/vectorize.h"

namespace dhpvm::codegen::spmd {

// The data of a run: three arrays, and the results.
struct TestData {
  std::vector<std::uint64_t> arrays[3];
  std::vector<std::uint64_t> results;  // element e of lane l in word e * width + l

  bool operator==(const TestData&) const = default;
  // Too long to print: a test shows the difference by other means.
  friend void PrintTo(const TestData&, std::ostream* stream) { *stream << "data"; }
};

class TestKernel {
 public:
  // `text` defines @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n, varying arguments...) with any result. On failure, the
  // error.
  static Result<TestKernel> create(const std::string& text, unsigned width, unsigned vector_bits = 512);

  // Iterations `begin` to `begin + count`, one after the other. Varying argument k of lane l is the low bits
  // of word k * width + l of array c.
  void run_scalar(TestData& data, std::int64_t begin, std::int64_t n, unsigned count) const;
  // All lanes at once.
  void run_full(TestData& data, std::int64_t begin, std::int64_t n) const;
  // The first `active` of them.
  void run_tail(TestData& data, std::int64_t begin, std::int64_t n, unsigned active) const;

  // The vector form with all lanes active, as vectorize made it.
  const std::string& vector_text() const { return vector_text_; }
  unsigned width() const { return width_; }

 private:
  using Run = void(std::int64_t begin, std::uint64_t* a, std::uint64_t* b, std::uint64_t* c, std::int64_t n,
                   std::uint64_t* results, std::int64_t active);

  TestKernel(LoadedCode code, unsigned width, std::string text)
      : code_(std::move(code)), width_(width), vector_text_(std::move(text)) {}
  void run(const char* name, TestData& data, std::int64_t begin, std::int64_t n, std::int64_t active) const;

  LoadedCode code_;
  unsigned width_;
  std::string vector_text_;
};

// The compiler that all tests share.
HostCompiler& test_compiler();

}  // namespace dhpvm::codegen::spmd
