// SPDX-License-Identifier: Apache-2.0
#include "offload/devices/checked_queue.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

using Kind = OperationRecord::Kind;

// Both spans have been checked.
bool overlap(const MemorySpan& a, const MemorySpan& b) {
  if (a.memory != b.memory || a.bytes == 0 || b.bytes == 0) return false;
  return a.offset < b.offset ? b.offset - a.offset < a.bytes : a.offset - b.offset < b.bytes;
}

TimelineSemaphore& semaphore_of(const SemaphoreValue& entry) {
  return static_cast<TimelineSemaphore&>(*entry.semaphore);
}

bool is_imported(const MemorySpan& span) {
  return static_cast<const OwnedMemory&>(*span.memory).is_imported();
}

// Host memory is on either side of the link, or on both: then nothing crosses it.
Kind direction(const MemorySpan& to, const MemorySpan& from) {
  if (is_imported(from) == is_imported(to)) return Kind::kDeviceCopy;
  return is_imported(from) ? Kind::kUpload : Kind::kDownload;
}

// Structures and registers that kernels write as such.
bool is_aligned(const MemorySpan& span) {
  return span.offset % alignof(std::uint64_t) == 0 &&
         reinterpret_cast<std::uintptr_t>(span.memory->host()) % alignof(std::uint64_t) == 0;
}

}  // namespace

Status CheckedQueue::copy(const MemorySpan& to, const MemorySpan& from, const Order& order,
                          std::uint64_t label) {
  Operation operation;
  operation.record.kind = Kind::kDeviceCopy;
  operation.record.label = label;
  operation.to = to;
  operation.from = from;
  return accept(std::move(operation), order);
}

Status CheckedQueue::fill(const MemorySpan& to, std::byte value, const Order& order, std::uint64_t label) {
  Operation operation;
  operation.record.kind = Kind::kFill;
  operation.record.label = label;
  operation.to = to;
  operation.value = value;
  return accept(std::move(operation), order);
}

Status CheckedQueue::launch(const Launch& launch, const Order& order, std::uint64_t label) {
  return accept(operation_of(launch, label), order);
}

Status CheckedQueue::write(const MemorySpan& to, std::span<const std::byte> bytes, const Order& order,
                           std::uint64_t label) {
  Operation operation;
  operation.record.kind = Kind::kUpload;
  operation.record.label = label;
  operation.to = to;
  operation.contents.assign(bytes.begin(), bytes.end());
  if (bytes.empty()) DHPVM_TRY(check_write(operation));
  return accept(std::move(operation), order);
}

Status CheckedQueue::host_call(std::function<void()> function, const Order& order, std::uint64_t label) {
  Operation operation;
  operation.record.kind = Kind::kHostCall;
  operation.record.label = label;
  operation.function = std::move(function);
  return accept(std::move(operation), order);
}

Status CheckedQueue::batch(std::vector<Operation> steps, const Order& order) {
  if (steps.empty()) return error(ErrorCode::kInvalidArgument, "a batch has no operations: give it some");
  for (Operation& step : steps) DHPVM_TRY(check(step));
  if (!takes_as_one(steps)) {
    for (std::size_t n = 0; n < steps.size(); ++n) {
      const bool is_last = n + 1 == steps.size();
      const Order of_step{n == 0 ? order.waits : std::span<const SemaphoreValue>(),
                          is_last ? order.signals : std::span<const SemaphoreValue>()};
      DHPVM_TRY(accept(std::move(steps[n]), of_step));
    }
    return {};
  }
  Operation whole;
  for (const Operation& step : steps) {
    if (step.stop != nullptr) whole.stop = step.stop;
  }
  whole.steps = std::move(steps);
  return accept(std::move(whole), order);
}

Status CheckedQueue::accept(Operation operation, const Order& order) {
  if (!operation.is_batch()) DHPVM_TRY(check(operation));
  Status status = operation.is_batch() ? Status() : admit(operation);
  for (const Operation& step : operation.steps) {
    if (status.ok()) status = admit(step);
  }
  if (status.ok()) status = device_.timeline().submit(order);
  if (!status.ok()) return std::move(status).error().with_context("while " + describe(operation));
  operation.waits.assign(order.waits.begin(), order.waits.end());
  operation.signals.assign(order.signals.begin(), order.signals.end());
  submit(std::move(operation));
  return {};
}

Status CheckedQueue::admit(const Operation& operation) const {
  if (operation.record.kind != Kind::kLaunch || device_.info().shares_host_memory) return {};
  const auto is_host = [](const MemorySpan& span) { return span.memory != nullptr && is_imported(span); };
  const auto array = std::ranges::find_if(operation.arrays, is_host, &ArrayArgument::memory);
  if (array == operation.arrays.end() && !is_host(operation.partials) && !is_host(operation.report))
    return {};
  const std::string what = array == operation.arrays.end()
                               ? "partial results or report of the launch are"
                               : fmt::format("array {} of the launch is", array - operation.arrays.begin());
  return error(ErrorCode::kInvalidArgument,
               "{} in memory of the host, which device '{}' does not share: use memory of "
               "the device, and copy",
               what, device_.info().name);
}

Status CheckedQueue::check(Operation& operation) const {
  OperationRecord& record = operation.record;
  record.bytes = operation.to.bytes;
  switch (record.kind) {
    case Kind::kUpload:
    case Kind::kDownload:
    case Kind::kDeviceCopy:
      if (!operation.contents.empty()) return check_write(operation);
      DHPVM_TRY(check_copy(operation));
      record.kind = direction(operation.to, operation.from);
      return {};
    case Kind::kFill: return check(operation.to, "what is to be filled");
    case Kind::kLaunch:
      DHPVM_TRY(check_launch(operation));
      record.iterations = *operation.space.count();
      return {};
    case Kind::kHostCall:
      if (operation.function) return {};
      return error(ErrorCode::kInvalidArgument, "a host call has no function: pass one that can be called");
  }
  return {};
}

Status CheckedQueue::check_copy(const Operation& operation) const {
  const MemorySpan& to = operation.to;
  const MemorySpan& from = operation.from;
  DHPVM_TRY(check(to, "the destination of a copy"));
  DHPVM_TRY(check(from, "the source of a copy"));
  if (to.bytes != from.bytes)
    return error(ErrorCode::kInvalidArgument,
                 "a copy goes from {} bytes to {}: both spans must be of the same size", from.bytes,
                 to.bytes);
  if (overlap(to, from))
    return error(ErrorCode::kInvalidArgument,
                 "source and destination of a copy of {} bytes overlap: copy by way of other memory",
                 to.bytes);
  return {};
}

Status CheckedQueue::check_write(const Operation& operation) const {
  const MemorySpan& to = operation.to;
  const std::size_t bytes = operation.contents.size();
  DHPVM_TRY(check(to, "the destination of a write"));
  if (to.bytes != bytes || to.bytes == 0 || is_imported(to))
    return error(ErrorCode::kInvalidArgument,
                 "{} bytes are written to {} of {}: write as many as there are, and to memory of the device",
                 bytes, to.bytes, is_imported(to) ? "the host" : "the device");
  if (bytes > device_.info().write_bytes)
    return error(ErrorCode::kUnsupported, "device '{}' takes {} bytes with a write, not {}: use a copy",
                 device_.info().name, device_.info().write_bytes, bytes);
  return {};
}

bool CheckedQueue::lies_inside(const MemorySpan& span) const {
  const auto* const memory = dynamic_cast<const OwnedMemory*>(span.memory.get());
  return memory != nullptr && &memory->owner() == &device_ && span.offset <= memory->size() &&
         span.bytes <= memory->size() - span.offset;
}

Status CheckedQueue::check(const MemorySpan& span, std::string_view what) const {
  if (lies_inside(span)) return {};
  const auto* const memory = dynamic_cast<const OwnedMemory*>(span.memory.get());
  if (memory == nullptr || &memory->owner() != &device_)
    return error(ErrorCode::kInvalidArgument,
                 "{} is {}: use memory that allocate() or import_host() of device '{}' has made", what,
                 span.memory == nullptr ? "no memory" : "memory of another device", device_.info().name);
  return error(ErrorCode::kInvalidArgument,
               "{}: {} bytes from offset {} do not lie inside their memory, which has {} bytes", what,
               span.bytes, span.offset, memory->size());
}

Status CheckedQueue::check_array(const ArrayArgument& array, std::size_t index) const {
  // An array that is closed, or no array at all: the kernel sees that from the lengths, and touches nothing.
  if (array.memory.memory == nullptr && array.shape.readable <= 0 && array.shape.writable <= 0) return {};
  if (lies_inside(array.memory)) return {};
  return check(array.memory, fmt::format("array {} of a launch", index));
}

Status CheckedQueue::check_launch(const Operation& launch) const {
  const auto* const kernel = dynamic_cast<const OwnedKernel*>(launch.kernel.get());
  if (kernel == nullptr || &kernel->owner() != &device_)
    return error(ErrorCode::kInvalidArgument,
                 "the kernel of a launch is {}: use one that load() of device '{}' has made",
                 kernel == nullptr ? "none" : "one of another device", device_.info().name);
  const KernelShape& shape = kernel->shape();
  if (launch.space.dimensions != shape.dimensions || launch.scalars.size() != shape.scalars ||
      launch.arrays.size() != shape.arrays)
    return error(
        ErrorCode::kInvalidArgument,
        "kernel '{}' takes {} dimensions, {} scalars and {} arrays, but is launched with {}, {} and {}",
        shape.name, shape.dimensions, shape.scalars, shape.arrays, launch.space.dimensions,
        launch.scalars.size(), launch.arrays.size());
  if (launch.space.empty() || !launch.space.count())
    return error(ErrorCode::kInvalidArgument,
                 "kernel '{}' is launched over {} iterations: leave out empty launches, and cut large ones",
                 shape.name, launch.space.empty() ? "no" : "2^63 or more");
  for (std::size_t n = 0; n < launch.arrays.size(); ++n) DHPVM_TRY(check_array(launch.arrays[n], n));
  if (shape.reductions > 0) {
    DHPVM_TRY(check(launch.partials, "the partial results of a launch"));
    const std::uint64_t bytes = reduction_blocks(launch.space) * shape.reductions * sizeof(std::uint64_t);
    if (launch.partials.bytes < bytes || !is_aligned(launch.partials))
      return error(
          ErrorCode::kInvalidArgument,
          "the partial results of kernel '{}' take {} bytes here, aligned to 8; there are {} at offset {}",
          shape.name, bytes, launch.partials.bytes, launch.partials.offset);
  }
  if (shape.can_trap) {
    DHPVM_TRY(check(launch.report, "the report of a launch"));
    if (launch.report.bytes < sizeof(codegen::KernelReport) || !is_aligned(launch.report))
      return error(
          ErrorCode::kInvalidArgument,
          "kernel '{}' can trap, and reports that in {} bytes, aligned to 8; there are {} at offset {}",
          shape.name, sizeof(codegen::KernelReport), launch.report.bytes, launch.report.offset);
  }
  return {};
}

Status CheckedQueue::await(const Operation& operation) const {
  if (failure_) return *failure_;
  for (const SemaphoreValue& wait : operation.waits) {
    // With no deadline there are but two ways out.
    DHPVM_TRY(semaphore_of(wait).await(wait.value));
  }
  return {};
}

void CheckedQueue::finish(Operation operation, Status status) {
  if (!status.ok()) {
    if (!failure_) failure_ = std::move(status).error();
    for (const SemaphoreValue& signal : operation.signals) semaphore_of(signal).fail(*failure_);
    return;
  }
  // A waiter for this operation may expect its memory back.
  if (!operation.is_batch()) end(operation);
  for (Operation& step : operation.steps) end(step);
  for (const SemaphoreValue& signal : operation.signals) semaphore_of(signal).reach(signal.value);
  if (!options_.observer) return;
  if (!operation.is_batch()) options_.observer(operation.record);
  for (const Operation& step : operation.steps) options_.observer(step.record);
}

void CheckedQueue::end(Operation& operation) const {
  device_.count(operation.record);
  operation.to = operation.from = operation.partials = operation.report = {};
  operation.arrays.clear();
  operation.kernel.reset();
  operation.function = nullptr;
}

std::string CheckedQueue::describe(const Operation& operation) const {
  const std::string bytes = bytes_text(operation.record.bytes);
  std::string what;
  if (operation.is_batch())
    return fmt::format("doing a batch of {} operations on device '{}' (queue '{}')", operation.steps.size(),
                       device_.info().name, options_.name);
  switch (operation.record.kind) {
    case Kind::kUpload: what = fmt::format("copying {} to", bytes); break;
    case Kind::kDownload: what = fmt::format("copying {} from", bytes); break;
    case Kind::kDeviceCopy: what = fmt::format("copying {} on", bytes); break;
    case Kind::kFill: what = fmt::format("filling {} on", bytes); break;
    case Kind::kLaunch:
      what = fmt::format("running kernel '{}' on",
                         static_cast<const OwnedKernel&>(*operation.kernel).shape().name);
      break;
    case Kind::kHostCall: what = "calling the host from"; break;
  }
  return fmt::format("{} device '{}' (queue '{}')", what, device_.info().name, options_.name);
}

}  // namespace dhpvm::offload
