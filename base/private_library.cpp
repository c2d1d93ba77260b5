// SPDX-License-Identifier: Apache-2.0
#include "base/private_library.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <system_error>

namespace dhpvm {
namespace {

// Only segments that are never written: their pages can be read from the file again.
int release_pages(dl_phdr_info* object, std::size_t /*size*/, void* name) {
  const std::string_view path = object->dlpi_name;
  if (path.substr(path.rfind('/') + 1) != *static_cast<const std::string_view*>(name)) return 0;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t start = object->dlpi_addr + segment.p_vaddr;
    const std::uintptr_t begin = start / page * page;
    const std::uintptr_t end = (start + segment.p_memsz + page - 1) / page * page;
    // The system may refuse; the pages then stay.
    static_cast<void>(madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED));
  }
  return 0;
}

}  // namespace

std::vector<std::string> private_library_paths(const void* code, std::string_view name) {
  std::vector<std::string> paths;
  Dl_info here{};
  if (dladdr(code, &here) != 0 && here.dli_fname != nullptr) {
    const std::string_view own = here.dli_fname;
    // Without a slash, the loader found this library by its name, and will find its companions likewise.
    if (const std::size_t slash = own.rfind('/'); slash != std::string_view::npos) {
      const std::string folder(own.substr(0, slash + 1));
      paths.push_back(folder + std::string(name));
      paths.push_back(folder + "dhpvm/" + std::string(name));
    }
  }
  paths.emplace_back(name);
  return paths;
}

OpenedLibrary open_first(const std::vector<std::string>& paths) {
  OpenedLibrary opened;
  bool is_of_a_file = false;
  for (const std::string& path : paths) {
    opened.handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (opened.handle != nullptr) {
      opened.path = path;
      return opened;
    }
    const char* const text = dlerror();
    std::error_code ignored;
    const bool is_file = std::filesystem::exists(path, ignored);
    if (text == nullptr || (!opened.reason.empty() && (is_of_a_file || !is_file))) continue;
    opened.reason = text;
    is_of_a_file = is_file;
  }
  return opened;
}

void release_library_pages(std::string_view name) { dl_iterate_phdr(release_pages, &name); }

}  // namespace dhpvm
