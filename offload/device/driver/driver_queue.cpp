// SPDX-License-Identifier: Apache-2.0
#include "offload/device/driver/driver_queue.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/error.h"
#include "bytecode/module.h"

namespace dhpvm::offload {
namespace {

using codegen::KernelParameter;
using codegen::ParameterKind;

const DriverMemory& memory_of(const MemorySpan& span) {
  return static_cast<const DriverMemory&>(*span.memory);
}

OperationRecord::Kind kind_of_copy(const MemorySpan& to, const MemorySpan& from) {
  if (memory_of(from).imported() && !memory_of(to).imported()) return OperationRecord::Kind::kUpload;
  if (memory_of(to).imported() && !memory_of(from).imported()) return OperationRecord::Kind::kDownload;
  return OperationRecord::Kind::kDeviceCopy;
}

// Host memory may have been imported twice.
bool overlap(const MemorySpan& a, const MemorySpan& b) {
  const std::byte* const host_a = a.memory->host();
  const std::byte* const host_b = b.memory->host();
  if (host_a != nullptr && host_b != nullptr) {
    const std::less<const std::byte*> before;
    return before(host_a + a.offset, host_b + b.offset + b.bytes) &&
           before(host_b + b.offset, host_a + a.offset + a.bytes);
  }
  return a.memory == b.memory && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

}  // namespace

DriverKernel::DriverKernel(const void* owner, const KernelImage& image)
    : owner_(owner),
      name_(std::make_shared<const std::string>(image.name)),
      parameters_(image.device_code.parameters),
      dimensions_(image.dimensions),
      scalars_(image.scalars),
      arrays_(image.arrays),
      reductions_(static_cast<std::uint32_t>(image.reductions.size())),
      group_(image.device_code.group),
      reports_(std::ranges::count(parameters_, ParameterKind::kReport, &KernelParameter::kind) != 0) {}

std::uint64_t DriverKernel::useful_items(const IterationSpace& space) const {
  if (reductions_ == 0) return space.count().value_or(0);
  std::uint64_t blocks =
      (space.extent(space.inner()) + bytecode::kReductionBlock - 1) / bytecode::kReductionBlock;
  for (unsigned d = 0; d < space.inner(); ++d) blocks *= space.extent(d);
  return blocks * bytecode::kReductionLanes;
}

Status DriverKernel::check(const Launch& launch) const {
  if (launch.space.dimensions != dimensions_ || launch.scalars.size() != scalars_ ||
      launch.arrays.size() != arrays_)
    return error(ErrorCode::kInvalidArgument,
                 "kernel '{}' takes {} dimensions, {} scalars and {} arrays, not {}, {} and {}", *name_,
                 dimensions_, scalars_, arrays_, launch.space.dimensions, launch.scalars.size(),
                 launch.arrays.size());
  if (launch.space.empty() || !launch.space.count())
    return error(ErrorCode::kInvalidArgument,
                 "kernel '{}' is launched over no iterations, or over 2^63 or more", *name_);
  if (reductions_ != 0) {
    const std::uint64_t registers = useful_items(launch.space) / bytecode::kReductionLanes * reductions_;
    if (launch.partials.memory == nullptr || launch.partials.bytes / sizeof(std::uint64_t) < registers ||
        launch.partials.offset % sizeof(std::uint64_t) != 0)
      return error(ErrorCode::kInvalidArgument, "kernel '{}' needs aligned memory for {} partial results",
                   *name_, registers);
  }
  if (reports_ && (launch.report.memory == nullptr || launch.report.bytes < sizeof(codegen::KernelReport) ||
                   launch.report.offset % alignof(codegen::KernelReport) != 0))
    return error(ErrorCode::kInvalidArgument, "kernel '{}' can trap, and needs aligned memory for a report",
                 *name_);
  return {};
}

std::uint64_t value_of(const KernelParameter& parameter, const Launch& launch) {
  const std::uint32_t i = parameter.index;
  switch (parameter.kind) {
    case ParameterKind::kLow: return static_cast<std::uint64_t>(launch.space.low[i]);
    case ParameterKind::kHigh: return static_cast<std::uint64_t>(launch.space.high[i]);
    case ParameterKind::kScalar: return launch.scalars[i];
    case ParameterKind::kReadable: return static_cast<std::uint64_t>(launch.arrays[i].readable);
    case ParameterKind::kWritable: return static_cast<std::uint64_t>(launch.arrays[i].writable);
    case ParameterKind::kLength: return static_cast<std::uint64_t>(launch.arrays[i].length);
    case ParameterKind::kDimension:
      return static_cast<std::uint64_t>(launch.arrays[i].dims[parameter.dimension]);
    case ParameterKind::kDataOffset:
      return launch.arrays[i].memory.offset + static_cast<std::uint64_t>(launch.arrays[i].first);
    case ParameterKind::kPartialsOffset: return launch.partials.offset;
    case ParameterKind::kReportOffset: return launch.report.offset;
    case ParameterKind::kData:
    case ParameterKind::kPartials:
    case ParameterKind::kReport: break;
  }
  return 0;
}

DriverQueue::DriverQueue(const void* owner, const std::string& device,
                         std::shared_ptr<OperationTracker> tracker, std::shared_ptr<DeviceCounters> counters,
                         QueueOptions options)
    : owner_(owner),
      tracker_(std::move(tracker)),
      counters_(std::move(counters)),
      ledger_(std::make_shared<QueueLedger>()) {
  ledger_->name = options.name.empty() ? fmt::format("a queue of {}", device)
                                       : fmt::format("queue '{}' of {}", options.name, device);
  ledger_->observer = std::move(options.observer);
}

Status DriverQueue::check(const MemorySpan& span, const char* what) const {
  const auto* const memory = dynamic_cast<const DriverMemory*>(span.memory.get());
  if (memory == nullptr || memory->owner() != owner_)
    return error(ErrorCode::kInvalidArgument,
                 "{}: {} is not memory of this device; allocate or import it there first", ledger_->name,
                 what);
  if (span.offset > memory->size() || span.bytes > memory->size() - span.offset)
    return error(ErrorCode::kInvalidArgument, "{}: {} is {} bytes from byte {} on, of memory that has {}",
                 ledger_->name, what, span.bytes, span.offset, memory->size());
  return {};
}

Status DriverQueue::check(const Launch& launch) const {
  const auto* const kernel = dynamic_cast<const DriverKernel*>(launch.kernel.get());
  if (kernel == nullptr || kernel->owner() != owner_)
    return error(ErrorCode::kInvalidArgument, "{}: the kernel is none of this device; load it there first",
                 ledger_->name);
  DHPVM_TRY(kernel->check(launch));
  const auto check_usable = [this](const MemorySpan& span, const char* what) -> Status {
    DHPVM_TRY(check(span, what));
    if (is_usable(memory_of(span))) return {};
    return error(
        ErrorCode::kInvalidArgument,
        "{}: {} is imported host memory, which kernels of this device cannot use; copy it to memory that was "
        "allocated",
        ledger_->name, what);
  };
  for (const ArrayArgument& array : launch.arrays) {
    // An array of which nothing is touched may be nowhere.
    if (array.memory.memory != nullptr || array.memory.bytes != 0)
      DHPVM_TRY(check_usable(array.memory, "an array"));
  }
  if (launch.partials.memory != nullptr)
    DHPVM_TRY(check_usable(launch.partials, "what takes partial results"));
  if (launch.report.memory != nullptr) DHPVM_TRY(check_usable(launch.report, "what takes the report"));
  return {};
}

template <typename Enqueue>
Status DriverQueue::submit(const Order& order, OperationRecord record,
                           std::shared_ptr<const std::string> kernel,
                           std::vector<std::shared_ptr<const void>> uses, Enqueue&& enqueue) {
  DHPVM_ASSIGN(OperationTracker::Plan plan, tracker_->plan(*ledger_, order));
  const auto operation = std::make_shared<Operation>();
  operation->queue = ledger_;
  operation->record = record;
  operation->kernel = std::move(kernel);
  operation->uses = std::move(uses);
  Status status;
  if (plan.failure) {
    operation->failure = std::move(plan.failure);
  } else {
    Waits waits;
    for (const Operation::Wait& wait : plan.waits) {
      if (wait.operation != nullptr && wait.operation->queue != ledger_ &&
          std::ranges::find(waits, wait.operation) == waits.end())
        waits.push_back(wait.operation);
    }
    Enqueued event = enqueue(waits);
    if (event.ok()) {
      operation->event = std::move(event).value();
    } else {
      // Whoever waits for it hears of this too.
      Error refused = std::move(event).error().with_context(fmt::format("submitting to {}", ledger_->name));
      operation->failure = std::make_shared<const Error>(refused);
      status = std::move(refused);
    }
  }
  operation->waits = std::move(plan.waits);
  operation->signals = std::move(plan.signals);
  tracker_->submit(operation);
  tracker_->tidy(*ledger_);
  return status;
}

Status DriverQueue::copy(const MemorySpan& to, const MemorySpan& from, const Order& order,
                         std::uint64_t label) {
  DHPVM_TRY(check(to, "the target of a copy"));
  DHPVM_TRY(check(from, "the source of a copy"));
  if (to.bytes != from.bytes)
    return error(ErrorCode::kInvalidArgument, "{}: a copy of {} bytes to a span of {} bytes", ledger_->name,
                 from.bytes, to.bytes);
  if (to.bytes != 0 && overlap(to, from))
    return error(ErrorCode::kInvalidArgument, "{}: source and target of a copy overlap", ledger_->name);
  OperationRecord record;
  record.kind = kind_of_copy(to, from);
  record.label = label;
  record.bytes = to.bytes;
  const Status status = submit(order, record, nullptr, {to.memory, from.memory}, [&](const Waits& waits) {
    return to.bytes == 0 ? enqueue_nothing(waits) : enqueue_copy(to, from, waits);
  });
  if (status.ok()) counters_->count_copy(record.kind, record.bytes);
  return status;
}

Status DriverQueue::fill(const MemorySpan& to, std::byte value, const Order& order, std::uint64_t label) {
  DHPVM_TRY(check(to, "the target of a fill"));
  OperationRecord record;
  record.kind = OperationRecord::Kind::kFill;
  record.label = label;
  record.bytes = to.bytes;
  return submit(order, record, nullptr, {to.memory}, [&](const Waits& waits) {
    return to.bytes == 0 ? enqueue_nothing(waits) : enqueue_fill(to, value, waits);
  });
}

Status DriverQueue::launch(const Launch& launch, const Order& order, std::uint64_t label) {
  DHPVM_TRY(check(launch));
  OperationRecord record;
  record.kind = OperationRecord::Kind::kLaunch;
  record.label = label;
  record.iterations = *launch.space.count();
  std::vector<std::shared_ptr<const void>> uses;
  uses.reserve(launch.arrays.size() + 3);
  uses.push_back(launch.kernel);
  for (const ArrayArgument& array : launch.arrays) {
    if (array.memory.memory != nullptr) uses.push_back(array.memory.memory);
  }
  if (launch.partials.memory != nullptr) uses.push_back(launch.partials.memory);
  if (launch.report.memory != nullptr) uses.push_back(launch.report.memory);
  const Status status =
      submit(order, record, static_cast<const DriverKernel&>(*launch.kernel).name(), std::move(uses),
             [&](const Waits& waits) { return enqueue_launch(launch, waits); });
  if (status.ok()) ++counters_->launches;
  return status;
}

Status DriverQueue::host_call(std::function<void()> function, const Order& order, std::uint64_t label) {
  if (!function) return error(ErrorCode::kInvalidArgument, "{}: a call of no function", ledger_->name);
  OperationRecord record;
  record.kind = OperationRecord::Kind::kHostCall;
  record.label = label;
  return submit(order, record, nullptr, {}, [&](const Waits& waits) {
    return enqueue_host_call(std::move(function), waits);
  });
}

}  // namespace dhpvm::offload
