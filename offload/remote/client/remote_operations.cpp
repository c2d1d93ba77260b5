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
// How often this side checks whether launches are to be stopped, and how long a worker may take to stop them.
constexpr std::chrono::milliseconds kStopTick{10};
constexpr std::chrono::milliseconds kStopPatience{150};

Error broken(const char* what) {
  return error(ErrorCode::kProtocol, "the worker breaks the protocol: {}", what);
}

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
  link_.transport().expect(1);
  if (stream.failure) {
    link_.on_progress_thread([this, held] { settle(held); });
    return;
  }
  operation->number = next_number_;
  next_number_ += operation->count();
  stream.outstanding += operation->count();
  const wire::FromClient record = records_.record_of(stream, *operation);
  order(stream, *operation);
  link_.post(record, operation->count(), operation->answer_bytes);
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
  // In the order of submission, so that the worker never has to keep data that waits for later data.
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
  // The record of the operation must be sent before its data.
  link_.flush();
  link_.send_run({upload.operation->number, 0}, {host_address(from), from.bytes},
                 [this, upload](const Status&) { moved(upload); });
}

void RemoteOperations::start_call(const Transfer& call) {
  call.operation->data_moves = true;
  Status posted = host_->post([this, call] {
    call.operation->host_function();
    link_.send_now(wire::HostCallDone{call.stream->id});
    link_.on_progress_thread([this, call] { moved(call); });
  });
  if (posted.ok()) return;
  // The worker waits for a call that cannot be made any more.
  call.operation->called = call.operation->data_moves = false;
  link_.drop(std::move(posted).error());
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
    discard(bytes);  // of an operation that has failed meanwhile
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
    results_.begin_run(transfer.operation);
  }
  operation.data_moves = true;
  operation.announced += bytes;
  lock.unlock();
  link_.receive_run({host_address(to) + header.offset, bytes}, [this, transfer, bytes](const Status& status) {
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

Status RemoteOperations::handle(wire::Downloaded& record) {
  std::shared_ptr<RemoteStream> stream;
  {
    const std::lock_guard lock(mutex_);
    const auto found = downloads_.find(record.operation);
    if (found == downloads_.end()) {
      // The operation has failed meanwhile, or there never was one.
      return record.operation < next_number_ ? Status() : broken("data that nobody has asked for");
    }
    RemoteOperation& operation = *found->second.operation;
    const bool is_step = operation.operation.is_batch();
    Operation& local =
        is_step ? operation.operation.steps[record.operation - operation.number] : operation.operation;
    const MemorySpan& to = local.to;
    if (operation.received != 0 || operation.data_moves || record.bytes.size() != to.bytes)
      return broken("data that its operation has no place for");
    link_.counters().count_received(to.bytes);
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

void RemoteOperations::discard(std::uint64_t bytes) {
  if (bytes == 0) return;
  discarded_.resize(kDiscardBytes);
  const std::uint64_t now = std::min<std::uint64_t>(bytes, discarded_.size());
  link_.receive_run(MutableBytes(discarded_).first(now), [this, rest = bytes - now](const Status& status) {
    if (status.ok()) discard(rest);
  });
}

// ---- Records of the worker ----------------------------------------------------------------------------------------

Status RemoteOperations::handle(const wire::Progress& record) {
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
  link_.done(record.operations, 0);
  settle(stream);
  return {};
}

Status RemoteOperations::handle(const wire::QueueFailed& record) {
  std::shared_ptr<RemoteStream> stream;
  std::uint64_t given_up = 0;
  {
    const std::lock_guard lock(mutex_);
    stream = find(record.queue);
    if (stream == nullptr || stream->failure) return broken("a failure of a queue that does not exist");
    stream->failure = record.failure.to_error().with_context(fmt::format("on worker {}", link_.address()));
    given_up = stream->outstanding - stream->acknowledged;
    const std::size_t first = stream->first_under_way();
    for (std::size_t n = 0; n < stream->pending.size(); ++n) {
      const RemoteOperation& operation = *stream->pending[n];
      // Runs of data that the worker has sent before may still be on their way; answers in frames are not.
      if (n < first && operation.answer_bytes == 0) continue;
      downloads_.erase(downloads_.lower_bound(operation.number),
                       downloads_.lower_bound(operation.number + operation.count()));
    }
    start_transfers();
  }
  link_.done(given_up, 0);
  settle(stream);
  return {};
}

Status RemoteOperations::handle(const wire::CallHost& record) {
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

Status RemoteOperations::handle(const wire::Observed& record) {
  std::unique_lock lock(mutex_);
  for (const auto& [id, stream] : streams_) {
    for (const auto& operation : stream->pending) {
      if (record.operation - operation->number >= operation->count()) continue;
      if (operation->observed.size() < operation->count()) operation->observed.push_back(record);
      return {};
    }
  }
  // The stream has ended before. Its queue, if it still exists, knows the reason, and stays until it has been told.
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
        // A host call that has begun ends by itself.
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

// On the progress thread: finishes operations that have ended, in the order of the queue.
void RemoteOperations::settle(const std::shared_ptr<RemoteStream>& stream) {
  std::unique_lock lock(mutex_);
  if (stream->finishing) return;  // a caller of this function, on this thread, does it
  stream->finishing = true;
  std::uint64_t answered = 0;
  while (!stream->pending.empty()) {
    const std::shared_ptr<RemoteOperation> operation = stream->pending.front();
    Status status;
    if (stream->acknowledged >= operation->count() && operation->data_moved) {
      stream->acknowledged -= operation->count();
    } else if (stream->failure && !operation->data_moves &&
               (stream->acknowledged < operation->count() || operation->answer_bytes != 0 || lost_)) {
      status = *stream->failure;
      stream->acknowledged = 0;  // the worker may have done more meanwhile
    } else {
      break;
    }
    stream->pending.pop_front();
    link_.transport().expect(-1);
    stream->outstanding -= operation->count();
    answered += operation->answer_bytes;
    if (status.ok()) results_.put_in_place(*operation);
    if (operation->announced != 0) results_.end_run(operation);
    host_done(operation->host_number);
    lock.unlock();
    stream->finish(*operation, std::move(status));
    lock.lock();
  }
  stream->finishing = false;
  changed_.notify_all();
  lock.unlock();
  if (answered != 0) link_.done(0, answered);
}

}  // namespace dhpvm::offload
