// SPDX-License-Identifier: Apache-2.0
#include "offload/devices/host_code.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

using codegen::KernelReport;
using codegen::KernelStatus;

// Cache lines, and the widest vectors.
constexpr std::align_val_t kAlignment{64};

class HostMemoryBlock final : public OwnedMemory {
 public:
  HostMemoryBlock(DeviceBase& owner, std::byte* data, std::size_t bytes)
      : OwnedMemory(owner, Kind::kAllocated, bytes, data) {}
  ~HostMemoryBlock() override { ::operator delete(host(), kAlignment); }
};

std::byte* address(const MemorySpan& span) {
  return span.memory == nullptr ? nullptr : span.memory->host() + span.offset;
}

codegen::KernelArray describe(const ArrayArgument& argument) {
  codegen::KernelArray array;
  // Element 0 need not lie inside the memory, so that this is a calculation with numbers and not with pointers.
  if (std::byte* const data = address(argument.memory); data != nullptr)
    array.data = reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(data) +
                                              static_cast<std::uintptr_t>(argument.first));
  array.shape = argument.shape;
  return array;
}

// Several queues may have the same report.
void note(KernelReport& report, const codegen::KernelTrap& trap) {
  const std::atomic_ref lock(report.lock);
  while (lock.exchange(1, std::memory_order_acquire) != 0) std::this_thread::yield();
  if (report.status != static_cast<std::uint32_t>(KernelStatus::kTrapped) ||
      comes_before(trap, report.trap)) {
    report.trap = trap;
    report.status = static_cast<std::uint32_t>(KernelStatus::kTrapped);
  }
  lock.store(0, std::memory_order_release);
}

}  // namespace

bool comes_before(const codegen::KernelTrap& left, const codegen::KernelTrap& right) {
  return std::ranges::lexicographical_compare(left.index, right.index);
}

HostKernel::HostKernel(const DeviceBase& owner, const KernelImage& image)
    : OwnedKernel(owner, image),
      reductions_(image.reductions),
      code_(image.host_code),
      width_(image.host_width),
      rows_(image.host_rows),
      panel_bytes_(image.host_panel_bytes),
      code_owner_(image.owner) {}

Result<std::shared_ptr<Kernel>> HostKernel::load(const DeviceBase& owner, const KernelImage& image) {
  if (image.format != KernelFormat::kHostCode || image.host_code == nullptr)
    return error(ErrorCode::kUnsupported,
                 "device '{}' runs machine code of this process, and kernel '{}' comes as something else: "
                 "compile it for "
                 "the host",
                 owner.info().name, image.name);
  return std::shared_ptr<Kernel>(new HostKernel(owner, image));
}

Status HostKernel::run(ThreadPool& pool, const Operation& operation) {
  std::vector<codegen::KernelArray> arrays(operation.arrays.size());
  std::ranges::transform(operation.arrays, arrays.begin(), describe);
  HostLoop loop;
  loop.code = code_;
  loop.scalars = operation.scalars.data();
  loop.arrays = arrays.data();
  loop.space = operation.space;
  loop.reductions = reductions_;
  loop.width = width_;
  loop.rows = rows_;
  loop.panel_bytes = panel_bytes_;
  if (!reductions_.empty()) loop.partials = reinterpret_cast<std::uint64_t*>(address(operation.partials));
  std::optional<StopToken::Word> stop;
  if (operation.stop != nullptr) loop.stop = &stop.emplace(operation.stop->token).value();
  LoopProfile profile;
  {
    const std::lock_guard lock(mutex_);
    profile = profile_;
  }
  DHPVM_ASSIGN(const LoopOutcome outcome, run_on_host(pool, loop, profile));
  if (outcome.status == KernelStatus::kTrapped) {
    if (operation.report.memory == nullptr)
      return error(ErrorCode::kInternal, "kernel '{}' trapped, and says that it cannot", shape().name);
    note(*reinterpret_cast<KernelReport*>(address(operation.report)), outcome.trap);
    return {};
  }
  if (outcome.status == KernelStatus::kStopped) {
    operation.stop->has_stopped = true;
    return {};
  }
  const std::lock_guard lock(mutex_);
  profile_ = profile;
  return {};
}

Status do_on_host(ThreadPool& pool, const Operation& operation) {
  switch (operation.record.kind) {
    case OperationRecord::Kind::kUpload:
    case OperationRecord::Kind::kDownload:
    case OperationRecord::Kind::kDeviceCopy:
      if (operation.to.bytes != 0)
        std::memcpy(address(operation.to), address(operation.from), operation.to.bytes);
      return {};
    case OperationRecord::Kind::kFill:
      if (operation.to.bytes != 0)
        std::memset(address(operation.to), std::to_integer<int>(operation.value), operation.to.bytes);
      return {};
    case OperationRecord::Kind::kLaunch:
      return static_cast<HostKernel&>(*operation.kernel).run(pool, operation);
    case OperationRecord::Kind::kHostCall: operation.function(); return {};
  }
  return {};
}

Result<std::shared_ptr<DeviceMemory>> allocate_on_host(DeviceBase& owner, std::size_t bytes) {
  DHPVM_TRY(owner.take(bytes));
  auto* const data = static_cast<std::byte*>(::operator new(bytes, kAlignment, std::nothrow));
  if (data == nullptr) {
    owner.give_back(bytes);
    return error(
        ErrorCode::kDeviceExhausted,
        "the system has no {} left for device '{}': use smaller batches (@batch), or close other programs",
        bytes_text(bytes), owner.info().name);
  }
  return std::shared_ptr<DeviceMemory>(std::make_shared<HostMemoryBlock>(owner, data, bytes));
}

Result<std::shared_ptr<DeviceMemory>> import_from_host(DeviceBase& owner, std::span<std::byte> memory,
                                                       HostMemory kind) {
  return std::shared_ptr<DeviceMemory>(std::make_shared<OwnedMemory>(
      owner, kind == HostMemory::kPinned ? OwnedMemory::Kind::kImported : OwnedMemory::Kind::kPageable,
      memory.size(), memory.data()));
}

}  // namespace dhpvm::offload
