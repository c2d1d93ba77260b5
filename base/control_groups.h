// SPDX-License-Identifier: Apache-2.0
// The control groups (version 1 and 2) whose limits apply to this process: its own and those above them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dhpvm {

class ControlGroups {
 public:
  enum class Version : std::uint8_t { kOne, kTwo };
  struct Folder {
    std::filesystem::path path;
    Version version;
  };

  // `root` is where the files of the system are, for tests.
  explicit ControlGroups(const std::filesystem::path& root = "/");

  // The folders in which the files of `controller`, "cpu" or "memory", may be, from the process's groups upwards. Some
  // may not exist: in a container the path of a group can be the host's, so that only the topmost folder is there.
  std::vector<Folder> folders(std::string_view controller) const;

  // The first line of the file; nothing if there is no such file.
  static std::optional<std::string> first_line(const std::filesystem::path& file);

 private:
  struct Membership {
    std::string controllers;  // with a comma before and behind each; "," in version 2
    std::filesystem::path group;
  };

  std::filesystem::path mount_;
  std::vector<Membership> memberships_;
};

}  // namespace dhpvm
