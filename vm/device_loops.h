// SPDX-License-Identifier: Apache-2.0
// Parallel loops of an isolate on devices: one call takes an execution of a loop from the choice of devices to its
// result.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "offload/schedule/pipeline/pipeline.h"
#include "vm/deferred_chain.h"
#include "vm/device_choice.h"
#include "vm/device_history.h"
#include "vm/offload_request.h"
#include "vm/open_devices.h"

namespace dhpvm::vm {

// The outcome of one execution.
struct OffloadOutcome {
  // The iterations that are left for the host: all of them if the loop did not go to a device.
  std::vector<offload::IterationSpace> remaining;
  std::optional<Error> failure;  // the program traps with it
  // The program traps at this site of the loop's kernel, which was compiled with `sites`.
  std::optional<codegen::KernelTrap> trap;
  const std::vector<codegen::KernelSite>* sites = nullptr;
  std::uint64_t iterations = 0;  // done, or in flight
};

class DeviceLoops {
 public:
  DeviceLoops(std::shared_ptr<const LinkedModule> linked, std::shared_ptr<CompileService> service,
              offload::BufferPool& pool, Isolate& isolate);
  // Waits for everything in flight.
  ~DeviceLoops();

  // Before the end: what is in flight and cannot be interrupted, as OpenDevices::leave() returns it. Nothing else may
  // be called afterwards.
  std::shared_ptr<void> leave();

  // Opens the devices that were requested by name; kNotFound if one does not exist.
  Status open_devices() { return devices_.open_wished(); }
  OffloadOutcome run(const OffloadRequest& request);
  // The error of an execution that would run on the host for this reason, if devices are required; nothing if it may
  // run there.
  std::optional<Error> refuse_host(std::string_view position, std::string_view reason) const;
  // Called before the arrays of kernel `number` are captured. If the loop might have run together with others, moves
  // its arrays in the heap to buffers, so that they can stay on the device.
  void move_arrays(std::uint32_t number, std::span<const gc::Ref> arrays);
  // Runs deferred loops, and waits until devices need no buffer any more that the program has released.
  Status release_buffers();

  // Whether a device may be chosen for the loop before the loop's speed on the host is known.
  bool considers(const bytecode::KernelRecord& record) const;
  // Whether kernel `number` stays on the host without further questions, because the user said so, or because it would
  // take so little time there (0: not known). Notes that time for explain().
  bool stays_on_host(const bytecode::KernelRecord& record, std::uint32_t number, double host_seconds);
  // Explains how kernel `number` has run, in one or more lines; empty if no device was considered.
  std::string explain(std::uint32_t number) const;
  DeviceTotals totals() const;
  // The devices that have been used so far.
  std::vector<DeviceUse> devices() const { return devices_.uses(); }

 private:
  struct Participants;

  Status take_part(const OffloadRequest& request, DeviceSelection chosen, Participants& participants);
  static bool cannot_trap(const OffloadRequest& request, const LoadedKernel& loaded);
  std::uint64_t rows_of_chunks(const OffloadRequest& request) const;
  OffloadOutcome try_devices(const OffloadRequest& request);
  OffloadOutcome defer(const OffloadRequest& request, const Participants& participants,
                       offload::LoopChain::Way way);
  OffloadOutcome run_with_deferred(const OffloadRequest& request, const Participants& participants);
  OffloadOutcome run_now(const OffloadRequest& request, Participants& participants);
  OffloadOutcome conclude(const OffloadRequest& request, const Participants& participants,
                          const offload::PipelineOutcome& done);
  static void take_report(const Participants& participants, const codegen::KernelReport& report,
                          const std::vector<codegen::KernelSite>& sites, OffloadOutcome& outcome);
  void trace(const OffloadRequest& request, Tracer::Clock::time_point begin) const;
  static void withhold(const OffloadRequest& request);

  const std::shared_ptr<const LinkedModule> linked_;
  const IsolateOptions& options_;
  const std::shared_ptr<CompileService> service_;
  const std::uint32_t track_;  // of the tracer
  DeviceHistory history_;
  OpenDevices devices_;
  DeviceChoice choice_;
  DeferredChain deferred_;  // after the devices
  std::uint64_t chunks_ = 0;
  Isolate& isolate_;
  std::vector<bool> joins_others_;  // by kernel: whether its last execution might have run with others
};

}  // namespace dhpvm::vm
