// SPDX-License-Identifier: Apache-2.0
#include "offload/devices/device_base.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace dhpvm::offload {

DeviceBase::DeviceBase(DeviceInfo info) : info_(std::move(info)) {}

Result<std::shared_ptr<Semaphore>> DeviceBase::create_semaphore(std::uint64_t initial) {
  return std::shared_ptr<Semaphore>(std::make_shared<TimelineSemaphore>(timeline_, initial));
}

DeviceStats DeviceBase::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

std::chrono::nanoseconds DeviceBase::now() const { return std::chrono::steady_clock::now() - epoch_; }

Status DeviceBase::check_language(const KernelImage& image) const {
  if (image.format == KernelFormat::kDeviceCode && image.device_code.language == info_.target.language)
    return {};
  return error(ErrorCode::kUnsupported,
               "device '{}' takes kernels in the language '{}'; '{}' comes in another form", info_.name,
               info_.target.language, image.name);
}

Status DeviceBase::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t left = info_.memory_bytes - stats_.bytes_allocated;
  if (bytes > left)
    return error(ErrorCode::kDeviceExhausted,
                 "device '{}' has {} of its {} left, not the {} that are needed: use smaller batches "
                 "(@batch), or release "
                 "arrays that the device still holds",
                 info_.name, bytes_text(left), bytes_text(info_.memory_bytes), bytes_text(bytes));
  if (bytes > info_.largest_allocation)
    return error(
        ErrorCode::kDeviceExhausted,
        "device '{}' allocates {} at once at most, not the {} that are needed: use smaller batches (@batch)",
        info_.name, bytes_text(info_.largest_allocation), bytes_text(bytes));
  stats_.bytes_allocated += bytes;
  stats_.peak_bytes_allocated = std::max(stats_.peak_bytes_allocated, stats_.bytes_allocated);
  return {};
}

void DeviceBase::give_back(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  stats_.bytes_allocated -= bytes;
}

void DeviceBase::count_import() {
  const std::lock_guard lock(mutex_);
  ++stats_.imports;
  ++stats_.imports_made;
}

void DeviceBase::count_release() {
  const std::lock_guard lock(mutex_);
  --stats_.imports;
}

void DeviceBase::count(const OperationRecord& record) {
  const std::lock_guard lock(mutex_);
  switch (record.kind) {
    case OperationRecord::Kind::kUpload: stats_.bytes_uploaded += record.bytes; break;
    case OperationRecord::Kind::kDownload: stats_.bytes_downloaded += record.bytes; break;
    case OperationRecord::Kind::kDeviceCopy: break;
    case OperationRecord::Kind::kLaunch: ++stats_.launches; return;
    case OperationRecord::Kind::kFill:
    case OperationRecord::Kind::kHostCall: return;
  }
  ++stats_.copies;
}

OwnedMemory::OwnedMemory(DeviceBase& owner, Kind kind, std::size_t size, std::byte* host)
    : owner_(owner), kind_(kind), size_(size), host_(host) {
  if (is_imported()) owner_.count_import();
}

OwnedMemory::~OwnedMemory() {
  if (is_imported()) {
    owner_.count_release();
  } else {
    owner_.give_back(size_);
  }
}

OwnedKernel::OwnedKernel(const DeviceBase& owner, const KernelImage& image)
    : owner_(owner),
      shape_{image.name,
             image.dimensions,
             image.scalars,
             image.arrays,
             static_cast<std::uint32_t>(image.reductions.size()),
             !image.sites.empty()} {}

std::string bytes_text(std::uint64_t bytes) {
  constexpr struct {
    std::uint64_t size;
    const char* name;
  } kUnits[] = {
      {std::uint64_t{1} << 30, "GiB"}, {std::uint64_t{1} << 20, "MiB"}, {std::uint64_t{1} << 10, "KiB"}};
  for (const auto& unit : kUnits) {
    if (bytes >= unit.size)
      return fmt::format("{:.4g} {}", static_cast<double>(bytes) / static_cast<double>(unit.size), unit.name);
  }
  return fmt::format("{} bytes", bytes);
}

}  // namespace dhpvm::offload
