// SPDX-License-Identifier: Apache-2.0
// Writes the seed corpora of the fuzzers: make_corpus tests/fuzz
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>

#include "base/file.h"
#include "bytecode/assembler.h"
#include "bytecode/disassembler.h"
#include "bytecode/generator.h"
#include "bytecode/test_modules.h"
#include "bytecode/writer.h"

namespace dhpvm::bytecode {
namespace {

Status write_seed(const std::string& directory, const std::string& name, std::string_view text, bool strip) {
  DHPVM_ASSIGN(const Module module, assemble(text));
  DHPVM_TRY(write_file(directory + "/loader_fuzz/" + name + ".bc", write_module(module, {.strip = strip})));
  if (strip) return {};
  return write_file(directory + "/assembler_fuzz/" + name + ".dasm", std::as_bytes(std::span(text)));
}

Status run(const std::string& directory) {
  std::error_code failure;
  std::filesystem::create_directories(directory + "/loader_fuzz", failure);
  std::filesystem::create_directories(directory + "/assembler_fuzz", failure);
  DHPVM_TRY(write_seed(directory, "tour", kTour, false));
  DHPVM_TRY(write_seed(directory, "tour_stripped", kTour, true));
  for (const NamedText& module : kSmallModules)
    DHPVM_TRY(write_seed(directory, std::string(module.name), module.text, false));
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const Module module = testing::generate_module(seed, {.functions = 1, .kernels = 1, .statements = 6});
    DHPVM_TRY(write_seed(directory, "generated" + std::to_string(seed), disassemble(module), false));
  }
  return {};
}

int run_tool(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_corpus DIRECTORY\n");
    return 2;
  }
  const Status status = run(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "make_corpus: %s\n", status.error().to_string().c_str());
  return 1;
}

}  // namespace
}  // namespace dhpvm::bytecode

int main(int argc, char** argv) { return dhpvm::bytecode::run_tool(argc, argv); }
