// SPDX-License-Identifier: Apache-2.0
// CUDA devices over the fake driver: their calls of the driver, and the handling of its errors. The conformance tests
// run over it as well; only they check the results of a real GPU.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "offload/drivers/cuda/cuda_fixture.h"

namespace dhpvm::offload {
namespace {

class Cuda : public CudaFixture {};

TEST_F(Cuda, RunsALoop) {
  std::vector<std::uint64_t> values(kCount, 7);
  const Status status = run_loop(values);
  ASSERT_TRUE(status.ok()) << status.error().to_string();
  for (const std::uint64_t value : values) ASSERT_EQ(value, 21U);
  EXPECT_EQ(counts().launches, 2);
}

// If any call fails, there is an error that names it or the
// right result, no leak, and no invalid call.
TEST_F(Cuda, SurvivesTheFailureOfAnyCall) {
  constexpr const char* kSymbols[] = {
#define X(member, symbol, parameters) #symbol,
      DHPVM_CUDA_FUNCTIONS(X)
#undef X
  };
  int failures = 0;
  for (const std::string symbol : kSymbols) {
    // They only fail when the context does, which the next call tells.
    if (symbol == "cuCtxPushCurrent_v2" || symbol == "cuCtxPopCurrent_v2") continue;
    for (int test = 0; test < 12; ++test) {
      const int skip = test / 2;
      configure({});
      fail(symbol.c_str(), cu::CUDA_ERROR_OUT_OF_MEMORY, skip);
      std::vector<std::uint64_t> values(kCount, 7);
      const Status status = run_loop(values, test % 2 == 0 ? HostMemory::kPinned : HostMemory::kPageable);
      if (status.ok()) {
        for (const std::uint64_t value : values) ASSERT_EQ(value, 21U) << symbol << " " << skip;
      } else {
        ++failures;
        EXPECT_NE(status.error().to_string().find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos)
            << symbol << ": " << status.error().to_string();
      }
      const FakeCudaCounts now = counts();
      EXPECT_EQ(now.contexts + now.streams + now.events + now.modules + now.allocations + now.registrations,
                0)
          << symbol << " " << skip;
      EXPECT_EQ(now.misuses, 0) << symbol << " " << skip;
    }
  }
  EXPECT_GT(failures, 20);
}

TEST_F(Cuda, IsLostWhenAKernelFails) {
  hook<FakeCudaOnLaunch>(kFakeCudaOnLaunch)(
      [](const FakeCudaLaunch*, void*) { return static_cast<int>(cu::CUDA_ERROR_ILLEGAL_ADDRESS); }, nullptr);
  std::vector<std::uint64_t> values(kCount, 7);
  const Status status = run_loop(values);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::kDeviceLost);
  EXPECT_NE(status.error().to_string().find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos);
}

TEST_F(Cuda, TriesASmallerLaunchWhenOneIsRefused) {
  for (const cu::Code code :
       {cu::CUDA_ERROR_INVALID_VALUE, cu::CUDA_ERROR_OUT_OF_MEMORY, cu::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES}) {
    configure({});
    fail("cuLaunchKernel", code);
    fail("cuLaunchKernel", code);
    std::vector<std::uint64_t> values(kCount, 7);
    const Status status = run_loop(values);
    ASSERT_TRUE(status.ok()) << code << ": " << status.error().to_string();
    for (const std::uint64_t value : values) ASSERT_EQ(value, 21U) << code;
    EXPECT_EQ(counts().launches, 2);
    for (int i = 0; i < 8; ++i) fail("cuLaunchKernel", code);
    EXPECT_FALSE(run_loop(values).ok()) << code;
  }
}

TEST_F(Cuda, KnowsTheCodesOfALoss) {
  for (const cu::Code code : {cu::CUDA_ERROR_INVALID_CONTEXT, cu::CUDA_ERROR_TENSOR_MEMORY_LEAK,
                              cu::CUDA_ERROR_MPS_CLIENT_TERMINATED}) {
    configure({});
    fail("cuMemcpyDtoHAsync_v2", code);
    std::vector<std::uint64_t> values(kCount, 7);
    const Status status = run_loop(values);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code(), ErrorCode::kDeviceLost) << status.error().to_string();
  }
}

TEST_F(Cuda, SaysThatADisplayEndsLongKernels) {
  configure({.exec_timeout = 1});
  EXPECT_NE(device().info().description.find("for a display"), std::string::npos)
      << device().info().description;
  hook<FakeCudaOnLaunch>(kFakeCudaOnLaunch)(
      [](const FakeCudaLaunch*, void*) { return static_cast<int>(cu::CUDA_ERROR_LAUNCH_TIMEOUT); }, nullptr);
  device_.reset();
  std::vector<std::uint64_t> values(kCount, 7);
  const Status status = run_loop(values);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().to_string().find("Use smaller batches"), std::string::npos)
      << status.error().to_string();
}

TEST_F(Cuda, TellsFreeMemoryAndNotAll) {
  FakeCudaConfig config;
  config.memory_bytes = std::size_t{64} << 20;
  configure(config);
  EXPECT_EQ(device().info().memory_bytes, std::uint64_t{64} << 20);
  const auto memory = device().allocate(std::size_t{30} << 20);
  ASSERT_TRUE(memory.ok());
  const auto second = factory()->open("cuda:0");
  ASSERT_TRUE(second.ok());
  EXPECT_EQ((*second)->info().memory_bytes, std::uint64_t{34} << 20);
  EXPECT_EQ((*second)->info().largest_allocation, std::uint64_t{34} << 20);
}

TEST_F(Cuda, RefusesKernelsWhoseLocalMemoryFillsTheDevice) {
  KernelImage image = scale();
  const auto with = [&](const char* bytes) {
    image = scale();
    std::string& text = image.device_code.text;
    text.replace(text.find("{ ret;"), 2, std::string("{ .local .align 8 .b8 depot[") + bytes + "]; ");
    return device().load(image);
  };
  EXPECT_TRUE(with("65536").ok());
  const auto kernel = with("65544");
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code(), ErrorCode::kUnsupported);
  EXPECT_NE(kernel.error().message().find("for all that device 'cuda:0' runs at once"), std::string::npos)
      << kernel.error().message();
}

TEST_F(Cuda, TakesNothingMoreWhenItIsLost) {
  Queue& work = queue();
  const auto memory = std::move(device().allocate(kBytes)).value();
  const auto done = semaphore();
  fail("cuMemsetD8Async", cu::CUDA_ERROR_ECC_UNCORRECTABLE);
  const SemaphoreValue first[] = {{done, 1}};
  EXPECT_TRUE(work.fill({memory, 0, kBytes}, {}, {{}, first}).ok());
  const SemaphoreValue second[] = {{done, 2}};
  EXPECT_TRUE(work.fill({memory, 0, kBytes}, {}, {{}, second}).ok());
  const Result<bool> reached = done->wait(2);
  ASSERT_FALSE(reached.ok());
  EXPECT_EQ(reached.error().code(), ErrorCode::kDeviceLost);
}

TEST_F(Cuda, RegistersHostMemoryOnce) {
  std::vector<std::byte> bytes(1 << 16);
  {
    const auto first = device().import_host(bytes, HostMemory::kPinned);
    const auto second = device().import_host(std::span(bytes).first(4096), HostMemory::kPinned);
    const auto third = device().import_host(bytes, HostMemory::kPageable);
    ASSERT_TRUE(first.ok() && second.ok() && third.ok());
    EXPECT_EQ(counts().registrations, 1);
  }
  EXPECT_EQ(counts().registrations, 0);
}

TEST_F(Cuda, SaysThatMemoryCannotBeLocked) {
  fail("cuMemHostRegister_v2", cu::CUDA_ERROR_NOT_SUPPORTED);
  std::vector<std::byte> bytes(1 << 16);
  const auto host = device().import_host(bytes, HostMemory::kPinned);
  ASSERT_FALSE(host.ok());
  EXPECT_NE(host.error().message().find("cuMemHostRegister"), std::string::npos);
  EXPECT_EQ(device().stats().imports, 0U);
  EXPECT_TRUE(device().import_host(bytes, HostMemory::kPageable).ok());
}

TEST_F(Cuda, KeepsFreedMemory) {
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(device().allocate(100'000).ok());
  EXPECT_EQ(counts().allocations_made, 1);
  EXPECT_EQ(device().stats().bytes_allocated, 0U);
}

TEST_F(Cuda, FreesWhatItKeepsWhenMemoryRunsOut) {
  FakeCudaConfig config;
  config.memory_bytes = std::size_t{64} << 20;
  configure(config);
  ASSERT_TRUE(device().allocate(std::size_t{14} << 20).ok());
  {
    const auto most = device().allocate(std::size_t{60} << 20);
    ASSERT_TRUE(most.ok()) << most.error().to_string();
    const auto more = device().allocate(std::size_t{6} << 20);
    ASSERT_FALSE(more.ok());
    EXPECT_EQ(more.error().code(), ErrorCode::kDeviceExhausted);
  }
}

TEST_F(Cuda, SaysHowMuchIsFreeWhenOthersHaveTheRest) {
  fail("cuMemAlloc_v2", cu::CUDA_ERROR_OUT_OF_MEMORY);
  fail("cuMemAlloc_v2", cu::CUDA_ERROR_OUT_OF_MEMORY);
  const auto memory = device().allocate(1 << 20);
  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.error().code(), ErrorCode::kDeviceExhausted);
  EXPECT_NE(memory.error().message().find("1 GiB of its 1 GiB free"), std::string::npos)
      << memory.error().message();
}

TEST_F(Cuda, ShowsTheAssemblersLog) {
  KernelImage image = scale();
  image.device_code.text = "nonsense";
  const auto kernel = device().load(image);
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code(), ErrorCode::kCompile);
  EXPECT_NE(kernel.error().message().find("1:1: PTX begins with .version"), std::string::npos)
      << kernel.error().message();
}

TEST_F(Cuda, TellsToUpdateADriverThatIsTooOld) {
  fail("cuModuleLoadDataEx", cu::CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  const auto kernel = device().load(scale());
  ASSERT_FALSE(kernel.ok());
  EXPECT_NE(kernel.error().message().find("update it"), std::string::npos) << kernel.error().message();
}

TEST_F(Cuda, RefusesKernelsThatDoNotFit) {
  KernelImage image = scale();
  image.device_code.entry = "other";
  EXPECT_EQ(device().load(image).error().code(), ErrorCode::kCompile);
  image = scale();
  image.device_code.language = "opencl";
  EXPECT_EQ(device().load(image).error().code(), ErrorCode::kUnsupported);
}

TEST_F(Cuda, RefusesReductionsThatNeedLargerBlocks) {
  configure({.threads_of_block = 100});
  KernelImage image = scale();
  image.device_code.group = 256;
  EXPECT_TRUE(device().load(image).ok()) << "three runs of lanes fit";
  device_.reset();
  configure({.threads_of_block = 31});
  EXPECT_EQ(device().load(image).error().code(), ErrorCode::kUnsupported);
}

TEST_F(Cuda, ListsWhatCannotBeUsedWithTheReason) {
  struct Case {
    FakeCudaConfig config;
    const char* reason;
  };
  const Case cases[] = {
      {{.capability_major = 7, .capability_minor = 0}, "7.5 (Turing) is the oldest"},
      {{.compute_mode = cu::kComputeModeProhibited}, "nvidia-smi"},
      {{.devices = 0}, "CUDA_VISIBLE_DEVICES"},
      {{.init_code = cu::CUDA_ERROR_NO_DEVICE}, "CUDA_VISIBLE_DEVICES"},
      {{.init_code = cu::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH}, "reboot"},
  };
  for (const Case& test : cases) {
    configure(test.config);
    const std::vector<DeviceListing> listings = factory()->list();
    ASSERT_EQ(listings.size(), 1U) << test.reason;
    ASSERT_TRUE(listings[0].problem) << test.reason;
    EXPECT_NE(listings[0].problem->message().find(test.reason), std::string::npos)
        << listings[0].problem->message();
    EXPECT_FALSE(factory()->open("cuda:0").ok());
  }
  const std::vector<DeviceListing> none = cuda_factory("libThereIsNone.so.1")->list();
  ASSERT_EQ(none.size(), 1U);
  EXPECT_NE(none[0].problem->message().find("driver is not installed"), std::string::npos);
}

TEST_F(Cuda, TakesTheNewestCodeThatTheDeviceRuns) {
  const struct {
    int major;
    int minor;
    const char* processor;
  } cases[] = {{7, 5, "sm_75"}, {8, 0, "sm_80"}, {8, 8, "sm_87"},
               {8, 9, "sm_89"}, {9, 0, "sm_90"}, {12, 0, "sm_90"}};
  for (const auto& test : cases) {
    configure({.capability_major = test.major, .capability_minor = test.minor});
    device_.reset();
    EXPECT_EQ(device().info().target.processor, test.processor);
    EXPECT_EQ(device().info().copy_engines, 2U);
  }
}

// Pieces of a staging buffer, in an order that must hold although the host's memory changes in between.
TEST_F(Cuda, CopiesPageableMemoryInOrder) {
  constexpr std::size_t kLarge = (std::size_t{9} << 20) + 5;
  std::vector<std::byte> bytes(kLarge);
  std::vector<std::byte> result(kLarge);
  const auto host = std::move(device().import_host(bytes, HostMemory::kPageable)).value();
  const auto target = std::move(device().import_host(result, HostMemory::kPageable)).value();
  const auto memory = std::move(device().allocate(kLarge)).value();
  Queue& work = queue();
  const auto done = semaphore();
  std::atomic<bool> open = false;
  ASSERT_TRUE(work.host_call([&open] { open.wait(false); }, {}).ok());
  ASSERT_TRUE(work.host_call(
                      [&bytes] {
                        for (std::size_t i = 0; i < kLarge; ++i) bytes[i] = static_cast<std::byte>(i % 251);
                      },
                      {})
                  .ok());
  ASSERT_TRUE(work.copy({memory, 0, kLarge}, {host, 0, kLarge}, {}).ok());
  ASSERT_TRUE(work.fill({host, 0, kLarge}, std::byte{255}, {}).ok());
  const SemaphoreValue signals[] = {{done, 1}};
  ASSERT_TRUE(work.copy({target, 1, kLarge - 1}, {memory, 1, kLarge - 1}, {{}, signals}).ok());
  // Nothing of this has waited for anything.
  open = true;
  open.notify_all();
  ASSERT_TRUE(done->wait(1).ok());
  for (std::size_t i = 1; i < kLarge; ++i) ASSERT_EQ(result[i], static_cast<std::byte>(i % 251)) << i;
}

// The fake driver counts it as a misuse when a function that it calls calls it.
TEST_F(Cuda, CallsTheHostBetweenOperations) {
  std::vector<std::byte> bytes(64);
  const auto host = std::move(device().import_host(bytes, HostMemory::kPinned)).value();
  const auto memory = std::move(device().allocate(64)).value();
  Queue& work = queue();
  const auto done = semaphore();
  std::byte seen{};
  ASSERT_TRUE(work.fill({memory, 0, 64}, std::byte{9}, {}).ok());
  ASSERT_TRUE(work.copy({host, 0, 64}, {memory, 0, 64}, {}).ok());
  ASSERT_TRUE(work.host_call([&] { seen = bytes[63]; }, {}).ok());
  const SemaphoreValue signals[] = {{done, 1}};
  ASSERT_TRUE(work.fill({memory, 0, 64}, std::byte{1}, {{}, signals}).ok());
  ASSERT_TRUE(done->wait(1).ok());
  EXPECT_EQ(seen, std::byte{9});
}

TEST_F(Cuda, DoesNotCallTheHostAfterAFailure) {
  const auto gate = semaphore();
  const auto done = semaphore();
  Queue& first = queue();
  Queue& second = queue();
  std::atomic<bool> open = false;
  std::atomic<bool> called = false;
  const SemaphoreValue opens[] = {{gate, 1}};
  ASSERT_TRUE(first.host_call([&open] { open.wait(false); }, {{}, opens}).ok());
  // The call that must not run is behind the waiting one.
  const auto memory = std::move(device().allocate(64)).value();
  ASSERT_TRUE(second.fill({memory, 0, 64}, {}, {opens, {}}).ok());
  const SemaphoreValue signals[] = {{done, 1}};
  ASSERT_TRUE(second.host_call([&called] { called = true; }, {{}, signals}).ok());
  gate->fail(Error(ErrorCode::kInterrupted, "made to fail"));
  open = true;
  open.notify_all();
  const Result<bool> result = done->wait(1);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message(), "made to fail");
  EXPECT_FALSE(called);
}

TEST_F(Cuda, UsesEventsAgain) {
  constexpr std::uint64_t kOperations = 5000;
  const auto memory = std::move(device().allocate(64)).value();
  Queue& first = queue();
  Queue& second = queue();
  const auto done = semaphore();
  for (std::uint64_t i = 0; i < kOperations; ++i) {
    const SemaphoreValue waits[] = {{done, i}};
    const SemaphoreValue signals[] = {{done, i + 1}};
    ASSERT_TRUE((i % 2 == 0 ? first : second).fill({memory, 0, 64}, {}, {waits, signals}).ok());
    if (i % 50 == 0) {
      ASSERT_TRUE(done->wait(i + 1).ok());
    }
  }
  ASSERT_TRUE(done->wait(kOperations).ok());
  EXPECT_LT(counts().events_created, 200);
}

TEST_F(Cuda, RefusesHostMemoryInAKernel) {
  std::vector<std::byte> bytes(kBytes);
  const auto host = std::move(device().import_host(bytes, HostMemory::kPinned)).value();
  const auto kernel = std::move(device().load(scale())).value();
  const std::uint64_t factor[] = {3};
  const ArrayArgument arrays[] = {{{host, 0, kBytes}, 0, {kCount, kCount, kCount, {}}}};
  Launch launch;
  launch.kernel = kernel;
  launch.space.high[0] = 1;
  launch.scalars = factor;
  launch.arrays = arrays;
  const Status status = queue().launch(launch, {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace dhpvm::offload
