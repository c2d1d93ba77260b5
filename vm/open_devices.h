// SPDX-License-Identifier: Apache-2.0
// The devices that an isolate has opened. Each is opened when it is first needed, dropped when it is lost, and opened
// again when it is back.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "offload/devices/device_registry.h"
#include "offload/schedule/memory/registrations.h"
#include "offload/schedule/pipeline/pipeline_device.h"
#include "vm/device_kernels.h"
#include "vm/limits.h"

namespace dhpvm::vm {

class Isolate;

struct OpenDevice {
  std::string name;
  std::shared_ptr<offload::Device> owner;
  std::unique_ptr<offload::PipelineDevice> device;
  std::unique_ptr<DeviceKernels> kernels;
  std::string problem;  // why there is no device
  bool loss_was_told = false;
};

class OpenDevices {
 public:
  OpenDevices(std::shared_ptr<const LinkedModule> linked, CompileService& service, offload::BufferPool& pool,
              Isolate& isolate, std::uint32_t track);
  // Waits for everything in flight.
  ~OpenDevices();

  // Opens the devices that the options request by name; kNotFound if one does not exist.
  Status open_wished();
  // Opens the device at the first call; `device` is null if it cannot be used.
  OpenDevice& open(const std::string& name);
  // The host's cores as a device with the kernel; no device if it cannot be opened, if another one is required, or if
  // the program has to stop.
  struct OnHost {
    offload::PipelineDevice* device = nullptr;
    const LoadedKernel* loaded = nullptr;
  };
  OnHost load_on_host(const KernelWish& wish);
  // The present devices that `wishes` name, each once, however many wishes name it; `absent` gets the reasons for the
  // missing ones.
  std::vector<std::string> present(const std::vector<std::string>& wishes, std::string& absent);
  bool has_any() const { return !opened_.empty(); }
  // The number of times that a device was opened or dropped. References to devices stay valid until it changes.
  std::uint64_t changes() const { return changes_; }

  // Reports each lost device once; true if there was one to report.
  bool tell_losses();
  // Drops lost devices. Calls `before` first for each open one among them.
  void drop_lost(const std::function<void(offload::PipelineDevice&)>& before);
  // Waits until no device needs a buffer that the program has released.
  Status release_buffers();
  // Waits for a moment for everything in flight, closes the devices that have ended, and returns the others, which
  // nobody can interrupt, with what their operations use except the pool. Destroying them waits for the operations; the
  // isolate and its tracer need not exist then. Null: all have ended. Nothing else may be called afterwards.
  std::shared_ptr<void> leave();

  void warn_once(std::string message);
  // Warns that a loop runs on the host though another device was requested; says nothing where that is not permitted at
  // all.
  void warn_of_host(std::string_view position, std::string_view reason);
  void warn_of_weak_seal(const std::string& device);
  // The totals of the devices; the number of loops is not included.
  DeviceTotals totals() const;
  std::vector<DeviceUse> uses() const;

 private:
  Result<std::unique_ptr<offload::PipelineDevice>> make(OpenDevice& opened);
  // The result of looking for the devices that the options ask for by name.
  struct Wished {
    bool has_any = false;
    bool is_queued = false;       // a full worker has queued this program
    std::vector<Error> problems;  // of the devices that are missing
  };
  Result<Wished> look_for_wished();
  Status await_wished();
  bool is_open(const std::string& name) const;

  const std::shared_ptr<const LinkedModule> linked_;
  CompileService& service_;
  offload::BufferPool& pool_;
  Isolate& isolate_;
  const IsolateOptions& options_;
  const std::uint32_t track_;                              // of the tracer, for loops
  std::unique_ptr<offload::Registrations> registrations_;  // before the devices that use them
  std::vector<std::unique_ptr<OpenDevice>> opened_;
  std::uint64_t changes_ = 0;
  DeviceTotals dropped_;  // totals of devices that were dropped
  // The last result of present() in which no device was missing.
  struct Presence {
    std::vector<std::string> wishes;
    std::vector<std::string> names;
    std::chrono::steady_clock::time_point until;
  };
  Presence presence_;
  std::set<std::string> warned_;
};

// Splits a list of names at its commas.
std::vector<std::string> split_names(std::string_view list);
// `text` with the name of the device in front, unless it begins with that already.
std::string about(const OpenDevice& opened, const std::string& text);
inline bool is_host(std::string_view name) { return name == "host" || name == "cpu"; }

}  // namespace dhpvm::vm
