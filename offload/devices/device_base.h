// SPDX-License-Identifier: Apache-2.0
// The common part of devices: a name and facts, counters, a budget of memory, and semaphores kept by the host. Memory
// and kernels know their device, so that those of another device are refused.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "offload/devices/device.h"
#include "offload/devices/timeline.h"

namespace dhpvm::offload {

class DeviceBase : public Device {
 public:
  explicit DeviceBase(DeviceInfo info);

  const DeviceInfo& info() const override { return info_; }
  Result<std::shared_ptr<Semaphore>> create_semaphore(std::uint64_t initial) override;
  DeviceStats stats() const override;
  // A steady clock that started when the device was created.
  std::chrono::nanoseconds now() const override;

  Timeline& timeline() { return timeline_; }

  // For devices of KernelFormat::kDeviceCode: kUnsupported for a kernel in another form or language than info() says.
  Status check_language(const KernelImage& image) const;

  // Takes bytes from the budget in info(), or fails with the reason; give_back() returns them.
  Status take(std::size_t bytes);
  void give_back(std::size_t bytes);
  void count_import();
  void count_release();
  // Adds an operation that has been done.
  void count(const OperationRecord& record);

 private:
  const DeviceInfo info_;
  const std::chrono::steady_clock::time_point epoch_ = std::chrono::steady_clock::now();
  Timeline timeline_;
  mutable std::mutex mutex_;
  DeviceStats stats_;
};

// Its destructor takes it off the counters of its device. Derived classes free the bytes themselves.
class OwnedMemory : public DeviceMemory {
 public:
  enum class Kind : std::uint8_t { kAllocated, kImported, kPageable };
  // Allocated bytes must have been taken by DeviceBase::take(); imports are counted here.
  OwnedMemory(DeviceBase& owner, Kind kind, std::size_t size, std::byte* host);
  ~OwnedMemory() override;
  OwnedMemory(const OwnedMemory&) = delete;
  OwnedMemory& operator=(const OwnedMemory&) = delete;

  std::size_t size() const override { return size_; }
  std::byte* host() const override { return host_; }
  const DeviceBase& owner() const { return owner_; }
  bool is_imported() const { return kind_ != Kind::kAllocated; }
  // Imported, and not pinned.
  bool is_pageable() const { return kind_ == Kind::kPageable; }

 private:
  DeviceBase& owner_;
  const Kind kind_;
  const std::size_t size_;
  std::byte* const host_;
};

// The properties of a kernel that a launch has to match.
struct KernelShape {
  std::string name;
  std::uint32_t dimensions = 1;
  std::uint32_t scalars = 0;
  std::uint32_t arrays = 0;
  std::uint32_t reductions = 0;
  bool can_trap = false;
};

class OwnedKernel : public Kernel {
 public:
  OwnedKernel(const DeviceBase& owner, const KernelImage& image);
  const DeviceBase& owner() const { return owner_; }
  const KernelShape& shape() const { return shape_; }

 private:
  const DeviceBase& owner_;
  const KernelShape shape_;
};

// "1.5 GB": for messages.
std::string bytes_text(std::uint64_t bytes);

}  // namespace dhpvm::offload
