// SPDX-License-Identifier: Apache-2.0
// The system's limits for the processes of sessions: control groups (cgroup v2), a group for each client and one in it
// for each session, so that processors are shared fairly between clients and not between their sessions. Where there
// are none, limits of single processes, which hold less well.
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
  // The process serves session `number` of a client from now on. `client` is the name of a folder. It has one thread.
  virtual Status enter(std::uint64_t number, pid_t process, const std::string& client,
                       std::uint64_t priority) = 0;
  // The session may have so much memory on devices, which may be the host's.
  virtual Status limit_memory(std::uint64_t number, std::uint64_t bytes) = 0;
  // The process has ended.
  virtual void leave(std::uint64_t number) = 0;
  // Which limits hold, for the log.
  virtual std::string limits() const = 0;
};

// `own` is the control group of this process, as a folder; it moves into one beneath that. Limits for which the group
// has no controller are those of processes. kUnsupported with the reason where that cannot be: it has no controllers,
// is not this process's to change, or has other processes in it.
Result<std::unique_ptr<SessionGroups>> make_control_groups(const std::string& own);
// The control group of this process; empty where the system has none of version 2.
std::string own_control_group();
// In their place.
std::unique_ptr<SessionGroups> make_process_limits();

}  // namespace dhpvm::offload
