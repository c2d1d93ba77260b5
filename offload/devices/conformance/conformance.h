// SPDX-License-Identifier: Apache-2.0
// The frame of the conformance tests: each runs on every device that opens here.
//
// DHPVM_CONFORMANCE_DEVICES, names separated by commas, chooses others; those must open.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "offload/devices/conformance/test_kernels.h"
#include "offload/devices/device_registry.h"

namespace dhpvm::offload {

// Adds the kinds of devices that the tests open. Every program made of these tests defines it, because
// devices stand above this room. `kernels` compiles for devices that take bytecode.
void add_conformance_devices(DeviceRegistry& registry, TestKernels& kernels);

// The kinds of devices on vendors' drivers, which are tested by their first device; defined by such a program as well.
std::vector<std::string> conformance_drivers();

// The order of an operation, holding the lists that an Order only refers to.
struct Ordered {
  std::vector<SemaphoreValue> waits;
  std::vector<SemaphoreValue> signals;
  operator Order() const { return {waits, signals}; }  // NOLINT: that is what it is for
};

class Conformance : public testing::TestWithParam<std::string> {
 public:
  static std::vector<std::string> devices();
  static std::string test_name(const testing::TestParamInfo<std::string>& device);

 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();
  // Opens the device, or skips the test.
  void SetUp() override;
  // The test's objects are gone: all memory and all registrations must be gone as well.
  void TearDown() override;

  // A failure is reported, and the result is empty.
  MemorySpan allocate(std::size_t bytes);
  MemorySpan import(std::span<std::byte> memory, HostMemory kind = HostMemory::kPinned);
  template <typename T>
  MemorySpan import(std::vector<T>& values, HostMemory kind = HostMemory::kPinned) {
    return import(std::as_writable_bytes(std::span(values)), kind);
  }
  std::unique_ptr<Queue> new_queue(std::string name,
                                   std::function<void(const OperationRecord&)> observer = nullptr);
  std::shared_ptr<Semaphore> new_semaphore(std::uint64_t initial = 0);
  // One of TestKernels. Where no kernels can be compiled, the test is skipped; it must end when it gets null.
  const KernelImage* image(std::string_view name);
  std::shared_ptr<Kernel> load(std::string_view name);

  // On a queue of their own, and waited for.
  void write(const MemorySpan& to, std::span<const std::byte> bytes);
  std::vector<std::byte> read(const MemorySpan& from);
  // Memory of the device that holds the values.
  template <typename T>
  MemorySpan place(const std::vector<T>& values) {
    MemorySpan span = allocate(values.size() * sizeof(T));
    write(span, std::as_bytes(std::span(values)));
    return span;
  }
  template <typename T>
  std::vector<T> values(const MemorySpan& from) {
    const std::vector<std::byte> bytes = read(from);
    std::vector<T> result(bytes.size() / sizeof(T));
    std::memcpy(result.data(), bytes.data(), result.size() * sizeof(T));
    return result;
  }

  Device* device = nullptr;
  DeviceStats before;  // what the device counted when the test began

 private:
  struct Shared;
  static Shared* shared_;
};

// All of an array of rank 1 in memory that begins with element `first`.
ArrayArgument array_argument(const MemorySpan& memory, std::size_t length, std::size_t element_size,
                             std::size_t first = 0);

// Bytes that differ from their neighbours, and from those of another seed.
std::vector<std::byte> pattern(std::size_t size, unsigned seed);

testing::AssertionResult ok(const Status& status);
// The value is reached within a time that only a hang takes.
testing::AssertionResult reached(Semaphore& semaphore, std::uint64_t value);

}  // namespace dhpvm::offload
