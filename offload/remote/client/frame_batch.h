// SPDX-License-Identifier: Apache-2.0
// Collects records that leave in one frame: it is sent when somebody waits, or once it has enough operations to keep
// the worker busy while this side makes the next frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "offload/remote/client/held_records.h"
#include "offload/remote/fabric/frame_lane.h"
#include "offload/remote/fabric/protocol.h"

namespace dhpvm::offload {

// Belongs to one link, and is guarded by its mutex.
class FrameBatch {
 public:
  bool is_empty() const { return bytes_.empty(); }
  bool has_room_for(const HeldRecords::Record& record) const {
    return bytes_.size() + record.bytes.size() <= FrameLane::kLargestFrame && records_ < wire::kMaxRecords;
  }
  void add(const HeldRecords::Record& record) {
    bytes_.insert(bytes_.end(), record.bytes.begin(), record.bytes.end());
    ++records_;
    operations_ += record.operations;
  }
  bool has_enough() const { return operations_ >= kEnough; }
  ConstBytes bytes() const { return bytes_; }
  void clear() {
    bytes_.clear();
    records_ = 0;
    operations_ = 0;
  }

 private:
  static constexpr std::int64_t kEnough = 16;

  std::vector<std::byte> bytes_;
  std::size_t records_ = 0;
  std::int64_t operations_ = 0;
};

}  // namespace dhpvm::offload
