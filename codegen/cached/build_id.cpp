// SPDX-License-Identifier: Apache-2.0
#include "codegen/cached/build_id.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/descriptor.h"

namespace dhpvm::codegen {
namespace {

struct Search {
  std::uintptr_t address;  // in the object to identify
  std::string id;
};

constexpr std::size_t padded(std::size_t size) { return (size + 3) / 4 * 4; }

// A segment of notes: header, name and description of each, padded to 4 bytes (System V ABI, "Note Section").
std::string id_in(const char* notes, std::size_t size) {
  ElfW(Nhdr) note;
  while (size >= sizeof note) {
    std::memcpy(&note, notes, sizeof note);
    const std::size_t name = sizeof note, description = name + padded(note.n_namesz);
    const std::size_t next = description + padded(note.n_descsz);
    if (next > size) break;
    const std::string_view owner(notes + name, note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && owner == std::string_view(ELF_NOTE_GNU, sizeof ELF_NOTE_GNU)) {
      return {notes + description, note.n_descsz};
    }
    notes += next;
    size -= next;
  }
  return {};
}

int look_at(dl_phdr_info* object, std::size_t /*size*/, void* data) {
  auto& search = *static_cast<Search*>(data);
  bool wanted = false;
  std::string id;
  for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD) wanted |= search.address - begin < segment.p_memsz;
    if (segment.p_type == PT_NOTE && id.empty()) {
      id = id_in(reinterpret_cast<const char*>(begin), segment.p_memsz);
    }
  }
  if (!wanted) return 0;
  search.id = std::move(id);
  return 1;  // ends the search
}

}  // namespace

std::string build_id(const void* code) {
  Search search{reinterpret_cast<std::uintptr_t>(code), {}};
  dl_iterate_phdr(look_at, &search);
  return std::move(search.id);
}

std::string build_id() {
  return build_id(reinterpret_cast<const void*>(static_cast<std::string (*)()>(&build_id)));
}

std::string build_id_in_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  // The notes follow the headers, near the start of the file.
  std::vector<char> bytes(4096);
  const ssize_t got = file.is_open() ? ::pread(file.get(), bytes.data(), bytes.size(), 0) : -1;
  ElfW(Ehdr) header;
  if (got < static_cast<ssize_t>(sizeof header)) return {};
  const auto size = static_cast<std::size_t>(got);
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr)))
    return {};
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    if (header.e_phoff > size || (size - header.e_phoff) / sizeof segment <= i) return {};
    std::memcpy(&segment, bytes.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type != PT_NOTE || segment.p_offset > size || segment.p_filesz > size - segment.p_offset)
      continue;
    if (std::string id = id_in(bytes.data() + segment.p_offset, segment.p_filesz); !id.empty()) return id;
  }
  return {};
}

}  // namespace dhpvm::codegen
