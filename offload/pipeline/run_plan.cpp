// SPDX-License-Identifier: Apache-2.0
#include "offload/pipeline/run_plan.h"

#include <algorithm>

#include "base/error.h"
#include "offload/kernel/range.h"
#include "offload/pipeline/array_copies.h"

namespace dhpvm::offload {
namespace {

// Of the budget, what slots may take: the rest is for partial results, rounding, and copies of small arrays.
constexpr std::uint64_t kSlotShare = 8;  // 7 eighths

// Device memory for all of it.
std::uint64_t room_for(const LoopArray& array) {
  return PipelineDevice::block_bytes(array.buffer != nullptr ? array.buffer->size() : array.bytes());
}

bool overlap(const LoopArray& a, const LoopArray& b) {
  return a.host.data < b.host.data + b.bytes() && b.host.data < a.host.data + a.bytes();
}

// Parts of one array under two names are more than can be kept apart.
Status check_overlaps(const RunPlan& plan) {
  for (const ArrayPlan& a : plan.arrays) {
    for (const ArrayPlan& b : plan.arrays) {
      if (&a == &b || a.array.bytes() == 0 || b.array.bytes() == 0) continue;
      if (!a.needs.writes.empty() && overlap(a.array, b.array)) {
        return error(ErrorCode::kUnsupported,
                     "two of its arrays overlap in memory, and the loop writes at least one of them");
      }
    }
  }
  return {};
}

// Which arrays each chunk writes a part of its own of, and which can be sliced.
void follow_chunks(Loops loops, RunPlan& plan) {
  for (ArrayPlan& array : plan.arrays) array.by_chunk = !array.needs.writes.empty();
  std::uint32_t first = 0;
  for (const DeviceLoop& loop : loops) {
    const auto count = static_cast<std::uint32_t>(loop.arrays.size());
    const std::span described = std::span(plan.captures.described).subspan(first, count);
    const auto names = std::span(plan.captures.array_of).subspan(first, count);
    Ranges ranges(*loop.footprint, {loop.space, loop.scalars, described});
    std::vector<std::uint32_t> writers(plan.arrays.size());
    for (std::uint32_t n = 0; n < count; ++n) {
      const std::uint32_t index = plan.captures.array_of[first + n];
      ArrayPlan& array = plan.arrays[index];
      const ArrayUse& use = loop.footprint->arrays[n];
      // Of several names one may write.
      array.by_chunk = array.by_chunk && ranges.writes_are_disjoint(n);
      if (ranges.writes(n).end > ranges.writes(n).begin && ++writers[index] > 1) array.by_chunk = false;
      if (std::ranges::count(names, index) > 1) {
        array.whole_because = "captured twice";
      } else if (use.kind != ArrayClass::kSliced && use.kind != ArrayClass::kUnused) {
        array.whole_because = use.reason;
      }
    }
    first += count;
  }
  for (ArrayPlan& array : plan.arrays) {
    if (array.whole_because.empty() && !array.needs.writes.empty() && !array.by_chunk)
      array.whole_because = "written by more than one chunk";
  }
}

// Arrays go through in slices, the largest first, until the others fit. `resident` bytes are too much.
Status slice(PipelineDevice& device, Loops loops, RunPlan& plan, std::uint64_t resident) {
  std::vector<ArrayPlan*> order;
  for (ArrayPlan& array : plan.arrays) {
    if (array.placement == Placement::kResident) order.push_back(&array);
  }
  std::ranges::sort(order, std::greater{}, [](const ArrayPlan* array) { return array->array.bytes(); });
  const std::uint64_t rows = loops[0].space.extent(0);
  std::string refused;
  for (ArrayPlan* const array : order) {
    if (!array->whole_because.empty()) {
      refused += fmt::format("; an array of {} bytes must be there as a whole: it is {}",
                             array->array.bytes(), array->whole_because);
      continue;
    }
    array->placement = Placement::kSliced;
    array->send_back = !array->needs.writes.empty() && !array->dead;
    resident -= room_for(array->array);
    plan.row_slice_bytes += array->needs.touched.size() / rows + 1;
    if (resident <= device.budget() / 2) break;
  }
  if (resident > device.budget() / kSlotShare * (kSlotShare - 1) || plan.row_slice_bytes == 0) {
    return error(ErrorCode::kDeviceExhausted, "its arrays do not fit into the {} bytes of {}{}",
                 device.budget(), device.info().name, refused);
  }
  plan.slice_budget = device.budget() / kSlotShare * (kSlotShare - 1) - resident;
  return {};
}

}  // namespace

void RunPlan::share() {
  for (ArrayPlan& array : arrays) array.send_back = array.send_back || !array.needs.writes.empty();
  synchronous = true;
}

Result<RunPlan> plan_run(PipelineDevice& device, Loops loops) {
  RunPlan plan;
  plan.captures = captures_of(loops);
  plan.arrays.resize(plan.captures.arrays.size());
  std::vector<ArrayNeeds> needs = needs_of(loops, plan.captures, loops[0].space);
  for (std::size_t n = 0; n < plan.arrays.size(); ++n) {
    plan.arrays[n].array = plan.captures.arrays[n];
    plan.arrays[n].needs = std::move(needs[n]);
  }
  DHPVM_TRY(check_overlaps(plan));
  follow_chunks(loops, plan);

  for (const DeviceLoop& loop : loops)
    plan.can_wait = plan.can_wait && !loop.can_trap && loop.reductions.empty();
  const bool may_be_lost = device.info().may_be_lost;
  const bool shared = device.info().shares_host_memory;
  std::uint64_t resident = 0;
  for (ArrayPlan& array : plan.arrays) {
    if (array.needs.touched.empty()) continue;
    const LoopArray& captured = array.array;
    const bool is_written = !array.needs.writes.empty();
    array.placement = shared ? Placement::kShared : Placement::kResident;
    if (captured.buffer == nullptr) {
      // Memory that is lent, or lies in the heap, has nobody to wait for it later. What is only read from there is copied
      // before the loop is submitted, if it is small.
      if (is_written || captured.bytes() >= BufferPool::kUnit) plan.can_wait = false;
      array.send_back = is_written;
    } else {
      array.dead = captured.buffer->is_closed();
      array.send_back =
          is_written && !array.dead && (may_be_lost || ArrayCopies::of(*captured.buffer).wanted_on_host());
    }
    if (!shared) resident += room_for(captured);
  }
  // A device that may be lost never has the only copy, and what it was to do can be done elsewhere only as long as nothing
  // else has happened.
  plan.synchronous = !plan.can_wait || may_be_lost;
  if (shared) return plan;
  if (resident > device.budget()) DHPVM_TRY(slice(device, loops, plan, resident));
  for (const ArrayPlan& array : plan.arrays) {
    if (array.placement == Placement::kUnused) continue;
    const bool stays = array.placement == Placement::kResident && array.array.buffer != nullptr;
    for (const Interval& needed : array.needs.needed.intervals()) {
      if (!stays) {
        plan.upload_bytes += needed.size();
        continue;
      }
      ArrayCopies& copies = ArrayCopies::of(*array.array.buffer);
      for (const Interval& part : copies.missing(copies.on(device), needed)) plan.upload_bytes += part.size();
    }
    if (array.send_back) plan.download_bytes += array.needs.writes.size();
  }
  return plan;
}

}  // namespace dhpvm::offload
