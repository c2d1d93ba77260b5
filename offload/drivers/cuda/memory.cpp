// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/cuda/memory.h"

#include <utility>

#include "base/error.h"

namespace dhpvm::offload {

CudaMemory::~CudaMemory() {
  const CudaCurrent current(device_);
  if (address_ != 0) device_.memory().release(address_, size());
  if (registered_) device_.api().MemHostUnregister(host());
}

Result<std::shared_ptr<DeviceMemory>> CudaMemory::allocate(CudaDevice& device, std::size_t bytes) {
  DHPVM_TRY(device.take(bytes));
  std::shared_ptr<CudaMemory> memory(new CudaMemory(device, Kind::kAllocated, bytes, nullptr));
  const CudaCurrent current(device);
  Result<cu::Address> address = device.memory().allocate(bytes);
  if (!address.ok() && address.error().code() == ErrorCode::kDeviceExhausted) {
    std::size_t free = 0;
    std::size_t total = 0;
    device.api().MemGetInfo(&free, &total);
    return std::move(address).error().with_context(fmt::format(
        "device '{}' has {} of its {} free, not the {} that are needed in one piece: use smaller batches "
        "(@batch), or end other programs that use the device",
        device.info().name, bytes_text(free), bytes_text(total), bytes_text(bytes)));
  }
  DHPVM_ASSIGN(memory->address_, std::move(address));
  return std::shared_ptr<DeviceMemory>(memory);
}

Result<std::shared_ptr<DeviceMemory>> CudaMemory::import(CudaDevice& device, std::span<std::byte> bytes,
                                                         HostMemory kind) {
  std::shared_ptr<CudaMemory> memory(new CudaMemory(device, Kind::kImported, bytes.size(), bytes.data()));
  if (kind == HostMemory::kPageable || bytes.empty()) return std::shared_ptr<DeviceMemory>(memory);
  const CudaCurrent current(device);
  const cu::Code code = device.api().MemHostRegister(bytes.data(), bytes.size(), cu::kHostRegisterPortable);
  memory->registered_ = code == cu::CUDA_SUCCESS;
  // Another device or the application has registered a part of the memory, or one of its pages. Which part is unknown,
  // and the driver refuses to copy partly registered memory.
  if (code == cu::CUDA_SUCCESS || code == cu::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
    return std::shared_ptr<DeviceMemory>(memory);
  return device.api().error_of(code, "cuMemHostRegister");
}

}  // namespace dhpvm::offload
