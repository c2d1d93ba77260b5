// SPDX-License-Identifier: Apache-2.0
// Writes the seeds of the execution fuzzer: make_execute_corpus DIRECTORY puts DIRECTORY/*.bc.
#include <cstdio>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "bytecode/assembler.h"
#include "bytecode/test_modules.h"
#include "bytecode/writer.h"
#include "vm/test_programs.h"

namespace dhpvm {
namespace {

Status write_seed(const std::string& directory, std::string_view name, std::string_view text) {
  DHPVM_ASSIGN(const bytecode::Module module, bytecode::assemble(text));
  return write_file(directory + "/" + std::string(name) + ".bc", bytecode::write_module(module));
}

Status run(const std::string& directory) {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  DHPVM_TRY(write_seed(directory, "tour", bytecode::kTour));
  for (const bytecode::NamedText& module : bytecode::kSmallModules) {
    DHPVM_TRY(write_seed(directory, module.name, module.text));
  }
  for (const vm::NamedProgram& program : vm::kPrograms)
    DHPVM_TRY(write_seed(directory, program.name, program.text));
  return {};
}

}  // namespace
}  // namespace dhpvm

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_execute_corpus DIRECTORY\n");
    return 2;
  }
  const dhpvm::Status status = dhpvm::run(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "make_execute_corpus: %s\n", status.error().to_string().c_str());
  return 1;
}
