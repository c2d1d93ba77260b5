// SPDX-License-Identifier: Apache-2.0
#include "offload/devices/conformance/conformance.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace dhpvm::offload {
namespace {

constexpr const char* kChoice = "DHPVM_CONFORMANCE_DEVICES";
constexpr std::chrono::seconds kHang{60};

}  // namespace

struct Conformance::Shared {
  TestKernels kernels;
  DeviceRegistry registry;
};
Conformance::Shared* Conformance::shared_ = nullptr;

INSTANTIATE_TEST_SUITE_P(Devices, Conformance, testing::ValuesIn(Conformance::devices()),
                         Conformance::test_name);

std::string Conformance::test_name(const testing::TestParamInfo<std::string>& device) {
  std::string name = device.param;
  std::ranges::replace_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

std::vector<std::string> Conformance::devices() {
  const char* const chosen = std::getenv(kChoice);
  std::vector<std::string> names;
  if (chosen == nullptr) {
    names = conformance_drivers();
    for (const char* const name :
         {"null", "host?inline", "host", "sim", "sim?engines=0&rate=1e9/s&mem=64MiB", "remote/loopback/host",
          "remote/earlier/host", "remote/former/host", "remote/last/host", "remote/tcp/host",
          "remote/tcp/sim", "remote/sealed/host", "remote/sealed/sim"}) {
      names.emplace_back(name);
    }
    return names;
  }
  std::istringstream list(chosen);
  for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  return names;
}

void Conformance::SetUpTestSuite() {
  shared_ = new Shared;
  add_conformance_devices(shared_->registry, shared_->kernels);
}

void Conformance::TearDownTestSuite() {
  delete shared_;
  shared_ = nullptr;
}

void Conformance::SetUp() {
  const auto opened = shared_->registry.open(GetParam());
  if (!opened.ok()) {
    if (std::getenv(kChoice) != nullptr) FAIL() << opened.error().to_string();
    GTEST_SKIP() << "SKIP: " << opened.error().to_string();
  }
  device = opened->get();
  before = device->stats();
}

void Conformance::TearDown() {
  if (device == nullptr) return;
  const DeviceStats after = device->stats();
  EXPECT_EQ(after.bytes_allocated, before.bytes_allocated);
  EXPECT_EQ(after.imports, before.imports);
}

MemorySpan Conformance::allocate(std::size_t bytes) {
  auto memory = device->allocate(bytes);
  if (!memory.ok()) {
    ADD_FAILURE() << memory.error().to_string();
    return {};
  }
  return {std::move(memory).value(), 0, bytes};
}

MemorySpan Conformance::import(std::span<std::byte> bytes, HostMemory kind) {
  auto memory = device->import_host(bytes, kind);
  if (!memory.ok()) {
    ADD_FAILURE() << memory.error().to_string();
    return {};
  }
  return {std::move(memory).value(), 0, bytes.size()};
}

std::unique_ptr<Queue> Conformance::new_queue(std::string name,
                                              std::function<void(const OperationRecord&)> observer) {
  auto queue = device->create_queue({std::move(name), std::move(observer)});
  EXPECT_TRUE(queue.ok()) << queue.error().to_string();
  return std::move(queue).value();
}

std::shared_ptr<Semaphore> Conformance::new_semaphore(std::uint64_t initial) {
  auto semaphore = device->create_semaphore(initial);
  EXPECT_TRUE(semaphore.ok()) << semaphore.error().to_string();
  return std::move(semaphore).value();
}

const KernelImage* Conformance::image(std::string_view name) {
  const auto skip = [](const std::string& reason) { GTEST_SKIP() << "SKIP: " << reason; };
  if (device->info().compute_units == 0) {
    skip("the device computes nothing");
    return nullptr;
  }
  const auto made = shared_->kernels.image(device->info(), name);
  if (made.ok()) return *made;
  if (made.error().code() == ErrorCode::kUnsupported) {
    skip(made.error().to_string());
  } else {
    ADD_FAILURE() << made.error().to_string();
  }
  return nullptr;
}

std::shared_ptr<Kernel> Conformance::load(std::string_view name) {
  const KernelImage* const compiled = image(name);
  if (compiled == nullptr) return nullptr;
  auto kernel = device->load(*compiled);
  if (!kernel.ok()) {
    ADD_FAILURE() << kernel.error().to_string();
    return nullptr;
  }
  return std::move(kernel).value();
}

void Conformance::write(const MemorySpan& to, std::span<const std::byte> bytes) {
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  const auto done = new_semaphore();
  const auto queue = new_queue("write");
  EXPECT_TRUE(ok(queue->copy(to, import(copy, HostMemory::kPageable), Ordered{{}, {{done, 1}}})));
  EXPECT_TRUE(ok(queue->flush()));
  EXPECT_TRUE(reached(*done, 1));
}

std::vector<std::byte> Conformance::read(const MemorySpan& from) {
  std::vector<std::byte> bytes(from.bytes);
  const auto done = new_semaphore();
  const auto queue = new_queue("read");
  EXPECT_TRUE(ok(queue->copy(import(bytes, HostMemory::kPageable), from, Ordered{{}, {{done, 1}}})));
  EXPECT_TRUE(ok(queue->flush()));
  EXPECT_TRUE(reached(*done, 1));
  return bytes;
}

ArrayArgument array_argument(const MemorySpan& memory, std::size_t length, std::size_t element_size,
                             std::size_t first) {
  const auto elements = static_cast<std::int64_t>(length);
  return {
      memory, -static_cast<std::int64_t>(first * element_size), {elements, elements, elements, {elements}}};
}

std::vector<std::byte> pattern(std::size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  std::uint32_t state = seed * 2654435761U + 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

testing::AssertionResult ok(const Status& status) {
  if (status.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << status.error().to_string();
}

testing::AssertionResult reached(Semaphore& semaphore, std::uint64_t value) {
  const auto waited = semaphore.wait(value, Semaphore::Clock::now() + kHang);
  if (!waited.ok()) return testing::AssertionFailure() << waited.error().to_string();
  if (!*waited) return testing::AssertionFailure() << "value " << value << " was not reached within a minute";
  return testing::AssertionSuccess();
}

}  // namespace dhpvm::offload
