// SPDX-License-Identifier: Apache-2.0
// The batches that a session's client may repeat by naming their places: at most wire::kMaxKept, of one frame each.
// They refer to memories and kernels by the client's numbers: each time that one is repeated, everything in it is
// looked up and checked as if it had come for the first time.
#pragma once

#include <array>
#include <vector>

#include "dhpvm/result.h"
#include "offload/remote/fabric/protocol.h"

namespace dhpvm::offload {

class KeptBatches {
 public:
  void keep(std::uint64_t place, std::vector<wire::Step> steps) { kept_[place] = std::move(steps); }
  // Applies the changes to the batch, and returns its steps. Errors are breaches of the protocol.
  Result<const std::vector<wire::Step>*> change(wire::Replay& replay);

 private:
  std::array<std::vector<wire::Step>, wire::kMaxKept> kept_;
};

}  // namespace dhpvm::offload
