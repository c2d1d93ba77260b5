// SPDX-License-Identifier: Apache-2.0
// The common part of the conformance tests of launches.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "offload/devices/conformance/conformance.h"

namespace dhpvm::offload {

// Numbers between -100 and 156 that are not whole.
inline std::vector<float> floats(std::size_t count, std::uint32_t seed) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto mixed = static_cast<std::uint32_t>(i + seed) * 2654435761U;
    values[i] = static_cast<float>(mixed >> 8) / 65536.0F - 100.0F;
  }
  return values;
}

class Launches : public Conformance {
 protected:
  void TearDown() override {
    report = {};
    Conformance::TearDown();
  }
  // The kernel over the space on a queue of its own, to the end.
  void run(const std::shared_ptr<Kernel>& kernel, const IterationSpace& space,
           const std::vector<std::uint64_t>& scalars, const std::vector<ArrayArgument>& arrays,
           const MemorySpan& partials = {}) {
    const auto queue = new_queue("launch");
    const auto done = new_semaphore();
    if (report.memory == nullptr) report = place(std::vector<codegen::KernelReport>(1));
    EXPECT_TRUE(
        ok(queue->launch({kernel, space, scalars, arrays, partials, report}, Ordered{{}, {{done, 1}}})));
    EXPECT_TRUE(ok(queue->flush()));
    EXPECT_TRUE(reached(*done, 1));
  }
  // The trap that is reported, if there is one.
  std::optional<codegen::KernelTrap> trap() {
    const codegen::KernelReport found = values<codegen::KernelReport>(report).front();
    EXPECT_EQ(found.lock, 0U);
    if (found.status == static_cast<std::uint32_t>(codegen::KernelStatus::kDone)) return std::nullopt;
    EXPECT_EQ(found.status, static_cast<std::uint32_t>(codegen::KernelStatus::kTrapped));
    return found.trap;
  }
  MemorySpan report;
};

}  // namespace dhpvm::offload
