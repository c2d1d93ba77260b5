// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/session_queues.h"

#include <algorithm>
#include <utility>

#include "base/one_line.h"
#include "offload/devices/host/host_queue.h"

namespace dhpvm::offload {

using session::LocalOrder;
using session::Pending;
using session::Promise;
using session::Stream;
using session::Wait;

namespace {

// How long the thread of a queue waits at the network for the next short loop.
constexpr std::chrono::milliseconds kIdleVisit{2};

}  // namespace

// ---- Queues ---------------------------------------------------------------------------------------------------------

Status SessionQueues::handle(wire::CreateQueue& record) {
  DHPVM_ASSIGN(Device* const device, port_.device(record.device));
  DHPVM_TRY(port_.begin_request());
  if (streams_.contains(record.queue)) return protocol_violation("a queue is made twice");
  if (streams_.size() >= port_.limits().objects / 16) {
    port_.reply(record.request, error(ErrorCode::kDeviceExhausted,
                                      "this session has {} queues, which is the limit", streams_.size()));
    return {};
  }
  const auto stream = std::make_shared<Stream>();
  stream->id = record.queue;
  stream->device = record.device;
  stream->name = record.name;
  stream->answers = std::make_shared<QueueAnswers>(port_.frames());
  const bool makes_staging = transfers_.claim_staging(record.device);
  port_.post_task([this, device, record, stream, makes_staging] {
    Status made = create(*device, *stream, record.observed);
    Result<SessionTransfers::Staging> staging = SessionTransfers::Staging{};
    if (makes_staging && made.ok()) {
      staging = transfers_.make_staging(*device);
      if (!staging.ok()) made = staging.error();
    } else if (makes_staging) {
      staging = made.error();
    }
    port_.post_to_progress([this, record, stream, makes_staging, made, staging = std::move(staging)] {
      if (makes_staging) transfers_.add_staging(record.device, staging);
      if (port_.has_ended()) return drop(*stream);
      if (made.ok()) streams_.emplace(record.queue, stream);
      port_.reply(record.request, made);
    });
  });
  return {};
}

// On the session's own thread.
Status SessionQueues::create(Device& device, Stream& stream, bool is_observed) {
  QueueOptions options;
  options.name = stream.name;
  if (is_observed) {
    options.observer = [answers = stream.answers, &device](const OperationRecord& done) {
      // The client times transfers and host calls itself.
      if (done.kind != OperationRecord::Kind::kLaunch && done.kind != OperationRecord::Kind::kFill &&
          done.kind != OperationRecord::Kind::kDeviceCopy)
        return;
      // The difference between the device's clock and this machine's is constant.
      const std::chrono::nanoseconds shift =
          std::chrono::steady_clock::now().time_since_epoch() - device.now();
      answers->add(wire::Observed{done.label, (done.begin + shift).count(), (done.end + shift).count()});
    };
  }
  DHPVM_ASSIGN(stream.queue, device.create_queue(std::move(options)));
  // A thread that has run a short loop receives the next one itself.
  if (auto* const queue = dynamic_cast<ThreadedQueue*>(stream.queue.get())) {
    queue->set_idle_work([&transport = port_.host().transport()](const std::function<bool()>& has_work) {
      transport.attend(has_work, Transport::Clock::now() + kIdleVisit);
    });
  }
  DHPVM_ASSIGN(stream.marks, device.create_semaphore(0));
  return {};
}

Status SessionQueues::handle(wire::DestroyQueue& record) {
  const auto stream = find(record.queue);
  if (stream == nullptr) return protocol_violation("it destroys a queue that does not exist");
  if (!stream->pending.empty()) return protocol_violation("it destroys a queue that has operations waiting");
  drop(*stream);
  streams_.erase(record.queue);
  return {};
}

// Destroying a queue blocks until its operations are done, so post it to the session's own thread.
void SessionQueues::drop(Stream& stream) {
  port_.post_task(
      [queue = std::shared_ptr<Queue>(std::move(stream.queue)), marks = std::move(stream.marks)]() mutable {
        queue.reset();
        marks.reset();
      });
}

std::shared_ptr<Stream> SessionQueues::find(wire::Id queue) const {
  const auto entry = streams_.find(queue);
  return entry == streams_.end() ? nullptr : entry->second;
}

Status SessionQueues::handle(wire::Signal& record) {
  const std::shared_ptr<session::Timeline> timeline = objects_.timeline(record.semaphore);
  if (timeline == nullptr) return protocol_violation("it signals a semaphore that does not exist");
  const std::uint64_t ticket = timeline->next_ticket++;
  signals_.push_back({timeline, record.value, ticket});
  return {};
}

Status SessionQueues::handle(wire::HostCallDone& record) {
  const auto stream = find(record.queue);
  if (stream == nullptr) return protocol_violation("a call is done for a queue that does not exist");
  if (stream->failure) return {};
  const bool is_asked =
      stream->blocked && std::holds_alternative<session::HostCallState>(stream->pending.front()->what);
  if (!is_asked) return protocol_violation("a call is done that nobody has asked for");
  finish_front(*stream);
  return {};
}

Status SessionQueues::handle(wire::StopLaunches& record) {
  const auto stream = find(record.queue);
  if (stream == nullptr) return protocol_violation("it stops the launches of a queue that does not exist");
  stop_launches(*stream);
  return {};
}

void SessionQueues::stop_launches(Stream& stream) {
  stream.stop->token.raise(StopToken::kInterrupt);
  stream.stop = std::make_shared<session::LaunchStop>();  // for the launches that follow
}

std::uint64_t SessionQueues::outstanding() const {
  std::uint64_t count = 0;
  for (const auto& [id, stream] : streams_) {
    count += stream->waiting + stream->given - stream->done->load();
  }
  return count;
}

void SessionQueues::enqueue(const std::shared_ptr<Stream>& stream, std::shared_ptr<Pending> pending) {
  if (stream->failure) return give_up(*pending, *stream->failure);
  stream->waiting += pending->count;
  stream->pending.push_back(std::move(pending));
}

// ---- To the device --------------------------------------------------------------------------------------------------

void SessionQueues::advance() {
  for (bool any = true; any && !port_.has_ended();) {
    any = send_signals();
    for (auto& [id, stream] : streams_) any |= advance(stream);
  }
  for (auto& [id, stream] : streams_) mark(*stream);
  watch();
}

// Sends the host's signals in order. Returns whether there was one.
bool SessionQueues::send_signals() {
  bool any = false;
  while (!signals_.empty()) {
    const Promise& promise = signals_.front();
    if (!promise.timeline->failure && promise.timeline->serving != promise.ticket) break;
    if (Status status = promise.timeline->semaphore->signal(promise.value); !status.ok()) {
      port_.close(EndCause::kProtocol, std::move(status).error());
      return false;
    }
    keep(promise);
    signals_.pop_front();
    any = true;
  }
  return any;
}

// From here on others may wait for the promised value.
void SessionQueues::keep(const Promise& promise) {
  promise.timeline->promised = std::max(promise.timeline->promised, promise.value);
  ++promise.timeline->serving;
}

bool SessionQueues::advance(const std::shared_ptr<Stream>& stream) {
  bool any = false;
  while (!stream->pending.empty() && !stream->blocked && !stream->failure) {
    const std::shared_ptr<Pending> pending = stream->pending.front();
    if (!may_begin(*pending)) break;
    stream->answers->expect(pending->count);
    Result<bool> is_given = submit(stream, pending);
    if (!is_given.ok() || !*is_given) stream->answers->cancel(pending->count);
    if (!is_given.ok()) {
      fail_in_turn(stream, is_given.error());
      return true;
    }
    if (!*is_given) break;
    any = true;
    stream->pending.pop_front();
    given(*stream, *pending);
    if (stream->unmarked >= kMarkEvery) mark(*stream);
  }
  return any;
}

// The device has got the whole operation.
void SessionQueues::given(Stream& stream, Pending& pending) {
  for (const Promise& promise : pending.signals) keep(promise);
  forget_done(stream);
  // Only the last operation of a batch signals.
  for (std::uint64_t n = 1; n < pending.count; ++n) stream.submitted.emplace_back();
  stream.submitted.push_back(std::move(pending.signals));
  stream.waiting -= pending.count;
  stream.given += pending.count;
  stream.unmarked += pending.count;
}

// True when all of the operation has been given to the device; false when the rest must wait.
Result<bool> SessionQueues::submit(const std::shared_ptr<Stream>& stream,
                                   const std::shared_ptr<Pending>& pending) {
  LocalOrder order;
  for (const Wait& wait : pending->waits) {
    if (wait.timeline->failure) return *wait.timeline->failure;
    order.waits.push_back({wait.timeline->semaphore, wait.value});
  }
  for (const Promise& promise : pending->signals) {
    if (!promise.timeline->failure) order.signals.push_back({promise.timeline->semaphore, promise.value});
  }
  Queue& queue = *stream->queue;
  if (std::holds_alternative<session::UploadState>(pending->what)) {
    return transfers_.submit_upload(*stream, *pending, order);
  }
  if (std::holds_alternative<session::WriteState>(pending->what)) {
    return transfers_.submit_write(*stream, *pending, order);
  }
  if (std::holds_alternative<session::DownloadState>(pending->what)) {
    return transfers_.submit_download(stream, pending, order);
  }
  if (std::holds_alternative<session::CopyState>(pending->what)) {
    DHPVM_TRY(queue.copy(pending->to, pending->from, order.all(), pending->number));
  } else if (const auto* const fill = std::get_if<session::FillState>(&pending->what)) {
    DHPVM_TRY(queue.fill(pending->to, fill->value, order.all(), pending->number));
  } else if (const auto* const state = std::get_if<session::LaunchState>(&pending->what)) {
    const Launch launch{state->kernel,
                        state->space,
                        state->scalars,
                        state->arrays,
                        state->partials,
                        state->report,
                        {state->stop, &state->stop->kernels}};
    DHPVM_TRY(state->guard->check(launch));
    DHPVM_TRY(queue.launch(launch, order.all(), pending->number));
  } else if (auto* const batch = std::get_if<session::BatchState>(&pending->what)) {
    return submit_batch(*stream, *batch, order);
  } else {
    DHPVM_TRY(block(*stream, order, [frames = port_.frames(), id = stream->id] {
      SessionPort::send(*frames, wire::CallHost{id});
    }));
    return false;
  }
  return true;
}

Result<bool> SessionQueues::submit_batch(Stream& stream, session::BatchState& batch,
                                         const LocalOrder& order) {
  for (std::size_t n = 0; n < batch.steps.size(); ++n) {
    const Operation& step = batch.steps[n];
    if (batch.guards[n] == nullptr) continue;
    DHPVM_TRY(batch.guards[n]->check(
        {step.kernel, step.space, step.scalars, step.arrays, step.partials, step.report, step.stop}));
  }
  if (batch.place) return transfers_.submit_batch(stream, batch, order);
  DHPVM_TRY(stream.queue->batch(std::move(batch.steps), order.all()));
  return true;
}

Status SessionQueues::block(Stream& stream, const LocalOrder& order, std::function<void()> reached) {
  mark(stream);
  stream.blocked = true;
  const SemaphoreValue mark{stream.marks, ++stream.marked};
  return stream.queue->host_call(std::move(reached), {order.waits, {&mark, 1}});
}

void SessionQueues::finish_front(Stream& stream) {
  const std::shared_ptr<Pending> pending = std::move(stream.pending.front());
  stream.pending.pop_front();
  stream.waiting -= pending->count;
  stream.blocked = false;
  for (const Promise& promise : pending->signals) {
    if (promise.timeline->failure) continue;
    if (Status status = promise.timeline->semaphore->signal(promise.value); !status.ok()) {
      return fail(stream, status.error());
    }
    keep(promise);
  }
  port_.send(wire::Progress{stream.id, 1});
  advance();
}

// ---- Done, or not ---------------------------------------------------------------------------------------------------

// Submits a notification behind what the device has got. The last one also shows that nothing has failed.
void SessionQueues::mark(Stream& stream) {
  if (stream.unmarked == 0 || stream.failure) return;
  const SemaphoreValue mark{stream.marks, ++stream.marked};
  const std::uint64_t count = std::exchange(stream.unmarked, 0);
  Status status = stream.queue->host_call(
      [done = stream.done, answers = stream.answers, id = stream.id, count] {
        done->fetch_add(count);
        answers->notify({id, count});
      },
      {{}, {&mark, 1}});
  if (!status.ok()) fail(stream, status.error());
}

// Forgets all operations except those that may still have to be accounted for.
void SessionQueues::forget_done(Stream& stream) {
  for (const std::uint64_t done = stream.done->load(); stream.forgotten < done; ++stream.forgotten) {
    stream.submitted.pop_front();
  }
}

void SessionQueues::give_up(const Pending& pending, const Error& error) {
  transfers_.forget(pending.number);
  for (const Promise& promise : pending.signals) {
    if (!promise.timeline->failure) promise.timeline->failure = error;
    promise.timeline->semaphore->fail(error);
  }
}

// The front of the stream cannot be done. The operations before it can, and end first.
void SessionQueues::fail_in_turn(const std::shared_ptr<Stream>& stream, const Error& error) {
  const std::function<void()> reached = [this, weak = port_.alive(), stream, error] {
    const auto alive = weak.lock();
    if (alive == nullptr) return;
    port_.post_to_progress([this, stream, error] {
      if (port_.has_ended()) return;
      fail(*stream, error);
      advance();
    });
  };
  if (!block(*stream, {}, reached).ok()) fail(*stream, error);
}

void SessionQueues::fail(Stream& stream, const Error& error) {
  if (stream.failure) return;
  stream.failure = error;
  stream.blocked = false;
  forget_done(stream);
  // If the signal of an operation was seen, that operation is done, and so are all before it: find the last one.
  std::uint64_t done = 0;
  for (std::uint64_t n = 0; n < stream.submitted.size(); ++n) {
    const bool reached = std::ranges::any_of(stream.submitted[n], [](const Promise& promise) {
      const auto value =
          promise.timeline->semaphore->wait(promise.value, Semaphore::Clock::time_point::min());
      return value.ok() && *value;
    });
    if (reached) done = n + 1;
  }
  stream.answers->flush();
  if (done != 0) port_.send(wire::Progress{stream.id, done});
  stream.given = stream.done->load();
  port_.send(wire::QueueFailed{stream.id, wire::Failure::from(error)});
  port_.log(LogLevel::kWarning,
            fmt::format("queue {} failed: {}", quoted_name(stream.name), error.message()));
  stream.waiting = 0;
  for (const std::shared_ptr<Pending>& pending : std::exchange(stream.pending, {})) give_up(*pending, error);
  transfers_.continue_run();
}

// Success is reported as progress; a failure shows only in the semaphores.
void SessionQueues::watch() {
  if (watching_ || port_.has_ended() || outstanding() == 0) return;
  watching_ = true;
  watched_since_ = std::chrono::steady_clock::now();
  port_.host().transport().post_at(watched_since_ + kWatchEvery, [this, weak = port_.alive()] {
    if (const auto alive = weak.lock()) look_for_failures();
  });
}

void SessionQueues::look_for_failures() {
  watching_ = false;
  if (port_.has_ended()) return;
  // On a busy machine this check comes late.
  busy_ += std::chrono::steady_clock::now() - watched_since_;
  const auto limit = port_.limits().time;
  if (limit.count() != 0 && busy_ > limit) {
    return port_.close(
        EndCause::kTimeLimit,
        error(ErrorCode::kDeadline, "the session has computed for {} ms, which is the limit", limit.count()));
  }
  for (auto& [id, stream] : streams_) {
    if (stream->failure) continue;
    auto value = stream->marks->value();
    if (!value.ok()) fail(*stream, value.error());
  }
  advance();
}

// The semaphores have been made to fail, and so have all operations that wait.
void SessionQueues::abandon(const Error& reason) {
  for (auto& [id, stream] : streams_) {
    for (const std::shared_ptr<Pending>& pending : stream->pending) {
      for (const Promise& promise : pending->signals) promise.timeline->semaphore->fail(reason);
    }
    stream->pending.clear();
    stream->waiting = 0;
    stop_launches(*stream);
    drop(*stream);
  }
  signals_.clear();
}

}  // namespace dhpvm::offload
