// SPDX-License-Identifier: Apache-2.0
// The plan of one execution of a loop, or of several chunk by chunk, on one device: which arrays go there as wholes,
// which in slices, and what has to be transferred.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "offload/schedule/pipeline/chunk_needs.h"
#include "offload/schedule/pipeline/pipeline_device.h"

namespace dhpvm::offload {

enum class Placement : std::uint8_t {
  kUnused,
  kShared,    // used in place, in memory that device and host share
  kResident,  // as a whole in the device's memory, where it may stay
  kSliced,    // slice by slice, through a ring of slots
};

struct ArrayPlan {
  Placement placement = Placement::kUnused;
  LoopArray array;         // described as at its first capture
  bool by_chunk = false;   // each chunk writes a part of its own, which is known beforehand
  bool send_back = false;  // results go to the host while the loops run
  bool dead = false;       // it cannot be read afterwards
  // The reason, for people, why it cannot be sliced; empty if it can.
  std::string_view whole_because;
};

struct RunPlan {
  Captures captures;
  std::vector<ArrayPlan> arrays;      // each once, whatever the number of names under which it was captured
  std::vector<ArrayNeeds> needs;      // of all iterations, by array
  std::uint64_t upload_bytes = 0;     // that have to go to the device
  std::uint64_t download_bytes = 0;   // that are sent back while the loops run
  std::uint64_t row_slice_bytes = 0;  // of sliced arrays, for each index of the outermost dimension
  std::uint64_t slice_budget = 0;     // device memory that slots may take; 0: nothing is sliced
  // Its arrays can be waited for later, and change before that: none that it writes is in the heap, or lent.
  bool arrays_can_wait = true;
  // It need not begin at once: its only results are contents of arrays that outlive the loops.
  bool can_wait = true;
  bool synchronous = false;  // the end of the loop must be waited for
  bool may_trap = false;     // one of the loops may trap, as known when the plan was made

  // Whether the loops overwrite elements of an array that they have read.
  bool is_in_place(std::size_t array) const {
    return !needs[array].reads.empty() && !needs[array].writes.empty();
  }
  // Whether results replace elements that later chunks have to read.
  bool replaces_inputs() const;
  // For one of several devices: all results are sent back.
  void share();
};

// If the device cannot run the loops, fails with kDeviceExhausted or kUnsupported, and the reason in terms of the
// program.
Result<RunPlan> plan_run(PipelineDevice& device, Loops loops);

}  // namespace dhpvm::offload
