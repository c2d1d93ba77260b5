// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of CUDA devices over the fake driver: a kernel, and control over the driver.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "offload/drivers/cuda/cuda_device.h"
#include "offload/drivers/cuda/fake/fake_cuda.h"

namespace dhpvm::offload {

using codegen::ParameterKind;

// scale(low, high, factor, data): data[i] *= factor, over 64-bit integers.
inline KernelImage scale() {
  KernelImage image;
  image.format = KernelFormat::kDeviceCode;
  image.device_code.language = "ptx";
  image.name = "scale.dhp:3";
  image.scalars = 1;
  image.arrays = 1;
  image.device_code.entry = "scale";
  image.device_code.parameters = {{ParameterKind::kLow, 0, 0},
                                  {ParameterKind::kHigh, 0, 0},
                                  {ParameterKind::kScalar, 0, 0},
                                  {ParameterKind::kData, 0, 0}};
  image.device_code.text =
      ".version 6.4\n.target sm_75\n.address_size 64\n"
      ".visible .entry scale(\n.param .u64 p0,\n.param .u64 p1,\n.param .u64 p2,\n.param .u64 p3\n)\n{ ret; "
      "}\n";
  return image;
}

// The kernel of the tests, as the device runs it.
inline int run_scale(const FakeCudaLaunch* launch, void* /*data*/) {
  const auto low = static_cast<std::int64_t>(launch->arguments[0]);
  const auto high = static_cast<std::int64_t>(launch->arguments[1]);
  auto* const data = reinterpret_cast<std::uint64_t*>(launch->arguments[3]);
  for (std::int64_t i = low; i < high; ++i) data[i] *= launch->arguments[2];
  return 0;
}

class CudaFixture : public testing::Test {
 protected:
  explicit CudaFixture(const char* path = DHPVM_FAKE_CUDA) : path_(path) {}

  static constexpr std::size_t kCount = 1000;
  static constexpr std::size_t kBytes = kCount * sizeof(std::uint64_t);

  void SetUp() override {
    library_ = dlopen(path_, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    configure({});
  }
  void TearDown() override {
    queues_.clear();
    device_.reset();
    const FakeCudaCounts now = counts();
    EXPECT_EQ(now.contexts, 0);
    EXPECT_EQ(now.streams, 0);
    EXPECT_EQ(now.events, 0);
    EXPECT_EQ(now.modules, 0);
    EXPECT_EQ(now.allocations, 0);
    EXPECT_EQ(now.registrations, 0);
    EXPECT_EQ(now.graphs, 0);
    EXPECT_EQ(now.misuses, 0);
    dlclose(library_);
  }

  template <typename F>
  F hook(const char* name) {
    return reinterpret_cast<F>(dlsym(library_, name));
  }
  void configure(const FakeCudaConfig& config) {
    hook<FakeCudaConfigure>(kFakeCudaConfigure)(&config);
    hook<FakeCudaOnLaunch>(kFakeCudaOnLaunch)(&run_scale, nullptr);
  }
  void fail(const char* symbol, cu::Code code, int skip = 0) {
    hook<FakeCudaFail>(kFakeCudaFail)(symbol, code, skip);
  }
  FakeCudaCounts counts() {
    FakeCudaCounts result;
    hook<FakeCudaCountsOf>(kFakeCudaCounts)(&result);
    return result;
  }

  std::unique_ptr<DeviceFactory> factory() { return cuda_factory(path_); }
  Device& device() {
    if (device_ == nullptr) {
      Result<std::unique_ptr<Device>> opened = factory()->open("cuda:0");
      EXPECT_TRUE(opened.ok()) << opened.error().to_string();
      device_ = std::move(opened).value();
    }
    return *device_;
  }
  Queue& queue(QueueOptions options = {}) {
    queues_.push_back(std::move(device().create_queue(std::move(options))).value());
    return *queues_.back();
  }
  std::shared_ptr<Semaphore> semaphore() { return std::move(device().create_semaphore(0)).value(); }

  // A loop as it is run: import, upload in two pieces on one queue, kernels on another, download on a third.
  // The error, if there is one anywhere.
  Status run_loop(std::vector<std::uint64_t>& values, HostMemory kind = HostMemory::kPinned) {
    DHPVM_ASSIGN(std::unique_ptr<Device> opened, factory()->open("cuda:0"));
    DHPVM_ASSIGN(const auto host, opened->import_host(std::as_writable_bytes(std::span(values)), kind));
    DHPVM_ASSIGN(const auto memory, opened->allocate(kBytes));
    DHPVM_ASSIGN(const auto kernel, opened->load(scale()));
    DHPVM_ASSIGN(const auto uploaded, opened->create_semaphore(0));
    DHPVM_ASSIGN(const auto computed, opened->create_semaphore(0));
    DHPVM_ASSIGN(const auto downloaded, opened->create_semaphore(0));
    DHPVM_ASSIGN(const auto upload, opened->create_queue({"upload", {}}));
    DHPVM_ASSIGN(const auto compute, opened->create_queue({"compute", [](const OperationRecord&) {}}));
    DHPVM_ASSIGN(const auto download, opened->create_queue({"download", {}}));
    const std::uint64_t factor[] = {3};
    for (std::uint64_t chunk = 0; chunk < 2; ++chunk) {
      const std::size_t offset = chunk * kBytes / 2;
      const MemorySpan there = {memory, offset, kBytes / 2};
      const MemorySpan here = {host, offset, kBytes / 2};
      const SemaphoreValue up[] = {{uploaded, chunk + 1}};
      const SemaphoreValue done[] = {{computed, chunk + 1}};
      const SemaphoreValue down[] = {{downloaded, chunk + 1}};
      DHPVM_TRY(upload->copy(there, here, {{}, up}));
      const ArrayArgument arrays[] = {
          {there, -static_cast<std::int64_t>(offset), {kCount, kCount, kCount, {}}}};
      Launch launch;
      launch.kernel = kernel;
      launch.space.low[0] = static_cast<std::int64_t>(chunk * kCount / 2);
      launch.space.high[0] = static_cast<std::int64_t>((chunk + 1) * kCount / 2);
      launch.scalars = factor;
      launch.arrays = arrays;
      DHPVM_TRY(compute->launch(launch, {up, done}));
      DHPVM_TRY(download->copy(here, there, {done, down}));
    }
    const Result<bool> reached = downloaded->wait(2);
    if (!reached.ok()) return reached.error();
    return {};
  }

  std::unique_ptr<Device> device_;
  std::vector<std::unique_ptr<Queue>> queues_;

 private:
  const char* const path_;
  void* library_ = nullptr;
};

}  // namespace dhpvm::offload
