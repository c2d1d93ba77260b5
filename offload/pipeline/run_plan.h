// SPDX-License-Identifier: Apache-2.0
// One execution of a loop on one device: which of its arrays go there whole, which in slices, and what has to travel.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bytecode/module.h"
#include "codegen/kernel_abi.h"
#include "offload/kernel/footprint.h"
#include "offload/kernel/iteration_space.h"
#include "offload/kernel/range.h"
#include "offload/pipeline/interval_set.h"
#include "offload/pipeline/pipeline_device.h"

namespace dhpvm::offload {

// A captured array. `host` describes it as if nothing of it were on its way: with its full lengths.
struct LoopArray {
  codegen::KernelArray host;
  std::uint32_t element_bytes = 0;
  Buffer* buffer = nullptr;  // null: memory that is not in the pool
};

// One execution of a loop. What it refers to must stay until the loop is done or in flight.
struct DeviceLoop {
  const Footprint* footprint = nullptr;
  IterationSpace space;  // not empty, and with a count
  std::span<const std::uint64_t> scalars;
  std::span<const LoopArray> arrays;
  std::span<const bytecode::Reduction> reductions;
  bool can_trap = true;
  std::uint64_t label = 0;  // the same for all executions of the loop
};

enum class Placement : std::uint8_t {
  kUnused,
  kShared,    // used in place, in memory that device and host share
  kResident,  // as a whole in the device's memory, where it may stay
  kSliced,    // slice by slice, through a ring of slots
};

struct ArrayPlan {
  Placement placement = Placement::kUnused;
  std::uint32_t same_as = 0;  // the first captured array with the same memory
  // Bytes that the loop needs to find there, and those that it may write.
  Interval reads;
  Interval writes;
  bool by_chunk = false;     // each chunk writes a part of its own, known beforehand
  bool overwritten = false;  // all of `writes` is written: it need not be there before
  bool send_back = false;    // results go to the host while the loop runs
};

// The bytes that a chunk reads and writes of an array, by array.
struct ChunkNeeds {
  struct Part {
    Interval reads;
    Interval writes;
    bool overwritten = false;
  };
  std::vector<Part> arrays;
};

struct RunPlan {
  std::vector<ArrayPlan> arrays;
  ChunkNeeds needs;                   // of the whole loop
  std::uint64_t upload_bytes = 0;     // that have to go to the device
  std::uint64_t download_bytes = 0;   // that are sent back while the loop runs
  std::uint64_t row_slice_bytes = 0;  // of sliced arrays, for each iteration of the outermost dimension
  std::uint64_t slice_budget = 0;     // device memory that slots may take; 0: nothing is sliced
  bool synchronous = false;           // the loop's end must be waited for

  // For one of several devices: all results are sent back.
  void share();
};

// What is known of `space`, the whole loop or a chunk of it. `footprint` must be complete.
ChunkNeeds needs_of(const DeviceLoop& loop, const IterationSpace& space,
                    std::span<const codegen::KernelArray> arrays);

// Fails with kDeviceExhausted or kUnsupported, and the reason in terms of the program, when the device cannot run it.
Result<RunPlan> plan_run(PipelineDevice& device, const DeviceLoop& loop);

}  // namespace dhpvm::offload
