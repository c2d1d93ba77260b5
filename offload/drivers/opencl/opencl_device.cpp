// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/opencl/opencl_device.h"

#include <array>
#include <utility>

#include "base/error.h"
#include "offload/devices/device_options.h"
#include "offload/drivers/opencl/kernel.h"
#include "offload/drivers/opencl/memory.h"
#include "offload/drivers/opencl/queue.h"

namespace dhpvm::offload {
namespace {

constexpr std::string_view kPrefix = "opencl";
constexpr std::size_t kProbeBytes = 4096;

// Queues and buffers of the probe below.
class Probe {
 public:
  Probe(const OpenClApi& api, cl_context context, cl_device_id device, std::byte* memory) : api_(api) {
    cl_int code = CL_SUCCESS;
    queue_ = api.CreateCommandQueue(context, device, 0, &code);
    if (code == CL_SUCCESS)
      shared_ =
          api.CreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, kProbeBytes, memory, &code);
    if (code == CL_SUCCESS) own_ = api.CreateBuffer(context, CL_MEM_READ_WRITE, kProbeBytes, nullptr, &code);
    ready_ = code == CL_SUCCESS;
  }
  ~Probe() {
    if (own_ != nullptr) api_.ReleaseMemObject(own_);
    if (shared_ != nullptr) api_.ReleaseMemObject(shared_);
    if (queue_ != nullptr) api_.ReleaseCommandQueue(queue_);
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  bool ready() const { return ready_; }
  // Writes through the device, which does not know that the host reads the memory.
  bool fill(cl_uint value) const {
    return api_.EnqueueFillBuffer(queue_, shared_, &value, sizeof(value), 0, kProbeBytes, 0, nullptr,
                                  nullptr) == CL_SUCCESS &&
           api_.Finish(queue_) == CL_SUCCESS;
  }
  // Reads the value that the device sees.
  bool read(cl_uint* value) const {
    return api_.EnqueueCopyBuffer(queue_, shared_, own_, 0, 0, kProbeBytes, 0, nullptr, nullptr) ==
               CL_SUCCESS &&
           api_.EnqueueReadBuffer(queue_, own_, CL_TRUE, 0, sizeof(*value), value, 0, nullptr, nullptr) ==
               CL_SUCCESS;
  }

 private:
  const OpenClApi& api_;
  cl_command_queue queue_ = nullptr;
  cl_mem shared_ = nullptr;
  cl_mem own_ = nullptr;
  bool ready_ = false;
};

// OpenCL promises that host and device see each other's writes to CL_MEM_USE_HOST_PTR memory only around map and unmap,
// which cost a command each. If the device accesses the memory directly, as processors and most integrated GPUs do,
// these are not needed. This test detects drivers that keep a copy.
bool is_zero_copy(const OpenClApi& api, cl_context context, cl_device_id device) {
  struct alignas(kProbeBytes) Page {
    std::array<volatile cl_uint, kProbeBytes / sizeof(cl_uint)> words = {};
  };
  const auto page = std::make_unique<Page>();
  const Probe probe(api, context, device, reinterpret_cast<std::byte*>(page.get()));
  if (!probe.ready()) return false;
  for (const cl_uint value : {0x5a5a1234U, 0xa5a54321U}) {
    cl_uint seen = 0;
    if (!probe.fill(value) || page->words.front() != value || page->words.back() != value) return false;
    page->words.front() = value + 1;
    if (!probe.read(&seen) || seen != value + 1) return false;
  }
  return true;
}

class OpenClFactory final : public DeviceFactory {
 public:
  explicit OpenClFactory(std::string library) : library_(std::move(library)) {}

  std::string_view prefix() const override { return kPrefix; }

  std::vector<DeviceListing> list() override {
    Result<std::vector<OpenClCandidate>> found = find();
    if (!found.ok()) return {{std::string(kPrefix), "", false, std::move(found).error()}};
    std::vector<DeviceListing> listings;
    for (OpenClCandidate& candidate : *found)
      listings.push_back({.name = candidate.info.name,
                          .description = candidate.info.description,
                          .is_gpu = candidate.is_gpu,
                          .problem = std::move(candidate.problem)});
    return listings;
  }

  Result<std::unique_ptr<Device>> open(std::string_view name) override {
    constexpr std::string_view kKeys[] = {"copy"};
    DHPVM_ASSIGN(const std::vector<DeviceOption> options, parse_device_options(name, kKeys));
    if (!options.empty() && !options.front().value.empty())
      return error(ErrorCode::kInvalidArgument, "option 'copy' of OpenCL devices takes no value");
    DHPVM_ASSIGN(std::vector<OpenClCandidate> found, find());
    for (OpenClCandidate& candidate : found) {
      if (candidate.info.name != name.substr(0, name.find('?'))) continue;
      if (candidate.problem) return *std::move(candidate.problem);
      candidate.info.name = name;
      return OpenClDevice::open(api_, std::move(candidate), options.empty());
    }
    return error(ErrorCode::kNotFound, "OpenCL devices found: {}, numbered from opencl:0 on", found.size());
  }

 private:
  Result<std::vector<OpenClCandidate>> find() {
    if (api_ == nullptr) {
      DHPVM_ASSIGN(api_, OpenClApi::load(library_));
    }
    return find_opencl_devices(*api_);
  }

  const std::string library_;
  std::shared_ptr<const OpenClApi> api_;
};

}  // namespace

std::unique_ptr<DeviceFactory> opencl_factory() { return opencl_factory("libOpenCL.so.1"); }
std::unique_ptr<DeviceFactory> opencl_factory(std::string library) {
  return std::make_unique<OpenClFactory>(std::move(library));
}

Result<std::unique_ptr<Device>> OpenClDevice::open(std::shared_ptr<const OpenClApi> api,
                                                   OpenClCandidate candidate, bool share) {
  const std::array<cl_context_properties, 3> properties = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(candidate.platform), 0};
  cl_int code = CL_SUCCESS;
  cl_context const context =
      api->CreateContext(properties.data(), 1, &candidate.device, nullptr, nullptr, &code);
  if (code != CL_SUCCESS) return opencl_error(code, "clCreateContext");
  DeviceInfo& info = candidate.info;
  info.is_gpu = candidate.is_gpu;
  info.shares_host_memory =
      share && candidate.host_unified_memory && is_zero_copy(*api, context, candidate.device);
  if (info.shares_host_memory) info.copy_engines = 0;
  return std::unique_ptr<Device>(new OpenClDevice(std::move(api), std::move(candidate), context));
}

OpenClDevice::OpenClDevice(std::shared_ptr<const OpenClApi> api, OpenClCandidate candidate,
                           cl_context context)
    : DeviceBase(candidate.info),
      api_(std::move(api)),
      candidate_(std::move(candidate)),
      context_(context, api_->ReleaseContext),
      callbacks_(*api_),
      tracker_(*this),
      host_caller_(*api_, tracker_, clock_) {}

Result<std::shared_ptr<DeviceMemory>> OpenClDevice::allocate(std::size_t bytes) {
  return OpenClMemory::allocate(*this, bytes);
}

Result<std::shared_ptr<DeviceMemory>> OpenClDevice::import_host(std::span<std::byte> memory,
                                                                HostMemory kind) {
  return OpenClMemory::import(*this, memory, kind);
}

Result<std::shared_ptr<Kernel>> OpenClDevice::load(const KernelImage& image) {
  return OpenClKernel::load(*this, image);
}

Result<std::unique_ptr<Queue>> OpenClDevice::create_queue(QueueOptions options) {
  return OpenClQueue::create(*this, std::move(options));
}

Result<std::shared_ptr<Semaphore>> OpenClDevice::create_semaphore(std::uint64_t initial) {
  return std::shared_ptr<Semaphore>(std::make_shared<DriverSemaphore>(tracker_, timeline(), initial));
}

}  // namespace dhpvm::offload
