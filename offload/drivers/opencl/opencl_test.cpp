// SPDX-License-Identifier: Apache-2.0
// OpenCL beyond the conformance suite: source text that a driver compiles, memory that is used in place, errors of
// drivers. Runs on every OpenCL device present.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "offload/drivers/opencl/opencl_device.h"

namespace dhpvm::offload {
namespace {

using codegen::ParameterKind;
using Clock = Semaphore::Clock;

// y[i] = a * x[i] + y[i] for the iterations of a chunk, as the code generator would call its parameters.
KernelImage saxpy() {
  KernelImage image;
  image.format = KernelFormat::kDeviceCode;
  image.device_code.language = "opencl";
  image.name = "saxpy.dhp:3";
  image.scalars = 1;
  image.arrays = 2;
  image.device_code.entry = "saxpy";
  image.device_code.parameters = {
      {ParameterKind::kLow, 0, 0},        {ParameterKind::kHigh, 0, 0},       {ParameterKind::kScalar, 0, 0},
      {ParameterKind::kData, 0, 0},       {ParameterKind::kDataOffset, 0, 0}, {ParameterKind::kData, 1, 0},
      {ParameterKind::kDataOffset, 1, 0},
  };
  image.device_code.text = R"(
    kernel void saxpy(long low, long high, ulong a, global char* x_data, long x_offset, global char* y_data,
                      long y_offset) {
      const float factor = as_float((uint)a);
      for (long i = low + get_global_id(0); i < high; i += get_global_size(0)) {
        global const float* x = (global const float*)(x_data + (x_offset + 4 * i));
        global float* y = (global float*)(y_data + (y_offset + 4 * i));
        *y = factor * *x + *y;
      }
    })";
  return image;
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const DeviceListing& listing : opencl_factory()->list()) {
    if (listing.problem) {
      std::printf("SKIP %s: %s\n", listing.name.c_str(), listing.problem->to_string().c_str());
      continue;
    }
    names.push_back(listing.name);
    names.push_back(listing.name + "?copy");
  }
  return names;
}

class OpenCl : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Device>> opened = opencl_factory()->open(GetParam());
    ASSERT_TRUE(opened.ok()) << opened.error().to_string();
    device_ = std::move(opened).value();
  }
  std::unique_ptr<Queue> queue(QueueOptions options = {}) {
    return std::move(device_->create_queue(std::move(options))).value();
  }
  std::shared_ptr<Semaphore> semaphore() { return std::move(device_->create_semaphore(0)).value(); }

  std::unique_ptr<Device> device_;
};
std::string test_name(const testing::TestParamInfo<std::string>& device) {
  std::string name = device.param;
  std::ranges::replace_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Devices, OpenCl, testing::ValuesIn(device_names()), test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OpenCl);

TEST_P(OpenCl, WorksOnHostMemoryWhereItCan) {
  constexpr std::size_t kCount = 100'000;
  std::vector<float> x(kCount, 2.0F);
  std::vector<float> y(kCount, 1.0F);
  const auto host_x =
      std::move(device_->import_host(std::as_writable_bytes(std::span(x)), HostMemory::kPinned)).value();
  const auto host_y =
      std::move(device_->import_host(std::as_writable_bytes(std::span(y)), HostMemory::kPinned)).value();
  const std::size_t bytes = kCount * sizeof(float);
  auto device_x = host_x;
  auto device_y = host_y;
  Result<std::shared_ptr<Kernel>> kernel = device_->load(saxpy());
  ASSERT_TRUE(kernel.ok()) << kernel.error().to_string();
  const auto done = semaphore();
  const auto work = queue();
  std::uint64_t step = 0;
  const bool shares = device_->info().shares_host_memory;
  if (!shares) {
    device_x = std::move(device_->allocate(bytes)).value();
    device_y = std::move(device_->allocate(bytes)).value();
    ASSERT_TRUE(work->copy({device_x, 0, bytes}, {host_x, 0, bytes}, {}).ok());
    ASSERT_TRUE(work->copy({device_y, 0, bytes}, {host_y, 0, bytes}, {}).ok());
  }
  const float factor = 3.0F;
  std::uint32_t factor_bits = 0;
  std::memcpy(&factor_bits, &factor, sizeof(factor));
  const std::uint64_t scalars[] = {factor_bits};
  // Two chunks, the second with spans that begin where it does.
  for (const std::int64_t low : {std::int64_t{0}, std::int64_t{70'001}}) {
    const std::int64_t high = low == 0 ? 70'001 : kCount;
    const auto offset = static_cast<std::size_t>(low) * sizeof(float);
    const auto length = static_cast<std::size_t>(high - low) * sizeof(float);
    const ArrayArgument arrays[] = {
        {{device_x, offset, length}, -static_cast<std::int64_t>(offset), {kCount, 0, kCount, {}}},
        {{device_y, offset, length}, -static_cast<std::int64_t>(offset), {kCount, kCount, kCount, {}}}};
    Launch launch;
    launch.kernel = *kernel;
    launch.space.low[0] = low;
    launch.space.high[0] = high;
    launch.scalars = scalars;
    launch.arrays = arrays;
    const SemaphoreValue signal[] = {{done, ++step}};
    ASSERT_TRUE(work->launch(launch, {{}, signal}).ok());
  }
  if (!shares) {
    const SemaphoreValue signal[] = {{done, ++step}};
    ASSERT_TRUE(work->copy({host_y, 0, bytes}, {device_y, 0, bytes}, {{}, signal}).ok());
  }
  const Result<bool> reached = done->wait(step);
  ASSERT_TRUE(reached.ok()) << reached.error().to_string();
  for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(y[i], 7.0F) << i;
  const DeviceStats stats = device_->stats();
  EXPECT_EQ(stats.launches, 2u);
  EXPECT_EQ(stats.bytes_uploaded, shares ? 0 : 2 * bytes);
  EXPECT_EQ(stats.bytes_downloaded, shares ? 0 : bytes);
}

TEST_P(OpenCl, ShowsTheCompilersLog) {
  KernelImage image = saxpy();
  image.device_code.text = "kernel void saxpy() { int x = undeclared; }";
  const Result<std::shared_ptr<Kernel>> kernel = device_->load(image);
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code(), ErrorCode::kCompile);
  EXPECT_NE(kernel.error().message().find("saxpy.dhp:3"), std::string::npos);
  EXPECT_NE(kernel.error().message().find("undeclared"), std::string::npos) << kernel.error().message();
}

TEST_P(OpenCl, RefusesAnEntryThatIsNotThere) {
  KernelImage image = saxpy();
  image.device_code.entry = "other";
  const Result<std::shared_ptr<Kernel>> kernel = device_->load(image);
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code(), ErrorCode::kCompile);
}

TEST_P(OpenCl, CallsTheHostInOrder) {
  const auto first = queue({"first", {}});
  const auto second = queue({"second", {}});
  const auto done = semaphore();
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) {
    const auto value = static_cast<std::uint64_t>(i);
    const SemaphoreValue waits[] = {{done, value}};
    const SemaphoreValue signals[] = {{done, value + 1}};
    ASSERT_TRUE(
        (i % 2 == 0 ? first : second)->host_call([&order, i] { order.push_back(i); }, {waits, signals}).ok());
  }
  ASSERT_TRUE(done->wait(100).ok());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST_P(OpenCl, DoesNotCallTheHostAfterAFailure) {
  const auto gate = semaphore();
  const auto passed = semaphore();
  const auto done = semaphore();
  const auto first = queue();
  const auto second = queue();
  std::atomic<bool> open = false;
  std::atomic<bool> called = false;
  const SemaphoreValue opens[] = {{gate, 1}};
  ASSERT_TRUE(first->host_call([&open] { open.wait(false); }, {{}, opens}).ok());
  const SemaphoreValue signals[] = {{done, 1}};
  ASSERT_TRUE(second->host_call([&called] { called = true; }, {opens, signals}).ok());
  gate->fail(Error(ErrorCode::kDeviceFailed, "made to fail"));
  open = true;
  open.notify_all();
  const Result<bool> result = done->wait(1);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message(), "made to fail");
  EXPECT_FALSE(called);
}

TEST_P(OpenCl, MeasuresOnItsClock) {
  std::vector<OperationRecord> records;
  const auto before = device_->now();
  {
    const auto memory = std::move(device_->allocate(1 << 20)).value();
    const auto observed =
        queue({"observed", [&records](const OperationRecord& record) { records.push_back(record); }});
    ASSERT_TRUE(observed->fill({memory, 0, 1 << 20}, std::byte{7}, {}, 41).ok());
    ASSERT_TRUE(observed->host_call([] {}, {}, 42).ok());
    ASSERT_TRUE(observed->fill({memory, 0, 1 << 20}, std::byte{8}, {}, 43).ok());
  }
  const auto after = device_->now();
  ASSERT_EQ(records.size(), 3u);
  constexpr std::chrono::milliseconds kTolerance(20);
  auto last = before - kTolerance;
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].label, 41 + i);
    EXPECT_GE(records[i].begin, last);
    EXPECT_GE(records[i].end, records[i].begin);
    EXPECT_LE(records[i].end, after + kTolerance);
    last = records[i].begin - kTolerance;
  }
}

TEST_P(OpenCl, KeepsManyOperationsInFlight) {
  constexpr std::uint64_t kOperations = 20'000;
  const auto memory = std::move(device_->allocate(4096)).value();
  const auto first = queue();
  const auto second = queue();
  const auto done = semaphore();
  for (std::uint64_t i = 0; i < kOperations; ++i) {
    const SemaphoreValue waits[] = {{done, i}};
    const SemaphoreValue signals[] = {{done, i + 1}};
    ASSERT_TRUE((i % 2 == 0 ? first : second)->fill({memory, 0, 64}, std::byte{1}, {waits, signals}).ok());
  }
  const Result<bool> reached = done->wait(kOperations);
  ASSERT_TRUE(reached.ok()) << reached.error().to_string();
}

TEST_P(OpenCl, HearsWhenAnEventHasEnded) {
  auto& device = static_cast<OpenClDevice&>(*device_);
  EventCallbacks callbacks(device.api());
  cl_int code = CL_SUCCESS;
  cl_event const event = device.api().CreateUserEvent(device.context(), &code);
  ASSERT_EQ(code, CL_SUCCESS);
  ASSERT_TRUE(callbacks.order(event));
  callbacks.wait(0, Clock::now() + std::chrono::milliseconds(2));
  EXPECT_EQ(callbacks.calls(), 0U) << "nothing has ended";
  std::thread ends([&] { device.api().SetUserEventStatus(event, CL_COMPLETE); });
  callbacks.wait(0, Clock::time_point::max());
  EXPECT_EQ(callbacks.calls(), 1U);
  callbacks.wait(0, Clock::time_point::max());  // it has been called already
  ends.join();
  device.api().ReleaseEvent(event);
}

TEST(OpenClFactory, SaysWhatToInstall) {
  const auto factory = opencl_factory("libThereIsNone.so.1");
  const std::vector<DeviceListing> listings = factory->list();
  ASSERT_EQ(listings.size(), 1u);
  ASSERT_TRUE(listings[0].problem);
  EXPECT_NE(listings[0].problem->message().find("ocl-icd-libopencl1"), std::string::npos);
}

TEST(OpenClFactory, RefusesWhatIsNotThere) {
  const auto factory = opencl_factory();
  for (const char* const name : {"opencl:9999", "opencl:x", "opencl:0?cpy", "opencl"})
    EXPECT_FALSE(factory->open(name).ok()) << name;
}

}  // namespace
}  // namespace dhpvm::offload
