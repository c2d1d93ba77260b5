// SPDX-License-Identifier: Apache-2.0
// Random programs in the language, as text. They use all of it: structs with operators, tuples, enums, classes,
// interfaces, generics, nullables, results, closures, collections and their methods, user-defined iterators and
// elements, `match`, every loop, `use`, fixed arrays and those of rank 1 to 3, parallel loops with reductions, atomics
// and searches.
//
// Such a program prints the same on every executor: it terminates, its parallel loops are free of races, and it calls
// no approximate function. It may trap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace dhpvm::compiler::testing {

// The same bytes give the same program.
std::string random_source(std::span<const std::byte> bytes);
std::string random_source(std::uint64_t seed);

}  // namespace dhpvm::compiler::testing
