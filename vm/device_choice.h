// SPDX-License-Identifier: Apache-2.0
// Chooses the devices for an execution of a loop: by the wishes of the command line and of the program, and among
// several by the placement policy.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "offload/schedule/pipeline/run_plan.h"
#include "offload/schedule/placement/policy.h"
#include "vm/device_history.h"
#include "vm/held_choices.h"
#include "vm/offload_request.h"
#include "vm/open_devices.h"

namespace dhpvm::vm {

struct ChosenDevice {
  OpenDevice* opened = nullptr;
  std::optional<offload::RunPlan> plan;  // of the loop there, if the choice had to make one
};

struct DeviceSelection {
  std::vector<ChosenDevice> devices;  // none: the host's cores alone
  bool is_forced = false;             // one device was requested by name: tell the user if it is not used
};

class DeviceChoice {
 public:
  DeviceChoice(const IsolateOptions& options, OpenDevices& devices, DeviceHistory& history,
               std::size_t loops);

  // Whether a loop with this hint may go to a device at all.
  bool may_offload(const bytecode::KernelRecord& record) const;
  // Whether the loop stays on the host without further questions: no device is open, and the loop is too short to open
  // one. `host_seconds`: its expected time on the host; 0: not known.
  bool is_too_short(const bytecode::KernelRecord& record, double host_seconds) const;
  DeviceSelection choose(const OffloadRequest& request);
  // Records that the loop, or a part of it, stays on the host. With `is_forced`, the user is told, once.
  void stay(const OffloadRequest& request, const std::string& reason, bool is_forced);
  std::string policy() const { return policy_->name(); }

 private:
  // A place where the loop could run; `opened` is null for the host's cores.
  struct Candidate {
    OpenDevice* opened = nullptr;
    offload::Place place;
    ExpectedTime expected;
    std::optional<offload::RunPlan> plan;
  };
  const std::string& wish_for(const bytecode::KernelRecord& record) const;
  static std::optional<std::string> unusable(const OpenDevice& opened);
  void await_links(const std::vector<std::string>& names);
  std::optional<Candidate> consider(const OffloadRequest& request, const std::string& name);
  DeviceSelection choose_among(const OffloadRequest& request, std::vector<Candidate> candidates);

  const DeviceOptions& settings_;
  OpenDevices& devices_;
  DeviceHistory& history_;
  HeldChoices held_;
  const std::shared_ptr<const offload::PlacementPolicy> policy_;
};

}  // namespace dhpvm::vm
