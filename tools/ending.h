// SPDX-License-Identifier: Apache-2.0
// How the tools end: with an exit code, or, if a signal was the reason, by that signal, so that shells and other parent
// processes see it.
#pragma once

#include <string_view>

#include "dhpvm/result.h"

namespace dhpvm::tools {

struct Ending {
  int code = 0;
  int signal = 0;  // not 0: the process ends by it, and the code does not matter
};

// Returns 2, 3 or 70.
int exit_code_of(ErrorFamily family);

// Makes writes to a pipe without a reader fail instead of killing the process, because connections to workers are such
// pipes. From then on ending_of() tells standard output and other pipes apart.
void ignore_broken_pipes();

// Prints the error that ends the tool, and returns how it ends: with the exit code of the error's family. If the error
// is a failed write to a standard output whose reader is gone, as with `| head`, the process ends by SIGPIPE without a
// message, unless that signal was ignored when the process began.
Ending ending_of(std::string_view tool, const Error& error);
// For a mistake in the command line; points to --help.
Ending usage_ending(std::string_view tool, const Error& error);

// The value for main() to return. Does not return if the process ends by a signal.
int end_process(const Ending& ending);

}  // namespace dhpvm::tools
