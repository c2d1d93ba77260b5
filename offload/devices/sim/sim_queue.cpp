// SPDX-License-Identifier: Apache-2.0
#include "offload/devices/sim/sim_queue.h"

#include <algorithm>
#include <utility>

#include "offload/devices/host_code.h"

namespace dhpvm::offload {
namespace {

SimSemaphore& semaphore_of(const SemaphoreValue& entry) {
  return static_cast<SimSemaphore&>(*entry.semaphore);
}

bool is_pageable(const MemorySpan& span) {
  return span.memory != nullptr && static_cast<const OwnedMemory&>(*span.memory).is_pageable();
}

}  // namespace

void SimQueue::submit(Operation operation) {
  const VirtualTime submitted = sim_.clock().now();
  Status status = await(operation);
  VirtualTime measured{0};
  if (status.ok()) {
    status = sim_.admit(operation.record);
    const auto begin = std::chrono::steady_clock::now();
    if (status.ok()) status = do_on_host(sim_.pool(), operation);
    measured = std::chrono::steady_clock::now() - begin;
    if (!status.ok()) status = std::move(status).error().with_context("while " + describe(operation));
  }
  if (status.ok()) {
    const bool pageable = is_pageable(operation.to) || is_pageable(operation.from);
    const Booking booking =
        sim_.clock().book(sim_.engine_of(operation.record.kind), ready(operation, submitted),
                          sim_.duration_of(operation.record, pageable, measured));
    if (pageable) sim_.clock().advance(booking.end);
    operation.record.begin = booking.begin;
    operation.record.end = end_ = booking.end;
    for (const SemaphoreValue& signal : operation.signals)
      semaphore_of(signal).will_reach(signal.value, booking.end);
  }
  finish(std::move(operation), std::move(status));
}

VirtualTime SimQueue::ready(const Operation& operation, VirtualTime submitted) const {
  VirtualTime time = std::max(submitted, end_);
  for (const SemaphoreValue& wait : operation.waits)
    time = std::max(time, semaphore_of(wait).time_of(wait.value));
  return time;
}

}  // namespace dhpvm::offload
