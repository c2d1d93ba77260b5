// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace dhpvm::codegen {
namespace {

struct Search {
  std::uintptr_t address;  // in the object that is wanted
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
  return 1;  // the search is over
}

}  // namespace

std::string build_id() {
  Search search{reinterpret_cast<std::uintptr_t>(&build_id), {}};
  dl_iterate_phdr(look_at, &search);
  return std::move(search.id);
}

}  // namespace dhpvm::codegen
