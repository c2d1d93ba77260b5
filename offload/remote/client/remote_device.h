// SPDX-License-Identifier: Apache-2.0
// The local proxy of a device on a worker. Operations of queues travel in frames, the data of copies in bulk runs, and
// kernels as bytecode, once.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <string>

#include "offload/devices/checked_queue.h"
#include "offload/devices/device_base.h"
#include "offload/devices/small_indices.h"
#include "offload/remote/client/remote_link.h"
#include "offload/remote/client/remote_objects.h"

namespace dhpvm::offload {

class RemoteDevice final : public DeviceBase, public SmallIndexLoader {
 public:
  // Device `number` of a worker that is ready. `owner` keeps the fabric and transport below the link alive.
  RemoteDevice(std::shared_ptr<const void> owner, std::shared_ptr<RemoteLink> link, std::uint64_t number);

  ~RemoteDevice() override;
  RemoteDevice(const RemoteDevice&) = delete;
  RemoteDevice& operator=(const RemoteDevice&) = delete;

  Result<std::shared_ptr<DeviceMemory>> allocate(std::size_t bytes) override;
  // Needs no registration: the network copies from and to any memory.
  Result<std::shared_ptr<DeviceMemory>> import_host(std::span<std::byte> memory, HostMemory kind) override;
  Result<std::shared_ptr<Kernel>> load(const KernelImage& image) override {
    return load(image, Indices::kAny);
  }
  // Workers of earlier releases, and devices other than GPUs, load it like any other kernel.
  Result<std::shared_ptr<Kernel>> load_small(const KernelImage& image) override {
    return load(image,
                info().is_gpu && link_->capabilities().small_indices ? Indices::kSmall : Indices::kAny);
  }
  Result<std::unique_ptr<Queue>> create_queue(QueueOptions options) override;
  Result<std::shared_ptr<Semaphore>> create_semaphore(std::uint64_t initial) override;

  DeviceStats stats() const override;
  std::optional<Error> gone() const override { return link_->gone(); }

  RemoteLink& link() { return *link_; }
  // Converts a time of the worker's clock to this device's clock.
  std::chrono::nanoseconds local_time(std::int64_t worker_ns) const;

 private:
  enum class Indices : std::uint8_t { kAny, kSmall };
  Result<std::shared_ptr<Kernel>> load(const KernelImage& image, Indices indices);

  const std::shared_ptr<const void> owner_;  // destroyed last
  const std::shared_ptr<RemoteLink> link_;
  const std::uint64_t number_;
};

class RemoteQueue final : public CheckedQueue {
 public:
  static Result<std::unique_ptr<Queue>> create(RemoteDevice& device, std::uint64_t number,
                                               QueueOptions options);
  ~RemoteQueue() override;
  RemoteQueue(const RemoteQueue&) = delete;
  RemoteQueue& operator=(const RemoteQueue&) = delete;

  Status flush() override;

 protected:
  Status admit(const Operation& operation) const override;
  bool takes_as_one(const std::vector<Operation>& steps) const override;
  void submit(Operation operation) override;

 private:
  using Observer = std::function<void(const OperationRecord&)>;

  RemoteQueue(RemoteDevice& device, QueueOptions options, Observer observer, wire::Id id);
  // An operation that has ended.
  struct Ended {
    OperationRecord record;
    std::uint64_t number;
    bool observed;
  };
  void finish_remote(RemoteOperation& operation, Status status);
  // On the device's clock: its offset from this machine's clock, and the time of the end.
  struct EndTime {
    std::chrono::nanoseconds ahead;
    std::chrono::nanoseconds now;
  };
  Ended end(const RemoteOperation& operation, Operation& local, std::uint64_t number, EndTime time) const;
  void observe(const wire::Observed& observed);
  void set_times(OperationRecord& record, const wire::Observed& observed) const;
  void tell();

  RemoteLink& link_;
  // Called when the worker has reported how long an operation has taken, perhaps after the operation's end.
  const Observer observer_;
  const std::shared_ptr<RemoteStream> stream_;
  // In order, from the first whose Observed record is missing. Only for the progress thread.
  std::deque<Ended> ended_;
  std::chrono::nanoseconds last_end_{0};  // of the last operation reported to the observer
};

}  // namespace dhpvm::offload
