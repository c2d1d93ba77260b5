// SPDX-License-Identifier: Apache-2.0
// Bytes to module: whatever the bytes, reading and verifying end with a result; what is accepted survives a
// round trip through the file and through the text unchanged.
//
// Mutations change one section at a time and put a correct section table around it, so that they get past the
// checksums.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "bytecode/assembler.h"
#include "bytecode/disassembler.h"
#include "bytecode/reader.h"
#include "bytecode/test_files.h"
#include "bytecode/verifier.h"
#include "bytecode/writer.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace dhpvm::bytecode {
namespace {

using testing::Bytes;

void insist(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "loader_fuzz: %s\n", what);
  std::abort();
}

void check(const Bytes& bytes) {
  const Result<Module> module = read_module(bytes);
  if (!module.ok()) return insist(!module.error().message().empty(), "an error without a message");
  const std::string text = disassemble(*module);
  if (!verify(*module).ok()) return;
  const Result<Module> from_file = read_module(write_module(*module));
  insist(from_file.ok() && *from_file == *module, "the file does not round-trip");
  const Result<Module> from_text = assemble(text);
  insist(from_text.ok() && *from_text == *module, "the text does not round-trip");
  const Result<Module> stripped = read_module(write_module(*module, {.strip = true}));
  insist(stripped.ok() && verify(*stripped).ok(), "the stripped file is not accepted");
}

int test_one(const std::uint8_t* data, std::size_t size) {
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  Bytes bytes(begin, begin + size);
  check(bytes);
  testing::fix_checksums(bytes);
  check(bytes);
  return 0;
}

std::size_t mutate(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  std::minstd_rand random(seed);
  std::vector<testing::RawSection> sections = testing::split(std::as_bytes(std::span(data, size)));
  // Sometimes mutate the file as a whole, for the header and the table.
  if (sections.empty() || random() % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  testing::RawSection& section = sections[random() % sections.size()];
  const std::size_t room = max_size - std::min(max_size, size + 64);
  Bytes mutated = section.bytes;
  mutated.resize(section.bytes.size() + room);
  if (mutated.empty()) return LLVMFuzzerMutate(data, size, max_size);
  mutated.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(mutated.data()), section.bytes.size(),
                                  mutated.size()));
  section.bytes = std::move(mutated);
  const Bytes file = testing::join(sections);
  if (file.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, file.data(), file.size());
  return file.size();
}

}  // namespace
}  // namespace dhpvm::bytecode

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return dhpvm::bytecode::test_one(data, size);
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return dhpvm::bytecode::mutate(data, size, max_size, seed);
}
