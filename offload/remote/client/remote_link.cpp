// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/client/remote_link.h"

#include <algorithm>
#include <future>
#include <utility>

#include "base/error.h"
#include "base/one_line.h"

namespace dhpvm::offload {
namespace {

// The bytes of most records.
constexpr std::size_t kUsualRecord = 128;
// The time for a worker to send, in a frame, the reason why it has closed the other lane.
constexpr std::chrono::milliseconds kLastWords{50};

Error broken(const char* what) {
  return error(ErrorCode::kProtocol, "the worker breaks the protocol: {}", what);
}

}  // namespace

RemoteLink::RemoteLink(Fabric& fabric, Transport& transport, std::string address, RemoteLinkOptions options)
    : fabric_(fabric),
      transport_(transport),
      address_(std::move(address)),
      options_(std::move(options)),
      operations_(*this) {}

RemoteLink::~RemoteLink() = default;

// ---- Opening and closing --------------------------------------------------------------------------------------------

void RemoteLink::dial(const Address& address, const std::string& host) {
  dialled_ = {address, host};
  Channel::dial(
      transport_, address, host, LaneKind::kFrames, options_.channel,
      [self = shared_from_this()](const std::shared_ptr<Channel>& channel, LaneKind) {
        return self->accept(channel);
      },
      [self = shared_from_this()](const Error& reason) { self->lose(reason); });
}

std::shared_ptr<Lane> RemoteLink::accept(const std::shared_ptr<Channel>& channel) {
  auto lane =
      std::make_shared<FrameLane>(channel, shared_from_this(), FrameLaneOptions{options_.silence_deadline});
  const std::lock_guard lock(mutex_);
  if (lost_) return nullptr;
  frames_ = lane;
  outgoing_.open(lane);
  frames_open_ = true;
  return lane;
}

void RemoteLink::on_open() {
  std::vector<std::byte> frame;
  wire::write(frame, wire::Hello{options_.name, options_.release});
  frames_->send(frame);
  // The greeting and the other lane each take at most as long as a handshake.
  await_ready(2 * options_.channel.handshake_deadline);
}

void RemoteLink::await_ready(std::chrono::milliseconds deadline) {
  transport_.post_at(Clock::now() + deadline, [weak = weak_from_this(), deadline] {
    const auto link = weak.lock();
    if (link == nullptr || link->was_ready() || link->is_queued()) return;
    link->end(error(ErrorCode::kDeviceLost, "it has not become ready for {} ms", deadline.count()));
  });
}

// The worker gives signs of life while the session waits.
Status RemoteLink::handle(wire::Queued& record) {
  if (welcomed_ || record.place == 0) return broken("it queues a session that it has welcomed");
  const std::lock_guard lock(mutex_);
  place_ = record.place;
  changed_.notify_all();
  return {};
}

Status RemoteLink::handle(wire::Welcome& record) {
  if (welcomed_) return broken("it welcomes twice");
  welcomed_ = true;
  welcome_ = std::move(record);
  std::uint64_t place = 0;
  {
    const std::lock_guard lock(mutex_);
    place = std::exchange(place_, 0);
    outgoing_.set_most_operations(welcome_.max_operations);
  }
  if (place != 0) await_ready(2 * options_.channel.handshake_deadline);
  if (!dialled_) return {};  // the worker dials the other lane as well
  ChannelOptions channel_options = options_.channel;
  channel_options.version = frames_->channel().version();
  Channel::dial(
      transport_, dialled_->first, dialled_->second, LaneKind::kBulk, channel_options,
      [self = shared_from_this()](const std::shared_ptr<Channel>& channel,
                                  LaneKind) -> std::shared_ptr<Lane> {
        auto lane = std::make_shared<BulkLane>(channel, self);
        const std::lock_guard lock(self->mutex_);
        if (self->lost_) return nullptr;
        self->bulk_ = lane;
        self->bulk_open_ = true;
        return lane;
      },
      [self = shared_from_this()](const Error& reason) { self->lose(reason); });
  return {};
}

void RemoteLink::on_bulk_open() {
  if (dialled_) bulk_->send(welcome_.token, {}, [](const Status&) {});
}

bool RemoteLink::accept_bulk(ConstBytes token, const std::shared_ptr<BulkLane>& lane) {
  if (!welcomed_ || !std::ranges::equal(token, welcome_.token)) return false;
  {
    const std::lock_guard lock(mutex_);
    if (lost_ || bulk_ != nullptr) return false;
    bulk_ = lane;
    bulk_open_ = true;
  }
  become_ready();
  return true;
}

Status RemoteLink::handle(wire::Ready&) {
  if (!welcomed_ || ready_sent_) return broken("it is ready at the wrong time");
  ready_sent_ = true;
  become_ready();
  return {};
}

void RemoteLink::become_ready() {
  if (!ready_sent_ || !bulk_open_) return;
  clock_.measure();
  const std::lock_guard lock(mutex_);
  ready_ = true;
  changed_.notify_all();
}

Status RemoteLink::wait_until_ready(const std::function<void(std::uint64_t place)>& queued) {
  std::unique_lock lock(mutex_);
  std::uint64_t told = 0;
  while (!ready_ && !lost_) {
    if (const std::uint64_t place = place_; place != told) {
      told = place;
      lock.unlock();
      if (place != 0) queued(place);
      lock.lock();
    } else {
      changed_.wait(lock);
    }
  }
  if (lost_) return *lost_;
  return {};
}

bool RemoteLink::is_queued() {
  const std::lock_guard lock(mutex_);
  return place_ != 0;
}

bool RemoteLink::was_ready() {
  const std::lock_guard lock(mutex_);
  return ready_;
}

bool RemoteLink::is_ready() {
  const std::lock_guard lock(mutex_);
  return ready_ && !lost_;
}

std::optional<Error> RemoteLink::failure() {
  const std::lock_guard lock(mutex_);
  return lost_;
}

std::optional<Error> RemoteLink::gone() {
  const std::lock_guard lock(mutex_);
  if (lost_ || !draining_) return lost_;
  return error(ErrorCode::kDeviceLost, "worker {}: it is about to end", address_);
}

void RemoteLink::hold() {
  const std::lock_guard lock(mutex_);
  ++devices_;
}

void RemoteLink::let_go() {
  const std::lock_guard lock(mutex_);
  if (--devices_ == 0 && draining_) leave();
}

Status RemoteLink::handle(wire::Draining&) {
  const std::lock_guard lock(mutex_);
  draining_ = true;
  if (devices_ == 0) leave();
  return {};
}

// With the mutex held.
void RemoteLink::leave() {
  if (frames_ != nullptr) frames_->close(Error(ErrorCode::kDeviceLost, "the worker wants to end"));
}

void RemoteLink::wait_until_lost() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return lost_.has_value(); });
}

void RemoteLink::close() {
  std::promise<void> begun;
  transport_.post([&] {
    end(program_ends());
    begun.set_value();
  });
  begun.get_future().wait();
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_; });
  }
  operations_.stop();
}

void RemoteLink::drop(Error reason) {
  on_progress_thread([this, reason = std::move(reason)] { end(reason); });
}

Error program_ends() { return Error(ErrorCode::kDeviceLost, "the program has no more work"); }

// On the progress thread. Says farewell to the worker, which then closes both connections; the channel closes them if
// the worker does not. The bulk lane stays open until then: its end alone would look like a loss to the worker.
void RemoteLink::end(const Error& reason) {
  mark_lost(reason);
  if (!frames_open_) return lose(reason);
  frames_->close(reason);
}

void RemoteLink::mark_lost(const Error& reason) {
  const std::lock_guard lock(mutex_);
  // Errors of a worker are untrusted: once its device is in use, a program sees only kDeviceLost. Before that, any
  // other code than kProtocol is passed on, because it names a mistake that can be mended.
  const ErrorCode code =
      ready_ || reason.code() == ErrorCode::kProtocol ? ErrorCode::kDeviceLost : reason.code();
  if (!lost_) lost_ = error(code, "worker {}: {}", address_, one_line(reason));
  changed_.notify_all();
}

// On the progress thread. A connection has ended, or could not be made.
void RemoteLink::lose(const Error& reason) {
  mark_lost(reason);
  if (frames_open_) frames_->channel().drop(reason);
  if (bulk_open_) bulk_->drop(reason);
  finish();
}

void RemoteLink::on_closed(const Error& reason) {
  frames_open_ = false;
  lose(reason);
}

// If both lanes close, the other one does so at once.
void RemoteLink::on_bulk_closed(const Error& reason) {
  bulk_open_ = false;
  if (!frames_open_) return lose(reason);
  on_progress_thread_after(kLastWords, [this, reason] { lose(reason); });
}

// Once both lanes are closed, nothing accesses the memory of operations any more.
void RemoteLink::finish() {
  std::optional<Error> reason;
  {
    const std::lock_guard lock(mutex_);
    if (frames_open_ || bulk_open_ || ended_) return;
    reason = lost_;
  }
  operations_.on_lost(*reason);
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

// ---- Telling --------------------------------------------------------------------------------------------------------

wire::Id RemoteLink::next_id() {
  const std::lock_guard lock(mutex_);
  return next_id_++;
}

void RemoteLink::post(const wire::FromClient& record, std::uint64_t operations, std::uint64_t answer_bytes) {
  HeldRecords::Record held{
      {}, static_cast<std::int64_t>(operations), static_cast<std::int64_t>(answer_bytes)};
  held.bytes.reserve(kUsualRecord);
  wire::write(held.bytes, record);
  const std::lock_guard lock(mutex_);
  if (lost_) return;
  outgoing_.add(std::move(held));
}

void RemoteLink::flush() {
  const std::lock_guard lock(mutex_);
  outgoing_.flush();
}

void RemoteLink::done(std::uint64_t operations, std::uint64_t answer_bytes) {
  const std::lock_guard lock(mutex_);
  outgoing_.done(operations, answer_bytes);
}

void RemoteLink::send_now(const wire::FromClient& record) {
  std::vector<std::byte> frame;
  wire::write(frame, record);
  const std::lock_guard lock(mutex_);
  if (!lost_ && frames_ != nullptr) frames_->send(frame);
}

void RemoteLink::send_run(const wire::RunHeader& header, ConstBytes data, BulkLane::Done done) {
  counters_.count_sent(data.size());
  bulk_->send(wire::write_run_header(header), data, std::move(done));
}

void RemoteLink::receive_run(MutableBytes memory, BulkLane::Done done) {
  counters_.count_received(memory.size());
  bulk_->receive(memory, std::move(done));
}

void RemoteLink::on_progress_thread(std::function<void()> function) {
  transport_.post([self = shared_from_this(), function = std::move(function)] { function(); });
}

// Does not keep the link alive for the delay.
void RemoteLink::on_progress_thread_after(std::chrono::milliseconds delay, std::function<void()> function) {
  transport_.post_at(Transport::Clock::now() + delay,
                     [weak = weak_from_this(), function = std::move(function)] {
                       if (const auto self = weak.lock()) function();
                     });
}

Result<wire::Reply> RemoteLink::ask(const wire::FromClient& record, wire::Id id, Code code) {
  Request request{code, {}};
  {
    const std::lock_guard lock(mutex_);
    requests_[id] = &request;
  }
  post(record);
  flush();
  transport_.post([] {});  // so that a thread listens from now on
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return request.reply || ended_; });
  requests_.erase(id);
  if (!request.reply) return *lost_;
  if (request.reply->failure)
    return request.reply->failure->to_error().with_context(fmt::format("on worker {}", address_));
  return std::move(*request.reply);
}

// ---- Hearing --------------------------------------------------------------------------------------------------------

void RemoteLink::on_frame(ConstBytes frame) {
  auto records = wire::read_from_worker(frame);
  Status status = records.ok() ? Status() : Status(records.error());
  const auto is_observed = [](const auto& record) { return std::holds_alternative<wire::Observed>(record); };
  // Observed times need a recent clock shift.
  if (status.ok() && std::ranges::any_of(*records, is_observed)) clock_.renew();
  for (std::size_t n = 0; status.ok() && n < records->size(); ++n)
    status = std::visit([this](auto& value) { return handle(value); }, (*records)[n]);
  if (!status.ok()) frames_->close(std::move(status).error());
}

void RemoteLink::on_run(ConstBytes header, std::uint64_t bytes) {
  auto read = wire::read_run_header(header);
  Status status = read.ok() ? operations_.on_run(*read, bytes) : Status(std::move(read).error());
  if (!status.ok()) frames_->close(std::move(status).error());
}

Status RemoteLink::handle(wire::Reply& record) {
  const std::lock_guard lock(mutex_);
  const auto request = requests_.find(record.request);
  if (request == requests_.end()) return broken("an answer without a request");
  request->second->reply = std::move(record);
  changed_.notify_all();
  return {};
}

Status RemoteLink::handle(wire::NeedModule& record) {
  const std::lock_guard lock(mutex_);
  const auto request = std::ranges::find_if(requests_, [&](const auto& entry) {
    return !entry.second->code.bytes.empty() && entry.second->code.digest == record.digest;
  });
  if (request == requests_.end()) return broken("it wants code that was not announced");
  for (ConstBytes rest = request->second->code.bytes; !rest.empty();) {
    const ConstBytes part = rest.first(std::min(rest.size(), wire::kMaxModulePart));
    std::vector<std::byte> frame;
    wire::write(frame, wire::ModulePart{record.digest, {part.begin(), part.end()}});
    frames_->send(frame);
    rest = rest.subspan(part.size());
  }
  return {};
}

RemoteLink::Traffic RemoteLink::traffic() {
  Traffic traffic{counters_.jobs(), counters_.bytes_sent(), counters_.bytes_received()};
  if (const auto trip = clock_.round_trip()) traffic.round_trip = *trip;
  const std::lock_guard lock(mutex_);
  if (frames_ == nullptr) return traffic;
  traffic.seal = frames_->channel().seal_mode();
  traffic.is_authenticated = frames_->channel().outgoing() != nullptr;
  return traffic;
}

RemoteLink::Capabilities RemoteLink::capabilities() {
  // The rest of a frame is for the order.
  constexpr std::uint64_t kOrder = 2048;
  const std::lock_guard lock(mutex_);
  if (frames_ == nullptr) return {};
  const std::uint16_t version = frames_->channel().version();
  const bool takes_batches = version > kVersionWithoutBatches && welcome_.max_operations >= wire::kMaxSteps;
  return {version > kVersionWithoutElements ? wire::kMaxElements : 0,
          takes_batches ? FrameLane::kLargestFrame - kOrder : 0, version > kVersionWithoutSmallIndices};
}

}  // namespace dhpvm::offload
