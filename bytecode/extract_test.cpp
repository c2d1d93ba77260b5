// SPDX-License-Identifier: Apache-2.0
#include "bytecode/extract.h"

#include <gtest/gtest.h>

#include "bytecode/assembler.h"
#include "bytecode/generator.h"
#include "bytecode/reader.h"
#include "bytecode/verifier.h"
#include "bytecode/writer.h"

namespace dhpvm::bytecode {
namespace {

TEST(Extract, WhatComesOutIsAModuleOfItsOwn) {
  std::size_t kernels = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    testing::GeneratorOptions options;
    options.kernels = 3;
    const Module module = testing::generate_module(seed, options);
    for (std::uint32_t kernel = 0; kernel < module.kernels.size(); ++kernel) {
      ++kernels;
      const ExtractedKernel extracted = extract_kernel(module, kernel);
      const Status verified = verify(extracted.module);
      ASSERT_TRUE(verified.ok()) << "seed " << seed << ": " << verified.error().message();
      ASSERT_EQ(extracted.module.kernels.size(), 1u);
      ASSERT_EQ(extracted.functions.size(), extracted.module.functions.size());
      EXPECT_EQ(extracted.functions[0], module.kernels[kernel].function);
      EXPECT_LE(extracted.module.code.size(), module.code.size());
      for (std::size_t n = 0; n < extracted.functions.size(); ++n) {
        const Function& copy = extracted.module.functions[n];
        const Function& original = module.functions[extracted.functions[n]];
        EXPECT_EQ(copy.code_size, original.code_size);
        EXPECT_EQ(extracted.module.name_of(copy), module.name_of(original));
      }
      // The module can be written and read.
      const auto read = read_module(write_module(extracted.module));
      ASSERT_TRUE(read.ok()) << read.error().message();
      EXPECT_EQ(*read, extracted.module);
    }
  }
  EXPECT_GT(kernels, 300u);
}

// Workers of the previous release do not know the opcode, and no worker needs it or the names.
TEST(Extract, KeepsTextsOfTrapsAndNamesAtHome) {
  const Result<Module> module = assemble(
      "type string str\ntype resource resource\ntype array [f64]: f64\n"
      "function k(i64, [f64]) registers 2 1\nload.f64 p1, r0, p0\njump.if p0, Bad\nreturn\nBad:\n"
      "trap.text \"an assertion\"\nend\nkernel k dims 1 array \"x\"");
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  const ExtractedKernel extracted = extract_kernel(*module, 0);
  EXPECT_TRUE(verify(extracted.module).ok());
  EXPECT_EQ(extracted.module.kernels[0].source, KernelSource{});
  EXPECT_EQ(extracted.module.code.size(), module->code.size());
  EXPECT_EQ(extracted.module.code.back(),
            encode(Op::kTrap, static_cast<std::uint16_t>(ErrorCode::kUserTrap)));
  EXPECT_EQ(write_module(extracted.module)[6], std::byte{0});
}

// Workers' GPUs share blocks as local GPUs do.
TEST(Extract, KeepsThatIterationsAreBlocks) {
  const Result<Module> module = assemble(
      "type string str\ntype resource resource\ntype array [f64]: f64\n"
      "function k(i64, i64, i64, i64, [f64]) registers 6 1\nmove.p p4, p0\nload.f64 p5, r0, p4\nreturn\nend\n"
      "kernel k dims 1 array \"x\" counter 4 rows 1");
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  const KernelSource& original = module->kernels[0].source;
  const ExtractedKernel extracted = extract_kernel(*module, 0);
  EXPECT_TRUE(verify(extracted.module).ok());
  const KernelSource& source = extracted.module.kernels[0].source;
  EXPECT_TRUE(source.arrays.empty());
  EXPECT_EQ(source.iterated, original.iterated);
  EXPECT_EQ(source.block_rows, original.block_rows);
  EXPECT_FALSE(source.iterated.empty());
}

}  // namespace
}  // namespace dhpvm::bytecode
