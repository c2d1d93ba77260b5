// SPDX-License-Identifier: Apache-2.0
// Small results come in frames, others as runs on the bulk lane, and the two keep no order: a run may already have
// brought the result of a later operation. Bytes that a run has written are newer than those in the frame of an earlier
// operation, which are dropped.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "offload/remote/client/remote_stream.h"

namespace dhpvm::offload {

// Belongs to one session; one thread uses it at a time.
class FrameResults {
 public:
  // From here until the operation has ended, a download's data is written to its place as it comes.
  void begin_run(const std::shared_ptr<RemoteOperation>& download) { runs_.push_back(download); }
  void end_run(const std::shared_ptr<RemoteOperation>& download) { std::erase(runs_, download); }
  // Writes the operation's results that have come in frames. Everything before the operation must be done.
  void put_in_place(const RemoteOperation& operation);

 private:
  void put_in_place(const Operation& download, std::uint64_t number);

  std::vector<std::shared_ptr<RemoteOperation>> runs_;
};

}  // namespace dhpvm::offload
