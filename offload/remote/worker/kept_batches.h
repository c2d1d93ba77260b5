// SPDX-License-Identifier: Apache-2.0
// The batches that a session's client may have done again by naming their places: at most wire::kMaxKept, of one frame
// each. They name memories and kernels as the client does: each time that one is done, everything in it is looked up
// and checked as if it had come anew.
#pragma once

#include <array>
#include <vector>

#include "dhpvm/result.h"
#include "offload/remote/fabric/protocol.h"

namespace dhpvm::offload {

class KeptBatches {
 public:
  void keep(std::uint64_t place, std::vector<wire::Step> steps) { kept_[place] = std::move(steps); }
  // The steps that are wanted again, with what has changed. Errors are breaches of the protocol.
  Result<const std::vector<wire::Step>*> change(wire::Replay& replay);

 private:
  std::array<std::vector<wire::Step>, wire::kMaxKept> kept_;
};

}  // namespace dhpvm::offload
