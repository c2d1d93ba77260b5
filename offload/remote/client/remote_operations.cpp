// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/client/remote_operations.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "offload/remote/client/remote_link.h"
#include "offload/remote/client/remote_objects.h"

namespace dhpvm::offload {
namespace {

using Kind = OperationRecord::Kind;

constexpr std::size_t kDiscardBytes = BulkLane::kPieceBytes;
// The period of looking whether launches are to be stopped, and the time that a worker may take to stop them.
constexpr std::chrono::milliseconds kStopTick{10};
constexpr std::chrono::milliseconds kStopPatience{150};

Error broken(const char* what) {
  return error(ErrorCode::kProtocol, "the worker breaks the protocol: {}", what);
}

bool is_imported(const MemorySpan& span) {
  return static_cast<const OwnedMemory&>(*span.memory).is_imported();
}

std::byte* address(const MemorySpan& span) { return span.memory->host() + span.offset; }

}  // namespace

void RemoteOperations::add(const std::shared_ptr<RemoteStream>& stream) {
  const std::lock_guard lock(mutex_);
  stream->failure = lost_;
  streams_.emplace(stream->id, stream);
}

void RemoteOperations::remove(RemoteStream& stream) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stream.pending.empty() && !stream.finishing; });
  streams_.erase(stream.id);
}

std::shared_ptr<RemoteStream> RemoteOperations::find(wire::Id queue) {
  const auto found = streams_.find(queue);
  return found == streams_.end() ? nullptr : found->second;
}

// ---- Submission -----------------------------------------------------------------------------------------------------

void RemoteOperations::submit(RemoteStream& stream, const std::shared_ptr<RemoteOperation>& operation) {
  operation->begin = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<RemoteStream> held = streams_.at(stream.id);
  stream.pending.push_back(operation);
  if (stream.failure) {
    link_.on_progress_thread([this, held] { settle(held); });
    return;
  }
  operation->number = next_number_;
  next_number_ += operation->count();
  stream.outstanding += operation->count();
  const wire::FromClient record = record_of(stream, *operation);
  order(stream, *operation);
  link_.post_operation(record, operation->count());
  if (operation->operation.stop != nullptr) watch_for_stops();
  if (operation->data_moved) return;
  const auto await_data = [&](const Operation& local, std::uint64_t number) {
    if (local.record.kind == Kind::kDownload) downloads_[number] = {held, operation};
  };
  std::uint64_t number = operation->number;
  for (const Operation& step : operation->operation.steps) await_data(step, number++);
  if (!operation->operation.is_batch()) {
    await_data(operation->operation, number);
    if (operation->operation.record.kind == Kind::kUpload) uploads_.push_back({held, operation});
  }
  start_transfers();
}

// The operation as the worker is to do it; notes what this side has to do for it.
wire::FromClient RemoteOperations::record_of(const RemoteStream& stream, RemoteOperation& operation) {
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
    link_.count_job();
    return wire::Launch{work_of(local), std::move(order)};
  }
  if (kind == Kind::kUpload && !local.contents.empty()) {
    link_.count_sent(local.contents.size());
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
    return wire::Download{std::move(order), span_of(local.from)};
  }
  if (kind == Kind::kDeviceCopy && !is_imported(local.to)) {
    return wire::Copy{std::move(order), span_of(local.to), span_of(local.from)};
  }
  if (kind == Kind::kFill && !is_imported(local.to)) {
    return wire::Fill{std::move(order), span_of(local.to), std::to_integer<std::uint64_t>(local.value)};
  }
  // The remaining kinds run on this host when the worker calls for them.
  operation.data_moved = false;
  if (kind == Kind::kHostCall) {
    operation.host_function = local.function;
  } else {
    operation.host_function = [to = local.to, from = local.from, value = local.value, kind] {
      if (to.bytes == 0) return;
      if (kind == Kind::kFill) {
        std::memset(address(to), std::to_integer<int>(value), to.bytes);
      } else {
        std::memcpy(address(to), address(from), to.bytes);
      }
    };
  }
  return wire::HostCall{std::move(order)};
}

// Notes the downloads, whose elements come with the answers.
wire::FromClient RemoteOperations::record_of_batch(wire::Order order, RemoteOperation& operation) {
  operation.is_in_frame = true;
  std::vector<Operation>& steps = operation.operation.steps;
  for (std::size_t n = 0; n < steps.size(); ++n) {
    const OperationRecord& step = steps[n].record;
    if (step.kind == Kind::kLaunch) link_.count_job();
    if (step.kind == Kind::kUpload) link_.count_sent(step.bytes);
    if (step.kind != Kind::kDownload) continue;
    ++operation.awaited;
    operation.data_moved = false;
  }
  wire::FromClient record = batches_.record_of(std::move(order), steps);
  link_.count_batch(std::holds_alternative<wire::Replay>(record));
  return record;
}

// With the mutex held.
void RemoteOperations::order(RemoteStream& stream, RemoteOperation& operation) {
  operation.after = stream.after;
  for (const SemaphoreValue& wait : operation.operation.waits) {
    operation.after = std::max(operation.after, static_cast<RemoteSemaphore&>(*wait.semaphore).after);
  }
  if (operation.host_function || operation.awaited != 0 ||
      (!operation.operation.is_batch() && operation.operation.record.kind == Kind::kDownload)) {
    operation.host_number = ++host_submitted_;
  }
  stream.after = std::max(operation.after, operation.host_number);
  for (const SemaphoreValue& signal : operation.operation.signals) {
    std::uint64_t& after = static_cast<RemoteSemaphore&>(*signal.semaphore).after;
    after = std::max(after, stream.after);
  }
}

// ---- Stopping -------------------------------------------------------------------------------------------------------

// With the mutex held.
void RemoteOperations::watch_for_stops() {
  if (std::exchange(watching_, true)) return;
  link_.on_progress_thread_after(kStopTick, [this] { look_for_stops(); });
}

void RemoteOperations::look_for_stops() {
  std::vector<wire::Id> queues;
  bool is_too_long = false;
  {
    const std::lock_guard lock(mutex_);
    watching_ = false;
    if (lost_) return;
    for (const auto& [id, stream] : streams_) {
      bool any = false;
      bool is_new = false;
      for (std::size_t n = stream->first_under_way(); n < stream->pending.size(); ++n) {
        KernelStop* const stop = stream->pending[n]->operation.stop.get();
        if (stop == nullptr) continue;
        any = true;
        if (stop->is_wanted()) is_new |= !stop->has_stopped.exchange(true);
      }
      if (is_new) {
        queues.push_back(id);
        stream->stopped = std::chrono::steady_clock::now();
      }
      if (any) watch_for_stops();
      is_too_long |= is_stopped_too_long(*stream);
    }
  }
  for (const wire::Id queue : queues) link_.send_now(wire::StopLaunches{queue});
  if (is_too_long) {
    link_.drop(error(ErrorCode::kDeviceLost, "worker {} could not stop a kernel, and was given up with it",
                     link_.address()));
  }
}

// With the mutex held.
bool RemoteOperations::is_stopped_too_long(RemoteStream& stream) {
  if (!stream.stopped) return false;
  for (std::size_t n = stream.first_under_way(); n < stream.pending.size(); ++n) {
    const KernelStop* const stop = stream.pending[n]->operation.stop.get();
    if (stop != nullptr && stop->has_stopped) {
      return std::chrono::steady_clock::now() - *stream.stopped > kStopPatience;
    }
  }
  stream.stopped.reset();
  return false;
}

// ---- Data and calls -------------------------------------------------------------------------------------------------

// With the mutex held: starts all operations that may begin now.
void RemoteOperations::start_transfers() {
  // In the order of submission, so that the worker never has to keep data that waits for data behind it.
  while (!uploads_.empty() &&
         (uploads_.front().operation->after <= host_prefix_ || uploads_.front().stream->failure)) {
    start_upload(uploads_.front());
    uploads_.pop_front();
  }
  for (auto call = calls_.begin(); call != calls_.end();) {
    if (call->operation->after > host_prefix_) {
      ++call;
      continue;
    }
    start_call(*call);
    call = calls_.erase(call);
  }
}

void RemoteOperations::start_upload(const Transfer& upload) {
  if (upload.stream->failure) return;
  upload.operation->data_moves = true;
  upload.operation->begin = std::chrono::steady_clock::now();
  const MemorySpan& from = upload.operation->operation.from;
  // The operation must be on its way before its data.
  link_.flush();
  link_.send_run({upload.operation->number, 0}, {address(from), from.bytes},
                 [this, upload](const Status&) { moved(upload); });
}

void RemoteOperations::start_call(const Transfer& call) {
  call.operation->data_moves = true;
  host_->post([this, call] {
    call.operation->host_function();
    link_.send_now(wire::HostCallDone{call.stream->id});
    link_.on_progress_thread([this, call] { moved(call); });
  });
}

// On the progress thread.
void RemoteOperations::moved(const Transfer& transfer) {
  {
    const std::lock_guard lock(mutex_);
    transfer.operation->data_moves = false;
    transfer.operation->data_moved = true;
  }
  settle(transfer.stream);
}

Status RemoteOperations::on_run(const wire::RunHeader& header, std::uint64_t bytes) {
  std::unique_lock lock(mutex_);
  const auto found = downloads_.find(header.operation);
  if (found == downloads_.end()) {
    if (header.operation >= next_number_) return broken("data that nobody has asked for");
    lock.unlock();
    discard(bytes);  // of an operation that has failed since
    return {};
  }
  const Transfer transfer = found->second;
  RemoteOperation& operation = *transfer.operation;
  const MemorySpan& to = operation.operation.to;
  if (header.offset != operation.received || bytes == 0 || bytes > to.bytes - operation.received) {
    return broken("data that its operation has no place for");
  }
  if (operation.received == 0) {
    operation.begin = std::chrono::steady_clock::now();
    begun_.push_back(transfer.operation);
  }
  operation.data_moves = true;
  operation.announced += bytes;
  lock.unlock();
  link_.receive_run({address(to) + header.offset, bytes}, [this, transfer, bytes](const Status& status) {
    if (!status.ok()) return;  // the connection has ended: see on_lost()
    {
      const std::lock_guard inner(mutex_);
      transfer.operation->data_moves = false;
      transfer.operation->received += bytes;
      if (transfer.operation->received == transfer.operation->operation.to.bytes) {
        transfer.operation->data_moved = true;
        downloads_.erase(transfer.operation->number);
      }
    }
    settle(transfer.stream);
  });
  return {};
}

Status RemoteOperations::on_downloaded(wire::Downloaded& record) {
  std::shared_ptr<RemoteStream> stream;
  {
    const std::lock_guard lock(mutex_);
    const auto found = downloads_.find(record.operation);
    if (found == downloads_.end()) {
      // Either the operation has failed since, or there never was one.
      return record.operation < next_number_ ? Status() : broken("data that nobody has asked for");
    }
    RemoteOperation& operation = *found->second.operation;
    const bool is_step = operation.operation.is_batch();
    Operation& local =
        is_step ? operation.operation.steps[record.operation - operation.number] : operation.operation;
    const MemorySpan& to = local.to;
    if (operation.received != 0 || operation.data_moves || record.bytes.size() != to.bytes)
      return broken("data that its operation has no place for");
    link_.count_received(to.bytes);
    local.contents = std::move(record.bytes);
    if (is_step) {
      --operation.awaited;
    } else {
      operation.received = to.bytes;
    }
    operation.data_moved = operation.awaited == 0;
    operation.is_in_frame = true;
    stream = found->second.stream;
    downloads_.erase(found);
  }
  settle(stream);
  return {};
}

// With the mutex held, when everything that comes before the operation is done. Frames and runs travel separately, so
// that a run may have brought what belongs to a later operation: where it goes, this one's data is out of date.
void RemoteOperations::put_in_place(const RemoteOperation& operation) {
  if (!operation.operation.is_batch()) put_in_place(operation.operation, operation.number);
  for (const Operation& step : operation.operation.steps) put_in_place(step, operation.number);
}

void RemoteOperations::put_in_place(const Operation& download, std::uint64_t number) {
  const std::vector<std::byte>& bytes = download.contents;
  if (bytes.empty() || download.record.kind != Kind::kDownload) return;
  std::byte* const to = address(download.to);
  std::vector<std::span<const std::byte>> rest{bytes};
  for (const auto& later : begun_) {
    if (later->number < number) continue;
    // The bytes that it has brought, as a part of this one's memory.
    const std::ptrdiff_t offset = address(later->operation.to) - to;
    const auto size = static_cast<std::ptrdiff_t>(bytes.size());
    const std::byte* const begin = bytes.data() + std::clamp<std::ptrdiff_t>(offset, 0, size);
    const std::byte* const end =
        bytes.data() +
        std::clamp(offset + static_cast<std::ptrdiff_t>(later->announced), std::ptrdiff_t{0}, size);
    std::vector<std::span<const std::byte>> pieces;
    for (const auto& piece : rest) {
      const std::byte* const piece_end = piece.data() + piece.size();
      if (piece.data() < begin) pieces.emplace_back(piece.data(), std::min(begin, piece_end));
      if (end < piece_end) pieces.emplace_back(std::max(end, piece.data()), piece_end);
    }
    rest = std::move(pieces);
  }
  for (const auto& piece : rest) std::ranges::copy(piece, to + (piece.data() - bytes.data()));
}

void RemoteOperations::discard(std::uint64_t bytes) {
  if (bytes == 0) return;
  discarded_.resize(kDiscardBytes);
  const std::uint64_t now = std::min<std::uint64_t>(bytes, discarded_.size());
  link_.receive_run(MutableBytes(discarded_).first(now), [this, rest = bytes - now](const Status& status) {
    if (status.ok()) discard(rest);
  });
}

// ---- Records of the worker ----------------------------------------------------------------------------------------

Status RemoteOperations::on_progress(const wire::Progress& record) {
  std::shared_ptr<RemoteStream> stream;
  {
    const std::lock_guard lock(mutex_);
    stream = find(record.queue);
    if (stream == nullptr || stream->failure) return broken("progress of a queue that has none");
    if (record.operations > stream->outstanding - stream->acknowledged) {
      return broken("more operations are done than there are");
    }
    stream->acknowledged += record.operations;
  }
  link_.operations_done(record.operations);
  settle(stream);
  return {};
}

Status RemoteOperations::on_failure(const wire::QueueFailed& record) {
  std::shared_ptr<RemoteStream> stream;
  std::uint64_t given_up = 0;
  {
    const std::lock_guard lock(mutex_);
    stream = find(record.queue);
    if (stream == nullptr || stream->failure) return broken("a failure of a queue that does not exist");
    stream->failure = record.failure.to_error().with_context(fmt::format("on worker {}", link_.address()));
    given_up = stream->outstanding - stream->acknowledged;
    for (std::size_t n = stream->first_under_way(); n < stream->pending.size(); ++n) {
      const RemoteOperation& operation = *stream->pending[n];
      downloads_.erase(downloads_.lower_bound(operation.number),
                       downloads_.lower_bound(operation.number + operation.count()));
    }
    start_transfers();
  }
  link_.operations_done(given_up);
  settle(stream);
  return {};
}

Status RemoteOperations::on_call(const wire::CallHost& record) {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<RemoteStream> stream = find(record.queue);
  if (stream == nullptr) return broken("a call from a queue that does not exist");
  for (const auto& operation : stream->pending) {
    if (!operation->host_function || operation->called) continue;
    operation->called = true;
    calls_.push_back({stream, operation});
    start_transfers();
    return {};
  }
  return broken("a call that nobody has asked for");
}

Status RemoteOperations::on_observed(const wire::Observed& record) {
  std::unique_lock lock(mutex_);
  for (const auto& [id, stream] : streams_) {
    for (const auto& operation : stream->pending) {
      if (record.operation - operation->number >= operation->count()) continue;
      if (operation->observed.size() < operation->count()) operation->observed.push_back(record);
      return {};
    }
  }
  // It has ended before. Its queue knows, if that is still there, and stays until it has been told.
  std::vector<std::shared_ptr<RemoteStream>> streams;
  for (const auto& [id, stream] : streams_) {
    if (!stream->observe || stream->finishing) continue;
    stream->finishing = true;
    streams.push_back(stream);
  }
  lock.unlock();
  for (const auto& stream : streams) stream->observe(record);
  lock.lock();
  for (const auto& stream : streams) stream->finishing = false;
  changed_.notify_all();
  return {};
}

void RemoteOperations::on_lost(const Error& reason) {
  std::vector<std::shared_ptr<RemoteStream>> streams;
  {
    const std::lock_guard lock(mutex_);
    lost_ = reason;
    uploads_.clear();
    downloads_.clear();
    calls_.clear();
    for (const auto& [id, stream] : streams_) {
      if (!stream->failure) stream->failure = reason;
      for (const auto& operation : stream->pending) {
        // A call of the host that has begun comes to its end by itself.
        if (!operation->called) operation->data_moves = false;
      }
      streams.push_back(stream);
    }
  }
  for (const auto& stream : streams) settle(stream);
}

// ---- The end of operations ------------------------------------------------------------------------------------------

// With the mutex held.
void RemoteOperations::host_done(std::uint64_t number) {
  if (number == 0) return;
  host_ahead_.insert(number);
  while (!host_ahead_.empty() && *host_ahead_.begin() == host_prefix_ + 1) {
    host_ahead_.erase(host_ahead_.begin());
    ++host_prefix_;
  }
  start_transfers();
}

// On the progress thread: finishes ended operations, in the order of the queue.
void RemoteOperations::settle(const std::shared_ptr<RemoteStream>& stream) {
  std::unique_lock lock(mutex_);
  if (stream->finishing) return;  // further out on this thread's stack
  stream->finishing = true;
  while (!stream->pending.empty()) {
    const std::shared_ptr<RemoteOperation> operation = stream->pending.front();
    Status status;
    if (stream->acknowledged >= operation->count() && operation->data_moved) {
      stream->acknowledged -= operation->count();
    } else if (stream->failure && !operation->data_moves &&
               (stream->acknowledged < operation->count() || lost_)) {
      status = *stream->failure;
      stream->acknowledged = 0;  // the worker may have done more since
    } else {
      break;
    }
    stream->pending.pop_front();
    stream->outstanding -= operation->count();
    if (status.ok()) put_in_place(*operation);
    if (operation->announced != 0) std::erase(begun_, operation);
    host_done(operation->host_number);
    lock.unlock();
    stream->finish(*operation, std::move(status));
    lock.lock();
  }
  stream->finishing = false;
  changed_.notify_all();
}

}  // namespace dhpvm::offload
