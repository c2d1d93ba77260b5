// SPDX-License-Identifier: Apache-2.0
// Text to module: any text gives a module or a list of mistakes; a module that verifies survives
// a round trip.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "bytecode/assembler.h"
#include "bytecode/disassembler.h"
#include "bytecode/reader.h"
#include "bytecode/verifier.h"
#include "bytecode/writer.h"

namespace dhpvm::bytecode {
namespace {

void insist(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "assembler_fuzz: %s\n", what);
  std::abort();
}

int test_one(const std::uint8_t* data, std::size_t size) {
  const auto module = assemble(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!module.ok()) {
    insist(module.error().message().starts_with("line "), "a mistake without a line");
    return 0;
  }
  const std::string text = disassemble(*module);
  if (!verify(*module).ok()) return 0;
  const auto again = assemble(text);
  insist(again.ok() && *again == *module, "the text does not round-trip");
  const auto from_file = read_module(write_module(*module));
  insist(from_file.ok() && *from_file == *module, "the file does not round-trip");
  return 0;
}

}  // namespace
}  // namespace dhpvm::bytecode

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return dhpvm::bytecode::test_one(data, size);
}
