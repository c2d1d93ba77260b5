// SPDX-License-Identifier: Apache-2.0
// Random programs, interpreted and compiled: results, traps, memory and fuel must be the same.
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "vm/jit_harness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static dhpvm::vm::JitHarness harness(DHPVM_CODEGEN_LIBRARY);
  static const std::string unavailable = harness.unavailable();
  const std::string text =
      unavailable.empty() ? harness.compare(std::as_bytes(std::span(data, size))) : unavailable;
  if (text.empty()) return 0;
  std::fprintf(stderr, "jit: %s\n", text.c_str());
  std::abort();
}
