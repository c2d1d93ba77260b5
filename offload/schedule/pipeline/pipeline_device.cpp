// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/pipeline_device.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "offload/schedule/pipeline/link_probe.h"

namespace dhpvm::offload {
namespace {

// Loops that run together are stopped only between chunks: as many as there may be take less than the 100 ms that a
// request to stop may take.
constexpr double kMostJoined = 1e-3;
constexpr const char* kStageNames[] = {"upload", "compute", "download"};

// The bits of a label for the loop's number.
constexpr unsigned kLabelBits = 32;
constexpr std::uint64_t kLabelMask = (std::uint64_t{1} << kLabelBits) - 1;

// A number for the arrows of a trace that is unique among the chunks of all devices: a device is identified by its
// first track.
std::int64_t flow_of(std::uint32_t track, std::uint64_t chunk) {
  return static_cast<std::int64_t>(std::uint64_t{track} << kLabelBits | chunk);
}

// The names of operations in a trace, by OperationRecord::Kind: those that belong to a chunk have an arrow.
struct EventKinds {
  EventKinds() = default;
  explicit EventKinds(Tracer& tracer) {
    constexpr std::string_view kNames[kCount] = {"upload", "download", "copy", "fill", "launch", "host call"};
    constexpr std::string_view kArguments[] = {"bytes", "iterations", "flow"};
    for (unsigned i = 0; i < kCount; ++i) {
      of_chunks[i] = tracer.kind(kNames[i], kArguments);
      others[i] = tracer.kind(kNames[i], std::span(kArguments).first(2));
    }
  }

  static constexpr unsigned kCount = 6;
  std::array<Tracer::Kind, kCount> of_chunks = {};
  std::array<Tracer::Kind, kCount> others = {};
};

// The iterations that a device does in the time of one: a launch with fewer takes as long.
std::uint32_t at_once(const DeviceInfo& info) {
  constexpr std::uint32_t kLanesOfProcessor = 16;
  constexpr std::uint32_t kThreadsOfUnit = 1024;
  return std::max(info.compute_units, 1U) * (info.is_gpu ? kThreadsOfUnit : kLanesOfProcessor);
}

double in_seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

Result<std::unique_ptr<PipelineDevice>> PipelineDevice::create(std::shared_ptr<Device> device,
                                                               BufferPool& pool, Registrations& registrations,
                                                               const PipelineDeviceOptions& options) {
  auto made =
      std::unique_ptr<PipelineDevice>(new PipelineDevice(std::move(device), pool, registrations, options));
  DHPVM_TRY(made->open_queues());
  return made;
}

PipelineDevice::PipelineDevice(std::shared_ptr<Device> device, BufferPool& pool, Registrations& registrations,
                               const PipelineDeviceOptions& options)
    : device_(std::move(device)),
      pool_(pool),
      registrations_(registrations),
      options_(options),
      model_(std::make_shared<DeviceModel>()),
      pace_(std::make_shared<Pace>(at_once(device_->info()))),
      blocks_(*this, std::min(device_->info().memory_bytes, options.budget_bytes)) {}

Status PipelineDevice::open_queues() {
  EventKinds kinds;
  if (options_.tracer != nullptr) {
    kinds = EventKinds(*options_.tracer);
    constexpr std::string_view kFlow[] = {"flow"};
    submit_kind_ = options_.tracer->kind("submit a chunk", kFlow);
  }
  for (unsigned stage = 0; stage < kStages; ++stage) {
    QueueOptions queue;
    queue.name = kStageNames[stage];
    Tracer* const tracer = options_.tracer;
    std::uint32_t track = 0;
    if (tracer != nullptr) {
      track = tracer->add_track(
          fmt::format("{} {}{}", info().name, queue.name, info().is_simulated ? " (simulated)" : ""));
      if (stage == 0) first_track_ = track;
    }
    queue.observer = [reports = reports_, model = model_, pace = is_paced() ? pace_ : nullptr,
                      observer = options_.observer, tracer, track, first_track = first_track_, kinds,
                      queue = static_cast<Stage>(stage), epoch = epoch()](const OperationRecord& labelled) {
      const std::lock_guard lock(reports->mutex);
      if (!reports->are_wanted) return;
      OperationRecord record = labelled;
      record.label = labelled.label & kLabelMask;
      model->record(queue, record);
      if (pace != nullptr && record.kind == OperationRecord::Kind::kLaunch)
        pace->record(record.label, record.iterations, in_seconds(record.end - record.begin));
      if (observer) observer(record);
      if (tracer == nullptr) return;
      const auto kind = static_cast<unsigned>(record.kind);
      const auto bytes = static_cast<std::int64_t>(record.bytes);
      const auto iterations = static_cast<std::int64_t>(record.iterations);
      const std::uint64_t chunk = labelled.label >> kLabelBits;
      if (chunk != 0) {
        tracer->slice(track, kinds.of_chunks[kind], epoch + record.begin, epoch + record.end,
                      {bytes, iterations, flow_of(first_track, chunk)});
      } else {
        tracer->slice(track, kinds.others[kind], epoch + record.begin, epoch + record.end,
                      {bytes, iterations});
      }
    };
    DHPVM_ASSIGN(queues_[stage], device_->create_queue(std::move(queue)));
    DHPVM_ASSIGN(semaphores_[stage], device_->create_semaphore(0));
  }
  return {};
}

Status PipelineDevice::begin_to_measure_link() {
  if (!info().is_remote) return {};
  DHPVM_ASSIGN(link_measured_, probe_link(*this));
  return {};
}

// The begin of the device's clock on the clock of the trace.
Tracer::Clock::time_point PipelineDevice::epoch() const { return Tracer::Clock::now() - device_->now(); }

void PipelineDevice::begin_chunk() {
  if (options_.tracer == nullptr) return;
  chunks_ = chunks_ % kLabelMask + 1;
  chunk_label_ = chunks_ << kLabelBits;
  options_.tracer->instant(options_.loops_track, submit_kind_, {flow_of(first_track_, chunks_)});
}

void PipelineDevice::trace_compilation(std::string_view name, std::chrono::nanoseconds begin,
                                       std::chrono::nanoseconds end) {
  if (options_.tracer == nullptr) return;
  if (!compiler_track_) compiler_track_ = options_.tracer->add_track(info().name + " compiler");
  options_.tracer->slice(*compiler_track_, name, epoch() + begin, epoch() + end);
}

PipelineDevice::~PipelineDevice() {
  end_.raise(StopToken::kInterrupt);
  // Destroying the queues waits for their operations; after that nothing needs the buffers.
  for (std::unique_ptr<Queue>& queue : queues_) queue.reset();
  held_.clear();
  blocks_.forget_copies();
}

void PipelineDevice::leave() {
  options_.poll = nullptr;
  options_.tracer = nullptr;
  blocks_.forget_copies();
  const std::lock_guard lock(reports_->mutex);
  reports_->are_wanted = false;
}

template <typename Submit>
Result<std::uint64_t> PipelineDevice::submit(Stage stage, const Positions& after, Submit&& submit) {
  if (failure_) return *failure_;
  // Operations that others wait for must have been submitted.
  if (stage != Stage::kLaunch && after[Stage::kLaunch] > submitted_[Stage::kLaunch])
    DHPVM_TRY(submit_batch());
  std::array<SemaphoreValue, kStages> waits;
  std::size_t count = 0;
  for (unsigned other = 0; other < kStages; ++other) {
    // Operations of one queue are done in order anyway.
    if (other == static_cast<unsigned>(stage) || after.at[other] <= done_.at[other]) continue;
    waits[count++] = {semaphores_[other], after.at[other]};
  }
  const std::uint64_t position = submitted_[stage] + 1;
  const SemaphoreValue signal{semaphores_[static_cast<unsigned>(stage)], position};
  Order order{std::span(waits).first(count), std::span(&signal, 1)};
  if (Status status = submit(*queues_[static_cast<unsigned>(stage)], order); !status.ok())
    return fail(std::move(status).error());
  submitted_[stage] = position;
  return position;
}

Result<Positions> PipelineDevice::upload(const MemorySpan& to, const MemorySpan& from, const Positions& after,
                                         std::uint64_t whole) {
  Positions there;
  if (!copies_with_launches(whole)) {
    DHPVM_ASSIGN(there[Stage::kUpload], submit(Stage::kUpload, after, [&](Queue& queue, const Order& order) {
                   return queue.copy(to, from, order, chunk_label_);
                 }));
    return there;
  }
  const std::span<const std::byte> bytes(from.memory->host() + from.offset, from.bytes);
  for (std::uint64_t done = 0; done < to.bytes; done += info().write_bytes) {
    const std::uint64_t count = std::min(to.bytes - done, info().write_bytes);
    if (is_batching_) {
      Operation step;
      step.record.kind = OperationRecord::Kind::kUpload;
      step.to = {to.memory, to.offset + done, count};
      const std::span<const std::byte> piece = bytes.subspan(done, count);
      step.contents.assign(piece.begin(), piece.end());
      DHPVM_ASSIGN(there[Stage::kLaunch], add_to_batch(std::move(step), after));
      continue;
    }
    DHPVM_ASSIGN(there[Stage::kLaunch], submit(Stage::kLaunch, after, [&](Queue& queue, const Order& order) {
                   return queue.write({to.memory, to.offset + done, count}, bytes.subspan(done, count), order,
                                      chunk_label_);
                 }));
  }
  return there;
}

Result<Positions> PipelineDevice::download(const MemorySpan& to, const MemorySpan& from,
                                           const Positions& after, std::uint64_t whole) {
  Positions there;
  const bool is_small = copies_with_launches(whole);
  const Stage stage = is_small ? Stage::kLaunch : Stage::kDownload;
  // Such small pieces come back with the answers to the launches.
  const std::uint64_t most = is_small ? info().write_bytes : std::max<std::uint64_t>(to.bytes, 1);
  for (std::uint64_t done = 0; done < to.bytes; done += most) {
    const std::uint64_t count = std::min(to.bytes - done, most);
    if (is_small && is_batching_) {
      Operation step;
      step.record.kind = OperationRecord::Kind::kDownload;
      step.to = {to.memory, to.offset + done, count};
      step.from = {from.memory, from.offset + done, count};
      DHPVM_ASSIGN(there[stage], add_to_batch(std::move(step), after));
      continue;
    }
    DHPVM_ASSIGN(there[stage], submit(stage, after, [&](Queue& queue, const Order& order) {
                   return queue.copy({to.memory, to.offset + done, count},
                                     {from.memory, from.offset + done, count}, order, chunk_label_);
                 }));
  }
  return there;
}

Result<std::uint64_t> PipelineDevice::fill(const MemorySpan& to, std::byte value, const Positions& after) {
  DHPVM_TRY(submit_batch());
  return submit(Stage::kLaunch, after,
                [&](Queue& queue, const Order& order) { return queue.fill(to, value, order, chunk_label_); });
}

Result<MemorySpan> PipelineDevice::unread_report() {
  const auto span = [this] { return MemorySpan{unread_report_.memory, 0, sizeof(codegen::KernelReport)}; };
  if (unread_report_.memory != nullptr) return span();
  DHPVM_ASSIGN(unread_report_, blocks_.acquire(sizeof(codegen::KernelReport)));
  // Kernels lock it, so it must be zero at first.
  DHPVM_TRY(fill(span(), std::byte{0}, unread_report_.busy));
  return span();
}

void PipelineDevice::begin_batch() { is_batching_ = overlaps() && info().batch_bytes != 0; }

Status PipelineDevice::end_batch() {
  is_batching_ = false;
  return submit_batch();
}

Result<std::uint64_t> PipelineDevice::add_to_batch(Operation step, const Positions& after) {
  const std::uint64_t bytes = batch_bytes_of(step);
  if (batch_bytes_ + bytes > info().batch_bytes) DHPVM_TRY(submit_batch());
  if (failure_) return *failure_;
  step.record.label |= chunk_label_;
  // Room for as many operations as short loops mostly have, because moving operations is expensive.
  if (batch_.empty()) batch_.reserve(32);
  batch_.push_back(std::move(step));
  batch_bytes_ += bytes;
  batch_after_.include(after);
  return submitted_[Stage::kLaunch] + 1;
}

Status PipelineDevice::submit_batch() {
  if (batch_.empty()) return {};
  batch_bytes_ = 0;
  const Positions after = std::exchange(batch_after_, {});
  const auto position = submit(Stage::kLaunch, after, [&](Queue& queue, const Order& order) {
    return queue.batch(std::exchange(batch_, {}), order);
  });
  batch_.clear();
  return position.ok() ? Status() : Status(position.error());
}

Result<std::uint64_t> PipelineDevice::launch(const Launch& launch, const Positions& after, const Loop& loop) {
  const std::uint64_t label = loop.label & kLabelMask;
  const double expected = is_paced() ? pace_->expected_seconds(loop) : 0;
  const auto begin = Tracer::Clock::now();
  auto position = is_batching_ ? add_to_batch(operation_of(launch, label), after)
                               : submit(Stage::kLaunch, after, [&](Queue& queue, const Order& order) {
                                   return queue.launch(launch, order, chunk_label_ | label);
                                 });
  if (!position.ok()) return position;
  const bool is_done = info().stops_kernels && !is_batching_;
  if (is_done || is_paced()) pace_->launched(loop);
  // The device may have a clock of its own, so measure with this one.
  if (is_done) pace_->record(label, *loop.space.count(), in_seconds(Tracer::Clock::now() - begin));
  if (is_paced()) pace_->add_under_way(*position, expected);
  return position;
}

const Error& PipelineDevice::fail(Error reason) {
  if (!failure_) failure_ = std::move(reason);
  return *failure_;
}

bool PipelineDevice::joins(const Loop& loop) {
  if (!overlaps() || (info().stops_kernels && info().shares_host_memory)) return false;
  if (info().is_remote) return copies_with_launches(1);
  return *loop.space.count() <= pace_->most_iterations(loop) && pace_->expected_seconds(loop) <= kMostJoined;
}

void PipelineDevice::hold(Buffer& buffer, const Positions& until) {
  held_.push_back({BufferUse(buffer), until});
}

void PipelineDevice::release_held() {
  while (!held_.empty() && fate_of(held_.front().until) != Fate::kUnderWay) held_.pop_front();
}

}  // namespace dhpvm::offload
