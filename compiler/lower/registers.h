// SPDX-License-Identifier: Apache-2.0
// The registers of one function under construction: two stacks, one per bank.
//
// Locals and temporaries are taken from the top and given back by returning to a mark, so that everything in use lies
// below the top. Calls need that: their argument windows start at the top, and the callee's frame overlaps everything
// behind.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dhpvm::compiler {

using Register = std::uint16_t;

// The first number that is not a register; higher numbers name the constants of CodeBuffer.
constexpr std::uint32_t kMostRegisters = 0xc000;

struct RegisterMark {
  std::uint32_t primitives = 0;
  std::uint32_t references = 0;
};

class Registers {
 public:
  Register primitive() { return take(top_.primitives); }
  Register reference() { return take(top_.references); }

  RegisterMark mark() const { return top_; }
  void release(RegisterMark mark) { top_ = mark; }

  Register next_primitive() const { return clamp(top_.primitives); }
  Register next_reference() const { return clamp(top_.references); }

  // More registers were requested than instructions can name; those returned since are invalid.
  bool exhausted() const { return exhausted_; }

 private:
  Register take(std::uint32_t& top) {
    const Register result = clamp(top);
    if (top >= kMostRegisters) exhausted_ = true;
    ++top;
    return result;
  }
  static Register clamp(std::uint32_t number) {
    return static_cast<Register>(std::min(number, kMostRegisters - 1));
  }

  RegisterMark top_;
  bool exhausted_ = false;
};

}  // namespace dhpvm::compiler
