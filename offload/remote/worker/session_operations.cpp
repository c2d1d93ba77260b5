// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/session_operations.h"

#include <algorithm>
#include <utility>

namespace dhpvm::offload {

using session::LaunchState;
using session::Pending;
using session::Stream;
using session::Timeline;

Result<SessionOperations::Arrival> SessionOperations::accept(const wire::Order& order) {
  const std::shared_ptr<Stream> stream = queues_.find(order.queue);
  if (stream == nullptr) return protocol_violation("an operation of a queue that does not exist");
  if (!is_open_) return protocol_violation("an operation before the connection is ready");
  if (const std::uint64_t most = port_.limits().operations; queues_.outstanding() >= most) {
    return error(ErrorCode::kDeviceExhausted,
                 "the session has {} operations that are not done, which is the limit", most);
  }
  auto pending = std::make_shared<Pending>();
  pending->number = queues_.take_number();
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
  DHPVM_ASSIGN(arrival.pending->what, read_launch(record, *arrival.stream));
  ++port_.figures().jobs;
  enqueue(std::move(arrival));
  return {};
}

Result<LaunchState> SessionOperations::read_launch(wire::Launch& record, const Stream& stream) {
  session::LoadedKernel* const kernel = code_.find(record.kernel, stream.device);
  if (kernel == nullptr) return protocol_violation("a launch of a kernel that its device does not have");
  if (record.space.empty()) return protocol_violation("a launch without dimensions");
  LaunchState launch;
  launch.kernel = kernel->kernel;
  launch.guard = kernel->guard;
  launch.stop = stream.stop;
  launch.space.dimensions = static_cast<unsigned>(record.space.size());
  for (std::size_t d = 0; d < record.space.size(); ++d) {
    launch.space.low[d] = record.space[d][0];
    launch.space.high[d] = record.space[d][1];
  }
  launch.scalars = std::move(record.scalars);
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
  return launch;
}

Status SessionOperations::handle(wire::HostCall& record) {
  DHPVM_ASSIGN(Arrival arrival, accept(record.order));
  arrival.pending->what = session::HostCallState{};
  enqueue(std::move(arrival));
  return {};
}

}  // namespace dhpvm::offload
