// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/driver_queue.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "codegen/division.h"

namespace dhpvm::offload {

using codegen::KernelParameter;
using codegen::ParameterForm;
using codegen::ParameterKind;
using Kind = OperationRecord::Kind;

DriverKernel::DriverKernel(const DeviceBase& owner, const KernelImage& image)
    : OwnedKernel(owner, image),
      parameters_(image.device_code.parameters),
      needs_{!image.reductions.empty(), image.device_code.group, image.device_code.dealing,
             image.device_code.run,     image.device_code.items, image.device_code.has_squares} {}

namespace {

std::uint64_t plain_value_of(const KernelParameter& parameter, const Operation& launch) {
  const auto bits = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  const std::uint32_t i = parameter.index;
  switch (parameter.kind) {
    case ParameterKind::kLow: return bits(launch.space.low[i]);
    case ParameterKind::kHigh: return bits(launch.space.high[i]);
    case ParameterKind::kScalar: return launch.scalars[i];
    case ParameterKind::kReadable: return bits(launch.arrays[i].shape.readable);
    case ParameterKind::kWritable: return bits(launch.arrays[i].shape.writable);
    case ParameterKind::kLength: return bits(launch.arrays[i].shape.length);
    case ParameterKind::kDimension: return bits(launch.arrays[i].shape.dims[parameter.dimension]);
    case ParameterKind::kDataOffset: return launch.arrays[i].memory.offset + bits(launch.arrays[i].first);
    case ParameterKind::kPartialsOffset: return launch.partials.offset;
    case ParameterKind::kReportOffset: return launch.report.offset;
    case ParameterKind::kData:
    case ParameterKind::kPartials:
    case ParameterKind::kReport: break;
  }
  return 0;
}

}  // namespace

std::uint64_t value_of(const KernelParameter& parameter, const Operation& launch) {
  const std::uint64_t value = plain_value_of(parameter, launch);
  if (parameter.form == ParameterForm::kValue) return value;
  const codegen::Division division = codegen::division_by(static_cast<std::int64_t>(value));
  switch (parameter.form) {
    case ParameterForm::kValue: break;
    case ParameterForm::kMultiplier: return division.multiplier;
    case ParameterForm::kShift: return division.shift;
    case ParameterForm::kSmallMultiplier: return division.small_multiplier;
    case ParameterForm::kSmallShift: return division.small_shift;
  }
  return value;
}

const MemorySpan* span_of(const KernelParameter& parameter, const Operation& launch) {
  switch (parameter.kind) {
    case ParameterKind::kData: return &launch.arrays[parameter.index].memory;
    case ParameterKind::kPartials: return &launch.partials;
    case ParameterKind::kReport: return &launch.report;
    default: return nullptr;
  }
}

DriverQueue::DriverQueue(DeviceBase& device, SubmissionTracker& tracker, QueueOptions options)
    : CheckedQueue(device, std::move(options)), tracker_(tracker), ledger_(std::make_shared<QueueLedger>()) {
  ledger_->describe = [this](const Operation& operation) { return describe(operation); };
  ledger_->observer = this->options().observer;
  ledger_->recorded = device.now();
}

Status DriverQueue::admit(const Operation& operation) const {
  if (operation.record.kind != Kind::kLaunch) return {};
  for (const KernelParameter& parameter : static_cast<const DriverKernel&>(*operation.kernel).parameters()) {
    const MemorySpan* const span = span_of(parameter, operation);
    if (span != nullptr && span->memory != nullptr && !is_usable(*span->memory))
      return error(
          ErrorCode::kInvalidArgument,
          "a launch names host memory that kernels of device '{}' cannot use: copy it to memory that "
          "allocate() has made",
          device().info().name);
  }
  return {};
}

void DriverQueue::submit(Operation operation) {
  const auto submission = std::make_shared<Submission>();
  submission->queue = ledger_;
  submission->operation = std::move(operation);
  tracker_.plan(*submission);
  if (!submission->failure) {
    Waits waits;
    for (const SubmissionPointer& other : submission->after) {
      // A queue keeps its own order by itself.
      if (other != nullptr && other->queue != ledger_ && std::ranges::find(waits, other) == waits.end())
        waits.push_back(other);
    }
    Enqueued event = enqueue(submission->operation, waits);
    if (event.ok()) {
      submission->event = std::move(event).value();
    } else {
      submission->failure = std::make_shared<const Error>(
          std::move(event).error().with_context("while " + describe(submission->operation)));
    }
  }
  tracker_.publish(submission);
}

DriverQueue::Enqueued DriverQueue::enqueue_batch(const Operation&, const Waits&) {
  return error(ErrorCode::kUnsupported, "device '{}' takes no batches", device().info().name);
}

DriverQueue::Enqueued DriverQueue::enqueue(const Operation& operation, const Waits& waits) {
  if (operation.is_batch()) return enqueue_batch(operation, waits);
  switch (operation.record.kind) {
    case Kind::kLaunch: return enqueue_launch(operation, waits);
    case Kind::kHostCall: return enqueue_host_call(operation.function, operation, waits);
    case Kind::kFill:
      if (operation.to.bytes == 0) break;
      return enqueue_fill(operation, waits);
    case Kind::kUpload:
    case Kind::kDownload:
    case Kind::kDeviceCopy:
      if (operation.to.bytes == 0) break;
      return enqueue_copy(operation, waits);
  }
  return enqueue_nothing(waits);
}

}  // namespace dhpvm::offload
