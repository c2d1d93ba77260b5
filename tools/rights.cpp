// SPDX-License-Identifier: Apache-2.0
#include "rights.h"

#include <filesystem>
#include <string>
#include <system_error>

namespace dhpvm::tools {
namespace {

Status add_right(SystemRights& rights, std::string_view right) {
  const std::size_t colon = right.find(':');
  const std::string_view name = right.substr(0, colon);
  const bool has_folder = colon != right.npos;
  const std::string folder(has_folder ? right.substr(colon + 1) : std::string_view());
  const bool reads = name == "read", writes = name == "write";
  if ((reads || writes) && has_folder && !folder.empty()) {
    // A misspelt folder would otherwise look like a program without rights.
    std::error_code problem;
    if (!std::filesystem::is_directory(folder, problem))
      return Error(ErrorCode::kInvalidArgument, "--allow: there is no folder '" + folder + "'");
    (reads ? rights.read : rights.write).push_back(folder);
  } else if (name == "env" && !has_folder) {
    rights.environment = true;
  } else if (name == "run" && !has_folder) {
    rights.run = true;
  } else {
    return Error(ErrorCode::kInvalidArgument,
                 "--allow: '" + std::string(right) + "' is not known; write read:DIR, write:DIR, env or run");
  }
  return {};
}

}  // namespace

Status add_rights(SystemRights& rights, std::string_view list) {
  while (true) {
    const std::size_t comma = list.find(',');
    DHPVM_TRY(add_right(rights, list.substr(0, comma)));
    if (comma == list.npos) return {};
    list.remove_prefix(comma + 1);
  }
}

}  // namespace dhpvm::tools
