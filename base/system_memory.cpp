// SPDX-License-Identifier: Apache-2.0
#include "base/system_memory.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>

namespace dhpvm {
namespace {

// None for "max", and where there is no such file.
std::optional<std::size_t> read_number(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string text;
  if (!std::getline(stream, text)) return std::nullopt;
  std::size_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

// Lowers `memory` to the limits in the files called `name` from the group `path` up to the top. In a container the path
// may be that of the host, and only the top exists.
void apply(SystemMemory& memory, const std::filesystem::path& mount, std::filesystem::path path,
           std::string_view name) {
  for (;;) {
    const std::filesystem::path file = mount / path.relative_path() / name;
    if (const auto limit = read_number(file); limit && *limit < memory.bytes)
      memory = {*limit, file.string()};
    if (!path.has_relative_path()) return;
    path = path.parent_path();
  }
}

// Whether `list`, names with commas between them, has `name`.
bool has_name(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == name) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

}  // namespace

SystemMemory find_system_memory(const std::filesystem::path& root) {
  SystemMemory memory{
      static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)),
      "the machine's memory"};
  const std::filesystem::path mount = root / "sys/fs/cgroup";
  // Lines "hierarchy:controllers:path"; version 2 has no controllers.
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    const std::filesystem::path path = line.substr(second + 1);
    if (controllers.empty()) {
      apply(memory, mount, path, "memory.max");
      // Where both versions are mounted, as on older systems.
      apply(memory, mount / "unified", path, "memory.max");
    }
    if (has_name(controllers, "memory")) apply(memory, mount / "memory", path, "memory.limit_in_bytes");
  }
  return memory;
}

const SystemMemory& system_memory() {
  static const SystemMemory memory = find_system_memory();
  return memory;
}

}  // namespace dhpvm
