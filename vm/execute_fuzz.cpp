// SPDX-License-Identifier: Apache-2.0
// Executes arbitrary bytes: a module that the verifier accepts touches no memory other than its own.
//
// Bytes that change at random are hardly ever accepted, so most mutations change an instruction of a module
// that is: another opcode with the same kinds of operands, another register, constant or target.
#include <algorithm>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "bytecode/reader.h"
#include "bytecode/test_files.h"
#include "bytecode/writer.h"
#include "vm/execute_harness.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace dhpvm::bytecode {
namespace {

using Random = std::minstd_rand;

// The starts of the instructions of all functions, as far as they can be followed.
std::vector<std::uint32_t> instructions_of(const Module& module) {
  std::vector<std::uint32_t> starts;
  for (const Function& function : module.functions) {
    const std::uint64_t end = std::uint64_t{function.code_offset} + function.code_size;
    for (std::uint64_t at = function.code_offset; at < end && at < module.code.size();) {
      if (op_of(module.code[at]) >= kOpCount) break;
      starts.push_back(static_cast<std::uint32_t>(at));
      at += info(static_cast<Op>(op_of(module.code[at]))).words();
    }
  }
  return starts;
}

bool same_shape(const OpInfo& x, const OpInfo& y) {
  return x.a == y.a && x.b == y.b && x.c == y.c && x.x == y.x &&
         (x.flags & kBackEdge) == (y.flags & kBackEdge);
}

Word with_opcode(Word word, Random& random) {
  const OpInfo& row = info(static_cast<Op>(op_of(word)));
  const auto first = static_cast<std::uint16_t>(random() % kOpCount);
  for (std::uint16_t i = 0; i < kOpCount; ++i) {
    const auto op = static_cast<std::uint16_t>((first + i) % kOpCount);
    if (same_shape(row, info(static_cast<Op>(op)))) return (word & ~Word{0xffff}) | op;
  }
  return word;
}

std::uint16_t nearby(std::uint16_t value, Random& random) {
  switch (random() % 4) {
    case 0: return static_cast<std::uint16_t>(random() % 4);
    case 1: return static_cast<std::uint16_t>(random());
    default: return static_cast<std::uint16_t>(value + random() % 5 - 2);
  }
}

Word with_operand(Word word, Random& random) {
  const unsigned shift = 16 * (1 + static_cast<unsigned>(random() % 3));
  const auto old = static_cast<std::uint16_t>(word >> shift);
  return (word & ~(Word{0xffff} << shift)) | Word{nearby(old, random)} << shift;
}

void mutate(Module& module, Random& random) {
  const std::vector<std::uint32_t> starts = instructions_of(module);
  if (starts.empty()) return;
  const std::uint32_t at = starts[random() % starts.size()];
  Word& word = module.code[at];
  // An earlier change may have made the last word one of two.
  const unsigned words = at + 1 < module.code.size() ? info(static_cast<Op>(op_of(word))).words() : 1;
  switch (random() % 8) {
    case 0:
    case 1: word = with_opcode(word, random); break;
    case 2: {
      // Another instruction of the module, of the same length.
      const std::uint32_t from = starts[random() % starts.size()];
      if (info(static_cast<Op>(op_of(module.code[from]))).words() != words) break;
      if (from + words > module.code.size()) break;
      std::copy_n(module.code.begin() + from, words, module.code.begin() + at);
      break;
    }
    case 3:
      if (words == 2) {
        module.code[at + 1] ^= Word{1} << random() % 64;
        break;
      }
      [[fallthrough]];
    case 4: {
      Function& function = module.functions[random() % module.functions.size()];
      std::uint16_t& bank = random() % 2 == 0 ? function.primitive_registers : function.reference_registers;
      bank = nearby(bank, random);
      break;
    }
    default: word = with_operand(word, random); break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  vm::execute(std::as_bytes(std::span(data, size)));
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  Random random(seed + 1);
  testing::Bytes file;
  auto module = read_module(std::as_bytes(std::span(data, size)));
  if (module.ok() && random() % 8 != 0) {
    for (unsigned left = 1 + static_cast<unsigned>(random() % 4); left > 0; --left) mutate(*module, random);
    file = write_module(*module);
  } else {
    const std::size_t mutated = LLVMFuzzerMutate(data, size, max_size);
    const auto bytes = std::as_bytes(std::span(data, mutated));
    file.assign(bytes.begin(), bytes.end());
    testing::fix_checksums(file);
  }
  if (file.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, file.data(), file.size());
  return file.size();
}

}  // namespace dhpvm::bytecode
