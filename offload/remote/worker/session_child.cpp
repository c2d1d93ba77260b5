// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/session_child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/descriptor.h"
#include "base/error.h"
#include "offload/remote/worker/session_processes.h"

namespace dhpvm::offload {

Result<std::shared_ptr<SessionChild>> spawn_session_child(const std::vector<std::string>& command) {
  DHPVM_ASSIGN(auto ends, control::Socket::create_pair());
  DHPVM_ASSIGN(SharedFigures figures, SharedFigures::create());
  DHPVM_ASSIGN(auto code_ends, control::Socket::create_pair());
  // No descriptor may have a number that another one is to get.
  const Descriptor socket(fcntl(ends.second.descriptor(), F_DUPFD_CLOEXEC, kSessionCode + 1));
  const Descriptor memory(fcntl(figures.descriptor(), F_DUPFD_CLOEXEC, kSessionCode + 1));
  const Descriptor writer(fcntl(code_ends.second.descriptor(), F_DUPFD_CLOEXEC, kSessionCode + 1));
  Descriptor arriving(fcntl(code_ends.first.descriptor(), F_DUPFD_CLOEXEC, kSessionCode + 1));
  if (!socket.is_open() || !memory.is_open() || !writer.is_open() || !arriving.is_open())
    return error(ErrorCode::kIo, "no descriptor for the process of a session: {}; `ulimit -n` is the limit",
                 std::strerror(errno));
  std::string name = "dhpvm-session";  // for lists of processes
  std::vector<char*> words{name.data()};
  for (std::size_t i = 1; i < command.size(); ++i) words.push_back(const_cast<char*>(command[i].c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, socket.get(), kSessionSocket);
  posix_spawn_file_actions_adddup2(&files, memory.get(), kSessionFigures);
  posix_spawn_file_actions_adddup2(&files, writer.get(), kSessionCode);
  posix_spawn_file_actions_addclosefrom_np(&files, kSessionCode + 1);
  pid_t pid = 0;
  const int code = posix_spawn(&pid, command.front().c_str(), &files, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (code != 0) {
    return error(ErrorCode::kIo, "no process for a session could be started: {}", std::strerror(code));
  }
  return std::make_shared<SessionChild>(std::move(ends.first), std::move(figures), std::move(arriving), pid);
}

ClientGone how_it_ended(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return {signal == SIGKILL ? EndCause::kKilled : EndCause::kCrashed,
            error(ErrorCode::kDeviceLost, "the process of the session was ended by signal {} ({})", signal,
                  strsignal(signal)),
            {}};
  }
  return {EndCause::kCrashed,
          error(ErrorCode::kDeviceLost, "the process of the session has ended with exit code {}",
                WEXITSTATUS(status)),
          {}};
}

}  // namespace dhpvm::offload
