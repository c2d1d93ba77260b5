// SPDX-License-Identifier: Apache-2.0
// A device for tests that does operations when the test lets it, and not before.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"
#include "offload/devices/host_code.h"
#include "offload/remote/fabric/noted.h"

namespace dhpvm::offload::hostile {

class LateQueue;

// A device with memory of its own, which does its operations on its own thread, in the order of submission, and none
// while it is held. It fails when the test says so.
class LateDevice final : public DeviceBase, public Noted {
 public:
  LateDevice() : DeviceBase(describe()), thread_([this] { work(); }) {}
  ~LateDevice() override {
    note([&] { is_ending_ = true; });
    thread_.join();
  }

  Result<std::shared_ptr<DeviceMemory>> allocate(std::size_t bytes) override {
    return allocate_on_host(*this, bytes);
  }
  Result<std::shared_ptr<DeviceMemory>> import_host(std::span<std::byte> memory, HostMemory kind) override {
    return import_from_host(*this, memory, kind);
  }
  Result<std::shared_ptr<Kernel>> load(const KernelImage&) override {
    return error(ErrorCode::kUnsupported, "the late device has no kernels");
  }
  Result<std::unique_ptr<Queue>> create_queue(QueueOptions options) override;

  void hold(bool is_held) {
    note([&] { is_held_ = is_held; });
  }
  // The next operation of this kind fails, and with it all that come behind it in its queue.
  void fail_at(OperationRecord::Kind kind) {
    note([&] { fails_at_ = kind; });
  }
  // Operations of this kind that it has been given and has not done.
  std::size_t waiting(OperationRecord::Kind kind) {
    std::size_t count = 0;
    note([&] {
      count = static_cast<std::size_t>(std::ranges::count_if(
          pending_, [&](const auto& entry) { return entry.second.record.kind == kind; }));
    });
    return count;
  }

 private:
  friend class LateQueue;
  static DeviceInfo describe() {
    DeviceInfo info;
    info.name = "late";
    info.memory_bytes = info.largest_allocation = 1 << 30;
    return info;
  }
  void work();
  Status fate_of(const Operation& operation);

  bool is_held_ = false;
  bool is_ending_ = false;
  std::optional<OperationRecord::Kind> fails_at_;
  std::deque<std::pair<LateQueue*, Operation>> pending_;  // the first may be being done
  std::thread thread_;
};

}  // namespace dhpvm::offload::hostile
