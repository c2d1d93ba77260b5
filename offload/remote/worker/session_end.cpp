// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/session_end.h"

#include <fmt/format.h>

#include <utility>

#include "base/one_line.h"

namespace dhpvm::offload {
namespace {

// Names in certificates are cut to this length in the log.
constexpr std::size_t kLongestName = 64;

}  // namespace

std::string_view name_of(SealMode mode) {
  switch (mode) {
    case SealMode::kNone: return "none";
    case SealMode::kIntegrity: return "integrity";
    case SealMode::kFull: return "full";
  }
  return "?";
}

void log_end(const WorkerLog& log, const SessionStart& start, const ClientGone& gone) {
  if (!log) return;
  SessionEnd end;
  end.cause = gone.cause;
  end.reason = one_line(gone.reason);
  end.duration = std::chrono::steady_clock::now() - start.began;
  end.seal = name_of(start.seal);
  end.client = start.client_name;
  end.key = start.key_name;
  end.work = gone.work;
  const EndCauseRow& row = row_of(end.cause);
  std::string text = fmt::format("ended after {:.1f} s ({}), ",
                                 std::chrono::duration<double>(end.duration).count(), row.word);
  if (end.work) {
    text += fmt::format("{} jobs, {} bytes in, {} bytes out, ", end.work->jobs, end.work->bytes_in,
                        end.work->bytes_out);
  }
  text += "seal " + end.seal;
  if (!end.client.empty()) text += ", client " + printable(end.client, kLongestName);
  if (!end.key.empty()) text += ", key " + end.key;
  text += ": " + end.reason;
  log({row.level, start.number, std::move(text), std::move(end)});
}

}  // namespace dhpvm::offload
