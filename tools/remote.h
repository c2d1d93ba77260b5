// SPDX-License-Identifier: Apache-2.0
// The remote options of dhpvm-run, and its worker mode.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dhpvm/dhpvm.h"

namespace dhpvm::tools {

inline constexpr std::string_view kRemoteGroup = "Devices of other machines";

struct RemoteRequest {
  bool worker = false;
  bool is_session = false;  // with `worker`: this process serves one session of a worker
  std::vector<std::string> connect;
  std::vector<std::string> listen;
  bool write_back = true;
  LogLevel log_level = LogLevel::kInfo;
  // With limits, security, provider and silence from the command line.
  WorkerOptions options;
};

// Sets an option of kRemoteGroup that has a value. kInvalidArgument.
Status set_remote(RemoteRequest& request, std::string_view name, std::string_view value);
// Checks that the options fit together; `device` is the value of --device, or empty.
Status check_remote(const RemoteRequest& request, std::string_view device);

// The workers for the engine of a program.
RemoteOptions workers_of(const RemoteRequest& request);

// Lends the devices of this machine until a signal comes, or until all dialled clients are gone. After SIGTERM it ends
// when all sessions have ended, after a second one or SIGINT at once. `words`: the command line, for the processes of
// sessions.
Result<int> lend(EngineOptions engine, const RemoteRequest& request, std::string_view devices,
                 std::span<const char* const> words);

}  // namespace dhpvm::tools
