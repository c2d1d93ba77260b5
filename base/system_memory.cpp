// SPDX-License-Identifier: Apache-2.0
#include "base/system_memory.h"

#include <unistd.h>

#include <charconv>
#include <optional>

#include "base/control_groups.h"

namespace dhpvm {
namespace {

// Nothing for "max", and if there is no such file.
std::optional<std::size_t> read_number(const std::filesystem::path& file) {
  const std::optional<std::string> text = ControlGroups::first_line(file);
  if (!text) return std::nullopt;
  std::size_t number = 0;
  const auto [end, status] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (status != std::errc() || end == text->data()) return std::nullopt;
  return number;
}

}  // namespace

SystemMemory find_system_memory(const std::filesystem::path& root) {
  SystemMemory memory{
      static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)),
      "the machine's memory"};
  for (const ControlGroups::Folder& folder : ControlGroups(root).folders("memory")) {
    const bool first_version = folder.version == ControlGroups::Version::kOne;
    const std::filesystem::path file = folder.path / (first_version ? "memory.limit_in_bytes" : "memory.max");
    if (const auto limit = read_number(file); limit && *limit < memory.bytes)
      memory = {*limit, file.string()};
  }
  return memory;
}

const SystemMemory& system_memory() {
  static const SystemMemory memory = find_system_memory();
  return memory;
}

}  // namespace dhpvm
