// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/client/remote_batches.h"

#include <algorithm>
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
  for (unsigned d = 0; d < launch.space.dimensions; ++d) {
    work.space.push_back({launch.space.low[d], launch.space.high[d]});
  }
  work.scalars = launch.scalars;
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
  describe(order.queue, steps, asked_);
  asked_.used = ++batches_;
  const auto known = std::ranges::find(kept_, asked_.shape, &Kept::shape);
  if (known != kept_.end()) {
    wire::Replay replay = replay_of(static_cast<std::uint64_t>(known - kept_.begin()), *known, asked_, steps);
    replay.order = std::move(order);
    return replay;
  }
  // In the place of the one that has not been used for longest.
  const auto place = std::ranges::min_element(kept_, {}, &Kept::used);
  *place = asked_;
  wire::Batch batch;
  batch.order = std::move(order);
  batch.place = static_cast<std::uint64_t>(place - kept_.begin());
  for (Operation& step : steps) batch.steps.push_back(step_of(step));
  return batch;
}

// All that a record has of a batch, as numbers: what may change, and the rest.
void RemoteBatches::describe(wire::Id queue, const std::vector<Operation>& steps, Kept& kept) {
  std::vector<std::uint64_t>& shape = kept.shape;
  shape.clear();
  kept.scalars.clear();
  const auto add_span = [&](const MemorySpan& span) {
    const wire::Span at = span.memory == nullptr ? wire::Span{} : span_of(span);
    shape.insert(shape.end(), {span.memory == nullptr ? 0U : 1U, at.memory, at.offset, at.bytes});
  };
  shape.insert(shape.end(), {queue, steps.size()});
  for (const Operation& step : steps) {
    shape.push_back(static_cast<std::uint64_t>(step.record.kind));
    if (step.record.kind != Kind::kLaunch) {
      add_span(step.record.kind == Kind::kDownload ? step.from : step.to);
      continue;
    }
    shape.insert(shape.end(), {static_cast<const RemoteKernel&>(*step.kernel).id(), step.space.dimensions,
                               step.scalars.size(), step.arrays.size()});
    for (unsigned d = 0; d < step.space.dimensions; ++d) {
      shape.push_back(static_cast<std::uint64_t>(step.space.low[d]));
      shape.push_back(static_cast<std::uint64_t>(step.space.high[d]));
    }
    for (const ArrayArgument& array : step.arrays) {
      add_span(array.memory);
      shape.push_back(static_cast<std::uint64_t>(array.first));
      for (const std::int64_t number : {array.shape.readable, array.shape.writable, array.shape.length,
                                        array.shape.dims[0], array.shape.dims[1], array.shape.dims[2]})
        shape.push_back(static_cast<std::uint64_t>(number));
    }
    add_span(step.partials);
    add_span(step.report);
    kept.scalars.insert(kept.scalars.end(), step.scalars.begin(), step.scalars.end());
  }
}

wire::Replay RemoteBatches::replay_of(std::uint64_t place, Kept& kept, const Kept& asked,
                                      std::vector<Operation>& steps) {
  wire::Replay replay;
  replay.place = place;
  for (std::size_t n = 0; n < asked.scalars.size(); ++n) {
    if (kept.scalars[n] == asked.scalars[n]) continue;
    kept.scalars[n] = asked.scalars[n];
    replay.scalars.push_back({n, asked.scalars[n]});
  }
  for (Operation& step : steps) {
    if (step.record.kind == Kind::kUpload) replay.elements.push_back(std::exchange(step.contents, {}));
  }
  kept.used = asked.used;
  return replay;
}

}  // namespace dhpvm::offload
