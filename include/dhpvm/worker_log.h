// SPDX-License-Identifier: Apache-2.0
// The entries of a worker's log, and the causes for which sessions end.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "dhpvm/version.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {

// Each level contains those before it.
enum class LogLevel : std::uint8_t { kError, kWarning, kInfo, kDebug };

// Cause, its word in logs, the level of the line, meaning.
#define DHPVM_END_CAUSES(X)                                                                             \
  X(kLeft, "left", kInfo, "the client has taken leave")                                                 \
  X(kLost, "lost", kWarning, "the client is gone, or has given no sign of life for too long")           \
  X(kRevoked, "revoked", kInfo, "the client's key is no longer in the file of clients")                 \
  X(kShutdown, "shutdown", kInfo, "the worker ends")                                                    \
  X(kTimeLimit, "time-limit", kInfo, "the session has computed for as long as it may")                  \
  X(kIdle, "idle", kInfo, "the session has had nothing to do for as long as it may")                    \
  X(kDeadline, "deadline", kWarning, "the client has not finished opening the session in time")         \
  X(kProtocol, "protocol", kWarning, "the client has broken the protocol")                              \
  X(kKilled, "killed", kError, "the session's process was killed (SIGKILL), as when memory is used up") \
  X(kCrashed, "crashed", kError, "the session's process has crashed")                                   \
  X(kEnded, "ended", kInfo, "an operator has ended the session")                                        \
  X(kDevices, "devices", kError, "the worker's devices could not be opened")

enum class EndCause : std::uint8_t {
#define DHPVM_X(name, word, level, meaning) name,
  DHPVM_END_CAUSES(DHPVM_X)
#undef DHPVM_X
};

struct EndCauseRow {
  std::string_view word;
  LogLevel level;
};
inline constexpr std::array kEndCauses{
#define DHPVM_X(name, word, level, meaning) EndCauseRow{word, LogLevel::level},
    DHPVM_END_CAUSES(DHPVM_X)
#undef DHPVM_X
};
constexpr const EndCauseRow& row_of(EndCause cause) { return kEndCauses[static_cast<std::size_t>(cause)]; }

// The end of a session.
struct SessionEnd {
  EndCause cause = EndCause::kLost;
  std::string reason;  // in words; the client gets the same text
  std::chrono::nanoseconds duration{0};
  std::string seal;    // "none", "integrity" or "full": how array data was protected in transit
  std::string client;  // its name, if it has proven one: in a certificate, or in the file of clients
  std::string key;     // the name of its key; empty: none
  // Unknown if the session's process has died.
  struct Work {
    std::uint64_t jobs = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
  };
  std::optional<Work> work;
};

struct WorkerLogEntry {
  LogLevel level = LogLevel::kInfo;
  std::uint64_t session = 0;  // 0: the entry is about no session
  std::string text;
  std::optional<SessionEnd> end;  // set in the last entry of a session

  // The line for people.
  std::string to_line() const {
    return session == 0 ? text : "session " + std::to_string(session) + ": " + text;
  }
};

// Called from any thread.
using WorkerLog = std::function<void(const WorkerLogEntry& entry)>;

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
