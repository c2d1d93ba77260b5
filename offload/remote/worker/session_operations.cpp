// SPDX-License-Identifier: Apache-2.0
// Operations of queues, from their arrival to their end.
//
// The device takes operations in an order in which nothing waits for what comes later. Here an upload waits for its data, a
// download for memory to go through, a call of the host for the host; so what stands behind them in the same queue,
// and what waits for their signals, is held back until they have been given to the device.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "offload/remote/worker/session.h"

namespace dhpvm::offload {

using session::CopyState;
using session::FillState;
using session::HostCallState;
using session::LaunchState;
using session::StagedPart;
using session::Wait;

namespace {

// Operations after which the client is told that they are done, if none of those behind them ends a frame.
constexpr std::uint64_t kMarkEvery = 16;
constexpr std::chrono::milliseconds kWatchEvery{10};

Error broken(const char* what) {
  return error(ErrorCode::kProtocol, "the client breaks the protocol: {}", what);
}

MemorySpan part_of(const MemorySpan& span, std::uint64_t offset, std::uint64_t bytes) {
  return {span.memory, span.offset + offset, bytes};
}

}  // namespace

// ---- Arrival --------------------------------------------------------------------------------------------------------

Result<Session::Arrival> Session::accept(const wire::Order& order) {
  const auto entry = streams_.find(order.queue);
  if (entry == streams_.end()) return broken("an operation of a queue that there is not");
  if (!is_ready_) return broken("an operation before the connection is ready");
  Stream& stream = *entry->second;
  if (outstanding() >= worker_.options().limits.operations) {
    return error(ErrorCode::kDeviceExhausted,
                 "the session has {} operations that are not done, which is the limit",
                 worker_.options().limits.operations);
  }
  auto pending = std::make_shared<Pending>();
  pending->number = next_operation_++;
  const auto find = [&](const wire::SemaphoreAt& at) -> Result<std::shared_ptr<Timeline>> {
    const auto found = timelines_.find(at.semaphore);
    if (found == timelines_.end() || found->second->device != stream.device) {
      return broken("an operation with a semaphore that its device does not have");
    }
    return found->second;
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
  return Arrival{&stream, std::move(pending)};
}

Result<MemorySpan> Session::span(const wire::Span& wanted, const Stream& stream) const {
  const auto entry = memories_.find(wanted.memory);
  if (entry == memories_.end() || entry->second.memory == nullptr || entry->second.device != stream.device) {
    return broken("an operation on memory that its device does not have");
  }
  const std::shared_ptr<DeviceMemory>& memory = entry->second.memory;
  if (wanted.offset > memory->size() || wanted.bytes > memory->size() - wanted.offset) {
    return broken("an operation beyond the end of its memory");
  }
  return MemorySpan{memory, wanted.offset, wanted.bytes};
}

Status Session::handle(wire::Upload& record) {
  DHPVM_ASSIGN(Arrival arrival, accept(record.order));
  DHPVM_ASSIGN(arrival.pending->to, span(record.to, *arrival.stream));
  arrival.pending->what = UploadState{};
  if (record.to.bytes != 0 && !arrival.stream->failure) {
    uploads_[arrival.pending->number] = {arrival.stream, arrival.pending};
  }
  take(std::move(arrival));
  continue_run();
  return {};
}

Status Session::handle(wire::Download& record) {
  DHPVM_ASSIGN(Arrival arrival, accept(record.order));
  DHPVM_ASSIGN(arrival.pending->from, span(record.from, *arrival.stream));
  arrival.pending->what = DownloadState{};
  take(std::move(arrival));
  return {};
}

Status Session::handle(wire::Copy& record) {
  DHPVM_ASSIGN(Arrival arrival, accept(record.order));
  DHPVM_ASSIGN(arrival.pending->to, span(record.to, *arrival.stream));
  DHPVM_ASSIGN(arrival.pending->from, span(record.from, *arrival.stream));
  arrival.pending->what = CopyState{};
  take(std::move(arrival));
  return {};
}

Status Session::handle(wire::Fill& record) {
  DHPVM_ASSIGN(Arrival arrival, accept(record.order));
  DHPVM_ASSIGN(arrival.pending->to, span(record.to, *arrival.stream));
  arrival.pending->what = FillState{static_cast<std::byte>(record.value)};
  take(std::move(arrival));
  return {};
}

Status Session::handle(wire::Launch& record) {
  DHPVM_ASSIGN(Arrival arrival, accept(record.order));
  const Stream& stream = *arrival.stream;
  const auto kernel = kernels_.find(record.kernel);
  if (kernel == kernels_.end() || kernel->second.kernel == nullptr ||
      kernel->second.device != stream.device) {
    return broken("a launch of a kernel that its device does not have");
  }
  if (record.space.empty()) return broken("a launch without dimensions");
  LaunchState launch;
  launch.kernel = kernel->second.kernel;
  launch.guard = kernel->second.guard;
  launch.space.dimensions = static_cast<unsigned>(record.space.size());
  for (std::size_t d = 0; d < record.space.size(); ++d) {
    launch.space.low[d] = record.space[d][0];
    launch.space.high[d] = record.space[d][1];
  }
  launch.scalars = std::move(record.scalars);
  for (const wire::ArrayAt& at : record.arrays) {
    ArrayArgument& array = launch.arrays.emplace_back();
    if (at.span) {
      DHPVM_ASSIGN(array.memory, span(*at.span, stream));
    }
    array.first = at.first;
    array.readable = at.readable;
    array.writable = at.writable;
    array.length = at.length;
    std::ranges::copy(at.dims, array.dims);
  }
  if (record.partials) {
    DHPVM_ASSIGN(launch.partials, span(*record.partials, stream));
  }
  if (record.report) {
    DHPVM_ASSIGN(launch.report, span(*record.report, stream));
  }
  arrival.pending->what = std::move(launch);
  ++jobs_;
  ++kernel->second.jobs;
  take(std::move(arrival));
  return {};
}

Status Session::handle(wire::HostCall& record) {
  DHPVM_ASSIGN(Arrival arrival, accept(record.order));
  arrival.pending->what = HostCallState{};
  take(std::move(arrival));
  return {};
}

Status Session::handle(wire::HostCallDone& record) {
  const auto entry = streams_.find(record.queue);
  if (entry == streams_.end()) return broken("a call is done for a queue that there is not");
  Stream& stream = *entry->second;
  if (stream.failure) return {};
  if (!stream.blocked || !std::holds_alternative<HostCallState>(stream.pending.front()->what)) {
    return broken("a call is done that nobody has asked for");
  }
  finish_here(stream);
  return {};
}

void Session::take(Arrival arrival) {
  if (arrival.stream->failure) return give_up(*arrival.pending, *arrival.stream->failure);
  arrival.stream->pending.push_back(std::move(arrival.pending));
}

std::uint64_t Session::outstanding() const {
  std::uint64_t count = 0;
  for (const auto& [id, stream] : streams_)
    count += stream->pending.size() + stream->given - stream->done->load();
  return count;
}

// ---- To the device --------------------------------------------------------------------------------------------------

void Session::advance() {
  for (bool any = true; any && !ended_;) {
    any = false;
    while (!signals_.empty()) {
      const Promise& promise = signals_.front();
      if (!promise.timeline->failure && promise.timeline->serving != promise.ticket) break;
      if (Status status = promise.timeline->semaphore->signal(promise.value); !status.ok()) {
        return close(std::move(status).error());
      }
      keep(promise);
      signals_.pop_front();
      any = true;
    }
    for (auto& [id, stream] : streams_) any |= advance(*stream);
  }
  for (auto& [id, stream] : streams_) mark(*stream);
  watch();
}

// From here on others may wait for what the promise is of.
void Session::keep(const Promise& promise) {
  promise.timeline->promised = std::max(promise.timeline->promised, promise.value);
  ++promise.timeline->serving;
}

bool Session::advance(Stream& stream) {
  bool any = false;
  while (!stream.pending.empty() && !stream.blocked && !stream.failure) {
    const std::shared_ptr<Pending> pending = stream.pending.front();
    if (!may_begin(*pending)) break;
    Result<bool> given = submit(stream, pending);
    if (!given.ok()) {
      fail_in_turn(stream, std::move(given).error());
      return true;
    }
    if (!*given) break;
    any = true;
    stream.pending.pop_front();
    for (const Promise& promise : pending->signals) keep(promise);
    forget_done(stream);
    stream.submitted.push_back(std::move(pending->signals));
    ++stream.given;
    if (++stream.unmarked >= kMarkEvery) mark(stream);
  }
  return any;
}

bool Session::may_begin(const Pending& pending) const {
  if (pending.begun) return true;
  return std::ranges::all_of(pending.waits,
                             [](const Wait& wait) {
                               return wait.timeline->failure || wait.timeline->promised >= wait.value;
                             }) &&
         std::ranges::all_of(pending.signals, [](const Promise& promise) {
           return promise.timeline->failure || promise.timeline->serving == promise.ticket;
         });
}

// True when all of the operation has been given to the device; false when the rest must wait.
Result<bool> Session::submit(Stream& stream, const std::shared_ptr<Pending>& pending) {
  LocalOrder order;
  for (const Wait& wait : pending->waits) {
    if (wait.timeline->failure) return *wait.timeline->failure;
    order.waits.push_back({wait.timeline->semaphore, wait.value});
  }
  for (const Promise& promise : pending->signals) {
    if (!promise.timeline->failure) order.signals.push_back({promise.timeline->semaphore, promise.value});
  }
  Queue& queue = *stream.queue;
  if (auto* const upload = std::get_if<UploadState>(&pending->what)) {
    return submit_upload(stream, *pending, *upload, order);
  }
  if (auto* const download = std::get_if<DownloadState>(&pending->what)) {
    return submit_download(stream, pending, *download, order);
  }
  if (std::holds_alternative<CopyState>(pending->what)) {
    DHPVM_TRY(queue.copy(pending->to, pending->from, order.all(), pending->number));
  } else if (const auto* const fill = std::get_if<FillState>(&pending->what)) {
    DHPVM_TRY(queue.fill(pending->to, fill->value, order.all(), pending->number));
  } else if (const auto* const state = std::get_if<LaunchState>(&pending->what)) {
    const Launch launch{state->kernel, state->space,    state->scalars,
                        state->arrays, state->partials, state->report};
    DHPVM_TRY(state->guard->check(launch));
    DHPVM_TRY(queue.launch(launch, order.all(), pending->number));
  } else {
    DHPVM_TRY(block(stream, order, [frames = frames_, id = stream.id] {
      std::vector<std::byte> frame;
      wire::write(frame, wire::CallHost{id});
      frames->send(frame);
    }));
    return false;
  }
  return true;
}

// The front of the stream is done here, once the device has come to it: then `reached` is called, on a thread of the device.
Status Session::block(Stream& stream, const LocalOrder& order, std::function<void()> reached) {
  mark(stream);
  stream.blocked = true;
  const SemaphoreValue mark{stream.marks, ++stream.marked};
  return stream.queue->host_call(std::move(reached), {order.waits, {&mark, 1}});
}

// The front of the stream has been done here.
void Session::finish_here(Stream& stream) {
  const std::shared_ptr<Pending> pending = std::move(stream.pending.front());
  stream.pending.pop_front();
  stream.blocked = false;
  for (const Promise& promise : pending->signals) {
    if (promise.timeline->failure) continue;
    if (Status status = promise.timeline->semaphore->signal(promise.value); !status.ok()) {
      return fail(stream, std::move(status).error());
    }
    keep(promise);
  }
  send(wire::Progress{stream.id, 1});
  advance();
}

Result<bool> Session::submit_upload(Stream& stream, Pending& pending, UploadState& upload,
                                    const LocalOrder& order) {
  Queue& queue = *stream.queue;
  if (pending.to.bytes == 0) {
    DHPVM_TRY(queue.fill(pending.to, std::byte{0}, order.all(), pending.number));
    return true;
  }
  while (!upload.parts.empty() && upload.parts.front()->received) {
    const std::shared_ptr<StagedPart> part = std::move(upload.parts.front());
    upload.parts.pop_front();
    const bool last = upload.submitted + part->bytes == pending.to.bytes;
    const Order of_part{pending.begun ? std::span<const SemaphoreValue>() : order.waits,
                        last ? order.signals : std::span<const SemaphoreValue>()};
    pending.begun = true;
    DHPVM_TRY(queue.copy(part_of(pending.to, part->offset, part->bytes), part->block->span(part->bytes),
                         of_part, pending.number));
    // The block is free when the device has come past the copy.
    DHPVM_TRY(queue.host_call([block = part->block] {}, {}));
    upload.submitted += part->bytes;
    if (last) return true;
  }
  return false;
}

Result<bool> Session::submit_download(Stream& stream, const std::shared_ptr<Pending>& pending,
                                      DownloadState& download, const LocalOrder& order) {
  Queue& queue = *stream.queue;
  const std::uint64_t total = pending->from.bytes;
  if (total == 0) {
    DHPVM_TRY(queue.fill(pending->from, std::byte{0}, order.all(), pending->number));
    return true;
  }
  if (std::byte* const memory = shared_memory(stream, pending->from); memory != nullptr) {
    // Straight from where it is: what stands behind in the queue may change it, and waits.
    const ConstBytes data(memory, total);
    DHPVM_TRY(block(stream, order, [weak = weak_from_this(), stream = streams_.at(stream.id), pending, data] {
      const auto session = weak.lock();
      if (session == nullptr) return;
      session->send_run({pending->number, 0}, data, [session, stream, pending] {
        if (!session->ended_ && !stream->failure) session->finish_here(*stream);
      });
    }));
    return false;
  }
  while (download.submitted < total) {
    const std::shared_ptr<StagingBlock> block = staging_.at(stream.device).down->take();
    if (block == nullptr) return false;
    const std::uint64_t offset = download.submitted;
    const std::uint64_t bytes = std::min<std::uint64_t>(total - offset, StagingPool::kBlockBytes);
    const bool last = offset + bytes == total;
    const Order of_part{pending->begun ? std::span<const SemaphoreValue>() : order.waits,
                        last ? order.signals : std::span<const SemaphoreValue>()};
    pending->begun = true;
    DHPVM_TRY(
        queue.copy(block->span(bytes), part_of(pending->from, offset, bytes), of_part, pending->number));
    DHPVM_TRY(queue.host_call(
        [weak = weak_from_this(), number = pending->number, offset, bytes, block] {
          if (const auto session = weak.lock())
            session->send_run({number, offset}, block->bytes(bytes), [block] {});
        },
        {}));
    download.submitted += bytes;
  }
  return true;
}

// ---- Done, or not ---------------------------------------------------------------------------------------------------

// A notification behind what has been given to the device. Its last one also tells that nothing has failed.
void Session::mark(Stream& stream) {
  if (stream.unmarked == 0 || stream.failure) return;
  const SemaphoreValue mark{stream.marks, ++stream.marked};
  const std::uint64_t count = std::exchange(stream.unmarked, 0);
  Status status = stream.queue->host_call(
      [done = stream.done, frames = frames_, id = stream.id, count] {
        done->fetch_add(count);
        std::vector<std::byte> frame;
        wire::write(frame, wire::Progress{id, count});
        frames->send(frame);
      },
      {{}, {&mark, 1}});
  if (!status.ok()) fail(stream, std::move(status).error());
}

// Keeps only what may yet have to be accounted for.
void Session::forget_done(Stream& stream) {
  for (const std::uint64_t done = stream.done->load(); stream.forgotten < done; ++stream.forgotten) {
    stream.submitted.pop_front();
  }
}

void Session::give_up(const Pending& pending, const Error& error) {
  uploads_.erase(pending.number);
  for (const Promise& promise : pending.signals) {
    if (!promise.timeline->failure) promise.timeline->failure = error;
    promise.timeline->semaphore->fail(error);
  }
}

// The front of the stream cannot be done. What stands before it can, and comes first.
void Session::fail_in_turn(Stream& stream, Error error) {
  const std::function<void()> reached = [weak = weak_from_this(), held = streams_.at(stream.id), error] {
    if (const auto session = weak.lock()) {
      session->on_progress_thread([raw = session.get(), held, error] {
        if (raw->ended_) return;
        raw->fail(*held, error);
        raw->advance();
      });
    }
  };
  if (!block(stream, {}, reached).ok()) fail(stream, std::move(error));
}

void Session::fail(Stream& stream, Error error) {
  if (stream.failure) return;
  stream.failure = error;
  stream.blocked = false;
  forget_done(stream);
  // Of what the device has been given, the last operation whose signal has been seen, and so all before it, are done.
  std::uint64_t done = 0;
  for (std::uint64_t n = 0; n < stream.submitted.size(); ++n) {
    const bool reached = std::ranges::any_of(stream.submitted[n], [](const Promise& promise) {
      const auto value =
          promise.timeline->semaphore->wait(promise.value, Semaphore::Clock::time_point::min());
      return value.ok() && *value;
    });
    if (reached) done = n + 1;
  }
  if (done != 0) send(wire::Progress{stream.id, done});
  stream.given = stream.done->load();
  send(wire::QueueFailed{stream.id, wire::Failure::from(error)});
  worker_.log(fmt::format("session {}: queue '{}' failed: {}", number_, stream.name, error.message()));
  for (const std::shared_ptr<Pending>& pending : std::exchange(stream.pending, {})) give_up(*pending, error);
  continue_run();
}

// Success tells of itself; of a failure nobody but its semaphores knows.
void Session::watch() {
  if (watching_ || ended_ || outstanding() == 0) return;
  watching_ = true;
  worker_.transport().post_at(std::chrono::steady_clock::now() + kWatchEvery, [weak = weak_from_this()] {
    if (const auto session = weak.lock()) session->look_for_failures();
  });
}

void Session::look_for_failures() {
  watching_ = false;
  if (ended_) return;
  busy_ += kWatchEvery;
  const auto limit = worker_.options().limits.time;
  if (limit.count() != 0 && busy_ > limit) {
    return close(
        error(ErrorCode::kDeadline, "the session has computed for {} ms, which is the limit", limit.count()));
  }
  for (auto& [id, stream] : streams_) {
    if (stream->failure) continue;
    auto value = stream->marks->value();
    if (!value.ok()) fail(*stream, std::move(value).error());
  }
  advance();
}

}  // namespace dhpvm::offload
