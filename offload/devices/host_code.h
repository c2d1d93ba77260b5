// SPDX-License-Identifier: Apache-2.0
// Operations done by the host, for devices whose memory the host sees and whose kernels are machine code of
// this process.
#pragma once

#include <memory>
#include <mutex>

#include "base/thread_pool.h"
#include "codegen/kernel_abi.h"
#include "offload/devices/checked_queue.h"
#include "offload/devices/host/host_loop.h"

namespace dhpvm::offload {

// A kernel of format kHostCode. Thread-safe.
class HostKernel final : public OwnedKernel {
 public:
  // kUnsupported when the image holds something else.
  static Result<std::shared_ptr<Kernel>> load(const DeviceBase& owner, const KernelImage& image);

  // Runs a launch of this kernel to its end. A trap is no error: it goes into the report, unless the one there comes
  // before it.
  Status run(ThreadPool& pool, const Operation& operation);

 private:
  HostKernel(const DeviceBase& owner, const KernelImage& image);

  const std::vector<bytecode::Reduction> reductions_;
  const codegen::KernelCode code_;
  const unsigned width_;
  const unsigned rows_;
  const std::size_t panel_bytes_;
  const std::shared_ptr<const void> code_owner_;
  std::mutex mutex_;
  LoopProfile profile_;  // guarded by mutex_
};

// Does a copy, a fill, a launch of a HostKernel or a host call, whatever it waits for.
Status do_on_host(ThreadPool& pool, const Operation& operation);

// Pageable memory, aligned for any kernel, that its last reference frees. kDeviceExhausted as by DeviceBase::take(), or
// when the system refuses.
Result<std::shared_ptr<DeviceMemory>> allocate_on_host(DeviceBase& owner, std::size_t bytes);
Result<std::shared_ptr<DeviceMemory>> import_from_host(DeviceBase& owner, std::span<std::byte> memory,
                                                       HostMemory kind);

// Whether `left` comes before `right` in iteration order.
bool comes_before(const codegen::KernelTrap& left, const codegen::KernelTrap& right);

}  // namespace dhpvm::offload
