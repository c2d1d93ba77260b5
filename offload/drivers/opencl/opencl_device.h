// SPDX-License-Identifier: Apache-2.0
// Devices of OpenCL 1.2 and newer: "opencl:0", "opencl:1", .. over all platforms.
#pragma once

#include <memory>
#include <string>

#include "offload/devices/device_base.h"
#include "offload/devices/device_registry.h"
#include "offload/drivers/opencl/callbacks.h"
#include "offload/drivers/opencl/clock.h"
#include "offload/drivers/opencl/host_caller.h"
#include "offload/drivers/opencl/platform.h"
#include "offload/drivers/submission.h"

namespace dhpvm::offload {

// The devices have an option: "opencl:0?copy" copies memory even if the device could access the host's. The ICD loader
// is libOpenCL.so.1, or `library`.
std::unique_ptr<DeviceFactory> opencl_factory();
std::unique_ptr<DeviceFactory> opencl_factory(std::string library);

class OpenClDevice final : public DeviceBase {
 public:
  // `share` false: memory is copied even if the device could access the host's.
  static Result<std::unique_ptr<Device>> open(std::shared_ptr<const OpenClApi> api, OpenClCandidate candidate,
                                              bool share);

  Result<std::shared_ptr<DeviceMemory>> allocate(std::size_t bytes) override;
  Result<std::shared_ptr<DeviceMemory>> import_host(std::span<std::byte> memory, HostMemory kind) override;
  Result<std::shared_ptr<Kernel>> load(const KernelImage& image) override;
  Result<std::unique_ptr<Queue>> create_queue(QueueOptions options) override;
  Result<std::shared_ptr<Semaphore>> create_semaphore(std::uint64_t initial) override;
  std::chrono::nanoseconds now() const override { return clock_.now(); }

  const OpenClApi& api() const { return *api_; }
  const OpenClCandidate& candidate() const { return candidate_; }
  cl_context context() const { return context_.get(); }
  SubmissionTracker& tracker() { return tracker_; }
  EventCallbacks& callbacks() { return callbacks_; }
  HostCaller& host_caller() { return host_caller_; }
  DeviceClock& clock() { return clock_; }

 private:
  OpenClDevice(std::shared_ptr<const OpenClApi> api, OpenClCandidate candidate, cl_context context);

  const std::shared_ptr<const OpenClApi> api_;
  const OpenClCandidate candidate_;
  const std::unique_ptr<_cl_context, decltype(OpenClApi::ReleaseContext)> context_;
  DeviceClock clock_;
  EventCallbacks callbacks_;
  SubmissionTracker tracker_;
  HostCaller host_caller_;
};

}  // namespace dhpvm::offload
