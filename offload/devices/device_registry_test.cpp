// SPDX-License-Identifier: Apache-2.0
#include "offload/devices/device_registry.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

// Has a name, and does nothing.
class Named final : public Device {
 public:
  explicit Named(std::string_view name) { info_.name = name; }
  const DeviceInfo& info() const override { return info_; }
  Result<std::shared_ptr<DeviceMemory>> allocate(std::size_t) override { return refusal(); }
  Result<std::shared_ptr<DeviceMemory>> import_host(std::span<std::byte>, HostMemory) override {
    return refusal();
  }
  Result<std::shared_ptr<Kernel>> load(const KernelImage&) override { return refusal(); }
  Result<std::unique_ptr<Queue>> create_queue(QueueOptions) override { return refusal(); }
  Result<std::shared_ptr<Semaphore>> create_semaphore(std::uint64_t) override { return refusal(); }
  DeviceStats stats() const override { return {}; }
  std::chrono::nanoseconds now() const override { return {}; }

 private:
  static Error refusal() { return error(ErrorCode::kUnsupported, "only a name"); }
  DeviceInfo info_;
};

class Factory final : public DeviceFactory {
 public:
  Factory(std::string_view prefix, std::vector<DeviceListing> listings, int& opened)
      : prefix_(prefix), listings_(std::move(listings)), opened_(opened) {}
  std::string_view prefix() const override { return prefix_; }
  std::vector<DeviceListing> list() override { return listings_; }
  Result<std::unique_ptr<Device>> open(std::string_view name) override {
    if (name.ends_with("broken")) return error(ErrorCode::kDeviceFailed, "it is broken");
    ++opened_;
    return std::unique_ptr<Device>(std::make_unique<Named>(name));
  }

 private:
  std::string prefix_;
  std::vector<DeviceListing> listings_;
  int& opened_;
};

class Registry : public testing::Test {
 protected:
  void add(std::string_view prefix, std::vector<DeviceListing> listings) {
    registry.add(std::make_unique<Factory>(prefix, std::move(listings), opened));
  }
  void add_host() { add("host", {{"host", "the cores", false, {}}}); }
  std::string name(std::string_view wanted) {
    auto device = registry.open(wanted);
    return device.ok() ? (*device)->info().name : device.error().to_string();
  }
  DeviceRegistry registry;
  int opened = 0;
};

TEST_F(Registry, OpensOnceAndShares) {
  add_host();
  const auto first = registry.open("host");
  const auto second = registry.open("host");
  const auto other = registry.open("host?inline");
  ASSERT_TRUE(first.ok() && second.ok() && other.ok());
  EXPECT_EQ(*first, *second);
  EXPECT_NE(*first, *other);
  EXPECT_EQ(opened, 2);
}

TEST_F(Registry, AutoIsTheHostWhereThereIsNoGpu) {
  add("cuda", {{"cuda", "", true, Error(ErrorCode::kNotFound, "libcuda.so.1 is not there")}});
  add("opencl", {{"opencl:0", "all cores", false, {}}});
  add_host();
  EXPECT_EQ(name("auto"), "host");
  const std::string gpu = name("gpu");
  EXPECT_NE(gpu.find("no device 'gpu'"), std::string::npos) << gpu;
  EXPECT_NE(gpu.find("cuda: not found: libcuda.so.1 is not there"), std::string::npos) << gpu;
  EXPECT_EQ(gpu.find("opencl:0"), std::string::npos) << gpu;
  EXPECT_EQ(name("opencl"), "opencl:0");
  EXPECT_NE(name("cuda").find("libcuda.so.1 is not there"), std::string::npos);
}

TEST_F(Registry, GpuIsTheFirstThatOpens) {
  add("cuda", {{"cuda:0 broken", "", true, {}}, {"cuda:1", "a card", true, {}}});
  add("opencl", {{"opencl:0", "another card", true, {}}});
  add_host();
  EXPECT_EQ(name("gpu"), "cuda:1");
  EXPECT_EQ(name("auto"), "cuda:1");
  EXPECT_EQ(name("cuda"), "cuda:1");
  EXPECT_EQ(name("opencl"), "opencl:0");
  EXPECT_EQ(opened, 2) << "one device has three names";
  EXPECT_EQ(registry.list().size(), 4U);
}

TEST_F(Registry, NamesTheNearest) {
  add("cuda", {{"cuda:0", "a card", true, {}}});
  add_host();
  EXPECT_NE(name("hots").find("did you mean 'host'?"), std::string::npos) << name("hots");
  EXPECT_NE(name("cude:0").find("did you mean 'cuda:0'?"), std::string::npos) << name("cude:0");
  EXPECT_EQ(name("quantum").find("did you mean"), std::string::npos);
  EXPECT_NE(name("quantum").find("--list-devices"), std::string::npos);
}

TEST_F(Registry, SaysWhatFailed) {
  add_host();
  const auto device = registry.open("host?broken");
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().code(), ErrorCode::kDeviceFailed);
  EXPECT_EQ(device.error().to_string(),
            "device failed: while opening device 'host?broken'\n  because: device failed: it is broken");
  EXPECT_EQ(opened, 0);
}

}  // namespace
}  // namespace dhpvm::offload
