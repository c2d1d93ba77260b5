// SPDX-License-Identifier: Apache-2.0
// An operation of a queue as one object that holds everything it needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "offload/devices/device.h"

namespace dhpvm::offload {

// It keeps memories, kernel and semaphores alive.
struct Operation {
  OperationRecord record;  // without times at first
  // kUpload, kDownload, kDeviceCopy; kFill has no `from`.
  MemorySpan to;
  MemorySpan from;
  std::byte value{};                // kFill
  std::vector<std::byte> contents;  // kUpload by write(), which has no `from`
  // kLaunch: as in Launch.
  std::shared_ptr<Kernel> kernel;
  IterationSpace space;
  std::vector<std::uint64_t> scalars;
  std::vector<ArrayArgument> arrays;
  MemorySpan partials;
  MemorySpan report;
  std::shared_ptr<KernelStop> stop;
  std::function<void()> function;  // kHostCall
  // A batch: what it consists of, in order. Nothing above counts then but `stop`, which is that of its launches.
  std::vector<Operation> steps;
  std::vector<SemaphoreValue> waits;
  std::vector<SemaphoreValue> signals;

  bool is_batch() const { return !steps.empty(); }
};

// The operation that does the launch.
inline Operation operation_of(const Launch& launch, std::uint64_t label) {
  Operation operation;
  operation.record.kind = OperationRecord::Kind::kLaunch;
  operation.record.label = label;
  operation.kernel = launch.kernel;
  operation.space = launch.space;
  operation.scalars.assign(launch.scalars.begin(), launch.scalars.end());
  operation.arrays.assign(launch.arrays.begin(), launch.arrays.end());
  operation.partials = launch.partials;
  operation.report = launch.report;
  operation.stop = launch.stop;
  return operation;
}

// The size of a step for DeviceInfo::batch_bytes: at least as many bytes as a message to a worker has for it.
inline std::uint64_t batch_bytes_of(const Operation& step) {
  return 128 + 8 * step.scalars.size() + 104 * step.arrays.size() + step.contents.size();
}

}  // namespace dhpvm::offload
