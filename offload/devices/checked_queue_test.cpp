// SPDX-License-Identifier: Apache-2.0
// Operations that queues refuse, and in which words; on the null device, since no operation gets as far as running.
#include "offload/devices/checked_queue.h"

#include <gtest/gtest.h>

#include <vector>

#include "offload/devices/null/null_device.h"

namespace dhpvm::offload {
namespace {

class CheckedQueues : public testing::Test {
 protected:
  CheckedQueues() {
    image.name = "blur.dhp:12";
    image.dimensions = 2;
    image.scalars = 1;
    image.arrays = 1;
    image.reductions = {{}};
    image.sites.resize(1);
    kernel = *device.load(image);
    report = span(sizeof(codegen::KernelReport));
    partials = span(8 * 30);
    space = {2, {0, 0}, {10, 3 * 4096 - 1}};
    arrays = {{span(8), 0, {1, 1, 1, {1}}}};
  }
  MemorySpan span(std::size_t bytes) { return {*device.allocate(bytes), 0, bytes}; }
  std::string launch() {
    return message(queue->launch({kernel, space, scalars, arrays, partials, report}, {}));
  }
  static std::string message(const Status& status) { return status.ok() ? "" : status.error().to_string(); }
  static void expect(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' does not contain '" << part << "'";
  }

  NullDevice device;
  std::unique_ptr<Queue> queue = *device.create_queue({"test", nullptr});
  KernelImage image;
  std::shared_ptr<Kernel> kernel;
  MemorySpan report;
  MemorySpan partials;
  IterationSpace space;
  std::vector<std::uint64_t> scalars = {0};
  std::vector<ArrayArgument> arrays;
};

TEST_F(CheckedQueues, Spans) {
  const MemorySpan memory = span(100);
  expect(message(queue->copy({memory.memory, 0, 10}, {memory.memory, 50, 11}, {})), "from 11 bytes to 10");
  expect(message(queue->copy({memory.memory, 0, 11}, {memory.memory, 10, 11}, {})), "overlap");
  EXPECT_EQ(message(queue->copy({memory.memory, 0, 10}, {memory.memory, 10, 10}, {})), "");
  expect(message(queue->fill({memory.memory, 1, 100}, {}, {})), "100 bytes from offset 1");
  expect(message(queue->fill({memory.memory, 101, 0}, {}, {})), "0 bytes from offset 101");
  expect(message(queue->fill({memory.memory, 2, ~std::size_t{0}}, {}, {})), "which has 100 bytes");
  EXPECT_EQ(message(queue->fill({memory.memory, 100, 0}, {}, {})), "");
  expect(message(queue->fill({nullptr, 0, 0}, {}, {})), "is no memory");
}

TEST_F(CheckedQueues, WhatBelongsToAnotherDevice) {
  NullDevice other;
  const MemorySpan memory = {*other.allocate(8), 0, 8};
  expect(message(queue->fill(memory, {}, {})), "memory of another device");
  kernel = *other.load(image);
  expect(launch(), "one of another device");
  kernel = nullptr;
  expect(launch(), "none");
}

TEST_F(CheckedQueues, Launches) {
  EXPECT_EQ(launch(), "");
  partials.bytes -= 8;
  expect(launch(), "take 240 bytes here");
  partials.bytes += 8;
  partials.offset = 4;
  expect(launch(), "do not lie inside");
  partials = span(8 * 31);
  partials.offset = 4;
  partials.bytes -= 4;
  expect(launch(), "at offset 4");
  partials.offset = 8;
  partials.bytes -= 4;
  EXPECT_EQ(launch(), "");
  report.bytes -= 1;
  expect(launch(), "can trap");
  report = span(sizeof(codegen::KernelReport));
  space.high[1] = 0;
  expect(launch(), "over no iterations");
  space.high = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  expect(launch(), "2^63 or more");
  space.dimensions = 1;
  expect(launch(), "takes 2 dimensions, 1 scalars and 1 arrays, but is launched with 1, 1 and 1");
}

TEST_F(CheckedQueues, ArraysOfLaunches) {
  arrays[0].memory.bytes = 9;
  expect(launch(), "array 0 of a launch: 9 bytes");
  arrays[0].memory = {};
  expect(launch(), "array 0 of a launch is no memory");
  arrays[0].shape.readable = arrays[0].shape.writable = 0;
  EXPECT_EQ(launch(), "") << "a closed array";
}

TEST_F(CheckedQueues, KernelsGetMemoryOfTheDevice) {
  std::vector<std::byte> host(8);
  arrays[0].memory.memory = *device.import_host(host, HostMemory::kPinned);
  expect(launch(), "array 0 of the launch is in memory of the host, which device 'null' does not share");
  arrays[0].memory = span(8);
  report.memory = *device.import_host(host, HostMemory::kPinned);
  report.bytes = 8;
  expect(launch(), "can trap");
  std::vector<std::byte> large(sizeof(codegen::KernelReport));
  report = {*device.import_host(large, HostMemory::kPinned), 0, large.size()};
  expect(launch(), "partial results or report of the launch are in memory of the host");
}

TEST_F(CheckedQueues, RefusalsSayWhatWasToBeDone) {
  const std::shared_ptr<Semaphore> semaphore = *device.create_semaphore(0);
  const SemaphoreValue wait{semaphore, 1};
  expect(message(queue->launch({kernel, space, scalars, arrays, partials, report}, {{&wait, 1}, {}})),
         "while running kernel 'blur.dhp:12' on device 'null' (queue 'test')");
  expect(message(queue->fill(report, {}, {{&wait, 1}, {}})), "while filling");
  expect(message(queue->host_call(nullptr, {})), "no function");
  EXPECT_EQ(device.stats().launches, 0U);
}

TEST_F(CheckedQueues, MemoryHasABudget) {
  const std::uint64_t used = device.stats().bytes_allocated;
  {
    const auto all = device.allocate(device.info().memory_bytes - used);
    ASSERT_TRUE(all.ok());
    const auto more = device.allocate(1);
    ASSERT_FALSE(more.ok());
    EXPECT_EQ(more.error().code(), ErrorCode::kDeviceExhausted);
    expect(more.error().message(), "has 0 bytes of its 1 GiB left, not the 1 bytes that are needed");
  }
  EXPECT_EQ(device.stats().bytes_allocated, used);
  EXPECT_EQ(device.stats().peak_bytes_allocated, device.info().memory_bytes);
}

}  // namespace
}  // namespace dhpvm::offload
