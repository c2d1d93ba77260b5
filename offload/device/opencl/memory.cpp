// SPDX-License-Identifier: Apache-2.0
#include "offload/device/opencl/memory.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

// What integrated GPUs ask of host memory that they are to use in place, and what processors do not mind.
constexpr std::size_t kPage = 4096;
constexpr std::size_t kCacheLine = 64;

bool is_aligned(const std::byte* address, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(address) % kPage == 0 && bytes % kCacheLine == 0;
}

}  // namespace

void OpenClMemory::FreePages::operator()(std::byte* pages) const { std::free(pages); }

OpenClMemory::OpenClMemory(std::shared_ptr<OpenClContext> context, std::size_t size, std::byte* host, bool imported)
    : DriverMemory(context.get(), size, host, imported), context_(std::move(context)) {}

OpenClMemory::~OpenClMemory() {
  const OpenClApi& api = context_->api();
  if (buffer_ != nullptr) api.ReleaseMemObject(buffer_);
  unpin();
  if (imported()) {
    --context_->counters()->imports;
  } else {
    context_->counters()->bytes_allocated -= size();
  }
}

// OpenCL locks no pages by name. What drivers that copy with engines recognise is an address inside a buffer that is
// mapped; so one over the host's memory stays mapped, and serves nothing else: copies name the address alone.
cl_int OpenClMemory::pin(std::span<std::byte> memory) {
  const OpenClApi& api = context_->api();
  cl_int code = CL_SUCCESS;
  pinned_ = api.CreateBuffer(context_->handle(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, memory.size(), memory.data(),
                             &code);
  if (code != CL_SUCCESS) return code;
  cl_command_queue const queue = api.CreateCommandQueue(context_->handle(), context_->device().device, 0, &code);
  if (code == CL_SUCCESS) {
    mapped_ = api.EnqueueMapBuffer(queue, pinned_, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, memory.size(), 0, nullptr,
                                   nullptr, &code);
    if (code != CL_SUCCESS) mapped_ = nullptr;
    api.ReleaseCommandQueue(queue);
  }
  if (code != CL_SUCCESS) unpin();
  return code;
}

void OpenClMemory::unpin() {
  const OpenClApi& api = context_->api();
  if (mapped_ != nullptr) {
    cl_int code = CL_SUCCESS;
    cl_command_queue const queue = api.CreateCommandQueue(context_->handle(), context_->device().device, 0, &code);
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

Result<std::shared_ptr<DeviceMemory>> OpenClMemory::allocate(const std::shared_ptr<OpenClContext>& context,
                                                             std::size_t bytes) {
  const DeviceInfo& info = context->info();
  // Many drivers promise any amount, and fail when it is used.
  const std::uint64_t in_use = context->counters()->bytes_allocated;
  const std::uint64_t left = info.memory_bytes > in_use ? info.memory_bytes - in_use : 0;
  if (bytes > info.largest_allocation || bytes > left)
    return error(ErrorCode::kDeviceExhausted, "{} bytes of memory of {} are wanted; it has {} left, and gives {} at once",
                 bytes, info.name, left, info.largest_allocation);
  std::byte* host = nullptr;
  Pages pages;
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + kPage - 1) / kPage * kPage;
  if (info.shares_host_memory) {
    pages.reset(static_cast<std::byte*>(std::aligned_alloc(kPage, rounded)));
    host = pages.get();
    if (host == nullptr) return error(ErrorCode::kDeviceExhausted, "the host has no {} bytes of memory left", bytes);
  }
  cl_int code = CL_SUCCESS;
  cl_mem const buffer =
      context->api().CreateBuffer(context->handle(), CL_MEM_READ_WRITE | (host != nullptr ? CL_MEM_USE_HOST_PTR : 0),
                                  host != nullptr ? rounded : std::max<std::size_t>(bytes, 1), host, &code);
  if (code != CL_SUCCESS) return opencl_error(code, "clCreateBuffer");
  std::shared_ptr<OpenClMemory> result(new OpenClMemory(context, bytes, host, false));
  result->pages_ = std::move(pages);
  result->buffer_ = buffer;
  context->counters()->count_allocation(bytes);
  return std::shared_ptr<DeviceMemory>(result);
}

Result<std::shared_ptr<DeviceMemory>> OpenClMemory::import(const std::shared_ptr<OpenClContext>& context,
                                                           std::span<std::byte> memory, HostMemory kind) {
  const DeviceInfo& info = context->info();
  if (memory.empty()) return error(ErrorCode::kInvalidArgument, "host memory of no bytes cannot be imported");
  std::shared_ptr<OpenClMemory> result(new OpenClMemory(context, memory.size(), memory.data(), true));
  context->counters()->count_import();
  // Drivers of integrated GPUs copy what is not aligned as they want it, without a word.
  const bool in_place = info.shares_host_memory &&
                        (context->device().is_cpu || is_aligned(memory.data(), memory.size()));
  if (in_place) {
    if (memory.size() > info.largest_allocation)
      return error(ErrorCode::kDeviceExhausted,
                   "{} bytes of host memory are to be imported at once; {} can address {} bytes in one piece: import "
                   "smaller pieces",
                   memory.size(), info.name, info.largest_allocation);
    cl_int code = CL_SUCCESS;
    result->buffer_ = context->api().CreateBuffer(context->handle(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                                  memory.size(), memory.data(), &code);
    if (code != CL_SUCCESS) return opencl_error(code, "clCreateBuffer");
  } else if (kind == HostMemory::kPinned && !info.shares_host_memory) {
    if (const cl_int code = result->pin(memory); code != CL_SUCCESS)
      context->warn_once(fmt::format("{} does not lock host memory ({}): copies from and to it are slower, and may hold "
                                     "up whoever submits them",
                                     info.name, opencl_error_name(code)));
  }
  return std::shared_ptr<DeviceMemory>(result);
}

}  // namespace dhpvm::offload
