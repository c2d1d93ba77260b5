// SPDX-License-Identifier: Apache-2.0
#include "codegen/cached/object_file.h"

#include <cstring>
#include <optional>

#include "base/error.h"
#include "codegen/cached/relocations.h"

namespace dhpvm::codegen {
namespace {

// No compiled function has a larger alignment or size.
constexpr std::uint64_t kMostAlignment = 4096;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

Error broken(std::string_view what) {
  return error(ErrorCode::kInternal, "linking native code: the object file has {}", what);
}

std::optional<std::span<const std::byte>> part_of(std::span<const std::byte> bytes, std::uint64_t offset,
                                                  std::uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.subspan(offset, size);
}

// The entries of a table; the bytes need not be aligned.
template <typename Entry>
std::vector<Entry> entries_of(std::span<const std::byte> bytes) {
  std::vector<Entry> entries(bytes.size() / sizeof(Entry));
  if (!entries.empty()) std::memcpy(entries.data(), bytes.data(), entries.size() * sizeof(Entry));
  return entries;
}

std::optional<std::string_view> name_at(std::span<const std::byte> strings, std::uint64_t offset) {
  if (offset >= strings.size()) return std::nullopt;
  const std::string_view rest(reinterpret_cast<const char*>(strings.data()) + offset,
                              strings.size() - offset);
  const std::size_t end = rest.find('\0');
  if (end == rest.npos) return std::nullopt;
  return rest.substr(0, end);
}

Status read_sections(std::span<const std::byte> bytes, ObjectFile& file) {
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header) return broken("no header");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_REL ||
      header.e_machine != native_architecture().machine || header.e_shentsize != sizeof(Elf64_Shdr)) {
    return broken("another format than this machine's");
  }
  const auto table = part_of(bytes, header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  if (!table) return broken("no table of sections");
  std::uint64_t total = 0;
  for (const Elf64_Shdr& section : entries_of<Elf64_Shdr>(*table)) {
    const bool is_empty = section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL;
    const auto content = part_of(bytes, is_empty ? 0 : section.sh_offset, is_empty ? 0 : section.sh_size);
    if (!content) return broken("a section beyond its end");
    if (section.sh_addralign > kMostAlignment || (section.sh_addralign & (section.sh_addralign - 1)) != 0) {
      return broken("a section of odd alignment");
    }
    if (section.sh_size > kMostBytes - total) return broken("too large a section");
    total += section.sh_size;
    if ((section.sh_flags & SHF_TLS) != 0) return broken("thread-local data");
    file.sections.push_back({section, *content});
  }
  return {};
}

Status read_symbols(const ObjectFile::Section& table, ObjectFile& file) {
  if (!file.symbols.empty()) return broken("two tables of symbols");
  if (table.header.sh_link >= file.sections.size()) return broken("symbols without names");
  const std::span<const std::byte> strings = file.sections[table.header.sh_link].bytes;
  for (const Elf64_Sym& symbol : entries_of<Elf64_Sym>(table.bytes)) {
    const auto name = name_at(strings, symbol.st_name);
    if (!name) return broken("a symbol without a name");
    if (symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS &&
        (symbol.st_shndx >= file.sections.size() ||
         symbol.st_value > file.sections[symbol.st_shndx].header.sh_size)) {
      return broken("a symbol outside of its sections");
    }
    file.symbols.push_back({symbol, *name});
  }
  return {};
}

Status read_relocations(const ObjectFile::Section& table, ObjectFile& file) {
  const std::size_t target = table.header.sh_info;
  if (target >= file.sections.size()) return broken("relocations of no section");
  if (!file.sections[target].is_loaded()) return {};
  if (table.header.sh_type == SHT_REL) return broken("relocations of another form than this machine's");
  for (const Elf64_Rela& relocation : entries_of<Elf64_Rela>(table.bytes)) {
    const std::size_t symbol = ELF64_R_SYM(relocation.r_info);
    if (symbol >= file.symbols.size()) return broken("a relocation to no symbol");
    file.relocations.push_back({relocation, target, symbol});
  }
  return {};
}

}  // namespace

Result<ObjectFile> read_object_file(std::span<const std::byte> bytes) {
  ObjectFile file;
  DHPVM_TRY(read_sections(bytes, file));
  for (const ObjectFile::Section& section : file.sections) {
    if (section.header.sh_type == SHT_SYMTAB) DHPVM_TRY(read_symbols(section, file));
  }
  for (const ObjectFile::Section& section : file.sections) {
    const auto type = section.header.sh_type;
    if (type == SHT_RELA || type == SHT_REL) DHPVM_TRY(read_relocations(section, file));
  }
  return file;
}

}  // namespace dhpvm::codegen
