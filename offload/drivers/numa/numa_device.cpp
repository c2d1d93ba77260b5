// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/numa/numa_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/processors.h"
#include "offload/devices/host/host_queue.h"
#include "offload/devices/host_code.h"

namespace dhpvm::offload {
namespace {

std::string name_of(const NumaNode& node) { return fmt::format("numa:{}", node.number); }

// One for each of the node's processors, within the quota of this process.
unsigned threads_of(const NumaNode& node) {
  return std::min(static_cast<unsigned>(node.processors.size()), usable_processors());
}

DeviceInfo describe(const NumaNode& node) {
  DeviceInfo info;
  info.name = name_of(node);
  info.description = fmt::format("processors and memory of NUMA node {} ({} threads, {})", node.number,
                                 threads_of(node), bytes_text(node.memory_bytes));
  info.memory_bytes = node.memory_bytes;
  info.largest_allocation = info.memory_bytes;
  info.compute_units = threads_of(node);
  // As with the host, a processor makes copies, which overlap with kernels.
  info.copy_engines = 2;
  return info;
}

// A mapping cannot have 0 bytes.
std::size_t mapped_bytes(std::size_t bytes) { return std::max<std::size_t>(bytes, 1); }

// Pages of the node, returned to the system when they are freed.
class NumaMemory final : public OwnedMemory {
 public:
  NumaMemory(DeviceBase& owner, std::byte* data, std::size_t bytes)
      : OwnedMemory(owner, Kind::kAllocated, bytes, data) {}
  ~NumaMemory() override { ::munmap(host(), mapped_bytes(size())); }
};

class NumaFactory final : public DeviceFactory {
 public:
  std::string_view prefix() const override { return "numa"; }

  std::vector<DeviceListing> list() override {
    std::vector<DeviceListing> listings;
    for (const NumaNode& node : numa_nodes(allowed_processors())) {
      DeviceListing& listing =
          listings.emplace_back(DeviceListing{name_of(node), {}, false, problem_of(node)});
      if (!listing.problem) listing.description = describe(node).description;
    }
    if (listings.empty())
      listings.push_back({"numa",
                          {},
                          false,
                          error(ErrorCode::kNotFound,
                                "the system does not say which NUMA nodes the machine has "
                                "(/sys/devices/system/node): use device 'host'")});
    return listings;
  }

  Result<std::unique_ptr<Device>> open(std::string_view name) override {
    const std::vector<NumaNode> nodes = numa_nodes(allowed_processors());
    const auto node = std::ranges::find(nodes, name, name_of);
    if (node == nodes.end())
      return error(ErrorCode::kNotFound, "there is no NUMA node '{}': `dhpvm-run --list-devices` lists them",
                   name);
    if (std::optional<Error> problem = problem_of(*node)) return std::move(*problem);
    return std::unique_ptr<Device>(std::make_unique<NumaDevice>(*node));
  }

 private:
  // Nodes with only memory come from cards and slower memory; nodes with only processors have lost their memory.
  static std::optional<Error> problem_of(const NumaNode& node) {
    if (node.processors.empty())
      return error(ErrorCode::kUnsupported, "NUMA node {} has no processor that this process may use",
                   node.number);
    if (node.memory_bytes == 0)
      return error(ErrorCode::kUnsupported, "NUMA node {} has no memory", node.number);
    return std::nullopt;
  }
};

}  // namespace

std::unique_ptr<DeviceFactory> numa_factory() { return std::make_unique<NumaFactory>(); }

NumaDevice::NumaDevice(const NumaNode& node)
    : DeviceBase(describe(node)), node_(node), pool_(threads_of(node)) {}

Result<std::shared_ptr<DeviceMemory>> NumaDevice::allocate(std::size_t bytes) {
  DHPVM_TRY(take(bytes));
  void* const data =
      ::mmap(nullptr, mapped_bytes(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    give_back(bytes);
    return error(
        ErrorCode::kDeviceExhausted,
        "the system has no {} left for device '{}': use smaller batches (@batch), or close other programs",
        bytes_text(bytes), info().name);
  }
  place_on(node_.number, data, mapped_bytes(bytes));
  return std::shared_ptr<DeviceMemory>(
      std::make_shared<NumaMemory>(*this, static_cast<std::byte*>(data), bytes));
}

Result<std::shared_ptr<DeviceMemory>> NumaDevice::import_host(std::span<std::byte> memory, HostMemory kind) {
  return import_from_host(*this, memory, kind);
}

Result<std::shared_ptr<Kernel>> NumaDevice::load(const KernelImage& image) {
  return HostKernel::load(*this, image);
}

Result<std::unique_ptr<Queue>> NumaDevice::create_queue(QueueOptions options) {
  return ThreadedQueue::create(*this, pool_, std::move(options), [this] { run_on(node_.processors); });
}

}  // namespace dhpvm::offload
