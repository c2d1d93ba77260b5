// SPDX-License-Identifier: Apache-2.0
// The parts of the system that programs may reach, for EngineOptions::rights.
#pragma once

#include <string>
#include <vector>

#include "dhpvm/version.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {

// A folder stands for everything below it. A path is permitted if the file that it leads to, with all links followed,
// lies in one of the folders. Folders are looked up when the engine is made; one that does not exist then permits what
// is made at its path later.
//
// Programs cannot circumvent this. Another process can help them to, by replacing a file by a link between the check
// and the use.
struct SystemRights {
  // Folders whose files may be read, listed and described.
  std::vector<std::string> read = {};
  // Folders in which files may be made, changed, renamed and removed, but not the folders themselves; reading them is
  // another right. Replacing a file makes a temporary one beside it. Links may be made to what lies in these folders; a
  // target without `..` stays there when the link is moved with its folder.
  std::vector<std::string> write = {};
  // Whether environment variables may be read.
  bool environment = false;
  // Whether other programs may be started. These have all rights of the process.
  bool run = false;
};

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
