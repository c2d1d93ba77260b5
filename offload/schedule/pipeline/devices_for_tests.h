// SPDX-License-Identifier: Apache-2.0
// The common part of devices that tests write themselves: their memory is the host's, and every kernel writes into its
// last array what its first one holds, a step further.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "offload/devices/checked_queue.h"
#include "offload/devices/device_base.h"
#include "offload/devices/host_code.h"

namespace dhpvm::offload {

// Loops as programs have them: one from one array into another, and one that changes an array in place.
inline constexpr std::string_view kLoopsForTests = R"(module 1.0
type array A: i64
function copy(i64, A, A) registers 2 2
  load.i64 p1, r0, p0
  store.i64 r1, p0, p1
  return
end
function change(i64, A) registers 2 1
  load.i64 p1, r0, p0
  store.i64 r0, p0, p1
  return
end
kernel copy dims 1
kernel change dims 1
)";

inline std::int64_t next_step(std::int64_t value) { return value * 3 + 1; }

class DeviceForTests : public DeviceBase {
 public:
  using DeviceBase::DeviceBase;
  Result<std::shared_ptr<DeviceMemory>> allocate(std::size_t bytes) override {
    return allocate_on_host(*this, bytes);
  }
  Result<std::shared_ptr<DeviceMemory>> import_host(std::span<std::byte> memory, HostMemory kind) override {
    return import_from_host(*this, memory, kind);
  }
  Result<std::shared_ptr<Kernel>> load(const KernelImage& image) override {
    return std::shared_ptr<Kernel>(std::make_shared<OwnedKernel>(*this, image));
  }
};

// Does what the operation says: a call, a copy or a kernel.
inline void perform_step(const Operation& operation) {
  const auto address = [](const MemorySpan& span) { return span.memory->host() + span.offset; };
  if (operation.function) operation.function();
  if (operation.kernel == nullptr) {
    if (operation.to.bytes != 0)
      std::memcpy(address(operation.to), address(operation.from), operation.to.bytes);
    return;
  }
  for (std::int64_t i = operation.space.low[0]; i < operation.space.high[0]; ++i) {
    const auto element = [&](const ArrayArgument& array) {
      return address(array.memory) + array.first + i * static_cast<std::int64_t>(sizeof(std::int64_t));
    };
    std::int64_t value = 0;
    std::memcpy(&value, element(operation.arrays.front()), sizeof(value));
    value = next_step(value);
    std::memcpy(element(operation.arrays.back()), &value, sizeof(value));
  }
}

}  // namespace dhpvm::offload
