// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/client/remote_records.h"

#include <cstring>
#include <utility>
#include <variant>

#include "offload/remote/client/remote_link.h"
#include "offload/remote/client/remote_objects.h"

namespace dhpvm::offload {
namespace {

using Kind = OperationRecord::Kind;

bool is_imported(const MemorySpan& span) {
  return static_cast<const OwnedMemory&>(*span.memory).is_imported();
}

}  // namespace

wire::FromClient RemoteRecords::record_of(const RemoteStream& stream, RemoteOperation& operation) {
  Operation& local = operation.operation;
  wire::Order order;
  order.queue = stream.id;
  for (const SemaphoreValue& wait : local.waits) {
    order.waits.push_back({static_cast<RemoteSemaphore&>(*wait.semaphore).id(), wait.value});
  }
  for (const SemaphoreValue& signal : local.signals) {
    order.signals.push_back({static_cast<RemoteSemaphore&>(*signal.semaphore).id(), signal.value});
  }
  if (local.is_batch()) return record_of_batch(std::move(order), operation);
  const Kind kind = local.record.kind;
  if (kind == Kind::kLaunch) {
    link_.counters().count_job();
    return wire::Launch{work_of(local), std::move(order)};
  }
  if (kind == Kind::kUpload && !local.contents.empty()) {
    link_.counters().count_sent(local.contents.size());
    operation.is_in_frame = true;
    const wire::Span to = span_of(local.to);
    return wire::Write{std::move(order), to.memory, to.offset, std::exchange(local.contents, {})};
  }
  if (kind == Kind::kUpload) {
    operation.data_moved = local.to.bytes == 0;
    return wire::Upload{std::move(order), span_of(local.to)};
  }
  if (kind == Kind::kDownload) {
    operation.data_moved = local.from.bytes == 0;
    if (local.from.bytes <= link_.capabilities().write_bytes) operation.answer_bytes = local.from.bytes;
    return wire::Download{std::move(order), span_of(local.from)};
  }
  if (kind == Kind::kDeviceCopy && !is_imported(local.to)) {
    return wire::Copy{std::move(order), span_of(local.to), span_of(local.from)};
  }
  if (kind == Kind::kFill && !is_imported(local.to)) {
    return wire::Fill{std::move(order), span_of(local.to), std::to_integer<std::uint64_t>(local.value)};
  }
  // Operations of the other kinds run on this host when the worker asks for them.
  operation.data_moved = false;
  if (kind == Kind::kHostCall) {
    operation.host_function = local.function;
  } else {
    operation.host_function = [to = local.to, from = local.from, value = local.value, kind] {
      if (to.bytes == 0) return;
      if (kind == Kind::kFill) {
        std::memset(host_address(to), std::to_integer<int>(value), to.bytes);
      } else {
        std::memcpy(host_address(to), host_address(from), to.bytes);
      }
    };
  }
  return wire::HostCall{std::move(order)};
}

// Records the downloads whose elements come with the answers.
wire::FromClient RemoteRecords::record_of_batch(wire::Order order, RemoteOperation& operation) {
  operation.is_in_frame = true;
  std::vector<Operation>& steps = operation.operation.steps;
  for (std::size_t n = 0; n < steps.size(); ++n) {
    const OperationRecord& step = steps[n].record;
    if (step.kind == Kind::kLaunch) link_.counters().count_job();
    if (step.kind == Kind::kUpload) link_.counters().count_sent(step.bytes);
    if (step.kind != Kind::kDownload) continue;
    ++operation.awaited;
    operation.answer_bytes += step.bytes;
    operation.data_moved = false;
  }
  wire::FromClient record = batches_.record_of(std::move(order), steps);
  link_.counters().count_batch(std::holds_alternative<wire::Replay>(record));
  return record;
}

}  // namespace dhpvm::offload
