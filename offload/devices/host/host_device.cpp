// SPDX-License-Identifier: Apache-2.0
#include "offload/devices/host/host_device.h"

#include <unistd.h>

#include <utility>

#include "base/error.h"
#include "offload/devices/device_options.h"
#include "offload/devices/host/host_queue.h"
#include "offload/devices/host_code.h"

namespace dhpvm::offload {
namespace {

DeviceInfo describe(const ThreadPool& pool, HostExecution execution) {
  DeviceInfo info;
  info.name = execution == HostExecution::kInline ? "host?inline" : "host";
  info.description = fmt::format("the cores of this machine ({} threads)", pool.size());
  info.memory_bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  info.largest_allocation = info.memory_bytes;
  info.compute_units = pool.size();
  // A copy is work for a core like any other; it overlaps with kernels all the same, if queues have threads.
  info.copy_engines = execution == HostExecution::kInline ? 0 : 2;
  info.shares_host_memory = true;
  info.stops_kernels = execution == HostExecution::kInline;
  return info;
}

class HostFactory final : public DeviceFactory {
 public:
  explicit HostFactory(std::shared_ptr<ThreadPool> pool) : pool_(std::move(pool)) {}
  std::string_view prefix() const override { return "host"; }
  std::vector<DeviceListing> list() override {
    return {{"host", describe(*pool_, HostExecution::kThreaded).description, false, {}}};
  }
  Result<std::unique_ptr<Device>> open(std::string_view name) override {
    if (name != "host" && !name.starts_with("host?"))
      return error(ErrorCode::kNotFound, "there is one host, named 'host'");
    constexpr std::string_view kKeys[] = {"inline"};
    DHPVM_ASSIGN(const std::vector<DeviceOption> options, parse_device_options(name, kKeys));
    if (!options.empty() && !options.front().value.empty())
      return error(ErrorCode::kInvalidArgument, "option 'inline' of device 'host' takes no value");
    const HostExecution execution = options.empty() ? HostExecution::kThreaded : HostExecution::kInline;
    return std::unique_ptr<Device>(std::make_unique<HostDevice>(pool_, execution));
  }

 private:
  const std::shared_ptr<ThreadPool> pool_;
};

}  // namespace

std::unique_ptr<DeviceFactory> host_factory(std::shared_ptr<ThreadPool> pool) {
  return std::make_unique<HostFactory>(std::move(pool));
}

HostDevice::HostDevice(std::shared_ptr<ThreadPool> pool, HostExecution execution)
    : DeviceBase(describe(*pool, execution)), pool_(std::move(pool)), execution_(execution) {}

Result<std::shared_ptr<DeviceMemory>> HostDevice::allocate(std::size_t bytes) {
  return allocate_on_host(*this, bytes);
}

Result<std::shared_ptr<DeviceMemory>> HostDevice::import_host(std::span<std::byte> memory, HostMemory kind) {
  return import_from_host(*this, memory, kind);
}

Result<std::shared_ptr<Kernel>> HostDevice::load(const KernelImage& image) {
  return HostKernel::load(*this, image);
}

Result<std::unique_ptr<Queue>> HostDevice::create_queue(QueueOptions options) {
  if (execution_ == HostExecution::kInline)
    return std::unique_ptr<Queue>(std::make_unique<InlineQueue>(*this, *pool_, std::move(options)));
  return ThreadedQueue::create(*this, *pool_, std::move(options));
}

}  // namespace dhpvm::offload
