// SPDX-License-Identifier: Apache-2.0
#include "offload/device/opencl/opencl_device.h"

#include <charconv>
#include <utility>

#include "base/error.h"
#include "offload/device/opencl/context.h"
#include "offload/device/opencl/kernel.h"
#include "offload/device/opencl/memory.h"
#include "offload/device/opencl/queue.h"

namespace dhpvm::offload {
namespace {

constexpr std::string_view kPrefix = "opencl";
constexpr std::string_view kNoSharing = "?share=off";

class OpenClDevice final : public Device {
 public:
  explicit OpenClDevice(std::shared_ptr<OpenClContext> context) : context_(std::move(context)) {}

  const DeviceInfo& info() const override { return context_->info(); }
  Result<std::shared_ptr<DeviceMemory>> allocate(std::size_t bytes) override {
    return OpenClMemory::allocate(context_, bytes);
  }
  Result<std::shared_ptr<DeviceMemory>> import_host(std::span<std::byte> memory, HostMemory kind) override {
    return OpenClMemory::import(context_, memory, kind);
  }
  Result<std::shared_ptr<Kernel>> load(const KernelImage& image) override {
    return OpenClKernel::load(context_, image);
  }
  Result<std::unique_ptr<Queue>> create_queue(QueueOptions options) override {
    return OpenClQueue::create(context_, std::move(options));
  }
  Result<std::shared_ptr<Semaphore>> create_semaphore(std::uint64_t initial) override {
    return std::shared_ptr<Semaphore>(std::make_shared<DriverSemaphore>(context_->tracker(), initial));
  }
  DeviceStats stats() const override { return context_->counters()->snapshot(); }
  std::chrono::nanoseconds now() const override { return context_->clock().now(); }

 private:
  const std::shared_ptr<OpenClContext> context_;
};

class OpenClFactory final : public DeviceFactory {
 public:
  explicit OpenClFactory(OpenClOptions options) : options_(std::move(options)) {}

  std::string_view prefix() const override { return kPrefix; }

  std::vector<DeviceListing> list() override {
    Result<std::vector<OpenClCandidate>> found = find();
    if (!found.ok()) return {{.name = std::string(kPrefix), .problem = std::move(found).error()}};
    std::vector<DeviceListing> listings;
    for (OpenClCandidate& candidate : *found)
      listings.push_back({.name = candidate.info.name,
                          .description = candidate.info.description,
                          .is_gpu = candidate.is_gpu,
                          .problem = std::move(candidate.problem)});
    return listings;
  }

  Result<std::unique_ptr<Device>> open(std::string_view name) override {
    const bool share = !name.ends_with(kNoSharing);
    const std::string_view plain = share ? name : name.substr(0, name.size() - kNoSharing.size());
    DHPVM_ASSIGN(std::vector<OpenClCandidate> found, find());
    for (OpenClCandidate& candidate : found) {
      if (candidate.info.name != plain) continue;
      if (candidate.problem) return *std::move(candidate.problem);
      candidate.info.name = name;
      DHPVM_ASSIGN(std::shared_ptr<OpenClContext> context,
                   OpenClContext::create(api_, std::move(candidate), share, options_.warn));
      return std::unique_ptr<Device>(std::make_unique<OpenClDevice>(std::move(context)));
    }
    return error(ErrorCode::kNotFound,
                 "there is no OpenCL device '{}': there are {}, numbered from opencl:0 on, and the only parameter is {}",
                 name, found.size(), kNoSharing);
  }

 private:
  Result<std::vector<OpenClCandidate>> find() {
    if (api_ == nullptr) {
      DHPVM_ASSIGN(api_, OpenClApi::load(options_.library));
    }
    return find_opencl_devices(*api_);
  }

  const OpenClOptions options_;
  std::shared_ptr<const OpenClApi> api_;
};

}  // namespace

std::unique_ptr<DeviceFactory> create_opencl_factory(OpenClOptions options) {
  return std::make_unique<OpenClFactory>(std::move(options));
}

}  // namespace dhpvm::offload
