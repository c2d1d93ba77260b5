// SPDX-License-Identifier: Apache-2.0
#include "offload/devices/sim/sim_device.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "offload/devices/host_code.h"
#include "offload/devices/sim/sim_queue.h"

namespace dhpvm::offload {
namespace {

using Kind = OperationRecord::Kind;

DeviceInfo info_of(std::string name, const SimOptions& options) {
  DeviceInfo info;
  info.name = std::move(name);
  info.description = describe(options);
  info.memory_bytes = options.memory_bytes;
  info.largest_allocation = options.memory_bytes;
  info.compute_units = options.compute_units;
  info.copy_engines = options.copy_engines;
  info.is_simulated = true;
  info.stops_kernels = true;
  info.may_be_lost = options.lost.has_value() && !options.keeps_results;
  return info;
}

VirtualTime at_rate(std::uint64_t amount, double per_second) {
  return VirtualTime(std::llround(static_cast<double>(amount) / per_second * 1e9));
}

class SimFactory final : public DeviceFactory {
 public:
  explicit SimFactory(std::shared_ptr<ThreadPool> pool) : pool_(std::move(pool)) {}
  std::string_view prefix() const override { return "sim"; }
  std::vector<DeviceListing> list() override { return {{"sim", describe(SimOptions()), false, {}}}; }
  Result<std::unique_ptr<Device>> open(std::string_view name) override {
    if (name != "sim" && !name.starts_with("sim?"))
      return error(ErrorCode::kNotFound,
                   "a simulated device is named 'sim', or 'sim?' and options, such as sim?launch=5us");
    DHPVM_ASSIGN(const SimOptions options, parse_sim_options(name));
    return std::unique_ptr<Device>(std::make_unique<SimDevice>(std::string(name), options, pool_));
  }

 private:
  const std::shared_ptr<ThreadPool> pool_;
};

}  // namespace

std::unique_ptr<DeviceFactory> sim_factory(std::shared_ptr<ThreadPool> pool) {
  return std::make_unique<SimFactory>(std::move(pool));
}

SimDevice::SimDevice(std::string name, const SimOptions& options, std::shared_ptr<ThreadPool> pool)
    : DeviceBase(info_of(std::move(name), options)), options_(options), pool_(std::move(pool)) {}

Result<std::shared_ptr<DeviceMemory>> SimDevice::allocate(std::size_t bytes) {
  DHPVM_TRY(check_present());
  {
    const std::lock_guard lock(mutex_);
    if (++allocations_ == options_.alloc_fail)
      return error(ErrorCode::kDeviceExhausted,
                   "device '{}' fails its allocation number {}, as 'alloc_fail' wants it", info().name,
                   allocations_);
  }
  return allocate_on_host(*this, bytes);
}

Result<std::shared_ptr<DeviceMemory>> SimDevice::import_host(std::span<std::byte> memory, HostMemory kind) {
  DHPVM_TRY(check_present());
  return import_from_host(*this, memory, kind);
}

Result<std::shared_ptr<Kernel>> SimDevice::load(const KernelImage& image) {
  DHPVM_TRY(check_present());
  {
    const std::lock_guard lock(mutex_);
    if (options_.load_fail && ++loads_ <= *options_.load_fail)
      return error(ErrorCode::kDeviceExhausted,
                   "device '{}' fails to load its kernel number {}, as 'load_fail' wants it", info().name,
                   loads_);
  }
  return HostKernel::load(*this, image);
}

Result<std::unique_ptr<Queue>> SimDevice::create_queue(QueueOptions options) {
  DHPVM_TRY(check_present());
  return std::unique_ptr<Queue>(std::make_unique<SimQueue>(*this, std::move(options)));
}

Result<std::shared_ptr<Semaphore>> SimDevice::create_semaphore(std::uint64_t initial) {
  return std::shared_ptr<Semaphore>(std::make_shared<SimSemaphore>(timeline(), clock_, initial));
}

Engine SimDevice::engine_of(Kind kind) const {
  switch (kind) {
    case Kind::kUpload: return options_.copy_engines == 0 ? Engine::kCompute : Engine::kUpload;
    case Kind::kDownload:
      return options_.copy_engines == 0   ? Engine::kCompute
             : options_.copy_engines == 1 ? Engine::kUpload
                                          : Engine::kDownload;
    case Kind::kDeviceCopy:
    case Kind::kFill:
    case Kind::kLaunch: return Engine::kCompute;
    case Kind::kHostCall: return Engine::kNone;
  }
  return Engine::kNone;
}

VirtualTime SimDevice::duration_of(const OperationRecord& record, bool pageable, VirtualTime measured) const {
  const double limit = pageable ? options_.pageable_bytes : std::numeric_limits<double>::infinity();
  switch (record.kind) {
    case Kind::kUpload: return options_.copy + at_rate(record.bytes, std::min(options_.upload_bytes, limit));
    case Kind::kDownload:
      return options_.copy + at_rate(record.bytes, std::min(options_.download_bytes, limit));
    case Kind::kDeviceCopy:
    case Kind::kFill: return options_.copy + at_rate(record.bytes, options_.device_bytes);
    case Kind::kLaunch:
      return options_.launch +
             (options_.iterations ? at_rate(record.iterations, *options_.iterations) : measured);
    case Kind::kHostCall: return VirtualTime{0};
  }
  return VirtualTime{0};
}

Status SimDevice::admit(const OperationRecord& record) {
  const std::lock_guard lock(mutex_);
  if (options_.lost && operations_ >= *options_.lost) return lost();
  ++operations_;
  if (record.kind == Kind::kLaunch && ++launches_ == options_.fail_launch)
    return error(ErrorCode::kDeviceFailed,
                 "device '{}' fails its launch number {}, as 'fail_launch' wants it", info().name, launches_);
  return {};
}

Status SimDevice::check_present() const {
  if (std::optional<Error> gone = this->gone()) return std::move(*gone);
  return {};
}

std::optional<Error> SimDevice::gone() const {
  const std::lock_guard lock(mutex_);
  if (options_.lost && operations_ >= *options_.lost) return lost();
  return std::nullopt;
}

Error SimDevice::lost() const {
  return error(ErrorCode::kDeviceLost, "device '{}' is lost after {} operations, as 'lost' wants it",
               info().name, operations_);
}

}  // namespace dhpvm::offload
