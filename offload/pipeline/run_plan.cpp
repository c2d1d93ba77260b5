// SPDX-License-Identifier: Apache-2.0
#include "offload/pipeline/run_plan.h"

#include <algorithm>

#include "base/error.h"
#include "offload/pipeline/array_copies.h"

namespace dhpvm::offload {
namespace {

// Of the budget, what slots may take: the rest is for partial results, rounding, and copies of small arrays.
constexpr std::uint64_t kSlotShare = 8;  // 7 eighths

Interval in_bytes(const Elements& elements, std::uint32_t element_bytes) {
  if (elements.end <= elements.begin) return {};
  return {static_cast<std::uint64_t>(elements.begin) * element_bytes,
          static_cast<std::uint64_t>(elements.end) * element_bytes};
}

std::uint64_t bytes_of(const LoopArray& array) {
  return array.host.length <= 0 ? 0 : static_cast<std::uint64_t>(array.host.length) * array.element_bytes;
}

// Device memory for all of it.
std::uint64_t room_for(const LoopArray& array) {
  return PipelineDevice::block_bytes(array.buffer != nullptr ? array.buffer->size() : bytes_of(array));
}

bool overlap(const LoopArray& a, const LoopArray& b) {
  return a.host.data < b.host.data + bytes_of(b) && b.host.data < a.host.data + bytes_of(a);
}

// One array under two names is one array; parts of one array under two names are more than can be kept apart.
Status find_aliases(const DeviceLoop& loop, std::vector<ArrayPlan>& plans) {
  for (std::uint32_t n = 0; n < plans.size(); ++n) {
    plans[n].same_as = n;
    const LoopArray& array = loop.arrays[n];
    if (bytes_of(array) == 0) continue;
    for (std::uint32_t other = 0; other < n; ++other) {
      if (loop.arrays[other].host.data == array.host.data) {
        plans[n].same_as = plans[other].same_as;
        break;
      }
      const bool changes = !plans[n].writes.empty() || !plans[other].writes.empty();
      if (changes && overlap(array, loop.arrays[other])) {
        return error(ErrorCode::kUnsupported,
                     "two of its arrays overlap in memory, and the loop writes at least one of them");
      }
    }
  }
  for (std::uint32_t n = 0; n < plans.size(); ++n) {
    ArrayPlan& first = plans[plans[n].same_as];
    if (&first == &plans[n]) continue;
    // What one name overwrites, the other may have read before.
    first.overwritten = first.writes.empty() && first.reads.empty() && plans[n].overwritten;
    if (first.writes.empty()) {
      first.by_chunk = plans[n].by_chunk;
    } else if (!plans[n].writes.empty()) {
      first.by_chunk = false;
    }
    first.reads = hull(first.reads, plans[n].reads);
    first.writes = hull(first.writes, plans[n].writes);
  }
  return {};
}

}  // namespace

void RunPlan::share() {
  for (ArrayPlan& array : arrays) array.send_back = array.send_back || !array.writes.empty();
  synchronous = true;
}

namespace {

ChunkNeeds needs_of(const DeviceLoop& loop, Ranges& ranges, std::span<const codegen::KernelArray> arrays) {
  ChunkNeeds needs;
  needs.arrays.resize(arrays.size());
  for (std::uint32_t n = 0; n < arrays.size(); ++n) {
    ChunkNeeds::Part& part = needs.arrays[n];
    if (arrays[n].length <= 0) continue;
    part.reads = in_bytes(ranges.reads(n), loop.arrays[n].element_bytes);
    if (arrays[n].writable > 0) part.writes = in_bytes(ranges.writes(n), loop.arrays[n].element_bytes);
    part.overwritten = !part.writes.empty() && ranges.overwrites(n);
  }
  return needs;
}

}  // namespace

ChunkNeeds needs_of(const DeviceLoop& loop, const IterationSpace& space,
                    std::span<const codegen::KernelArray> arrays) {
  Ranges ranges(*loop.footprint, {space, loop.scalars, arrays});
  return needs_of(loop, ranges, arrays);
}

Result<RunPlan> plan_run(PipelineDevice& device, const DeviceLoop& loop) {
  RunPlan plan;
  plan.arrays.resize(loop.arrays.size());
  std::vector<codegen::KernelArray> arrays;
  for (const LoopArray& array : loop.arrays) arrays.push_back(array.host);
  Ranges ranges(*loop.footprint, {loop.space, loop.scalars, arrays});
  plan.needs = needs_of(loop, ranges, arrays);
  for (std::uint32_t n = 0; n < plan.arrays.size(); ++n) {
    ArrayPlan& array = plan.arrays[n];
    array.reads = plan.needs.arrays[n].reads;
    array.writes = plan.needs.arrays[n].writes;
    // A loop that traps leaves some of it as it was.
    array.overwritten = plan.needs.arrays[n].overwritten && !loop.can_trap;
    array.by_chunk = !array.writes.empty() && ranges.writes_are_disjoint(n);
  }
  DHPVM_TRY(find_aliases(loop, plan.arrays));

  // A device that may be lost never has the only copy, and what it was to do can be done elsewhere only as long as nothing
  // else has happened.
  plan.synchronous = loop.can_trap || !loop.reductions.empty() || device.info().may_be_lost;
  const bool shared = device.info().shares_host_memory;
  std::uint64_t resident = 0;
  for (std::uint32_t n = 0; n < plan.arrays.size(); ++n) {
    ArrayPlan& array = plan.arrays[n];
    if (array.same_as != n || (array.reads.empty() && array.writes.empty())) continue;
    const LoopArray& captured = loop.arrays[n];
    array.placement = shared ? Placement::kShared : Placement::kResident;
    // Memory that is lent, or lies in the heap, has nobody to wait for it later. What is only read from there is copied
    // before the loop is submitted, if it is small.
    const bool copied = captured.buffer == nullptr && bytes_of(captured) < BufferPool::kUnit;
    if (captured.buffer == nullptr && (!copied || !array.writes.empty())) plan.synchronous = true;
    if (captured.buffer == nullptr) {
      array.send_back = !array.writes.empty();
    } else if (!array.writes.empty()) {
      array.send_back = device.info().may_be_lost || ArrayCopies::of(*captured.buffer).wanted_on_host();
    }
    if (shared) continue;
    resident += room_for(captured);
    std::vector<Interval> missing = {hull(array.reads, array.overwritten ? Interval{} : array.writes)};
    if (captured.buffer != nullptr) {
      ArrayCopies& copies = ArrayCopies::of(*captured.buffer);
      DeviceCopy& copy = copies.on(device);
      missing = copies.missing(copy, missing[0]);
    }
    for (const Interval& part : missing) plan.upload_bytes += part.size();
    if (array.send_back) plan.download_bytes += array.writes.size();
  }
  if (resident <= device.budget()) return plan;

  // Too much at once: arrays go through in slices, the largest first, until the others fit.
  std::vector<std::uint32_t> order;
  for (std::uint32_t n = 0; n < plan.arrays.size(); ++n) {
    if (plan.arrays[n].placement == Placement::kResident) order.push_back(n);
  }
  std::ranges::sort(order, std::greater{}, [&](std::uint32_t n) { return bytes_of(loop.arrays[n]); });
  const std::uint64_t rows = loop.space.extent(0);
  std::string refused;
  for (const std::uint32_t n : order) {
    ArrayPlan& array = plan.arrays[n];
    const bool aliased = std::ranges::count(plan.arrays, n, &ArrayPlan::same_as) > 1;
    const ArrayUse& use = loop.footprint->arrays[n];
    if (use.kind != ArrayClass::kSliced || aliased || (!array.writes.empty() && !array.by_chunk)) {
      refused += fmt::format("; array {} of {} bytes must be there as a whole: it is {}", n + 1,
                             bytes_of(loop.arrays[n]),
                             aliased                           ? "captured twice"
                             : use.kind == ArrayClass::kSliced ? "written by more than one chunk"
                                                               : use.reason);
      continue;
    }
    array.placement = Placement::kSliced;
    array.send_back = !array.writes.empty();
    resident -= room_for(loop.arrays[n]);
    plan.row_slice_bytes += hull(array.reads, array.writes).size() / rows + 1;
    if (resident <= device.budget() / 2) break;
  }
  if (resident > device.budget() / kSlotShare * (kSlotShare - 1) || plan.row_slice_bytes == 0) {
    return error(ErrorCode::kDeviceExhausted, "its arrays do not fit into the {} bytes of {}{}",
                 device.budget(), device.info().name, refused);
  }
  plan.slice_budget = device.budget() / kSlotShare * (kSlotShare - 1) - resident;
  plan.upload_bytes = plan.download_bytes = 0;
  for (std::uint32_t n = 0; n < plan.arrays.size(); ++n) {
    const ArrayPlan& array = plan.arrays[n];
    if (array.placement == Placement::kUnused) continue;
    plan.upload_bytes += hull(array.reads, array.overwritten ? Interval{} : array.writes).size();
    if (array.send_back) plan.download_bytes += array.writes.size();
  }
  return plan;
}

}  // namespace dhpvm::offload
