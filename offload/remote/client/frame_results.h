// SPDX-License-Identifier: Apache-2.0
// Small results come in frames, and others as runs on the connection for bulk data, which keep no order between them: a
// run may have brought what belongs to a later operation. Where it goes, the data of a frame that comes first in the
// queue is out of date.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "offload/remote/client/remote_stream.h"

namespace dhpvm::offload {

// Belongs to one session; one thread uses it at a time.
class FrameResults {
 public:
  // A download's data goes to its place as it comes, from here until the operation has ended.
  void begin_run(const std::shared_ptr<RemoteOperation>& download) { runs_.push_back(download); }
  void end_run(const std::shared_ptr<RemoteOperation>& download) { std::erase(runs_, download); }
  // When everything that comes before the operation is done: what has come for it in frames.
  void put_in_place(const RemoteOperation& operation);

 private:
  void put_in_place(const Operation& download, std::uint64_t number);

  std::vector<std::shared_ptr<RemoteOperation>> runs_;
};

}  // namespace dhpvm::offload
