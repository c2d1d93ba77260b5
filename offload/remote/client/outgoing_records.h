// SPDX-License-Identifier: Apache-2.0
// Records on their way to a worker: they wait while it has too many operations (held_records.h), and leave together in
// frames (frame_batch.h).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "offload/remote/client/frame_batch.h"
#include "offload/remote/client/held_records.h"
#include "offload/remote/fabric/frame_lane.h"

namespace dhpvm::offload {

// Belongs to one link, and is guarded by its mutex.
class OutgoingRecords {
 public:
  // The lane for the frames; without one, nothing leaves.
  void open(std::shared_ptr<FrameLane> lane) { lane_ = std::move(lane); }
  // The number of operations that the worker takes at a time; 0 at first.
  void set_most_operations(std::uint64_t number) { most_operations_ = number; }

  // Adds a record to the frame, or holds it back. Sends the frame if it has enough.
  void add(HeldRecords::Record record);
  // Sends the frame.
  void flush();
  // Notes that `operations` operations are done, and that `answer_bytes` bytes of results have come. Sends the records
  // that have waited for that.
  void done(std::uint64_t operations, std::uint64_t answer_bytes);

 private:
  void release();

  std::shared_ptr<FrameLane> lane_;
  std::uint64_t most_operations_ = 0;
  FrameBatch frame_;
  HeldRecords held_;
};

}  // namespace dhpvm::offload
