// SPDX-License-Identifier: Apache-2.0
// A process of a worker that serves one session, or waits for one: how it is started, and how it has ended.
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

// The process of one session.
struct SessionChild {
  // The most log lines that a session may write in a second.
  static constexpr unsigned kMostLines = 50;

  SessionChild(control::Socket socket, SharedFigures shared, Descriptor code_from_it, pid_t id)
      : control(std::move(socket)), figures(std::move(shared)), code(std::move(code_from_it)), pid(id) {}

  const control::Socket control;
  const SharedFigures figures;
  const Descriptor code;  // what it has compiled arrives here (code_keeper.h)
  const pid_t pid;
  // Guarded by the watcher's mutex.
  std::optional<SessionStart> session;  // none yet: the process waits for one
  std::optional<std::chrono::steady_clock::time_point> kill_at;
  std::optional<ClientGone> close_reason;
  LastWord last_word;
  bool is_gone = false;  // its number may belong to another process now
  // Only for the watching thread.
  std::optional<ClientGone> gone;  // why it ends, as it has reported itself
  LogBudget budget{kMostLines};
  ArrivingCode arriving;
  std::uint64_t code_left = std::uint64_t{64} << 20;  // bytes of code that are read from it; 0: no more
};

// Starts `command` with its arguments, with a socket to this process and shared memory for its figures.
Result<std::shared_ptr<SessionChild>> spawn_session_child(const std::vector<std::string>& command);

// Describes how a process has ended that has not reported it itself. Waits for its end.
ClientGone how_it_ended(pid_t pid);

}  // namespace dhpvm::offload
