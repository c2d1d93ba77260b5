// SPDX-License-Identifier: Apache-2.0
// Reports on tests: on the terminal, and in the two formats that other programs read.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "dhpvm/isolate.h"
#include "dhpvm/result.h"

namespace dhpvm::tools {

// One test and its result.
struct TestCase {
  std::string file;
  std::string name;
  std::optional<Error> failure;  // empty: it passed
  std::string output;            // the text that it wrote to both of its streams
  std::chrono::nanoseconds time{0};
};

// "ok      test_sums", or FAILED and, below it, the reason and the text that the test wrote.
std::string test_text(const TestCase& test);

// JUnit's XML, which build servers read: a suite for each file.
std::string junit_text(std::span<const TestCase> tests);

// How often each line was run, over all tests.
class Coverage {
 public:
  void add(std::span<const LineCount> counts);
  bool is_empty() const { return lines_.empty(); }
  // lcov's tracefile. It leaves out modules that are not files: those of the library.
  std::string lcov_text() const;

 private:
  std::map<std::pair<std::string, std::uint32_t>, std::uint64_t> lines_;
};

}  // namespace dhpvm::tools
