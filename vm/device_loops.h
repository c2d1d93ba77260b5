// SPDX-License-Identifier: Apache-2.0
// Parallel loops of an isolate on devices: which device, the kernels loaded there, and what became of each loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "offload/devices/device_registry.h"
#include "offload/schedule/memory/registrations.h"
#include "offload/schedule/pipeline/loop_chain.h"
#include "offload/schedule/pipeline/pipeline.h"
#include "offload/schedule/placement/policy.h"
#include "vm/compile_service.h"
#include "vm/limits.h"
#include "vm/linker.h"

namespace dhpvm::vm {

struct Context;

// What a device's failure began with: the rest tells what was under way.
const std::string& first_cause(const Error& error);

class DeviceLoops {
 public:
  DeviceLoops(std::shared_ptr<const LinkedModule> linked, std::shared_ptr<CompileService> service,
              offload::BufferPool& pool, Isolate& isolate);
  // Waits for everything in flight.
  ~DeviceLoops();

  // Opens the devices that were asked for by name: kNotFound if there is none such, and so on.
  Status open_devices();

  // One execution of a loop, as the loop tier has prepared it.
  struct Execution {
    const LinkedKernel* kernel = nullptr;
    std::uint32_t number = 0;  // of the kernel in the module
    offload::DeviceLoop loop;
    const gc::Ref* arrays = nullptr;  // the captured ones
    // Accesses that cannot fail in this execution: as the code generator knows them, and by number in the footprint.
    std::set<codegen::CallPath> proven;
    std::vector<codegen::KnownDimension>
        dimensions;  // sizes of captured arrays that the kernel is compiled for
    std::span<const std::uint32_t> proven_accesses;
    std::uint32_t variant = 0;              // kernels with other proven accesses have another one
    std::span<std::uint64_t> accumulators;  // initial values, then results
    double host_seconds = 0;                // what the host would take; 0: not known
    std::string_view position;              // of the loop in the source, for messages
  };
  struct Outcome {
    // What is left for the host; everything if the loop did not go to a device.
    std::vector<offload::IterationSpace> remaining;
    std::optional<Error> failure;  // the program traps with it
    // The program traps there: a site of the loop's kernel, which was compiled with `sites`.
    std::optional<codegen::KernelTrap> trap;
    const std::vector<codegen::KernelSite>* sites = nullptr;
    std::uint64_t iterations = 0;  // done, or in flight
  };
  Outcome run(const Execution& execution);
  // Runs what has been put off, and waits until devices need no buffer any more that the program has let go of.
  Status release_buffers();

  // Whether a loop with this hint may go to a device at all.
  bool may_offload(const bytecode::KernelRecord& record) const;
  // Whether kernel `number` stays on the host without further questions: no device is open, and the loop,
  // which would take the host so many seconds (0: not known), is no reason to open one. Notes that for
  // explain().
  bool is_too_short(const bytecode::KernelRecord& record, std::uint32_t number, double host_seconds);
  // What became of kernel `number`, a line or more; empty if no device was considered.
  std::string explain(std::uint32_t number) const;
  DeviceTotals totals() const;
  // The devices that have been used.
  std::vector<DeviceUse> devices() const;

 private:
  struct Loaded {
    std::shared_ptr<offload::Kernel> kernel;
    std::vector<codegen::KernelSite> sites;
    std::string failure;  // why there is none
  };
  struct Opened {
    std::string name;
    std::shared_ptr<offload::Device> owner;
    std::unique_ptr<offload::PipelineDevice> device;
    std::string problem;                                                // why it cannot be used
    std::map<std::pair<std::uint32_t, std::uint32_t>, Loaded> kernels;  // by kernel and variant
    bool told = false;                                                  // that it is gone
  };
  // For explain(), by kernel.
  struct Story {
    std::uint64_t executions = 0;  // on devices
    std::string device;
    offload::PipelineOutcome last;
    std::string absent;  // of what was wished for, the last time
    std::string choice;  // the last comparison of costs
    std::string reason;  // what followed from it
    // Reasons for staying on the host, and how often.
    std::map<std::string, std::uint64_t> stays;
    std::uint64_t unmeasured = 0;  // how often because it was not known how long the host would take
    std::uint64_t too_short = 0;   // how often because that is not long
    std::string chained;           // the loops with which it ran the last time
    std::string apart;             // why it did not run with those before it
  };

  const std::string& wish_for(const bytecode::KernelRecord& record) const;
  Opened& open(const std::string& name);
  Result<std::unique_ptr<offload::PipelineDevice>> make_device(Opened& opened);
  std::vector<std::string> expand(const std::vector<std::string>& names, std::string& absent);
  bool tell_losses();
  void drop_lost();
  void warn_once(std::string message);
  // Where a loop could run; `opened` is null for the host's cores.
  struct Candidate {
    Opened* opened = nullptr;
    offload::Place place;
    std::string text;  // what is expected, for people
  };
  std::vector<Opened*> choose(const Execution& execution, Story& story, bool& forced);
  void consider(const Execution& execution, Story& story, const std::string& name,
                std::vector<Candidate>& candidates);
  std::vector<Opened*> choose_among(const Execution& execution, Story& story,
                                    const std::vector<Candidate>& candidates);
  Loaded& load(Opened& opened, const Execution& execution);
  Status translate(std::vector<codegen::KernelSite>& sites, std::span<const std::uint32_t> functions) const;
  Result<Loaded> make(Opened& opened, const Execution& execution);
  void stay(const Execution& execution, Story& story, const Opened* opened, std::string reason, bool forced);
  void withhold(const Execution& execution);
  static Outcome failed(const Execution& execution, Error error, std::string_view devices);
  std::optional<offload::Part> host_part(const Execution& execution, const Loaded*& loaded);

  // device_chains.cpp: loops that are put off, to be run together
  bool may_be_put_off(std::span<const offload::Part> parts, const offload::DeviceLoop& loop) const;
  Status put_off(const Execution& execution, const offload::DeviceLoop& loop, const offload::Part& part,
                 std::uint64_t rows, bool forced);
  void chain_ended(const offload::ChainOutcome& outcome);

  const std::shared_ptr<const LinkedModule> linked_;
  const IsolateOptions& options_;
  const std::shared_ptr<CompileService> service_;
  offload::BufferPool& pool_;
  Isolate& isolate_;
  std::unique_ptr<offload::Registrations> registrations_;  // before the devices that use them
  std::vector<std::unique_ptr<Opened>> opened_;
  std::vector<Story> stories_;  // by kernel
  std::uint64_t chunks_ = 0;
  DeviceTotals dropped_;  // what devices have done that are gone
  std::set<std::string> warned_;
  const std::uint32_t track_;  // of the tracer
  const std::shared_ptr<const offload::PlacementPolicy> policy_;
  struct PutOff {
    std::uint32_t number = 0;
    std::string position;
    bool forced = false;  // the device was asked for by name
  };
  std::vector<PutOff> put_off_;                // the loops of the chain, or of the last one
  std::uint64_t chained_ = 0;                  // executions of loops that ran together with others
  std::unique_ptr<offload::LoopChain> chain_;  // null: nothing was ever put off. After the devices
};

}  // namespace dhpvm::vm
