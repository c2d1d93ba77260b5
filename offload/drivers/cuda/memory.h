// SPDX-License-Identifier: Apache-2.0
// Memory of CUDA devices.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "offload/drivers/cuda/cuda_device.h"

namespace dhpvm::offload {

class CudaMemory final : public OwnedMemory {
 public:
  static Result<std::shared_ptr<DeviceMemory>> allocate(CudaDevice& device, std::size_t bytes);
  static Result<std::shared_ptr<DeviceMemory>> import(CudaDevice& device, std::span<std::byte> bytes,
                                                      HostMemory kind);
  ~CudaMemory() override;

  // The device address; 0 for host memory.
  cu::Address address() const { return address_; }
  // Whether the device's engines may copy from and to this host memory.
  bool is_pinned() const { return registered_; }
  // Unique among all memories of this device, also later ones at the same address.
  std::uint64_t number() const { return number_; }

 private:
  CudaMemory(CudaDevice& device, Kind kind, std::size_t size, std::byte* host)
      : OwnedMemory(device, kind, size, host), device_(device), number_(device.next_number()) {}

  CudaDevice& device_;
  const std::uint64_t number_;
  cu::Address address_ = 0;
  bool registered_ = false;
};

}  // namespace dhpvm::offload
