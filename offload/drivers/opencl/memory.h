// SPDX-License-Identifier: Apache-2.0
// Memory of OpenCL devices.
#pragma once

#include <memory>
#include <span>

#include "offload/drivers/opencl/opencl_device.h"

namespace dhpvm::offload {

class OpenClMemory final : public OwnedMemory {
 public:
  static Result<std::shared_ptr<DeviceMemory>> allocate(OpenClDevice& device, std::size_t bytes);
  static Result<std::shared_ptr<DeviceMemory>> import(OpenClDevice& device, std::span<std::byte> memory,
                                                      HostMemory kind);
  ~OpenClMemory() override;

  // Null for host memory that is accessed only by its address.
  cl_mem buffer() const { return buffer_; }

 private:
  struct FreePages {
    void operator()(std::byte* pages) const;
  };
  using Pages = std::unique_ptr<std::byte, FreePages>;

  OpenClMemory(OpenClDevice& device, Kind kind, std::size_t size, std::byte* host);
  // Makes the driver lock the host's pages, if it can. Returns the driver's code.
  cl_int pin(std::span<std::byte> memory);
  void unpin();

  OpenClDevice& device_;
  Pages pages_;              // of allocations of devices that share the host's memory
  cl_mem buffer_ = nullptr;  // passed to kernels and commands
  cl_mem pinned_ = nullptr;  // keeps the host's pages locked; mapped during its whole life
  void* mapped_ = nullptr;
};

}  // namespace dhpvm::offload
