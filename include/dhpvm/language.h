// SPDX-License-Identifier: Apache-2.0
// Answers editors' questions about programs: the language server protocol.
#pragma once

#include <string>
#include <vector>

#include "dhpvm/export.h"
#include "dhpvm/result.h"
#include "dhpvm/version.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {

struct LanguageServerOptions {
  // Folders in which `import name;` looks for name.dhp, after the folder of the importing file and before those
  // that the client has open.
  std::vector<std::string> import_paths = {};
  // The folder for sources of the standard library that the client wants to show; each is written when it is first
  // requested. Created when needed. Empty: they are not shown.
  std::string library_folder = {};
};

// Serves version 3.17 of the protocol to one client, which writes to the descriptor `input` and reads from
// `output`, until it ends the session or closes its end. True when it ended it in good order: `shutdown`, then
// `exit`. The caller keeps both descriptors, which stay open; a write to a pipe without a reader raises SIGPIPE
// unless the application ignores it. No program is run. Blocks its thread; any number of sessions may run at once.
// kIo: reading or writing has failed, or the input was no message; the error says which.
DHPVM_API Result<bool> serve_language(int input, int output, const LanguageServerOptions& options = {});

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
