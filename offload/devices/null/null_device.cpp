// SPDX-License-Identifier: Apache-2.0
#include "offload/devices/null/null_device.h"

#include <cstring>
#include <new>
#include <utility>

#include "base/error.h"
#include "offload/devices/checked_queue.h"

namespace dhpvm::offload {
namespace {

DeviceInfo describe() {
  DeviceInfo info;
  info.name = "null";
  info.description = "computes nothing (for tests and measurements)";
  info.memory_bytes = std::uint64_t{1} << 30;
  info.largest_allocation = info.memory_bytes;
  info.compute_units = 0;
  return info;
}

// Memory of the device. The handle of the vendor's library would stand here, and be freed by the destructor.
class NullMemory final : public OwnedMemory {
 public:
  NullMemory(DeviceBase& owner, std::byte* data, std::size_t bytes)
      : OwnedMemory(owner, Kind::kAllocated, bytes, data) {}
  ~NullMemory() override { ::operator delete(host()); }
};

class NullQueue final : public CheckedQueue {
 public:
  using CheckedQueue::CheckedQueue;
  Status flush() override { return {}; }

 protected:
  // Everything is done at once. A device that works by itself would pass the operation on here, and call finish() from
  // wherever it learns of the end.
  void submit(Operation operation) override {
    Status status = await(operation);
    operation.record.begin = device().now();
    if (status.ok()) move_bytes(operation);
    operation.record.end = device().now();
    finish(std::move(operation), std::move(status));
  }

 private:
  static void move_bytes(const Operation& operation) {
    if (operation.function) operation.function();
    if (operation.to.bytes == 0) return;
    std::byte* const to = operation.to.memory->host() + operation.to.offset;
    if (operation.record.kind == OperationRecord::Kind::kFill) {
      std::memset(to, std::to_integer<int>(operation.value), operation.to.bytes);
    } else {
      std::memcpy(to, operation.from.memory->host() + operation.from.offset, operation.to.bytes);
    }
  }
};

class NullFactory final : public DeviceFactory {
 public:
  std::string_view prefix() const override { return "null"; }
  std::vector<DeviceListing> list() override { return {{"null", describe().description, false, {}}}; }
  Result<std::unique_ptr<Device>> open(std::string_view name) override {
    if (name != "null") return error(ErrorCode::kNotFound, "there is one null device, named 'null'");
    return std::unique_ptr<Device>(std::make_unique<NullDevice>());
  }
};

}  // namespace

std::unique_ptr<DeviceFactory> null_factory() { return std::make_unique<NullFactory>(); }

NullDevice::NullDevice() : DeviceBase(describe()) {}

Result<std::shared_ptr<DeviceMemory>> NullDevice::allocate(std::size_t bytes) {
  DHPVM_TRY(take(bytes));
  auto* const data = static_cast<std::byte*>(::operator new(bytes, std::nothrow));
  if (data == nullptr) {
    give_back(bytes);
    return error(ErrorCode::kDeviceExhausted,
                 "the system has no {} left for device '{}': use smaller batches (@batch)", bytes_text(bytes),
                 info().name);
  }
  return std::shared_ptr<DeviceMemory>(std::make_shared<NullMemory>(*this, data, bytes));
}

// Where the device wants host memory registered, that would happen here for HostMemory::kPinned.
Result<std::shared_ptr<DeviceMemory>> NullDevice::import_host(std::span<std::byte> memory, HostMemory) {
  return std::shared_ptr<DeviceMemory>(
      std::make_shared<OwnedMemory>(*this, OwnedMemory::Kind::kImported, memory.size(), memory.data()));
}

// A device with kernels derives from OwnedKernel, and keeps in it what it launches.
Result<std::shared_ptr<Kernel>> NullDevice::load(const KernelImage& image) {
  return std::shared_ptr<Kernel>(std::make_shared<OwnedKernel>(*this, image));
}

Result<std::unique_ptr<Queue>> NullDevice::create_queue(QueueOptions options) {
  return std::unique_ptr<Queue>(std::make_unique<NullQueue>(*this, std::move(options)));
}

}  // namespace dhpvm::offload
