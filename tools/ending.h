// SPDX-License-Identifier: Apache-2.0
// The processes of the tools end by an exit code or, where a signal was the reason, by that signal, so that shells and
// other parents see it.
#pragma once

#include <string_view>

#include "dhpvm/result.h"

namespace dhpvm::tools {

struct Ending {
  int code = 0;
  int signal = 0;  // not 0: the process ends by it, and the code is not seen
};

// 2, 3 or 70.
int exit_code_of(ErrorFamily family);

// Makes writes to a pipe without a reader fail instead of killing the process: connections to workers are among them.
// From then on ending_of() distinguishes standard output from other pipes.
void ignore_broken_pipes();

// Prints an error that ends the tool, and says how: with the exit code of its family. An error of writing to a standard
// output whose reader has gone away, as with `| head`, ends the process by SIGPIPE without a word, unless that signal
// was ignored when the process began.
Ending ending_of(std::string_view tool, const Error& error);
// For a mistake in the command line, with a pointer to --help.
Ending usage_ending(std::string_view tool, const Error& error);

// The value for main() to return; does not return where the process ends by a signal.
int end_process(const Ending& ending);

}  // namespace dhpvm::tools
