// SPDX-License-Identifier: Apache-2.0
// A record of how each parallel loop has run, for `--explain-offload`; it decides nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "offload/schedule/pipeline/loop_chain.h"
#include "offload/schedule/pipeline/pipeline.h"
#include "offload/schedule/placement/cost_model.h"

namespace dhpvm::vm {

// The time that a loop was expected to take at a place. Numbers, which become text only when it is printed.
struct ExpectedTime {
  std::string place;
  double seconds = 0;                               // 0: not known
  std::optional<offload::DeviceEstimate> estimate;  // of a device
  bool divisible = true;
  double behind = 0;  // seconds until the device is through with chunks that others have done in its place
};

// Loops are known by the numbers of their kernels in the module.
class DeviceHistory {
 public:
  using Number = std::uint32_t;
  explicit DeviceHistory(std::size_t loops) : loops_(loops) {}

  // The loop ran on these devices.
  void ran(Number loop, std::string devices, const offload::PipelineOutcome& outcome);
  // The loop was deferred, to run on these devices.
  void deferred(Number loop, std::string devices) { loops_[loop].devices = std::move(devices); }
  // The loops of a chain, by their positions in the source: texts that live as long as the loops' code.
  using Chain = std::shared_ptr<const std::vector<std::string_view>>;
  // The loop was deferred, and ran as number `place` of the chain, with this outcome.
  void ran_in_chain(Number loop, const offload::ChainOutcome& outcome, Chain chain, std::size_t place);
  // Why the loop did not run together with the deferred loops before it; empty if it did.
  void kept_apart(Number loop, std::string reason) { loops_[loop].apart = std::move(reason); }

  // The loop, or a part of it, stayed on the host.
  void stayed(Number loop, const std::string& reason) {
    ++loops_[loop].stays[reason];
    loops_[loop].last_stay = reason;
  }
  // No device was considered, because the host is expected to take only `seconds`; 0: not known.
  void not_considered(Number loop, double seconds);

  // The requested devices that were not there, and why; empty if all were.
  void missed(Number loop, std::string absent) { loops_[loop].absent = std::move(absent); }
  // The expected time at each place, and the reason for the choice; empty: there was no choice.
  void chose(Number loop, std::vector<ExpectedTime> expected, std::string reason);
  // The choice for a similar execution a moment ago was reused.
  void held(Number loop) { ++loops_[loop].held; }

  const std::string& devices(Number loop) const { return loops_[loop].devices; }
  // The last reason for staying on the host.
  const std::string& last_stay(Number loop) const { return loops_[loop].last_stay; }
  std::uint64_t executions() const;
  // One or more lines; empty if no device was considered. `policy`: the name of the placement policy.
  std::string explain(Number loop, bool is_deferred, std::string_view policy) const;

 private:
  struct Story {
    std::uint64_t executions = 0;  // on devices
    std::string devices;
    offload::PipelineOutcome last;
    std::string absent;
    std::vector<ExpectedTime> expected;
    std::string reason;
    std::uint64_t held = 0;
    std::map<std::string, std::uint64_t> stays;  // how often, by reason
    std::string last_stay;
    std::uint64_t unmeasured = 0;
    std::uint64_t too_short = 0;
    Chain chain;
    std::size_t place_in_chain = 0;
    offload::ChainWay way = offload::ChainWay::kInSlices;
    bool is_remote = false;           // that chain
    std::uint64_t told_together = 0;  // executions that were sent to a device in one message with others
    std::uint64_t replayed = 0;       // of these, by repeating a recorded message
    std::string why_unrecorded;       // the last reason, from the device's driver
    std::string apart;
  };
  static std::string recordings_of(const Story& story);

  std::vector<Story> loops_;
};

}  // namespace dhpvm::vm
