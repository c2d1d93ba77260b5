// SPDX-License-Identifier: Apache-2.0
// What everything that one OpenCL device makes has in common, and keeps alive.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "offload/device/driver/counters.h"
#include "offload/device/driver/operation.h"
#include "offload/device/opencl/clock.h"
#include "offload/device/opencl/host_caller.h"
#include "offload/device/opencl/platform.h"

namespace dhpvm::offload {

class OpenClContext {
 public:
  // `share` false: memory is copied even where the device could work on the host's.
  static Result<std::shared_ptr<OpenClContext>> create(std::shared_ptr<const OpenClApi> api, OpenClCandidate candidate,
                                                       bool share, std::function<void(const std::string&)> warn);
  ~OpenClContext();
  OpenClContext(const OpenClContext&) = delete;
  OpenClContext& operator=(const OpenClContext&) = delete;

  const OpenClApi& api() const { return *api_; }
  const OpenClCandidate& device() const { return candidate_; }
  const DeviceInfo& info() const { return candidate_.info; }
  cl_context handle() const { return handle_; }
  const std::shared_ptr<OperationTracker>& tracker() const { return tracker_; }
  const std::shared_ptr<DeviceCounters>& counters() const { return counters_; }
  HostCaller& host_caller() { return host_caller_; }
  DeviceClock& clock() { return clock_; }
  // Tells the user, unless something was told before.
  void warn_once(const std::string& message);

 private:
  OpenClContext(std::shared_ptr<const OpenClApi> api, OpenClCandidate candidate, cl_context handle,
                std::function<void(const std::string&)> warn);
  bool is_zero_copy() const;

  const std::shared_ptr<const OpenClApi> api_;
  OpenClCandidate candidate_;
  const cl_context handle_;
  const std::shared_ptr<OperationTracker> tracker_ = std::make_shared<OperationTracker>();
  const std::shared_ptr<DeviceCounters> counters_ = std::make_shared<DeviceCounters>();
  DeviceClock clock_;
  HostCaller host_caller_;
  const std::function<void(const std::string&)> warn_;
  std::atomic<bool> warned_ = false;
};

}  // namespace dhpvm::offload
