// SPDX-License-Identifier: Apache-2.0
#include "codegen/cached/relocations.h"

#include <elf.h>

namespace dhpvm::codegen {

std::string_view problem_of(Fixed result) {
  switch (result) {
    case Fixed::kTooFar: return "is too far away";
    case Fixed::kMisaligned: return "is not aligned as its instruction needs it";
    case Fixed::kUnknown: return "is of a kind that no compiled function has";
    case Fixed::kDone: break;
  }
  return {};
}

const Architecture& native_architecture() {
#if defined(__x86_64__)
  return x86_64();
#elif defined(__aarch64__) && defined(__AARCH64EL__)
  return aarch64();
#else
  static constexpr Architecture kUnknown = {
      .machine = EM_NONE,
      .stub_bytes = 1,
      .write_stub = [](std::byte*, std::uint64_t, std::uint64_t) {},
      .width = [](std::uint32_t) { return std::size_t{0}; },
      .takes_slot = [](std::uint32_t) { return false; },
      .fix = [](std::byte*, const Fixup&) { return Fixed::kUnknown; },
  };
  return kUnknown;
#endif
}

}  // namespace dhpvm::codegen
