// SPDX-License-Identifier: Apache-2.0
#include "vm/held_choices.h"

#include "offload/schedule/pipeline/chain_rules.h"

namespace dhpvm::vm {
namespace {

// As long as the list of present devices is kept. A change in the measurements takes effect this much later.
constexpr std::chrono::milliseconds kHolds{5};

}  // namespace

HeldChoices::Choice HeldChoices::likeness_of(const OffloadRequest& request) {
  Choice choice;
  choice.variant = request.kernel.variant;
  choice.has_small_indices = request.kernel.has_small_indices;
  choice.iterations = *request.loop.space.count();
  for (std::size_t n = 0; n < request.loop.arrays.size(); ++n) choice.bytes += request.loop.array(n).bytes();
  return choice;
}

OpenDevice* HeldChoices::find(const OffloadRequest& request, std::uint64_t changes) const {
  const Choice& held = choices_[request.number()];
  if (held.device == nullptr || held.changes != changes) return nullptr;
  const Choice asked = likeness_of(request);
  const bool is_like = held.variant == asked.variant && held.has_small_indices == asked.has_small_indices &&
                       held.iterations == asked.iterations && held.bytes == asked.bytes;
  if (!is_like || held.device->device->failure()) return nullptr;
  if (!offload::can_wait_unplanned(*held.device->device, request.loop)) return nullptr;
  return Clock::now() < held.until ? held.device : nullptr;
}

void HeldChoices::hold(const OffloadRequest& request, OpenDevice& device, std::uint64_t changes) {
  Choice& held = choices_[request.number()];
  held = {};
  if (!offload::can_wait_unplanned(*device.device, request.loop)) return;
  held = likeness_of(request);
  held.device = &device;
  held.changes = changes;
  held.until = Clock::now() + kHolds;
}

}  // namespace dhpvm::vm
