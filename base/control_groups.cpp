// SPDX-License-Identifier: Apache-2.0
#include "base/control_groups.h"

#include <fstream>

namespace dhpvm {
namespace {

void add_upwards(std::vector<ControlGroups::Folder>& folders, const std::filesystem::path& mount,
                 std::filesystem::path group, ControlGroups::Version version) {
  for (;;) {
    folders.push_back({mount / group.relative_path(), version});
    if (!group.has_relative_path()) return;
    group = group.parent_path();
  }
}

}  // namespace

ControlGroups::ControlGroups(const std::filesystem::path& root) : mount_(root / "sys/fs/cgroup") {
  // Lines "hierarchy:controllers:path"; version 2 has no controllers.
  std::ifstream lines(root / "proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    memberships_.push_back({controllers.empty() ? "," : "," + controllers + ",", line.substr(second + 1)});
  }
}

std::vector<ControlGroups::Folder> ControlGroups::folders(std::string_view controller) const {
  std::vector<Folder> folders;
  for (const Membership& membership : memberships_) {
    if (membership.controllers == ",") {
      add_upwards(folders, mount_, membership.group, Version::kTwo);
      // Where both versions are mounted, as on older systems.
      add_upwards(folders, mount_ / "unified", membership.group, Version::kTwo);
    }
    if (membership.controllers.find("," + std::string(controller) + ",") != std::string::npos)
      add_upwards(folders, mount_ / controller, membership.group, Version::kOne);
  }
  return folders;
}

std::optional<std::string> ControlGroups::first_line(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  if (!std::getline(stream, line)) return std::nullopt;
  return line;
}

}  // namespace dhpvm
