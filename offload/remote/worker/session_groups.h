// SPDX-License-Identifier: Apache-2.0
// The system's limits for the processes of sessions: control groups (cgroup v2), a group for each client and one in it
// for each session, so that processors are shared fairly between clients and not between their sessions. Without
// control groups there are limits of single processes, which are weaker.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "dhpvm/result.h"

namespace dhpvm::offload {

// One thread at a time.
class SessionGroups {
 public:
  virtual ~SessionGroups() = default;
  // From now on the process serves session `number` of a client. `client` is the name of a folder. The process has one
  // thread.
  virtual Status enter(std::uint64_t number, pid_t process, const std::string& client,
                       std::uint64_t priority) = 0;
  // The most memory that the session may have on devices, which may be the host's.
  virtual Status limit_memory(std::uint64_t number, std::uint64_t bytes) = 0;
  // The process has ended.
  virtual void leave(std::uint64_t number) = 0;
  // The limits that hold, for the log.
  virtual std::string limits() const = 0;
};

// `own`: the control group of this process, as a folder; the process moves into a group below it. Limits without a
// controller become limits of processes. kUnsupported, with the reason, if the group has no controllers, cannot be
// changed by this process, or has other processes in it.
Result<std::unique_ptr<SessionGroups>> make_control_groups(const std::string& own);
// The control group of this process; empty where the system has none of version 2.
std::string own_control_group();
// The limits of single processes.
std::unique_ptr<SessionGroups> make_process_limits();

}  // namespace dhpvm::offload
