// SPDX-License-Identifier: Apache-2.0
// The beginning and the end of a session, and what the client makes and frees.
#include "offload/remote/worker/session.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

// Requests that a client may have waiting.
constexpr std::uint64_t kRequests = 64;

Error broken(const char* what) {
  return error(ErrorCode::kProtocol, "the client breaks the protocol: {}", what);
}

}  // namespace

Session::Session(Worker& worker, std::uint64_t number, wire::Token token,
                 std::function<void(const Error&)> ended)
    : worker_(worker), number_(number), token_(token), ended_callback_(std::move(ended)) {}

Session::~Session() = default;

bool Session::attach_bulk(std::shared_ptr<BulkLane> bulk) {
  if (bulk_ != nullptr || ended_) return false;
  bulk_ = std::move(bulk);
  return true;
}

void Session::on_bulk_open() {
  bulk_->send(token_, {}, [](const Status&) {});
  become_ready();
}

void Session::become_ready() {
  is_ready_ = true;
  send(wire::Ready{});
}

void Session::close(Error reason) {
  if (ended_) return;
  if (frames_ != nullptr) frames_->close(std::move(reason));
}

// Whoever has not been welcomed yet hears nothing before that.
void Session::announce_end() {
  if (!ended_ && greeted_) send(wire::Draining{});
}

void Session::on_frame(ConstBytes frame) {
  if (ended_) return;
  auto records = wire::read_from_client(frame);
  Status status;
  if (!records.ok()) {
    status = std::move(records).error();
  } else {
    for (wire::FromClient& record : *records) {
      if (!greeted_ && !std::holds_alternative<wire::Hello>(record)) {
        status = broken("it does not begin with a greeting");
      } else {
        status = std::visit([this](auto& value) { return handle(value); }, record);
      }
      if (!status.ok()) break;
    }
  }
  if (!status.ok()) return close(std::move(status).error());
  advance();
}

void Session::send(const wire::FromWorker& record) {
  std::vector<std::byte> frame;
  wire::write(frame, record);
  frames_->send(frame);
}

void Session::reply(wire::Id request, Status status) {
  wire::Reply answer;
  answer.request = request;
  if (!status.ok()) answer.failure = wire::Failure::from(status.error());
  --requests_outstanding_;
  send(answer);
}

void Session::on_progress_thread(std::function<void()> function) {
  worker_.transport().post([session = shared_from_this(), function = std::move(function)] { function(); });
}

Result<Device*> Session::device(std::uint64_t number) const {
  if (number >= worker_.devices().size()) return broken("a device that there is not");
  return worker_.devices()[number].get();
}

// ---- Records --------------------------------------------------------------------------------------------------------

Status Session::handle(wire::Hello& record) {
  if (greeted_) return broken("it greets twice");
  greeted_ = true;
  peer_ = frames_->peer();
  client_ = record.name;
  std::erase_if(client_, [](char c) { return static_cast<unsigned char>(c) < ' '; });
  worker_.log(fmt::format("session {}: '{}' from {} (release {})", number_, client_, peer_, record.release));
  const WorkerOptions& options = worker_.options();
  wire::Welcome welcome;
  welcome.name = options.name;
  welcome.release = options.release;
  welcome.token = token_;
  welcome.max_operations = options.limits.operations;
  welcome.memory_quota = options.limits.memory_bytes;
  welcome.module_quota = options.limits.module_bytes;
  for (const std::shared_ptr<Device>& device : worker_.devices()) {
    const DeviceInfo& info = device->info();
    welcome.devices.push_back({info.name, info.description, info.memory_bytes, info.largest_allocation,
                               info.compute_units, info.is_gpu, info.is_simulated});
  }
  send(welcome);
  if (const auto then = std::exchange(when_welcome_, nullptr)) then();
  return {};
}

Status Session::handle(wire::Ping& record) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  send(wire::Pong{record.number, static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count())});
  return {};
}

Status Session::handle(wire::Allocate& record) {
  DHPVM_ASSIGN(Device* const device, this->device(record.device));
  if (++requests_outstanding_ > kRequests) return broken("too many requests at once");
  const WorkerLimits& limits = worker_.options().limits;
  if (memories_.contains(record.memory)) return broken("a memory is allocated twice");
  if (memories_.size() >= limits.objects) {
    reply(record.request, error(ErrorCode::kDeviceExhausted,
                                "this session has {} memories, which is the limit", limits.objects));
    return {};
  }
  memories_[record.memory] = {nullptr, record.device};
  tasks_.post([this, device, record] {
    auto memory = allocate(*device, record.bytes);
    on_progress_thread([this, record, memory = std::move(memory)] {
      const auto entry = memories_.find(record.memory);
      if (entry != memories_.end() && memory.ok()) entry->second.memory = *memory;
      if (entry != memories_.end() && !memory.ok()) memories_.erase(entry);
      if (!ended_) reply(record.request, memory.ok() ? Status() : Status(memory.error()));
    });
  });
  return {};
}

// On the session's own thread. What is freed counts until the last operation that uses it has let go of it.
Result<std::shared_ptr<DeviceMemory>> Session::allocate(Device& device, std::uint64_t bytes) {
  const std::uint64_t most = worker_.options().limits.memory_bytes;
  if (const std::uint64_t held = memory_bytes_->load(); held > most || bytes > most - held) {
    return error(
        ErrorCode::kDeviceExhausted,
        "this session may have {} bytes of memory, has {}, and asks for {}: use smaller batches (@batch)",
        most, held, bytes);
  }
  DHPVM_ASSIGN(std::shared_ptr<DeviceMemory> memory, device.allocate(bytes));
  memory_bytes_->fetch_add(bytes);
  DeviceMemory* const raw = memory.get();
  return std::shared_ptr<DeviceMemory>(
      raw, [memory = std::move(memory), total = memory_bytes_, bytes](DeviceMemory*) mutable {
        memory.reset();
        total->fetch_sub(bytes);
      });
}

Status Session::handle(wire::Free& record) {
  const auto entry = memories_.find(record.memory);
  if (entry == memories_.end() || entry->second.memory == nullptr)
    return broken("it frees what there is not");
  // Freeing may block; operations in flight keep the memory until they are done.
  tasks_.post([memory = std::move(entry->second.memory)]() mutable { memory.reset(); });
  memories_.erase(entry);
  return {};
}

Status Session::handle(wire::CreateQueue& record) {
  DHPVM_ASSIGN(Device* const device, this->device(record.device));
  if (++requests_outstanding_ > kRequests) return broken("too many requests at once");
  if (streams_.contains(record.queue)) return broken("a queue is made twice");
  if (streams_.size() >= worker_.options().limits.objects / 16) {
    reply(record.request, error(ErrorCode::kDeviceExhausted, "this session has {} queues, which is the limit",
                                streams_.size()));
    return {};
  }
  const auto stream = std::make_shared<Stream>();
  stream->id = record.queue;
  stream->device = record.device;
  stream->name = record.name;
  const bool needs_staging = !staging_.contains(record.device);
  if (needs_staging) staging_[record.device];  // being made
  tasks_.post([this, device, record, stream, needs_staging] {
    const auto make = [&]() -> Result<session::Staging> {
      QueueOptions options;
      options.name = record.name;
      if (record.observed) {
        options.observer = [frames = frames_, device](const OperationRecord& done) {
          // The device's clock and that of this machine run side by side.
          const std::chrono::nanoseconds shift =
              std::chrono::steady_clock::now().time_since_epoch() - device->now();
          std::vector<std::byte> frame;
          wire::write(frame,
                      wire::Observed{done.label, (done.begin + shift).count(), (done.end + shift).count()});
          frames->send(frame);
        };
      }
      DHPVM_ASSIGN(stream->queue, device->create_queue(std::move(options)));
      DHPVM_ASSIGN(stream->marks, device->create_semaphore(0));
      session::Staging staging;
      if (!needs_staging) return staging;
      const std::function<void()> freed = [weak = weak_from_this()] {
        if (const auto session = weak.lock())
          session->on_progress_thread([raw = session.get()] { raw->staging_freed(); });
      };
      DHPVM_ASSIGN(staging.up, StagingPool::create(*device, session::kUpBlocks, freed));
      DHPVM_ASSIGN(staging.down, StagingPool::create(*device, session::kDownBlocks, freed));
      return staging;
    };
    auto made = make();
    on_progress_thread([this, record, stream, needs_staging, made = std::move(made)] {
      if (needs_staging && !made.ok()) staging_.erase(record.device);
      if (needs_staging && made.ok()) staging_[record.device] = *made;
      if (ended_) return drop_queue(*stream);
      if (made.ok()) streams_.emplace(record.queue, stream);
      reply(record.request, made.ok() ? Status() : Status(made.error()));
    });
  });
  return {};
}

Status Session::handle(wire::DestroyQueue& record) {
  const auto entry = streams_.find(record.queue);
  if (entry == streams_.end()) return broken("it destroys a queue that there is not");
  if (!entry->second->pending.empty()) return broken("it destroys a queue that has operations waiting");
  drop_queue(*entry->second);
  streams_.erase(entry);
  return {};
}

// Waits for what the queue has been given, and so not here.
void Session::drop_queue(Stream& stream) {
  tasks_.post(
      [queue = std::shared_ptr<Queue>(std::move(stream.queue)), marks = std::move(stream.marks)]() mutable {
        queue.reset();
        marks.reset();
      });
}

Status Session::handle(wire::CreateSemaphore& record) {
  DHPVM_ASSIGN(Device* const device, this->device(record.device));
  if (timelines_.contains(record.semaphore)) return broken("a semaphore is made twice");
  if (timelines_.size() >= worker_.options().limits.objects) {
    return error(ErrorCode::kDeviceExhausted, "this session has {} semaphores, which is the limit",
                 timelines_.size());
  }
  auto timeline = std::make_shared<Timeline>();
  DHPVM_ASSIGN(timeline->semaphore, device->create_semaphore(record.initial));
  timeline->device = record.device;
  timeline->promised = record.initial;
  timelines_.emplace(record.semaphore, std::move(timeline));
  return {};
}

Status Session::handle(wire::DestroySemaphore& record) {
  if (timelines_.erase(record.semaphore) == 0) return broken("it destroys a semaphore that there is not");
  return {};
}

Status Session::handle(wire::Signal& record) {
  const auto entry = timelines_.find(record.semaphore);
  if (entry == timelines_.end()) return broken("it signals a semaphore that there is not");
  const std::shared_ptr<Timeline> timeline = entry->second;
  const std::uint64_t ticket = timeline->next_ticket++;
  signals_.push_back({timeline, record.value, ticket});
  return {};
}

Status Session::handle(wire::FailSemaphore& record) {
  const auto entry = timelines_.find(record.semaphore);
  if (entry == timelines_.end()) return broken("it fails a semaphore that there is not");
  entry->second->failure = record.failure.to_error();
  entry->second->semaphore->fail(*entry->second->failure);
  return {};
}

Status Session::handle(wire::UnloadKernel& record) {
  const auto entry = kernels_.find(record.kernel);
  if (entry == kernels_.end() || entry->second.kernel == nullptr)
    return broken("it unloads a kernel that there is not");
  log_jobs(entry->second);
  tasks_.post([kernel = std::move(entry->second.kernel)]() mutable { kernel.reset(); });
  kernels_.erase(entry);
  return {};
}

void Session::log_jobs(const session::LoadedKernel& kernel) const {
  if (kernel.jobs == 0) return;
  worker_.log(fmt::format("session {}: kernel '{}' was launched {} {}", number_, kernel.name, kernel.jobs,
                          kernel.jobs == 1 ? "time" : "times"));
}

// ---- The end --------------------------------------------------------------------------------------------------------

void Session::on_closed(const Error& reason) {
  frames_closed_ = true;
  begin_end(reason);
}

void Session::on_bulk_closed(const Error& reason) {
  bulk_closed_ = true;
  begin_end(reason);
}

// Both lanes go together: only then nobody touches the session's memory any more.
void Session::begin_end(const Error& reason) {
  if (!ended_) {
    ended_ = reason;
    for (auto& [id, timeline] : timelines_) timeline->semaphore->fail(reason);
    if (!frames_closed_) frames_->close(reason);
    if (bulk_ != nullptr && !bulk_closed_) bulk_->drop(reason);
  }
  if (frames_closed_ && (bulk_ == nullptr || bulk_closed_)) end();
}

void Session::end() {
  for (const auto& [id, kernel] : kernels_) log_jobs(kernel);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  worker_.log(fmt::format("session {}: ended after {:.1f} s, {} jobs, {} bytes in, {} bytes out: {}", number_,
                          seconds, jobs_, bytes_in_, bytes_out_.load(), ended_->message()));
  // What waits for the semaphores has been made to fail; what runs, runs to its end.
  for (auto& [id, stream] : streams_) {
    for (const std::shared_ptr<Pending>& pending : stream->pending) {
      for (const Promise& promise : pending->signals) promise.timeline->semaphore->fail(*ended_);
    }
    stream->pending.clear();
    drop_queue(*stream);
  }
  uploads_.clear();
  signals_.clear();
  tasks_.post([this] {
    on_progress_thread([this] {
      streams_.clear();
      // In their order: kernels and memory after the queues that used them, all on the thread that may block.
      tasks_.post([this] {
        kernels_.clear();
        memories_.clear();
        timelines_.clear();
        staging_.clear();
        modules_.clear();
        on_progress_thread([this] {
          ended_callback_(*ended_);
          worker_.remove(*this);
        });
      });
    });
  });
}

}  // namespace dhpvm::offload
