// SPDX-License-Identifier: Apache-2.0
// The devices that an isolate has opened: each is opened when it is first wanted, dropped when it is lost, and opened
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
  OpenDevices(const LinkedModule& linked, CompileService& service, offload::BufferPool& pool,
              Isolate& isolate, std::uint32_t track);
  // Waits for everything in flight.
  ~OpenDevices();

  // Opens the devices that the options ask for by name: kNotFound if there is none such, and so on.
  Status open_wished();
  // Opens it at the first call; its `device` is null if it cannot be used.
  OpenDevice& open(const std::string& name);
  // The kernel on the host's cores as a device; no device if that cannot be opened, or another one is required.
  struct OnHost {
    offload::PipelineDevice* device = nullptr;
    const LoadedKernel* loaded = nullptr;
  };
  OnHost load_on_host(const KernelWish& wish);
  // The present devices among `wishes`, each once, however many wishes are for it; `absent` gets the reasons for the
  // others.
  std::vector<std::string> present(const std::vector<std::string>& wishes, std::string& absent);
  bool has_any() const { return !opened_.empty(); }
  // How often a device has been opened or dropped: until the next time, references to them stay valid.
  std::uint64_t changes() const { return changes_; }

  // Says once of each device that it is lost; whether there was anything to say.
  bool tell_losses();
  // Drops lost devices. Calls `before` first for each of them that had been opened.
  void drop_lost(const std::function<void(offload::PipelineDevice&)>& before);
  // Waits until no device needs a buffer any more that the program has let go of.
  Status release_buffers();

  void warn_once(std::string message);
  // A loop runs on the host though another device was asked for. Nothing to say where that is not permitted.
  void warn_of_host(std::string_view position, std::string_view reason);
  void warn_of_weak_seal(const std::string& device);
  // Without the loops themselves.
  DeviceTotals totals() const;
  std::vector<DeviceUse> uses() const;

 private:
  Result<std::unique_ptr<offload::PipelineDevice>> make(OpenDevice& opened);
  // The result of looking for the devices that the options ask for by name.
  struct Wished {
    bool has_any = false;
    bool is_queued = false;       // at a worker that is full
    std::vector<Error> problems;  // of those that are not there
  };
  Result<Wished> look_for_wished();
  Status await_wished();
  bool is_open(const std::string& name) const;

  const LinkedModule& linked_;
  CompileService& service_;
  offload::BufferPool& pool_;
  Isolate& isolate_;
  const IsolateOptions& options_;
  const std::uint32_t track_;                              // of the tracer, for loops
  std::unique_ptr<offload::Registrations> registrations_;  // before the devices that use them
  std::vector<std::unique_ptr<OpenDevice>> opened_;
  std::uint64_t changes_ = 0;
  DeviceTotals dropped_;  // of devices that were dropped
  // The last result of present() with no device absent.
  struct Presence {
    std::vector<std::string> wishes;
    std::vector<std::string> names;
    std::chrono::steady_clock::time_point until;
  };
  Presence presence_;
  std::set<std::string> warned_;
};

// A list of names with commas between them.
std::vector<std::string> split_names(std::string_view list);
// `text`, about this device: begins with its name, unless it has that already.
std::string about(const OpenDevice& opened, const std::string& text);
inline bool is_host(std::string_view name) { return name == "host" || name == "cpu"; }

}  // namespace dhpvm::vm
