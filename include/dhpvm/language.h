// SPDX-License-Identifier: Apache-2.0
// Answers editors' questions about programs: the language server protocol.
#pragma once

#include <string>
#include <vector>

#include "dhpvm/export.h"
#include "dhpvm/result.h"

namespace dhpvm {

struct LanguageServerOptions {
  // Folders in which `import name;` looks for name.dhp, after the folder of the importing file and before those
  // that the client has open.
  std::vector<std::string> import_paths = {};
  // Where sources of the standard library are written when the client wants to show them, each when it is first
  // asked for. Created when needed. Empty: they are not shown.
  std::string library_folder = {};
};

// Serves version 3.17 of the protocol to one client, which writes to the descriptor `input` and reads from
// `output`, until it ends the session or closes its end. True when it did so in good order: `shutdown`, then
// `exit`. Both descriptors stay open and the caller's; a write to a pipe that nobody reads raises SIGPIPE unless
// the application ignores it. No program is run. Blocks its thread; any number of sessions may run at once. kIo:
// nothing more can be read or written, or what came was no message; the error says which.
DHPVM_API Result<bool> serve_language(int input, int output, const LanguageServerOptions& options = {});

}  // namespace dhpvm
