// SPDX-License-Identifier: Apache-2.0
#include "base/control_groups.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/descriptor.h"

namespace dhpvm {
namespace {

// The content of a small file; empty if it cannot be read. Streams of the standard library would load their locales
// first, which programs need for nothing else.
std::string content_of(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string content;
  std::array<char, 4096> part;
  while (file.is_open()) {
    const ssize_t got = ::read(file.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    content.append(part.data(), static_cast<std::size_t>(got));
  }
  return content;
}

std::string take_line(std::string& content) {
  const std::size_t end = std::min(content.find('\n'), content.size());
  std::string line = content.substr(0, end);
  content.erase(0, end + 1);
  return line;
}

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
  std::string content = content_of(root / "proc/self/cgroup");
  while (!content.empty()) {
    const std::string line = take_line(content);
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
  std::string content = content_of(file);
  if (content.empty()) return std::nullopt;
  return take_line(content);
}

}  // namespace dhpvm
