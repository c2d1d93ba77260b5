// SPDX-License-Identifier: Apache-2.0
// Deferred loops of an isolate: pending until their results are needed, then run together.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "offload/schedule/pipeline/loop_chain.h"
#include "vm/device_history.h"
#include "vm/offload_request.h"
#include "vm/open_devices.h"

namespace dhpvm::vm {

class DeferredChain {
 public:
  DeferredChain(OpenDevices& devices, DeviceHistory& history) : devices_(devices), history_(history) {}

  using Way = offload::LoopChain::Way;

  // How the loop would run if it were deferred: with so many rows in a chunk (0: as measurements suggest). Nothing if
  // it must not be deferred. Makes the part's plan if there is none.
  static std::optional<Way> way_of(offload::Part& part, const offload::Loop& loop, std::uint64_t rows);
  // Appends the loop to the chain of deferred loops. If the loop does not fit the chain, the chain is run first, and a
  // new one begins. With `is_forced`, the user is told if the device does not run the loop in the end.
  Status defer(const OffloadRequest& request, const offload::Loop& loop, const offload::Part& part,
               std::uint64_t rows, bool is_forced, Way way);
  // Whether the message that starts the deferred loops may also ask for this loop's result, because none of them takes
  // long. Makes the part's plan if there is none.
  bool takes_last(offload::Part& part, const offload::Loop& loop) const;
  // Runs the deferred loops, and then `loop`, for which takes_last() holds.
  Result<offload::LoopChain::LastResult> run_with(const OffloadRequest& request, const offload::Loop& loop,
                                                  const offload::Part& part, bool is_forced);
  // Runs the deferred loops; true if there were any.
  Result<bool> settle();
  // Forgets the deferred loops: the program has ended.
  void drop() { chain_.reset(); }
  // The device is lost: the host runs the deferred loops. If that fails, accesses to their results report it.
  void leave(const offload::PipelineDevice& device);

  bool contains(std::uint32_t number) const;
  std::uint64_t chained() const { return chained_; }
  std::uint64_t chunks() const { return chunks_; }

 private:
  struct Deferred {
    std::uint32_t number = 0;
    std::string_view position;  // stays as long as the loop's code
    bool is_forced = false;
  };
  offload::HostPart host_part(const KernelWish& wish);
  bool is_pending() const { return chain_ != nullptr && chain_->size() != 0; }
  void ended(const offload::ChainOutcome& outcome);

  OpenDevices& devices_;
  DeviceHistory& history_;
  std::vector<Deferred> loops_;                // of the current chain, or of the last one
  std::uint64_t chained_ = 0;                  // executions of loops that ran together with others
  std::uint64_t chunks_ = 0;                   // of all chains
  std::unique_ptr<offload::LoopChain> chain_;  // null: no loop was ever deferred
};

}  // namespace dhpvm::vm
