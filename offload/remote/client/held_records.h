// SPDX-License-Identifier: Apache-2.0
// Back-pressure: records wait here while the worker has as many operations as it takes, or as many results are on their
// way as it may keep. They keep their order. No operation in flight needs a held one, because operations wait only for
// earlier ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace dhpvm::offload {

// Belongs to one link, and is guarded by its mutex.
class HeldRecords {
 public:
  struct Record {
    std::vector<std::byte> bytes;
    std::int64_t operations = 0;
    std::int64_t answer_bytes = 0;  // of results that come in frames
  };

  bool is_empty() const { return records_.empty(); }
  void hold(Record record) { records_.push_back(std::move(record)); }
  // Takes out the first record; nothing if there is none, or if it has to wait. `most_operations`: the number that the
  // worker takes at a time.
  std::optional<Record> next(std::uint64_t most_operations);

  void operations_done(std::uint64_t count) { operations_ -= static_cast<std::int64_t>(count); }
  void answered(std::uint64_t bytes) { answer_bytes_ -= static_cast<std::int64_t>(bytes); }

 private:
  std::deque<Record> records_;
  // In flight. Below 0 when some were given up before they were sent.
  std::int64_t operations_ = 0;
  std::int64_t answer_bytes_ = 0;
};

}  // namespace dhpvm::offload
