// SPDX-License-Identifier: Apache-2.0
// The common part of devices that tests write themselves: their memory is the host's, and every kernel writes into its
// last array what its first one holds, a step further. The kernel named kAmong reads elements among those that other
// iterations write.
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

// Loops as programs have them: one from one array into another, one that changes an array in place, and one that
// changes two elements of four, and reads between those of the iterations before and behind it.
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
function among(i64, A) registers 5 1
  add.i64 p1, p0, p0
  add.i64 p1, p1, p1
  add.imm.i64 p2, p1, -2
  load.i64 p3, r0, p2
  add.imm.i64 p2, p1, 6
  load.i64 p4, r0, p2
  add.i64 p3, p3, p4
  add.imm.i64 p2, p1, 1
  load.i64 p4, r0, p2
  add.i64 p3, p3, p4
  store.i64 r0, p2, p3
  add.imm.i64 p2, p1, 3
  store.i64 r0, p2, p3
  return
end
kernel copy dims 1
kernel change dims 1
kernel among dims 1
)";
inline constexpr std::string_view kAmong = "among";

inline std::int64_t next_step(std::int64_t value) { return value * 3 + 1; }

// The iteration of that loop. Element 0 of the array is at `data`.
inline void step_among(std::byte* data, std::int64_t iteration) {
  const auto element = [&](std::int64_t from_there) {
    return data + (4 * iteration + from_there) * static_cast<std::int64_t>(sizeof(std::int64_t));
  };
  std::int64_t sum = 0;
  for (const std::int64_t from_there : {-2, 6, 1}) {
    std::int64_t value = 0;
    std::memcpy(&value, element(from_there), sizeof(value));
    sum += value;
  }
  for (const std::int64_t to_there : {1, 3}) std::memcpy(element(to_there), &sum, sizeof(sum));
}

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
  const bool is_among = static_cast<const OwnedKernel&>(*operation.kernel).shape().name == kAmong;
  for (std::int64_t i = operation.space.low[0]; i < operation.space.high[0]; ++i) {
    if (is_among) {
      const ArrayArgument& array = operation.arrays.front();
      step_among(address(array.memory) + array.first, i);
      continue;
    }
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
