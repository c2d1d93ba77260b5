// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/kept_batches.h"

#include <utility>

#include "offload/remote/worker/session_port.h"

namespace dhpvm::offload {

Result<const std::vector<wire::Step>*> KeptBatches::change(wire::Replay& replay) {
  std::vector<wire::Step>& steps = kept_[replay.place];
  if (steps.empty()) return protocol_violation("it wants a batch again that is not kept");
  std::size_t writes = 0;
  // Both lists are ascending.
  std::uint64_t scalars = 0;
  auto change = replay.scalars.begin();
  for (wire::Step& step : steps) {
    if (auto* const elements = std::get_if<wire::Elements>(&step)) {
      if (writes == replay.elements.size()) return protocol_violation("a batch lacks elements to write");
      elements->bytes = std::move(replay.elements[writes++]);
    } else if (auto* const work = std::get_if<wire::Work>(&step)) {
      for (; change != replay.scalars.end() && change->number - scalars < work->scalars.size(); ++change)
        work->scalars[change->number - scalars] = change->value;
      scalars += work->scalars.size();
    }
  }
  if (writes != replay.elements.size() || change != replay.scalars.end())
    return protocol_violation("it changes what a batch does not have");
  return &steps;
}

}  // namespace dhpvm::offload
