// SPDX-License-Identifier: Apache-2.0
// Runs programs given as text on every executor and compares what they print and how they end: the heart of
// the fuzzer of source programs, and of the test that runs it on a fixed set of seeds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dhpvm/dhpvm.h"

namespace dhpvm {

class SourceHarness {
 public:
  SourceHarness();

  enum class Verdict : std::uint8_t { kAgrees, kRefused, kTooLong, kFails };
  struct Outcome {
    Verdict verdict = Verdict::kAgrees;
    std::string words;  // kRefused: the diagnostics; kFails: the disagreement
  };
  // Everything that the compiler accepts must verify; a refusal must have a reason, and that must not be its own fault.
  Outcome compile(std::string_view source);
  // Likewise, and the interpreter, native code and the simulated accelerator must agree on all that shows.
  Outcome compare(std::string_view source);

 private:
  std::string run(const Module& module, IsolateOptions options, std::uint64_t fuel);

  Engine engine_;
  std::string output_;
};

}  // namespace dhpvm
