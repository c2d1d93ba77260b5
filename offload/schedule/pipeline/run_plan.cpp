// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/run_plan.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/error.h"
#include "offload/schedule/pipeline/array_copies.h"
#include "offload/schedule/pipeline/plan_memo.h"

namespace dhpvm::offload {
namespace {

// The share of the budget that slots may take; the rest is for partial results, rounding, and copies of small arrays.
constexpr std::uint64_t kSlotShare = 8;  // 7 eighths

// The device memory for the whole array.
std::uint64_t room_for(const LoopArray& array) {
  return DeviceBlocks::rounded(array.buffer != nullptr ? array.buffer->size() : array.bytes());
}

// Different parts of one array under two names cannot be kept apart.
Status check_overlaps(const RunPlan& plan) {
  for (std::size_t n = 0; n < plan.arrays.size(); ++n) {
    const LoopArray& written = plan.arrays[n].array;
    if (plan.needs[n].writes.empty()) continue;
    for (std::size_t other = 0; other < plan.arrays.size(); ++other) {
      const LoopArray& array = plan.arrays[other].array;
      if (other != n && written.bytes() != 0 && array.bytes() != 0 && written.overlaps(array)) {
        return error(ErrorCode::kUnsupported,
                     "two of its arrays overlap in memory, and the loop writes at least one of them");
      }
    }
  }
  return {};
}

// In PTX, kernels assume that an array that they write is distinct from all others: it must not have two names.
Status check_names(const PipelineDevice& device, Loops loops, const Captures& captures) {
  if (device.info().target.language != "ptx") return {};
  std::size_t first = 0;
  for (const Loop& loop : loops) {
    const std::span names = std::span(captures.array_of).subspan(first, loop.arrays.size());
    first += names.size();
    for (std::size_t n = 0; n < names.size(); ++n) {
      const ArrayUse& use = loop.footprint->arrays[n];
      const bool may_change = !loop.footprint->complete || use.is_written || use.is_updated;
      if (may_change && std::ranges::count(names, names[n]) > 1)
        return error(ErrorCode::kUnsupported, "an array that the loop writes has two names in it");
    }
  }
  return {};
}

// The use that the loops make of their arrays.
void follow(PipelineDevice& device, Loops loops, RunPlan& plan) {
  plan.captures = captures_of(loops);
  const std::vector<ArrayFacts>& facts = device.plan_memo().facts_of(loops, plan.captures);
  plan.arrays.reserve(facts.size());
  plan.needs.reserve(facts.size());
  for (std::size_t n = 0; n < facts.size(); ++n) {
    ArrayPlan& array = plan.arrays.emplace_back();
    array.array = plan.captures.arrays[n];
    array.by_chunk = facts[n].by_chunk;
    array.whole_because = facts[n].whole_because;
    plan.needs.push_back(facts[n].needs);
  }
}

// Decides which arrays go through in slices, the largest first, until the others fit. `resident` bytes are too many.
Status slice(PipelineDevice& device, Loops loops, RunPlan& plan, std::uint64_t resident) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t n = 0; n < plan.arrays.size(); ++n) {
    if (plan.arrays[n].placement == Placement::kResident) order.push_back(n);
  }
  // Among equally large arrays, prefer those with the fewest bytes on the device.
  const auto absent = [&](const ArrayPlan& array) {
    if (array.array.buffer == nullptr) return array.array.bytes();
    ArrayCopies& copies = ArrayCopies::of(*array.array.buffer);
    std::uint64_t bytes = 0;
    for (const Interval& part : copies.contents().missing(copies.on(device), copies.contents().whole()))
      bytes += part.size();
    return bytes;
  };
  std::ranges::sort(order, std::greater{}, [&](std::uint32_t n) {
    return std::pair(plan.arrays[n].array.bytes(), absent(plan.arrays[n]));
  });
  const std::uint64_t rows = loops[0].space.extent(0);
  std::string refused;
  for (const std::uint32_t n : order) {
    ArrayPlan& array = plan.arrays[n];
    if (!array.whole_because.empty()) {
      refused += fmt::format("; an array of {} bytes must be there as a whole: it is {}", array.array.bytes(),
                             array.whole_because);
      continue;
    }
    array.placement = Placement::kSliced;
    array.send_back = !plan.needs[n].writes.empty() && !array.dead;
    resident -= room_for(array.array);
    plan.row_slice_bytes += plan.needs[n].touched.size() / rows + 1;
    if (resident <= device.blocks().budget() / 2) break;
  }
  if (resident > device.blocks().budget() / kSlotShare * (kSlotShare - 1) || plan.row_slice_bytes == 0) {
    return error(ErrorCode::kDeviceExhausted, "its arrays do not fit into the {} bytes of {}{}",
                 device.blocks().budget(), device.info().name, refused);
  }
  plan.slice_budget = device.blocks().budget() / kSlotShare * (kSlotShare - 1) - resident;
  return {};
}

}  // namespace

void RunPlan::share() {
  for (std::size_t n = 0; n < arrays.size(); ++n)
    arrays[n].send_back = arrays[n].send_back || !needs[n].writes.empty();
  synchronous = true;
}

bool RunPlan::replaces_inputs() const {
  return std::ranges::any_of(
      needs, [](const ArrayNeeds& array) { return !array.needed.empty() && !array.writes.empty(); });
}

Result<RunPlan> plan_run(PipelineDevice& device, Loops loops) {
  RunPlan plan;
  follow(device, loops, plan);
  DHPVM_TRY(check_overlaps(plan));
  DHPVM_TRY(check_names(device, loops, plan.captures));

  for (const Loop& loop : loops) {
    plan.may_trap = plan.may_trap || loop.can_trap;
    plan.can_wait = plan.can_wait && !loop.can_trap && loop.reductions.empty();
  }
  const bool may_be_lost = device.info().may_be_lost;
  const bool shared = device.info().shares_host_memory;
  std::uint64_t resident = 0;
  for (std::size_t n = 0; n < plan.arrays.size(); ++n) {
    ArrayPlan& array = plan.arrays[n];
    if (plan.needs[n].touched.empty()) continue;
    const LoopArray& captured = array.array;
    const bool is_written = !plan.needs[n].writes.empty();
    array.placement = shared ? Placement::kShared : Placement::kResident;
    if (captured.buffer == nullptr) {
      // For lent memory, and memory in the heap, no later access waits. An array there that is only read is copied
      // before the loop is submitted, if it is small.
      if (is_written || captured.bytes() >= BufferPool::kUnit) plan.arrays_can_wait = false;
      array.send_back = is_written;
    } else {
      array.dead = captured.buffer->is_closed();
      array.send_back = is_written && !array.dead &&
                        (may_be_lost || ArrayCopies::of(*captured.buffer).write_back().is_worthwhile());
    }
    if (!shared) resident += room_for(captured);
  }
  plan.can_wait = plan.can_wait && plan.arrays_can_wait;
  // A device that may be lost never has the only copy, and its work can be done elsewhere only as long as nothing else
  // has happened.
  plan.synchronous = !plan.can_wait || may_be_lost;
  if (shared) return plan;
  if (resident > device.blocks().budget()) DHPVM_TRY(slice(device, loops, plan, resident));
  for (std::size_t n = 0; n < plan.arrays.size(); ++n) {
    const ArrayPlan& array = plan.arrays[n];
    if (array.placement == Placement::kUnused) continue;
    const bool stays = array.placement == Placement::kResident && array.array.buffer != nullptr;
    for (const Interval& needed : plan.needs[n].needed.intervals()) {
      if (!stays) {
        plan.upload_bytes += needed.size();
        continue;
      }
      ArrayCopies& copies = ArrayCopies::of(*array.array.buffer);
      for (const Interval& part : copies.contents().missing(copies.on(device), needed))
        plan.upload_bytes += part.size();
    }
    if (array.send_back) plan.download_bytes += plan.needs[n].writes.size();
  }
  return plan;
}

}  // namespace dhpvm::offload
