// SPDX-License-Identifier: Apache-2.0
// Random modules that always verify, for fuzzing executors: executing what the verifier accepts, and
// comparing one executor with another. Not part of the product.
//
// A module has classes behind an interface, structs, arrays of every element kind and rank, weak references,
// strings, local arrays, functions that call each other (without recursion, so it ends, or soon runs out of
// fuel), and kernels. Functions mostly avoid traps, but not always. The registers are kept apart by kind, so
// that no result depends on bits that an instruction leaves unspecified. Kernels do not race: they store only
// to their own element, and update shared ones by integer atomics whose old values are thrown away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bytecode/module.h"

namespace dhpvm::bytecode::testing {

struct GeneratorOptions {
  std::uint32_t functions = 5;    // besides those that implement methods
  std::uint32_t kernels = 2;      // at most 6
  std::uint32_t statements = 24;  // per function, about; nested ones count
  // Functions whose results may differ between machines within their ULP bound: exp, sin, ..
  bool approximate_math = false;
  // One class, and half as many objects: for executors that take long over each instruction of a module.
  bool small = false;
  // Parallel loops now and then have thousands of iterations, so that they are divided between threads.
  bool large_loops = false;
  // Native functions to call. Parameters and results: primitives and strings.
  std::vector<Import> imports = {};
};

// The same bytes give the same module. They steer one decision each while they last; after that decisions
// follow from a hash of all of them. The entry is `main() -> i32`; every function `f0`, `f1`, .. is exported
// and takes (i64, f64) and returns i64, so that it can be called from outside.
Module generate_module(std::span<const std::byte> bytes, const GeneratorOptions& options = {});
Module generate_module(std::uint64_t seed, const GeneratorOptions& options = {});

}  // namespace dhpvm::bytecode::testing
