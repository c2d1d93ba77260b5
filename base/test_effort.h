// SPDX-License-Identifier: Apache-2.0
// How much effort tests make: the number of random cases, and of combinations.
#pragma once

namespace dhpvm {

// The number of random cases that a test tries where `cases` are tried in an ordinary build: a quarter under
// sanitizers. A case takes several times as long there, and fuzzers make further ones of the same kind.
constexpr unsigned test_effort(unsigned cases) {
#ifdef DHPVM_SANITIZED
  return (cases + 3) / 4;
#else
  return cases;
#endif
}

// A test of all combinations of some values tries every n-th of them. Under sanitizers n is 7, a prime, so that each
// value still occurs.
#ifdef DHPVM_SANITIZED
inline constexpr unsigned kTestStride = 7;
#else
inline constexpr unsigned kTestStride = 1;
#endif

}  // namespace dhpvm
