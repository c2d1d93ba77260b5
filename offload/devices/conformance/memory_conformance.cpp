// SPDX-License-Identifier: Apache-2.0
// Memory: copies in all directions and of all sizes, fills, parts, imports, exhaustion.
#include <cstdlib>

#include "offload/devices/conformance/conformance.h"
#include "offload/devices/operation.h"

namespace dhpvm::offload {
namespace {

constexpr std::size_t kSizes[] = {0, 1, 2, 3, 7, 64, 4095, 4096, 65537, (std::size_t{8} << 20) + 1};

class Pages {
 public:
  explicit Pages(std::size_t size)
      : size_((size + 4095) & ~std::size_t{4095}), data_(std::aligned_alloc(4096, size_)) {}
  ~Pages() { std::free(data_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(data_), size_}; }

 private:
  std::size_t size_;
  void* data_;
};

TEST_P(Conformance, CopiesThereAndBack) {
  for (const HostMemory kind : {HostMemory::kPinned, HostMemory::kPageable}) {
    for (const std::size_t size : kSizes) {
      const std::vector<std::byte> original = pattern(size, 1);
      std::vector<std::byte> source = original;
      std::vector<std::byte> target = pattern(size, 2);
      const MemorySpan from = import(source, kind);
      const MemorySpan to = import(target, kind);
      const MemorySpan first = allocate(size);
      const MemorySpan second = allocate(size);
      const auto queue = new_queue("copy");
      const auto done = new_semaphore();
      EXPECT_TRUE(ok(queue->copy(first, from, {})));
      EXPECT_TRUE(ok(queue->copy(second, first, {})));
      EXPECT_TRUE(ok(queue->copy(to, second, Ordered{{}, {{done, 1}}})));
      EXPECT_TRUE(ok(queue->flush()));
      ASSERT_TRUE(reached(*done, 1));
      EXPECT_TRUE(source == original && target == original) << size << " bytes";
    }
  }
}

TEST_P(Conformance, CopiesBetweenHostMemories) {
  std::vector<std::byte> source = pattern(5000, 3);
  std::vector<std::byte> target(5000);
  const auto queue = new_queue("copy");
  const auto done = new_semaphore();
  EXPECT_TRUE(
      ok(queue->copy(import(target), import(source, HostMemory::kPageable), Ordered{{}, {{done, 1}}})));
  EXPECT_TRUE(ok(queue->flush()));
  ASSERT_TRUE(reached(*done, 1));
  EXPECT_EQ(source, target);
}

// Odd offsets on both sides, and nothing around the copies is touched.
TEST_P(Conformance, CopiesParts) {
  const std::vector<std::byte> original = pattern(10'000, 4);
  std::vector<std::byte> host = original;
  std::vector<std::byte> expected = pattern(10'000, 5);
  const MemorySpan imported = import(host);
  const MemorySpan memory = allocate(10'000);
  write(memory, expected);
  const auto queue = new_queue("parts");
  const auto done = new_semaphore();
  constexpr struct {
    std::size_t from, to, bytes;
  } kParts[] = {{0, 1, 1},    {1, 17, 63},     {4097, 101, 4099},
                {9999, 0, 1}, {5, 9000, 1000}, {10'000, 10'000, 0}};
  for (const auto& part : kParts) {
    EXPECT_TRUE(
        ok(queue->copy({memory.memory, part.to, part.bytes}, {imported.memory, part.from, part.bytes}, {})));
    std::copy_n(original.begin() + static_cast<std::ptrdiff_t>(part.from), part.bytes,
                expected.begin() + static_cast<std::ptrdiff_t>(part.to));
  }
  EXPECT_TRUE(ok(queue->host_call([] {}, Ordered{{}, {{done, 1}}})));
  EXPECT_TRUE(ok(queue->flush()));
  ASSERT_TRUE(reached(*done, 1));
  EXPECT_EQ(read(memory), expected);
  EXPECT_EQ(host, original);
}

// The device has copied the bytes when the call returns: the caller may change them.
TEST_P(Conformance, WritesBytesThatComeAlong) {
  const std::uint64_t most = device->info().write_bytes;
  std::vector<std::byte> expected = pattern(3 * most + 7, 6);
  const MemorySpan memory = allocate(expected.size());
  write(memory, expected);
  const auto queue = new_queue("write");
  EXPECT_EQ(queue->write({memory.memory, 0, 1}, pattern(1, 7), {}).ok(), most != 0);
  const std::vector<std::byte> large = pattern(most + 1, 8);
  const Status refused = queue->write({memory.memory, 0, most + 1}, large, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kUnsupported) << refused.error().to_string();
  EXPECT_FALSE(queue->write({memory.memory, 0, 2}, pattern(1, 7), {}).ok());
  std::vector<std::byte> host(8);
  EXPECT_FALSE(queue->write(import(host), pattern(8, 7), {}).ok());
  if (most == 0) return;
  expected[0] = pattern(1, 7)[0];
  const auto done = new_semaphore();
  for (const std::size_t size : {std::size_t{1}, std::size_t{63}, static_cast<std::size_t>(most)}) {
    std::vector<std::byte> bytes = pattern(size, 9);
    std::ranges::copy(bytes, expected.begin() + 5);
    EXPECT_TRUE(ok(queue->write({memory.memory, 5, size}, bytes, {})));
    std::ranges::fill(bytes, std::byte{0});
  }
  EXPECT_TRUE(ok(queue->host_call([] {}, Ordered{{}, {{done, 1}}})));
  EXPECT_TRUE(ok(queue->flush()));
  ASSERT_TRUE(reached(*done, 1));
  EXPECT_TRUE(read(memory) == expected);
}

Operation copy_step(const MemorySpan& to, const MemorySpan& from) {
  Operation step;
  step.record.kind = OperationRecord::Kind::kDeviceCopy;
  step.to = to;
  step.from = from;
  return step;
}

// Whether the device takes them as one or not: each sees what those before it have left, and the last one signals.
TEST_P(Conformance, DoesBatchesInTheirOrder) {
  constexpr std::size_t kBytes = 600;
  const auto queue = new_queue("batch");
  const MemorySpan memory = allocate(4096);
  const MemorySpan part{memory.memory, 100, kBytes};
  write(part, pattern(kBytes, 0));
  const auto done = new_semaphore();
  std::vector<std::byte> first(kBytes);
  std::vector<std::byte> second(kBytes);
  std::vector<std::byte> next(kBytes);
  const MemorySpan to_first = import(first);
  const MemorySpan to_second = import(second);
  const MemorySpan from_next = import(next);
  EXPECT_FALSE(queue->batch({}, {}).ok());
  EXPECT_FALSE(
      queue->batch({copy_step(part, from_next), copy_step({memory.memory, 4000, kBytes}, from_next)}, {})
          .ok());
  // Later rounds differ in what is written alone, as the steps of programs do.
  for (unsigned round = 1; round <= 4; ++round) {
    std::ranges::copy(pattern(kBytes, round), next.begin());
    std::vector<Operation> steps = {copy_step(to_first, part), copy_step(part, from_next),
                                    copy_step(to_second, part)};
    if (device->info().write_bytes != 0) {
      steps[1].record.kind = OperationRecord::Kind::kUpload;
      steps[1].from = {};
      steps[1].contents = next;
    }
    ASSERT_TRUE(ok(queue->batch(std::move(steps), Ordered{{}, {{done, round}}})));
    ASSERT_TRUE(ok(queue->flush()));
    ASSERT_TRUE(reached(*done, round));
    EXPECT_EQ(first, pattern(kBytes, round - 1));
    EXPECT_EQ(second, pattern(kBytes, round));
  }
}

TEST_P(Conformance, Fills) {
  for (const std::size_t size : kSizes) {
    const MemorySpan memory = allocate(size + 2);
    const auto queue = new_queue("fill");
    const auto done = new_semaphore();
    EXPECT_TRUE(ok(queue->fill(memory, std::byte{0xff}, {})));
    EXPECT_TRUE(ok(queue->fill({memory.memory, 1, size}, std::byte{0x5a}, Ordered{{}, {{done, 1}}})));
    EXPECT_TRUE(ok(queue->flush()));
    ASSERT_TRUE(reached(*done, 1));
    std::vector<std::byte> expected(size + 2, std::byte{0x5a});
    expected.front() = expected.back() = std::byte{0xff};
    EXPECT_TRUE(read(memory) == expected) << size << " bytes";
  }
}

TEST_P(Conformance, SpansThatReachOutsideAreRefused) {
  const MemorySpan memory = allocate(100);
  std::vector<std::byte> host(100);
  const MemorySpan imported = import(host);
  const auto queue = new_queue("refused");
  const MemorySpan bad[] = {{memory.memory, 0, 101},
                            {memory.memory, 100, 1},
                            {memory.memory, 101, 0},
                            {memory.memory, 50, ~std::size_t{0}},
                            {}};
  for (const MemorySpan& span : bad) {
    EXPECT_EQ(queue->fill(span, {}, {}).error().code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(queue->copy(span, {imported.memory, 0, 1}, {}).error().code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(queue->copy({imported.memory, 0, 1}, span, {}).error().code(), ErrorCode::kInvalidArgument);
  }
  EXPECT_FALSE(queue->copy(memory, {imported.memory, 0, 99}, {}).ok()) << "the sizes differ";
  EXPECT_FALSE(queue->copy({memory.memory, 0, 10}, {memory.memory, 9, 10}, {}).ok()) << "they overlap";
}

TEST_P(Conformance, ImportsAreCountedAndStayWhereTheyAre) {
  const Pages pages(1 << 20);
  {
    const MemorySpan first = import(pages.bytes());
    EXPECT_EQ(first.memory->host(), pages.bytes().data());
    EXPECT_EQ(first.memory->size(), pages.bytes().size());
    EXPECT_EQ(device->stats().imports, before.imports + 1);
  }
  EXPECT_EQ(device->stats().imports, before.imports);
  // The same memory again, and its parts at once.
  const MemorySpan low = import(pages.bytes().first(4096));
  const MemorySpan high = import(pages.bytes().last(4096));
  EXPECT_EQ(device->stats().imports, before.imports + 2);
  EXPECT_EQ(device->stats().imports_made, before.imports_made + 3);
}

TEST_P(Conformance, AllocationsAreCountedAndEnd) {
  const MemorySpan memory = allocate(1 << 20);
  EXPECT_GE(device->stats().bytes_allocated, before.bytes_allocated + (1 << 20));
  const DeviceInfo& info = device->info();
  EXPECT_GE(info.memory_bytes, info.largest_allocation);
  const auto impossible = device->allocate(info.memory_bytes + 1);
  ASSERT_FALSE(impossible.ok());
  EXPECT_EQ(impossible.error().code(), ErrorCode::kDeviceExhausted);
  EXPECT_NE(impossible.error().message().find(info.name), std::string::npos)
      << impossible.error().to_string();
  EXPECT_TRUE(device->allocate(1 << 20).ok()) << "a refusal changes nothing";
}

TEST_P(Conformance, ExhaustionPasses) {
  const DeviceInfo& info = device->info();
  if (info.memory_bytes > std::uint64_t{1} << 30)
    GTEST_SKIP() << "SKIP: filling the memory of the device would take long";
  std::vector<MemorySpan> all;
  const std::size_t part = info.memory_bytes / 8;
  for (unsigned n = 0; n < 8; ++n) all.push_back(allocate(part));
  const auto more = device->allocate(part);
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().code(), ErrorCode::kDeviceExhausted);
  all.pop_back();
  EXPECT_TRUE(device->allocate(part).ok());
}

// An operation in flight holds what it needs.
TEST_P(Conformance, MemoryMayBeLetGoWhileItIsInUse) {
  std::vector<std::byte> host(1 << 20);
  const auto queue = new_queue("short-lived");
  const auto done = new_semaphore();
  const MemorySpan result = import(host);
  for (unsigned n = 0; n < 16; ++n) {
    const MemorySpan a = allocate(1 << 20);
    const MemorySpan b = allocate(1 << 20);
    EXPECT_TRUE(ok(queue->fill(a, std::byte(n), {})));
    EXPECT_TRUE(ok(queue->copy(b, a, {})));
    EXPECT_TRUE(ok(queue->copy(result, b, n == 15 ? Ordered{{}, {{done, 1}}} : Ordered{})));
  }
  EXPECT_TRUE(ok(queue->flush()));
  ASSERT_TRUE(reached(*done, 1));
  EXPECT_EQ(host, std::vector(host.size(), std::byte{15}));
}

}  // namespace
}  // namespace dhpvm::offload
