// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/client/remote_device.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

using Kind = OperationRecord::Kind;

DeviceInfo describe(RemoteLink& link, std::uint64_t number) {
  const wire::Device& device = link.welcome().devices[number];
  DeviceInfo info;
  info.name = fmt::format("remote/{}/{}", link.address(), device.name);
  info.description = fmt::format("{} of {}", device.description, link.welcome().name);
  info.format = KernelFormat::kBytecode;
  info.memory_bytes = std::min(device.memory_bytes, link.welcome().memory_quota);
  info.largest_allocation = std::min(device.largest_allocation, info.memory_bytes);
  info.compute_units = static_cast<std::uint32_t>(std::min<std::uint64_t>(device.compute_units, 1u << 20));
  info.copy_engines = 2;  // the network transfers in both directions at once
  info.is_gpu = device.is_gpu;
  info.is_simulated = device.is_simulated;
  info.may_be_lost = link.writes_back();
  info.is_remote = true;
  info.write_bytes = link.capabilities().write_bytes;
  info.batch_bytes = link.capabilities().batch_bytes;
  return info;
}

// Unknown numbers stay unknown.
codegen::KernelSite site_of(const wire::Site& site) {
  codegen::KernelSite made;
  made.kind = static_cast<codegen::KernelSite::Kind>(site.kind);
  made.trap = static_cast<codegen::TrapKind>(site.trap);
  for (const wire::Site::Call& call : site.calls) {
    made.calls.push_back({static_cast<std::uint32_t>(call.function), static_cast<std::uint32_t>(call.pc)});
  }
  return made;
}

}  // namespace

RemoteDevice::RemoteDevice(std::shared_ptr<const void> owner, std::shared_ptr<RemoteLink> link,
                           std::uint64_t number)
    : DeviceBase(describe(*link, number)), owner_(std::move(owner)), link_(std::move(link)), number_(number) {
  link_->hold();
}

RemoteDevice::~RemoteDevice() { link_->let_go(); }

Result<std::shared_ptr<DeviceMemory>> RemoteDevice::allocate(std::size_t bytes) {
  DHPVM_TRY(take(bytes));
  const wire::Id request = link_->next_id();
  const wire::Id id = link_->next_id();
  auto reply = link_->ask(wire::Allocate{request, number_, id, bytes}, request);
  if (!reply.ok()) {
    give_back(bytes);
    return std::move(reply).error();
  }
  return std::shared_ptr<DeviceMemory>(std::make_shared<RemoteMemory>(*this, link_, id, bytes));
}

Result<std::shared_ptr<DeviceMemory>> RemoteDevice::import_host(std::span<std::byte> memory, HostMemory) {
  return std::shared_ptr<DeviceMemory>(
      std::make_shared<OwnedMemory>(*this, OwnedMemory::Kind::kImported, memory.size(), memory.data()));
}

Result<std::shared_ptr<Kernel>> RemoteDevice::load(const KernelImage& image, Indices indices) {
  if (image.format != KernelFormat::kBytecode || image.bytecode == nullptr) {
    return error(
        ErrorCode::kUnsupported,
        "device '{}' takes verified bytecode, and kernel '{}' comes as something else: send its module",
        info().name, image.name);
  }
  if (image.proven.size() > wire::kMaxProven) {
    return error(ErrorCode::kUnsupported, "kernel '{}' has {} accesses that are proven; {} can be sent",
                 image.name, image.proven.size(), wire::kMaxProven);
  }
  wire::LoadKernel load;
  load.request = link_->next_id();
  load.device = number_;
  load.kernel = link_->next_id();
  load.digest = link_->fabric().sha256(*image.bytecode);
  load.module_bytes = image.bytecode->size();
  load.number = image.kernel;
  load.proven.assign(image.proven.begin(), image.proven.end());
  load.name = image.name;
  const wire::FromClient record =
      indices == Indices::kSmall ? wire::FromClient(wire::LoadSmall{load}) : wire::FromClient(load);
  DHPVM_ASSIGN(const wire::Reply reply, link_->ask(record, load.request, {load.digest, *image.bytecode}));
  KernelImage known = image;
  known.bytecode = nullptr;
  known.sites.clear();
  for (const wire::Site& site : reply.sites) known.sites.push_back(site_of(site));
  const Kernel::Compilation compilation{local_time(reply.begin_ns), local_time(reply.end_ns)};
  return std::shared_ptr<Kernel>(
      std::make_shared<RemoteKernel>(*this, link_, load.kernel, known, compilation));
}

DeviceStats RemoteDevice::stats() const {
  DeviceStats stats = DeviceBase::stats();
  stats.batches = link_->counters().batches();
  stats.replays = link_->counters().replays();
  return stats;
}

// Wraps on overflow: a worker may send any number.
std::chrono::nanoseconds RemoteDevice::local_time(std::int64_t worker_ns) const {
  const std::chrono::nanoseconds shift =
      link_->clock().shift() + (now() - std::chrono::steady_clock::now().time_since_epoch());
  return std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<std::uint64_t>(worker_ns) +
                                                            static_cast<std::uint64_t>(shift.count())));
}

Result<std::unique_ptr<Queue>> RemoteDevice::create_queue(QueueOptions options) {
  return RemoteQueue::create(*this, number_, std::move(options));
}

Result<std::shared_ptr<Semaphore>> RemoteDevice::create_semaphore(std::uint64_t initial) {
  return std::shared_ptr<Semaphore>(std::make_shared<RemoteSemaphore>(timeline(), initial, link_, number_));
}

// ---- Queues ---------------------------------------------------------------------------------------------------------

Result<std::unique_ptr<Queue>> RemoteQueue::create(RemoteDevice& device, std::uint64_t number,
                                                   QueueOptions options) {
  RemoteLink& link = device.link();
  const wire::Id request = link.next_id();
  const wire::Id id = link.next_id();
  Observer observer = std::exchange(options.observer, nullptr);
  DHPVM_TRY(link.ask(wire::CreateQueue{request, id, number, observer != nullptr, options.name}, request));
  return std::unique_ptr<Queue>(new RemoteQueue(device, std::move(options), std::move(observer), id));
}

RemoteQueue::RemoteQueue(RemoteDevice& device, QueueOptions options, Observer observer, wire::Id id)
    : CheckedQueue(device, std::move(options)),
      link_(device.link()),
      observer_(std::move(observer)),
      stream_(std::make_shared<RemoteStream>()) {
  stream_->id = id;
  stream_->finish = [this](RemoteOperation& operation, Status status) {
    finish_remote(operation, std::move(status));
  };
  if (observer_) stream_->observe = [this](const wire::Observed& observed) { observe(observed); };
  link_.operations().add(stream_);
}

RemoteQueue::~RemoteQueue() {
  link_.flush();
  link_.operations().remove(*stream_);
  link_.post(wire::DestroyQueue{stream_->id});
  link_.flush();
  for (Ended& ended : ended_) ended.observed = true;
  tell();
}

Status RemoteQueue::flush() {
  link_.flush();
  return {};
}

// A record must fit into a frame.
Status RemoteQueue::admit(const Operation& operation) const {
  DHPVM_TRY(CheckedQueue::admit(operation));
  if (operation.record.kind != Kind::kLaunch) return {};
  const std::size_t scalars = operation.scalars.size();
  const std::size_t arrays = operation.arrays.size();
  if (scalars > 256 || arrays > 64) {
    return error(ErrorCode::kUnsupported,
                 "a launch with {} scalars and {} arrays cannot be sent to a worker: 256 and 64 are the most",
                 scalars, arrays);
  }
  return {};
}

// Whether all of the batch fits into a record: launches, and small data that travels with them.
bool RemoteQueue::takes_as_one(const std::vector<Operation>& steps) const {
  std::uint64_t bytes = 0;
  for (const Operation& step : steps) {
    const bool is_answer =
        step.record.kind == Kind::kDownload && step.to.bytes != 0 && step.to.bytes <= wire::kMaxElements;
    if (step.record.kind != Kind::kLaunch && step.contents.empty() && !is_answer) return false;
    bytes += batch_bytes_of(step);
  }
  return steps.size() <= wire::kMaxSteps && bytes <= device().info().batch_bytes;
}

void RemoteQueue::submit(Operation operation) {
  auto remote = std::make_shared<RemoteOperation>();
  remote->operation = std::move(operation);
  link_.operations().submit(*stream_, remote);
}

void RemoteQueue::finish_remote(RemoteOperation& operation, Status status) {
  // Once for all steps of a batch: reading a clock takes longer than the rest of the work for a step.
  const std::chrono::nanoseconds now = device().now();
  const EndTime time{now - std::chrono::steady_clock::now().time_since_epoch(), now};
  std::vector<Ended> ended;
  ended.reserve(operation.count());
  if (!operation.operation.is_batch())
    ended.push_back(end(operation, operation.operation, operation.number, time));
  std::uint64_t number = operation.number;
  for (Operation& step : operation.operation.steps) ended.push_back(end(operation, step, number++, time));
  const bool ok = status.ok();
  operation.host_function = nullptr;  // it keeps memory alive, as the operation did
  if (!ok) status = std::move(status).error().with_context("while " + describe(operation.operation));
  finish(std::move(operation.operation), std::move(status));
  if (!observer_ || !ok) return;
  ended_.insert(ended_.end(), ended.begin(), ended.end());
  tell();
}

// Fills in the times of `local`, which is the operation or one of its steps.
RemoteQueue::Ended RemoteQueue::end(const RemoteOperation& operation, Operation& local, std::uint64_t number,
                                    EndTime time) const {
  OperationRecord& record = local.record;
  record.begin = operation.begin.time_since_epoch() + time.ahead;
  record.end = operation.is_in_frame ? record.begin : time.now;
  // Transfers are timed here: most of their time is spent in the network.
  if (record.kind == Kind::kDownload || record.kind == Kind::kUpload || operation.host_function)
    return {record, number, true};
  const auto observed = std::ranges::find(operation.observed, number, &wire::Observed::operation);
  Ended ended{record, number, observed != operation.observed.end()};
  if (ended.observed) set_times(ended.record, *observed);
  return ended;
}

void RemoteQueue::observe(const wire::Observed& observed) {
  const auto found = std::ranges::find(ended_, observed.operation, &Ended::number);
  if (found == ended_.end()) return;
  set_times(found->record, observed);
  found->observed = true;
  tell();
}

// Clocks agree within some microseconds, but the operations of a queue run one after the other.
void RemoteQueue::tell() {
  for (; !ended_.empty() && ended_.front().observed; ended_.pop_front()) {
    OperationRecord& record = ended_.front().record;
    record.begin = std::max(record.begin, last_end_);
    record.end = last_end_ = std::max(record.end, record.begin);
    observer_(record);
  }
}

// Converts from the worker's clock to this machine's, and then to the device's clock here.
void RemoteQueue::set_times(OperationRecord& record, const wire::Observed& observed) const {
  const auto& device = static_cast<const RemoteDevice&>(this->device());
  record.begin = device.local_time(observed.begin_ns);
  record.end = device.local_time(observed.end_ns);
}

}  // namespace dhpvm::offload
