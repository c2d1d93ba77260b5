// SPDX-License-Identifier: Apache-2.0
#include "bytecode/generator.h"

#include <gtest/gtest.h>

#include <set>

#include "bytecode/assembler.h"
#include "bytecode/decode.h"
#include "bytecode/disassembler.h"
#include "bytecode/isa_text.h"
#include "bytecode/reader.h"
#include "bytecode/verifier.h"
#include "bytecode/writer.h"

namespace dhpvm::bytecode::testing {
namespace {

TEST(Generator, ModulesVerifyAndRoundTrip) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Module module = generate_module(seed);
    const Status status = verify(module);
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.error().to_string() << "\n"
                             << disassemble(module);
    const Result<Module> from_file = read_module(write_module(module));
    ASSERT_TRUE(from_file.ok()) << from_file.error().to_string();
    EXPECT_TRUE(*from_file == module) << seed;
    const Result<Module> from_text = assemble(disassemble(module));
    ASSERT_TRUE(from_text.ok()) << from_text.error().to_string();
    EXPECT_TRUE(*from_text == module) << seed;
  }
}

TEST(Generator, AnyBytesWillDo) {
  std::vector<std::byte> bytes;
  for (int size = 0; size < 600; size += 37) {
    bytes.resize(static_cast<std::size_t>(size), static_cast<std::byte>(size));
    const Module module = generate_module(bytes);
    const Status status = verify(module);
    ASSERT_TRUE(status.ok()) << status.error().to_string();
    EXPECT_TRUE(generate_module(bytes) == module);
  }
}

TEST(Generator, UsesNearlyEveryOpcode) {
  GeneratorOptions options;
  options.approximate_math = true;
  options.imports = {
      {"host.mix", {{{Kind::kI64, kNoIndex}, {Kind::kRef, kStringType}}, {{Kind::kI64, kNoIndex}}}}};
  std::set<std::uint16_t> used;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Module module = generate_module(seed, options);
    ASSERT_TRUE(verify(module).ok());
    for (std::size_t pc = 0; pc < module.code.size(); pc += kDecode[op_of(module.code[pc])].words)
      used.insert(op_of(module.code[pc]));
  }
  for (std::uint16_t op = 0; op < kOpCount; ++op) {
    const Op what = static_cast<Op>(op);
    EXPECT_TRUE(used.contains(op)) << mnemonic_of(what);
  }
}

TEST(Generator, ApproximateMathIsLeftOutUnlessAskedFor) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Module module = generate_module(seed);
    for (std::size_t pc = 0; pc < module.code.size(); pc += kDecode[op_of(module.code[pc])].words)
      EXPECT_FALSE(info(static_cast<Op>(op_of(module.code[pc]))).has(kApproximate));
  }
}

}  // namespace
}  // namespace dhpvm::bytecode::testing
