// SPDX-License-Identifier: Apache-2.0
// A process of a worker that serves one session, or waits for one: starting it, and the way it has ended.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "offload/remote/fabric/last_word.h"
#include "offload/remote/worker/code_keeper.h"
#include "offload/remote/worker/log_budget.h"
#include "offload/remote/worker/session_control.h"
#include "offload/remote/worker/session_end.h"
#include "offload/remote/worker/session_figures.h"
#include "offload/remote/worker/session_runner.h"

namespace dhpvm::offload {

// A process of its own for one session.
struct SessionChild {
  // Lines of the log in a second that a session may write.
  static constexpr unsigned kMostLines = 50;

  SessionChild(control::Socket socket, SharedFigures shared, Descriptor code_from_it, pid_t id)
      : control(std::move(socket)), figures(std::move(shared)), code(std::move(code_from_it)), pid(id) {}

  const control::Socket control;
  const SharedFigures figures;
  const Descriptor code;  // what it has compiled arrives here (code_keeper.h)
  const pid_t pid;
  // The following under the mutex of the watcher.
  std::optional<SessionStart> session;  // none yet: the process waits for one
  std::optional<std::chrono::steady_clock::time_point> kill_at;
  std::optional<ClientGone> close_reason;
  LastWord last_word;
  bool is_gone = false;  // its number may be another process's
  // For the watching thread alone.
  std::optional<ClientGone> gone;  // why it ends, in its own words
  LogBudget budget{kMostLines};
  ArrivingCode arriving;
  std::uint64_t code_left = std::uint64_t{64} << 20;  // bytes of code that are read from it; 0: no more
};

// Starts the program `command` with its arguments, with a socket to this process and memory for its figures.
Result<std::shared_ptr<SessionChild>> spawn_session_child(const std::vector<std::string>& command);

// Says how a process has ended that has not said it itself. Waits for its end.
ClientGone how_it_ended(pid_t pid);

}  // namespace dhpvm::offload
