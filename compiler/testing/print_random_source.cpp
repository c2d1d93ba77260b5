// SPDX-License-Identifier: Apache-2.0
// Prints the random program of a seed: `random_source SEED`.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "compiler/testing/random_source.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: random_source SEED\n");
    return 2;
  }
  const std::string program = dhpvm::compiler::testing::random_source(std::strtoull(argv[1], nullptr, 10));
  std::fwrite(program.data(), 1, program.size(), stdout);
  return 0;
}
