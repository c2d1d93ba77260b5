// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/opencl/memory.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

// Alignment that integrated GPUs need to use host memory in place; processors accept it.
constexpr std::size_t kPage = 4096;
constexpr std::size_t kCacheLine = 64;

bool is_aligned(std::span<const std::byte> bytes) {
  return reinterpret_cast<std::uintptr_t>(bytes.data()) % kPage == 0 && bytes.size() % kCacheLine == 0;
}

}  // namespace

void OpenClMemory::FreePages::operator()(std::byte* pages) const { std::free(pages); }

OpenClMemory::OpenClMemory(OpenClDevice& device, Kind kind, std::size_t size, std::byte* host)
    : OwnedMemory(device, kind, size, host), device_(device) {}

OpenClMemory::~OpenClMemory() {
  if (buffer_ != nullptr) device_.api().ReleaseMemObject(buffer_);
  unpin();
}

// OpenCL has no call that locks pages. Drivers with copy engines recognise addresses inside a mapped buffer: so a
// buffer over the host's memory stays mapped, and has no other use; copies pass only the address.
cl_int OpenClMemory::pin(std::span<std::byte> memory) {
  const OpenClApi& api = device_.api();
  cl_int code = CL_SUCCESS;
  pinned_ = api.CreateBuffer(device_.context(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, memory.size(),
                             memory.data(), &code);
  if (code != CL_SUCCESS) return code;
  cl_command_queue const queue =
      api.CreateCommandQueue(device_.context(), device_.candidate().device, 0, &code);
  if (code == CL_SUCCESS) {
    mapped_ = api.EnqueueMapBuffer(queue, pinned_, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, memory.size(), 0,
                                   nullptr, nullptr, &code);
    if (code != CL_SUCCESS) mapped_ = nullptr;
    api.ReleaseCommandQueue(queue);
  }
  if (code != CL_SUCCESS) unpin();
  return code;
}

void OpenClMemory::unpin() {
  const OpenClApi& api = device_.api();
  if (mapped_ != nullptr) {
    cl_int code = CL_SUCCESS;
    cl_command_queue const queue =
        api.CreateCommandQueue(device_.context(), device_.candidate().device, 0, &code);
    if (code == CL_SUCCESS) {
      api.EnqueueUnmapMemObject(queue, pinned_, mapped_, 0, nullptr, nullptr);
      api.Finish(queue);
      api.ReleaseCommandQueue(queue);
    }
  }
  if (pinned_ != nullptr) api.ReleaseMemObject(pinned_);
  mapped_ = nullptr;
  pinned_ = nullptr;
}

Result<std::shared_ptr<DeviceMemory>> OpenClMemory::allocate(OpenClDevice& device, std::size_t bytes) {
  // Many drivers promise any amount of memory, and fail when it is used: hence the budget.
  DHPVM_TRY(device.take(bytes));
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + kPage - 1) / kPage * kPage;
  Pages pages;
  if (device.info().shares_host_memory)
    pages.reset(static_cast<std::byte*>(std::aligned_alloc(kPage, rounded)));
  std::shared_ptr<OpenClMemory> memory(new OpenClMemory(device, Kind::kAllocated, bytes, pages.get()));
  memory->pages_ = std::move(pages);
  if (device.info().shares_host_memory && memory->host() == nullptr)
    return error(ErrorCode::kDeviceExhausted,
                 "the system has no {} left for device '{}': use smaller batches (@batch)", bytes_text(bytes),
                 device.info().name);
  const cl_mem_flags flags = CL_MEM_READ_WRITE | (memory->host() != nullptr ? CL_MEM_USE_HOST_PTR : 0);
  cl_int code = CL_SUCCESS;
  memory->buffer_ = device.api().CreateBuffer(device.context(), flags, rounded, memory->host(), &code);
  if (code != CL_SUCCESS) return opencl_error(code, "clCreateBuffer");
  return std::shared_ptr<DeviceMemory>(memory);
}

Result<std::shared_ptr<DeviceMemory>> OpenClMemory::import(OpenClDevice& device, std::span<std::byte> bytes,
                                                           HostMemory kind) {
  const DeviceInfo& info = device.info();
  std::shared_ptr<OpenClMemory> memory(new OpenClMemory(device, Kind::kImported, bytes.size(), bytes.data()));
  cl_int code = CL_SUCCESS;
  // Drivers of integrated GPUs silently copy memory that is not aligned as they need it.
  if (info.shares_host_memory && !bytes.empty() && (device.candidate().is_cpu || is_aligned(bytes))) {
    if (bytes.size() > info.largest_allocation)
      return error(ErrorCode::kDeviceExhausted,
                   "device '{}' takes {} of host memory at once at most, not {}: import smaller pieces",
                   info.name, bytes_text(info.largest_allocation), bytes_text(bytes.size()));
    memory->buffer_ = device.api().CreateBuffer(device.context(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                                bytes.size(), bytes.data(), &code);
    if (code != CL_SUCCESS) return opencl_error(code, "clCreateBuffer");
  } else if (kind == HostMemory::kPinned && !info.shares_host_memory && !bytes.empty()) {
    code = memory->pin(bytes);
    if (code != CL_SUCCESS) return opencl_error(code, "clEnqueueMapBuffer");
  }
  return std::shared_ptr<DeviceMemory>(memory);
}

}  // namespace dhpvm::offload
