// SPDX-License-Identifier: Apache-2.0
// The architecture-dependent part of the linker: the relocations that LLVM's small code model emits for
// position-independent code, and the stubs for calls of distant functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dhpvm::codegen {

// A relocation with all addresses resolved. The bytes need not be at `place` while they are changed.
struct Fixup {
  std::uint32_t type = 0;
  std::uint64_t place = 0;  // the address of the changed bytes
  std::uint64_t symbol = 0;
  std::uint64_t addend = 0;
  std::uint64_t slot = 0;  // holds the symbol's address, if Architecture::takes_slot
  std::uint64_t stub = 0;  // jumps to the symbol, if that is an outside function; 0: none
};

enum class Fixed : std::uint8_t { kDone, kTooFar, kMisaligned, kUnknown };
// The end of an error message about a relocation that failed.
std::string_view problem_of(Fixed result);

struct Architecture {
  std::uint16_t machine;  // in the header of an object file
  // A power of two, to which code is aligned.
  std::size_t stub_bytes;
  // Writes a stub that will run at `place` and jumps to the address in `slot`.
  void (*write_stub)(std::byte* stub, std::uint64_t place, std::uint64_t slot);
  // The number of bytes that change; 0 for relocations that do not occur in compiled functions.
  std::size_t (*width)(std::uint32_t type);
  // Whether the symbol's address is read from the table.
  bool (*takes_slot)(std::uint32_t type);
  // Applies the relocation to `bytes`, whose size is given by `width`.
  Fixed (*fix)(std::byte* bytes, const Fixup& fixup);
};

const Architecture& x86_64();
const Architecture& aarch64();

// The architecture of this process. An unsupported one accepts no object file, so nothing is compiled for it.
const Architecture& native_architecture();

}  // namespace dhpvm::codegen
