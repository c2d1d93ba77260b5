// SPDX-License-Identifier: Apache-2.0
// The linker has to know this of an architecture: the relocations that LLVM's small code model emits for
// position-independent code, and the stubs through which functions far away are called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dhpvm::codegen {

// One relocation with every address known. The bytes need not lie at `place` while they are changed.
struct Fixup {
  std::uint32_t type = 0;
  std::uint64_t place = 0;  // of the bytes that change
  std::uint64_t symbol = 0;
  std::uint64_t addend = 0;
  std::uint64_t slot = 0;  // holds the symbol's address, if Architecture::takes_slot
  std::uint64_t stub = 0;  // jumps to the symbol, if that is a function outside; 0: there is none
};

enum class Fixed : std::uint8_t { kDone, kTooFar, kMisaligned, kUnknown };
// The end of a sentence about a relocation that is not done.
std::string_view problem_of(Fixed result);

struct Architecture {
  std::uint16_t machine;  // in the header of an object file
  // A power of two; code is aligned to it.
  std::size_t stub_bytes;
  // Writes a stub that will run at `place` and jumps where `slot` says.
  void (*write_stub)(std::byte* stub, std::uint64_t place, std::uint64_t slot);
  // How many bytes change; 0 for relocations that no compiled function has.
  std::size_t (*width)(std::uint32_t type);
  // Whether the symbol's address is read from a table.
  bool (*takes_slot)(std::uint32_t type);
  // Changes `bytes`, of which there are as many as `width` says.
  Fixed (*fix)(std::byte* bytes, const Fixup& fixup);
};

const Architecture& x86_64();
const Architecture& aarch64();

// This process's. One that is not known takes no object file: nothing is compiled for it.
const Architecture& native_architecture();

}  // namespace dhpvm::codegen
