// SPDX-License-Identifier: Apache-2.0
// Chains whose results find no room on the host: a device that may be lost sends them to memory of the run's own first.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bytecode/assembler.h"
#include "bytecode/verifier.h"
#include "offload/loops/footprint.h"
#include "offload/schedule/pipeline/devices_for_tests.h"
#include "offload/schedule/pipeline/loop_chain.h"

namespace dhpvm::offload {
namespace {

constexpr std::int64_t kElements = 128 << 10;
constexpr std::size_t kBytes = kElements * sizeof(std::int64_t);

// Does each operation when it is submitted.
class PlainQueue final : public CheckedQueue {
 public:
  using CheckedQueue::CheckedQueue;
  Status flush() override { return {}; }

 protected:
  void submit(Operation operation) override {
    const Status status = await(operation);
    if (status.ok()) perform_step(operation);
    finish(std::move(operation), status);
  }
};

class PlainDevice final : public DeviceForTests {
 public:
  using DeviceForTests::DeviceForTests;
  Result<std::unique_ptr<Queue>> create_queue(QueueOptions options) override {
    return std::unique_ptr<Queue>(std::make_unique<PlainQueue>(*this, std::move(options)));
  }
};

class ChainRoom : public ::testing::Test {
 protected:
  // Has room for a third of the array.
  static std::shared_ptr<PlainDevice> make_device() {
    DeviceInfo info;
    info.name = "far";
    info.memory_bytes = info.largest_allocation = kBytes / 3;
    info.may_be_lost = true;
    info.copy_engines = 2;
    return std::make_shared<PlainDevice>(info);
  }

  // Two loops in place, one behind the other, with so much room for results on the host; the number of chunks.
  std::uint64_t run(std::size_t room) {
    auto assembled = bytecode::assemble(kLoopsForTests);
    EXPECT_TRUE(assembled.ok() && bytecode::verify(*assembled).ok());
    const Footprint footprint = analyse(*assembled, assembled->kernels[1]);
    BufferPool pool({.budget_bytes = kBytes + room});
    const auto far = make_device();
    Registrations registrations(pool);
    KernelImage image;
    image.arrays = 1;
    Buffer* const buffer = pool.allocate(kBytes, BufferContents::kZeroed).value();
    const auto device = PipelineDevice::create(far, pool, registrations, {}).value();
    codegen::KernelArray array;
    array.data = buffer->data();
    array.shape = {kElements, kElements, kElements, {kElements}};
    const ArrayStorage storage{sizeof(std::int64_t), buffer};
    Loop loop;
    loop.footprint = &footprint;
    loop.space = {1, {0}, {kElements}};
    loop.arrays = {&array, 1};
    loop.storage = {&storage, 1};
    loop.can_trap = false;
    std::uint64_t chunks = 0;
    {
      LoopChain chain(*device, 0, LoopChain::Way::kInSlices);
      chain.on_end = [&](const ChainOutcome& outcome) { chunks = outcome.chunks; };
      for (unsigned n = 0; n < 2; ++n) {
        const Part part{device.get(), far->load(image).value(), plan_run(*device, {&loop, 1}).value()};
        EXPECT_EQ(chain.add(loop, part, [] { return std::optional<Part>(); }), "");
      }
      const Status settled = chain.settle();
      EXPECT_TRUE(settled.ok()) << settled.error().to_string();
    }
    EXPECT_TRUE(ArrayCopies::of(*buffer).to_host_for_writing().ok());
    const std::int64_t expected = next_step(next_step(0));
    std::vector<std::int64_t> values(kElements);
    std::memcpy(values.data(), buffer->data(), kBytes);
    EXPECT_EQ(values, std::vector<std::int64_t>(kElements, expected));
    buffer->close();
    return chunks;
  }
};

TEST_F(ChainRoom, IsMadeByPuttingEarlierResultsInPlace) {
  EXPECT_EQ(run(2 * BufferPool::kUnit), run(kBytes));
}

}  // namespace
}  // namespace dhpvm::offload
