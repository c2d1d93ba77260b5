// SPDX-License-Identifier: Apache-2.0
// A simulated accelerator: copies and kernels really run, on the host and at once. A virtual clock counts the time that
// they would take on a device with the given rates. Overlap, chunk sizes and failures can be tried on any machine, with
// the same outcome every time.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/thread_pool.h"
#include "offload/devices/device_base.h"
#include "offload/devices/device_registry.h"
#include "offload/devices/sim/sim_options.h"
#include "offload/devices/sim/virtual_clock.h"

namespace dhpvm::offload {

// An operation begins when it has been submitted, the operation before it in its queue has ended, its waits are over,
// and its engine is free. A copy takes SimOptions::copy plus its bytes at their rate, a launch SimOptions::launch plus
// its iterations at theirs, a host call no time. Submitting takes no time, except that the host waits for copies of
// pageable memory, as with drivers that stage them.
class SimDevice final : public DeviceBase {
 public:
  SimDevice(std::string name, const SimOptions& options, std::shared_ptr<ThreadPool> pool);

  Result<std::shared_ptr<DeviceMemory>> allocate(std::size_t bytes) override;
  Result<std::shared_ptr<DeviceMemory>> import_host(std::span<std::byte> memory, HostMemory kind) override;
  Result<std::shared_ptr<Kernel>> load(const KernelImage& image) override;
  Result<std::unique_ptr<Queue>> create_queue(QueueOptions options) override;
  Result<std::shared_ptr<Semaphore>> create_semaphore(std::uint64_t initial) override;
  std::chrono::nanoseconds now() const override { return clock_.now(); }
  std::optional<Error> gone() const override;

  VirtualClock& clock() { return clock_; }
  ThreadPool& pool() { return *pool_; }
  Engine engine_of(OperationRecord::Kind kind) const;
  // The simulated time of an operation that took the host `measured`; `pageable`: it copies memory that is not pinned.
  VirtualTime duration_of(const OperationRecord& record, bool pageable, VirtualTime measured) const;
  // Counts an operation that is about to be done. Returns the failure that SimOptions prescribe for it, if any.
  Status admit(const OperationRecord& record);

 private:
  Status check_present() const;
  Error lost() const;

  const SimOptions options_;
  const std::shared_ptr<ThreadPool> pool_;
  VirtualClock clock_;
  mutable std::mutex mutex_;
  std::uint64_t operations_ = 0;  // guarded by mutex_, as are the next three
  std::uint64_t launches_ = 0;
  std::uint64_t allocations_ = 0;
  std::uint64_t loads_ = 0;
};

// Opens "sim", and "sim?" with options.
std::unique_ptr<DeviceFactory> sim_factory(std::shared_ptr<ThreadPool> pool);

}  // namespace dhpvm::offload
