// SPDX-License-Identifier: Apache-2.0
// What of the system programs may reach, finer than EngineOptions::system_access.
#pragma once

#include <string>
#include <vector>

namespace dhpvm {

// Folders count with everything below them, wherever links lead: a path is permitted if the file itself, with all links
// followed, lies in one of the folders. They are looked up when the engine is made; one that does not exist then
// permits what is made at its path later.
//
// Programs cannot get around this; another process that puts a link in the place of a file in the very moment between
// the check and the use can.
struct SystemRights {
  // Folders whose files may be read, listed and described.
  std::vector<std::string> read = {};
  // Folders in which files may be made, changed, renamed and removed; reading them is another right. Replacing a file
  // makes a temporary one beside it.
  std::vector<std::string> write = {};
  // Whether environment variables may be read.
  bool environment = false;
  // Whether other programs may be started. These have all rights of the process.
  bool run = false;
};

}  // namespace dhpvm
