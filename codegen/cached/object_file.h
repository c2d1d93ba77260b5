// SPDX-License-Identifier: Apache-2.0
// The parts of a relocatable object file (ELF, for this process's architecture) that loading needs. Every offset is
// checked, because the bytes may come from a disk.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "dhpvm/result.h"

namespace dhpvm::codegen {

struct ObjectFile {
  struct Section {
    Elf64_Shdr header{};
    std::span<const std::byte> bytes;  // empty for a section without content (.bss)
    bool is_loaded() const { return (header.sh_flags & SHF_ALLOC) != 0; }
  };
  struct Symbol {
    Elf64_Sym entry{};
    std::string_view name;
    bool is_undefined() const { return entry.st_shndx == SHN_UNDEF; }
    bool is_absolute() const { return entry.st_shndx == SHN_ABS; }
    unsigned char type() const { return ELF64_ST_TYPE(entry.st_info); }
    unsigned char binding() const { return ELF64_ST_BIND(entry.st_info); }
  };
  struct Relocation {
    Elf64_Rela entry{};
    std::size_t section = 0;  // the section that it changes
    std::size_t symbol = 0;
    std::uint32_t type() const { return static_cast<std::uint32_t>(ELF64_R_TYPE(entry.r_info)); }
  };

  std::vector<Section> sections;
  std::vector<Symbol> symbols;          // the first is the null symbol
  std::vector<Relocation> relocations;  // of loaded sections
};

// kInternal for malformed bytes. The result points into them.
Result<ObjectFile> read_object_file(std::span<const std::byte> bytes);

}  // namespace dhpvm::codegen
