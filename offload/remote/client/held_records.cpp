// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/client/held_records.h"

namespace dhpvm::offload {
namespace {

// The most bytes of results in frames that may be on their way: a worker ends a session when twice as much waits to be
// sent. One record asks for less.
constexpr std::int64_t kMostAnswers = 2 << 20;

}  // namespace

std::optional<HeldRecords::Record> HeldRecords::next(std::uint64_t most_operations) {
  if (records_.empty()) return std::nullopt;
  Record& first = records_.front();
  if (first.operations != 0 && operations_ + first.operations > static_cast<std::int64_t>(most_operations))
    return std::nullopt;
  if (first.answer_bytes != 0 && answer_bytes_ + first.answer_bytes > kMostAnswers) return std::nullopt;
  operations_ += first.operations;
  answer_bytes_ += first.answer_bytes;
  Record taken = std::move(first);
  records_.pop_front();
  return taken;
}

}  // namespace dhpvm::offload
