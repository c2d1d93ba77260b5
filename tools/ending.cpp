// SPDX-License-Identifier: Apache-2.0
#include "ending.h"

#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>

namespace dhpvm::tools {
namespace {

bool broken_pipes_end_the_process = true;

// When the other end is closed, poll() reports an error for the writing end of a pipe, and a hang-up for a socket.
bool is_output_abandoned() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

}  // namespace

int exit_code_of(ErrorFamily family) {
  switch (family) {
    case ErrorFamily::kUser: return 2;
    case ErrorFamily::kTrap: return 3;
    case ErrorFamily::kInternal: break;
  }
  return 70;
}

void ignore_broken_pipes() {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  broken_pipes_end_the_process = before == SIG_DFL;
}

Ending ending_of(std::string_view tool, const Error& error) {
  if (error.code() == ErrorCode::kIo && broken_pipes_end_the_process && is_output_abandoned()) {
    return {.code = exit_code_of(error.family()), .signal = SIGPIPE};
  }
  std::string text;
  if (error.code() == ErrorCode::kCompile) {
    text = error.message();  // diagnostics, which name the file already
  } else {
    text = std::string(tool) + ": " + error.to_string();
  }
  if (error.family() == ErrorFamily::kInternal) {
    text += "\nThis is a bug of DHPVM, not of the program: please report it.";
  }
  if (!text.ends_with('\n')) text += '\n';
  std::fputs(text.c_str(), stderr);
  return {.code = exit_code_of(error.family())};
}

Ending usage_ending(std::string_view tool, const Error& error) {
  std::fprintf(stderr, "%.*s: %s\nTry '%.*s --help'.\n", static_cast<int>(tool.size()), tool.data(),
               error.message().c_str(), static_cast<int>(tool.size()), tool.data());
  return {.code = 2};
}

int end_process(const Ending& ending) {
  if (ending.signal == 0) return ending.code;
  std::fflush(nullptr);
  std::signal(ending.signal, SIG_DFL);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, ending.signal);
  pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
  std::raise(ending.signal);
  return ending.code;
}

}  // namespace dhpvm::tools
