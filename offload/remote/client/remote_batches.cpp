// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/client/remote_batches.h"

#include <utility>

#include "offload/remote/client/remote_objects.h"

namespace dhpvm::offload {
namespace {

using Kind = OperationRecord::Kind;

std::optional<wire::Span> optional_span(const MemorySpan& span) {
  if (span.memory == nullptr) return {};
  return span_of(span);
}

wire::Step step_of(Operation& step) {
  if (step.record.kind == Kind::kLaunch) return work_of(step);
  if (step.record.kind == Kind::kDownload) return span_of(step.from);
  const wire::Span to = span_of(step.to);
  return wire::Elements{to.memory, to.offset, std::exchange(step.contents, {})};
}

}  // namespace

wire::Span span_of(const MemorySpan& span) {
  return {static_cast<const RemoteMemory&>(*span.memory).id(), span.offset, span.bytes};
}

wire::Work work_of(const Operation& launch) {
  wire::Work work;
  work.kernel = static_cast<const RemoteKernel&>(*launch.kernel).id();
  work.space.reserve(launch.space.dimensions);
  for (unsigned d = 0; d < launch.space.dimensions; ++d) {
    work.space.push_back({launch.space.low[d], launch.space.high[d]});
  }
  work.scalars = launch.scalars;
  work.arrays.reserve(launch.arrays.size());
  for (const ArrayArgument& array : launch.arrays) {
    wire::ArrayAt& at = work.arrays.emplace_back();
    at.span = optional_span(array.memory);
    at.first = array.first;
    at.shape = array.shape;
  }
  work.partials = optional_span(launch.partials);
  work.report = optional_span(launch.report);
  return work;
}

wire::FromClient RemoteBatches::record_of(wire::Order order, std::vector<Operation>& steps) {
  const BatchRecords::Entry entry = records_.enter(order.queue, steps);
  if (entry.is_new) {
    wire::Batch batch;
    batch.order = std::move(order);
    batch.place = entry.place;
    for (Operation& step : steps) batch.steps.push_back(step_of(step));
    return batch;
  }
  wire::Replay replay;
  replay.order = std::move(order);
  replay.place = entry.place;
  for (const BatchRecords::Change& change : entry.changes)
    replay.scalars.push_back({change.scalar, change.value});
  for (Operation& step : steps) {
    if (step.record.kind == Kind::kUpload) replay.elements.push_back(std::exchange(step.contents, {}));
  }
  return replay;
}

std::uint64_t RemoteBatches::Ids::of(const Kernel& kernel) const {
  return static_cast<const RemoteKernel&>(kernel).id();
}

// The worker does not know the host's memory.
std::optional<std::uint64_t> RemoteBatches::Ids::of(const DeviceMemory& memory) const {
  if (static_cast<const OwnedMemory&>(memory).is_imported()) return {};
  return static_cast<const RemoteMemory&>(memory).id();
}

}  // namespace dhpvm::offload
