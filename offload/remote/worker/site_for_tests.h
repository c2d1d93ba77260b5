// SPDX-License-Identifier: Apache-2.0
// A worker for tests, in the test's process and on a network of its own, with its log.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "offload/devices/conformance/test_kernels.h"
#include "offload/devices/host/host_device.h"
#include "offload/devices/sim/sim_device.h"
#include "offload/remote/fabric/key_file.h"
#include "offload/remote/fabric/load_fabric.h"
#include "offload/remote/fabric/loopback.h"
#include "offload/remote/fabric/noted.h"
#include "offload/remote/worker/late_device_for_tests.h"
#include "offload/remote/worker/local_sessions.h"
#include "offload/remote/worker/worker.h"

namespace dhpvm::offload::hostile {

using namespace std::chrono_literals;
using Bytes = std::vector<std::byte>;

// The devices of the site.
constexpr std::uint64_t kHost = 0;
constexpr std::uint64_t kSim = 1;
constexpr std::uint64_t kLate = 2;

// Devices that open when the test says so, or not at all.
class Gate : public Noted {
 public:
  void open(Status how) {
    note([&] { opened_ = std::move(how); });
  }
  Status pass(std::uint64_t device) {
    note([&] { asked_for_.push_back(device); });
    return wait([&] { return opened_.has_value(); })
               ? *opened_
               : Status(Error(ErrorCode::kDeviceFailed, "the gate stays shut"));
  }
  // Devices, in the order in which they came.
  std::vector<std::uint64_t> asked_for() {
    std::vector<std::uint64_t> devices;
    note([&] { devices = asked_for_; });
    return devices;
  }

 private:
  std::optional<Status> opened_;
  std::vector<std::uint64_t> asked_for_;
};

// A worker on a network of its own, with its log.
class Site : public Noted {
 public:
  explicit Site(WorkerLimits limits = {}, std::chrono::milliseconds deadline = 5000ms, bool with_key = false,
                FaultPlan from_clients = {}, const std::shared_ptr<Gate>& gate = nullptr,
                std::chrono::milliseconds silence = 3000ms) {
    fabric_ = *load_fabric(DHPVM_FABRIC_FOLDER);
    if (with_key) identity_ = *fabric_->load_identity({SecretBytes(kKeyBytes, std::byte{7}), {}, {}, {}});
    here_ = network_.create_transport(std::move(from_clients));
    there_ = network_.create_transport();
    WorkerOptions options;
    options.name = "test worker";
    options.identity = identity_;
    options.limits = limits;
    options.handshake_deadline = deadline;
    options.silence_deadline = silence;
    options.generator = [this] { return kernels_.generator(); };
    options.log = [this](const WorkerLogEntry& entry) { note([&] { log_ += entry.to_line() + "\n"; }); };
    const auto pool = std::make_shared<ThreadPool>(2);
    std::vector<std::shared_ptr<Device>> devices;
    for (const auto& factory : {host_factory(pool), sim_factory(pool)}) {
      devices.push_back(*factory->open(factory->prefix()));
    }
    devices.push_back(late_);
    DeviceGate pass;
    if (gate != nullptr) pass = [gate](std::uint64_t device) { return gate->pass(device); };
    auto runner = make_local_sessions(*fabric_, *there_, std::move(devices), options, std::move(pass));
    worker_ = std::make_unique<Worker>(*there_, std::move(runner), std::move(options));
    address_ = *worker_->listen({"127.0.0.1", 0});
  }

  // A kernel as clients send it.
  auto image(const char* kernel) {
    DeviceInfo bytecode;
    bytecode.format = KernelFormat::kBytecode;
    return kernels_.image(bytecode, kernel);
  }
  bool wait_log(const std::string& text) {
    return wait([&] { return log_.find(text) != log_.npos; });
  }
  bool wait_sessions(unsigned count) {
    for (int n = 0; n < 4000 && worker_->sessions() != count; ++n) std::this_thread::sleep_for(5ms);
    return worker_->sessions() == count;
  }
  ChannelOptions channel_options() const {
    ChannelOptions options;
    options.identity = identity_;
    return options;
  }

  std::string log_;
  LoopbackNetwork network_;
  std::unique_ptr<Fabric> fabric_;
  std::shared_ptr<Identity> identity_;
  TestKernels kernels_;
  const std::shared_ptr<LateDevice> late_ = std::make_shared<LateDevice>();
  std::unique_ptr<Transport> here_;
  std::unique_ptr<Transport> there_;
  std::unique_ptr<Worker> worker_;
  Address address_;
};

}  // namespace dhpvm::offload::hostile
