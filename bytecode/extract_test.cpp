// SPDX-License-Identifier: Apache-2.0
#include "bytecode/extract.h"

#include <gtest/gtest.h>

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
      // It survives the journey.
      const auto read = read_module(write_module(extracted.module));
      ASSERT_TRUE(read.ok()) << read.error().message();
      EXPECT_EQ(*read, extracted.module);
    }
  }
  EXPECT_GT(kernels, 300u);
}

}  // namespace
}  // namespace dhpvm::bytecode
