// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/cuda/cuda_device.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "offload/drivers/cuda/kernel.h"
#include "offload/drivers/cuda/memory.h"
#include "offload/drivers/cuda/queue.h"

namespace dhpvm::offload {
namespace {

constexpr std::string_view kPrefix = "cuda";
// Compute capabilities that the code generator targets; a newer device runs code for an older one.
constexpr int kArchitectures[] = {75, 80, 86, 87, 89, 90};
// The cache keeps freed memory up to 1 / kKeptPart of the device's memory.
constexpr std::uint64_t kKeptPart = 4;
// More than the launches that a program defers at a time; a graph of them is made quickly.
constexpr std::uint64_t kBatchBytes = std::uint64_t{256} << 10;

// A device that was found, but not opened.
struct Candidate {
  cu::Ordinal ordinal = 0;
  DeviceInfo info;
  std::optional<Error> problem;
};

Candidate describe(const cu::Api& api, int index) {
  Candidate found;
  DeviceInfo& info = found.info;
  info.name = fmt::format("{}:{}", kPrefix, index);
  cu::Code code = api.DeviceGet(&found.ordinal, index);
  std::array<char, 256> name = {};
  if (code == cu::CUDA_SUCCESS)
    code = api.DeviceGetName(name.data(), static_cast<int>(name.size()), found.ordinal);
  std::size_t bytes = 0;
  if (code == cu::CUDA_SUCCESS) code = api.DeviceTotalMem(&bytes, found.ordinal);
  const auto attribute = [&](cu::Attribute wanted) {
    int value = 0;
    if (code == cu::CUDA_SUCCESS) code = api.DeviceGetAttribute(&value, wanted, found.ordinal);
    return value;
  };
  const int capability =
      attribute(cu::COMPUTE_CAPABILITY_MAJOR) * 10 + attribute(cu::COMPUTE_CAPABILITY_MINOR);
  const int mode = attribute(cu::COMPUTE_MODE);
  const bool is_timed = attribute(cu::KERNEL_EXEC_TIMEOUT) != 0;
  const int unified = attribute(cu::UNIFIED_ADDRESSING);
  info.compute_units = static_cast<std::uint32_t>(std::max(attribute(cu::MULTIPROCESSOR_COUNT), 1));
  info.copy_engines = static_cast<std::uint32_t>(std::clamp(attribute(cu::ASYNC_ENGINE_COUNT), 0, 2));
  if (code != cu::CUDA_SUCCESS) {
    found.problem = api.error_of(code, "asking the driver about the device");
    return found;
  }
  info.description =
      fmt::format("{} (compute capability {}.{}{})", name.data(), capability / 10, capability % 10,
                  is_timed ? "; kernels must end within seconds, for a display" : "");
  info.is_gpu = true;
  info.format = KernelFormat::kDeviceCode;
  info.target.language = "ptx";
  info.memory_bytes = bytes;
  info.largest_allocation = bytes;
  const auto* const newer = std::ranges::upper_bound(kArchitectures, capability);
  if (newer == std::begin(kArchitectures)) {
    found.problem = error(ErrorCode::kUnsupported,
                          "its compute capability is {}.{}, and 7.5 (Turing) is the oldest that is supported",
                          capability / 10, capability % 10);
  } else if (mode == cu::kComputeModeProhibited) {
    found.problem =
        error(ErrorCode::kUnsupported,
              "it is set to run no computations: an administrator can change that with nvidia-smi -i {} "
              "-c DEFAULT",
              index);
  } else if (unified == 0) {
    found.problem = error(ErrorCode::kUnsupported, "it does not share one address space with the host");
  } else {
    info.target.processor = fmt::format("sm_{}", *std::prev(newer));
  }
  return found;
}

// Other programs may use a part of the memory. If the driver does not report it, its next call will.
void limit_to_free(const cu::Api& api, cu::Context context, DeviceInfo& info) {
  std::size_t free = 0;
  std::size_t total = 0;
  if (api.CtxPushCurrent(context) != cu::CUDA_SUCCESS) return;
  const cu::Code code = api.MemGetInfo(&free, &total);
  api.CtxPopCurrent(&context);
  if (code != cu::CUDA_SUCCESS) return;
  info.memory_bytes = std::min<std::uint64_t>(info.memory_bytes, free);
  info.largest_allocation = info.memory_bytes;
}

// The driver whose devices are interpreted: beside the library that contains this code, or where a build puts it.
std::string interpreter_library() {
  namespace fs = std::filesystem;
  constexpr char kFile[] = "libdhpvm_cuda_interpreter.so";
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&describe), &info) == 0 || info.dli_fname == nullptr)
    return kFile;
  const fs::path folder = fs::absolute(info.dli_fname).parent_path();
  std::error_code ignored;
  if (fs::exists(folder / kFile, ignored)) return (folder / kFile).string();
  return (folder.parent_path() / "lib" / kFile).string();
}

class CudaFactory final : public DeviceFactory {
 public:
  explicit CudaFactory(std::string library) : library_(std::move(library)) {
    if (!library_.empty()) return;
    const char* const driver = std::getenv("DHPVM_CUDA_DRIVER");
    if (driver != nullptr && std::string_view(driver) == "interpreter") {
      library_ = interpreter_library();
      return;
    }
    const char* const elsewhere = std::getenv("DHPVM_CUDA_LIBRARY");
    library_ = elsewhere != nullptr && *elsewhere != '\0' ? elsewhere : "libcuda.so.1";
  }

  std::string_view prefix() const override { return kPrefix; }

  std::vector<DeviceListing> list() override {
    Result<std::vector<Candidate>> found = find();
    if (!found.ok()) return {{std::string(kPrefix), "", false, std::move(found).error()}};
    std::vector<DeviceListing> listings;
    for (Candidate& candidate : *found)
      listings.push_back(
          {candidate.info.name, candidate.info.description, true, std::move(candidate.problem)});
    return listings;
  }

  Result<std::unique_ptr<Device>> open(std::string_view name) override {
    DHPVM_ASSIGN(std::vector<Candidate> found, find());
    for (Candidate& candidate : found) {
      if (candidate.info.name != name) continue;
      if (candidate.problem) return *std::move(candidate.problem);
      return CudaDevice::open(api_, candidate.ordinal, std::move(candidate.info));
    }
    if (found.size() == 1)
      return error(ErrorCode::kNotFound,
                   "the only CUDA device that can be seen is cuda:0, and it takes no options");
    return error(ErrorCode::kNotFound,
                 "the CUDA devices that can be seen are cuda:0 to cuda:{}, and they take no options",
                 found.size() - 1);
  }

 private:
  Result<std::vector<Candidate>> find() {
    if (api_ == nullptr) {
      DHPVM_ASSIGN(api_, cu::Api::load(library_));
    }
    int count = 0;
    const cu::Code code = api_->DeviceGetCount(&count);
    if (code != cu::CUDA_SUCCESS) return api_->error_of(code, "cuDeviceGetCount");
    if (count == 0)
      return error(ErrorCode::kNotFound,
                   "there is no NVIDIA GPU in this machine, or CUDA_VISIBLE_DEVICES hides it");
    std::vector<Candidate> candidates;
    for (int index = 0; index < count; ++index) candidates.push_back(describe(*api_, index));
    return candidates;
  }

  std::string library_;
  std::shared_ptr<const cu::Api> api_;
};

}  // namespace

std::unique_ptr<DeviceFactory> cuda_factory() { return cuda_factory(std::string()); }
std::unique_ptr<DeviceFactory> cuda_factory(std::string library) {
  return std::make_unique<CudaFactory>(std::move(library));
}

CudaDevice::Parts::Parts(CudaDevice& device)
    : events(device.api()),
      clock(device, device.api(), events),
      memory(device.api(), device.info().memory_bytes / kKeptPart),
      tracker(device),
      host_calls(device.api(), tracker) {}

Result<std::unique_ptr<Device>> CudaDevice::open(std::shared_ptr<const cu::Api> api, cu::Ordinal ordinal,
                                                 DeviceInfo info) {
  // Use the primary context, as other libraries in the process do: memory can be shared with them.
  cu::Context context = nullptr;
  const cu::Code code = api->DevicePrimaryCtxRetain(&context, ordinal);
  if (code != cu::CUDA_SUCCESS) return api->error_of(code, "cuDevicePrimaryCtxRetain");
  limit_to_free(*api, context, info);
  if (api->has_graphs()) info.batch_bytes = kBatchBytes;
  return std::unique_ptr<Device>(new CudaDevice(std::move(api), ordinal, context, std::move(info)));
}

CudaDevice::CudaDevice(std::shared_ptr<const cu::Api> api, cu::Ordinal ordinal, cu::Context context,
                       DeviceInfo info)
    : DeviceBase(std::move(info)),
      api_(std::move(api)),
      ordinal_(ordinal),
      context_(context),
      parts_(std::make_unique<Parts>(*this)) {}

CudaDevice::~CudaDevice() {
  {
    const CudaCurrent current(*this);
    parts_.reset();
  }
  api_->DevicePrimaryCtxRelease(ordinal_);
}

Result<std::shared_ptr<DeviceMemory>> CudaDevice::allocate(std::size_t bytes) {
  return CudaMemory::allocate(*this, bytes);
}

Result<std::shared_ptr<DeviceMemory>> CudaDevice::import_host(std::span<std::byte> memory, HostMemory kind) {
  return CudaMemory::import(*this, memory, kind);
}

Result<std::shared_ptr<Kernel>> CudaDevice::load(const KernelImage& image) {
  return CudaKernel::load(*this, image);
}

Result<std::unique_ptr<Queue>> CudaDevice::create_queue(QueueOptions options) {
  return CudaQueue::create(*this, std::move(options));
}

DeviceStats CudaDevice::stats() const {
  DeviceStats stats = DeviceBase::stats();
  const std::lock_guard lock(mutex_);
  stats.batches = batches_;
  stats.replays = graphs_;
  return stats;
}

BatchRecorder::Refusals CudaDevice::refusals() const {
  const std::lock_guard lock(mutex_);
  return refusals_;
}

void CudaDevice::count_batch(bool is_graph, const std::string& refusal) {
  const std::lock_guard lock(mutex_);
  ++batches_;
  if (is_graph) ++graphs_;
  if (refusal.empty()) return;
  ++refusals_.count;
  refusals_.reason = refusal;
}

Result<std::shared_ptr<Semaphore>> CudaDevice::create_semaphore(std::uint64_t initial) {
  return std::shared_ptr<Semaphore>(std::make_shared<DriverSemaphore>(tracker(), timeline(), initial));
}

}  // namespace dhpvm::offload
