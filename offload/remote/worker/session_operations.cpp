// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/session_operations.h"

#include <algorithm>
#include <utility>

namespace dhpvm::offload {

using session::LaunchState;
using session::Pending;
using session::Stream;
using session::Timeline;

Result<SessionOperations::Arrival> SessionOperations::accept(const wire::Order& order, std::uint64_t count) {
  const std::shared_ptr<Stream> stream = queues_.find(order.queue);
  if (stream == nullptr) return protocol_violation("an operation of a queue that does not exist");
  if (!is_open_) return protocol_violation("an operation before the connection is ready");
  if (const std::uint64_t most = port_.limits().operations; queues_.outstanding() + count > most) {
    return error(ErrorCode::kDeviceExhausted,
                 "the session has {} operations that are not done, which is the limit", most);
  }
  auto pending = std::make_shared<Pending>();
  pending->number = queues_.take_numbers(count);
  pending->count = count;
  const auto find = [&](const wire::SemaphoreAt& at) -> Result<std::shared_ptr<Timeline>> {
    std::shared_ptr<Timeline> found = objects_.timeline(at.semaphore);
    if (found == nullptr || found->device != stream->device) {
      return protocol_violation("an operation with a semaphore that its device does not have");
    }
    return found;
  };
  for (const wire::SemaphoreAt& at : order.waits) {
    DHPVM_ASSIGN(std::shared_ptr<Timeline> timeline, find(at));
    pending->waits.push_back({std::move(timeline), at.value});
  }
  for (const wire::SemaphoreAt& at : order.signals) {
    DHPVM_ASSIGN(std::shared_ptr<Timeline> timeline, find(at));
    const std::uint64_t ticket = timeline->next_ticket++;
    pending->signals.push_back({std::move(timeline), at.value, ticket});
  }
  return Arrival{stream, std::move(pending)};
}

Status SessionOperations::handle(wire::Upload& record) {
  DHPVM_ASSIGN(Arrival arrival, accept(record.order));
  DHPVM_ASSIGN(arrival.pending->to, objects_.span(record.to, arrival.stream->device));
  arrival.pending->what = session::UploadState{};
  if (record.to.bytes != 0 && !arrival.stream->failure) transfers_.expect(arrival.stream, arrival.pending);
  enqueue(std::move(arrival));
  transfers_.continue_run();
  return {};
}

Status SessionOperations::handle(wire::Download& record) {
  DHPVM_ASSIGN(Arrival arrival, accept(record.order));
  DHPVM_ASSIGN(arrival.pending->from, objects_.span(record.from, arrival.stream->device));
  arrival.pending->what = session::DownloadState{};
  enqueue(std::move(arrival));
  return {};
}

Status SessionOperations::handle(wire::Write& record) {
  DHPVM_ASSIGN(Arrival arrival, accept(record.order));
  if (record.bytes.empty()) return protocol_violation("a write of no bytes");
  const wire::Span to{record.memory, record.offset, record.bytes.size()};
  DHPVM_ASSIGN(arrival.pending->to, objects_.span(to, arrival.stream->device));
  arrival.pending->what = session::WriteState{std::move(record.bytes)};
  enqueue(std::move(arrival));
  return {};
}

Status SessionOperations::handle(wire::Copy& record) {
  DHPVM_ASSIGN(Arrival arrival, accept(record.order));
  DHPVM_ASSIGN(arrival.pending->to, objects_.span(record.to, arrival.stream->device));
  DHPVM_ASSIGN(arrival.pending->from, objects_.span(record.from, arrival.stream->device));
  arrival.pending->what = session::CopyState{};
  enqueue(std::move(arrival));
  return {};
}

Status SessionOperations::handle(wire::Fill& record) {
  DHPVM_ASSIGN(Arrival arrival, accept(record.order));
  DHPVM_ASSIGN(arrival.pending->to, objects_.span(record.to, arrival.stream->device));
  arrival.pending->what = session::FillState{static_cast<std::byte>(record.value)};
  enqueue(std::move(arrival));
  return {};
}

Status SessionOperations::handle(wire::Launch& record) {
  DHPVM_ASSIGN(Arrival arrival, accept(record.order));
  DHPVM_TRY(read_launch(record, *arrival.stream, arrival.pending->what.emplace<LaunchState>()));
  ++port_.figures().jobs;
  enqueue(std::move(arrival));
  return {};
}

Status SessionOperations::read_launch(const wire::Work& record, const Stream& stream, LaunchState& launch) {
  session::LoadedKernel* const kernel = code_.find(record.kernel, stream.device);
  if (kernel == nullptr) return protocol_violation("a launch of a kernel that its device does not have");
  if (record.space.empty()) return protocol_violation("a launch without dimensions");
  launch.kernel = kernel->kernel;
  launch.guard = kernel->guard;
  launch.stop = stream.stop;
  launch.space.dimensions = static_cast<unsigned>(record.space.size());
  for (std::size_t d = 0; d < record.space.size(); ++d) {
    launch.space.low[d] = record.space[d][0];
    launch.space.high[d] = record.space[d][1];
  }
  launch.scalars = record.scalars;
  launch.arrays.reserve(record.arrays.size());
  for (const wire::ArrayAt& at : record.arrays) {
    ArrayArgument& array = launch.arrays.emplace_back();
    if (at.span) {
      DHPVM_ASSIGN(array.memory, objects_.span(*at.span, stream.device));
    }
    array.first = at.first;
    array.shape = at.shape;
  }
  if (record.partials) {
    DHPVM_ASSIGN(launch.partials, objects_.span(*record.partials, stream.device));
  }
  if (record.report) {
    DHPVM_ASSIGN(launch.report, objects_.span(*record.report, stream.device));
  }
  ++kernel->launches;
  return {};
}

Status SessionOperations::handle(wire::HostCall& record) {
  DHPVM_ASSIGN(Arrival arrival, accept(record.order));
  arrival.pending->what = session::HostCallState{};
  enqueue(std::move(arrival));
  return {};
}

// ---- Batches --------------------------------------------------------------------------------------------------------

Status SessionOperations::handle(wire::Batch& record) {
  if (record.steps.empty()) return protocol_violation("a batch of nothing");
  DHPVM_TRY(run(record.order, record.steps, record.place));
  if (record.place) kept_.keep(*record.place, std::move(record.steps));
  return {};
}

Status SessionOperations::handle(wire::Replay& record) {
  DHPVM_ASSIGN(const std::vector<wire::Step>* const steps, kept_.change(record));
  return run(record.order, *steps, record.place);
}

Status SessionOperations::run(const wire::Order& order, const std::vector<wire::Step>& steps,
                              std::optional<std::uint64_t> place) {
  DHPVM_ASSIGN(Arrival arrival, accept(order, steps.size()));
  // Nothing of it will be done, so do not let the few bytes of a replay make the worker read all of its steps.
  if (arrival.stream->failure) {
    enqueue(std::move(arrival));
    return {};
  }
  const std::uint64_t number = arrival.pending->number;
  std::vector<Pending> read;
  read.reserve(steps.size());
  for (const wire::Step& step : steps) DHPVM_TRY(read_step(step, *arrival.stream, read.emplace_back()));
  const Elements elements = elements_of(*arrival.stream, read, place.has_value());
  if (elements != Elements::kOneByOne) {
    session::BatchState batch = as_one(*arrival.stream, std::move(read), number, elements);
    if (elements == Elements::kStaged) batch.place = place;
    arrival.pending->what = std::move(batch);
    enqueue(std::move(arrival));
    return {};
  }
  // The device gets the steps one by one, because staging may have to wait.
  for (std::size_t n = 0; n < read.size(); ++n) {
    read[n].number = number + n;
    if (n == 0) read[n].waits = std::move(arrival.pending->waits);
    if (n + 1 == read.size()) read[n].signals = std::move(arrival.pending->signals);
    queues_.enqueue(arrival.stream, std::make_shared<Pending>(std::move(read[n])));
  }
  return {};
}

Status SessionOperations::read_step(const wire::Step& step, const Stream& stream, Pending& pending) {
  if (const auto* const work = std::get_if<wire::Work>(&step)) {
    DHPVM_TRY(read_launch(*work, stream, pending.what.emplace<LaunchState>()));
    ++port_.figures().jobs;
  } else if (const auto* const elements = std::get_if<wire::Elements>(&step)) {
    if (elements->bytes.empty()) return protocol_violation("a write of no bytes");
    DHPVM_ASSIGN(pending.to,
                 objects_.span({elements->memory, elements->offset, elements->bytes.size()}, stream.device));
    pending.what = session::WriteState{elements->bytes};
  } else {
    const auto& from = std::get<wire::Span>(step);
    if (from.bytes == 0 || from.bytes > wire::kMaxElements)
      return protocol_violation("a download in a batch that does not fit into an answer");
    DHPVM_ASSIGN(pending.from, objects_.span(from, stream.device));
    pending.what = session::DownloadState{};
  }
  return {};
}

SessionOperations::Elements SessionOperations::elements_of(const Stream& stream,
                                                           const std::vector<Pending>& steps,
                                                           bool has_place) const {
  bool is_shared = true;
  std::size_t bytes = 0;
  for (const Pending& step : steps) {
    if (std::holds_alternative<LaunchState>(step.what)) continue;
    const MemorySpan& span = std::holds_alternative<session::WriteState>(step.what) ? step.to : step.from;
    is_shared = is_shared && transfers_.is_shared(stream, span);
    bytes += SessionTransfers::staged_bytes(span);
  }
  if (is_shared) return Elements::kShared;
  return has_place && bytes <= SessionTransfers::kBatchBytes ? Elements::kStaged : Elements::kOneByOne;
}

session::BatchState SessionOperations::as_one(const Stream& stream, std::vector<Pending> steps,
                                              std::uint64_t number, Elements elements) {
  session::BatchState batch;
  batch.steps.resize(steps.size());
  batch.guards.resize(steps.size());
  for (std::size_t n = 0; n < steps.size(); ++n) {
    Operation& made = batch.steps[n];
    made.record.label = number + n;
    if (auto* const launch = std::get_if<LaunchState>(&steps[n].what)) {
      made.record.kind = OperationRecord::Kind::kLaunch;
      made.kernel = std::move(launch->kernel);
      made.space = launch->space;
      made.scalars = std::move(launch->scalars);
      made.arrays = std::move(launch->arrays);
      made.partials = std::move(launch->partials);
      made.report = std::move(launch->report);
      made.stop = {launch->stop, &launch->stop->kernels};
      batch.guards[n] = std::move(launch->guard);
      continue;
    }
    auto* const write = std::get_if<session::WriteState>(&steps[n].what);
    if (elements == Elements::kStaged) {
      made.record.kind = write != nullptr ? OperationRecord::Kind::kUpload : OperationRecord::Kind::kDownload;
      made.to = steps[n].to;
      made.from = steps[n].from;
      if (write != nullptr) made.contents = std::move(write->bytes);
      continue;
    }
    made.record.kind = OperationRecord::Kind::kHostCall;
    made.function = write != nullptr ? transfers_.writing(steps[n].to, std::move(write->bytes))
                                     : transfers_.answering(stream, number + n, steps[n].from);
  }
  return batch;
}

}  // namespace dhpvm::offload
