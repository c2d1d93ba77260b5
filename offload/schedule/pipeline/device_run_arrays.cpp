// SPDX-License-Identifier: Apache-2.0
// The memory and contents that the chunks of a run need on the device.
#include <algorithm>
#include <cstring>
#include <utility>

#include "offload/schedule/pipeline/device_run.h"
#include "offload/schedule/pipeline/stage_load.h"

namespace dhpvm::offload {

// Registers the whole array's memory on the host with the device.
Status DeviceRun::prepare_host_memory(std::uint32_t n) {
  const LoopArray& captured = plan_.arrays[n].array;
  RunArray& array = arrays_[n];
  const std::size_t bytes = captured.bytes();
  if (captured.buffer != nullptr) {
    DHPVM_ASSIGN(array.host, device_.registrations().span_of(device_.device(), *captured.buffer));
    array.host.bytes = bytes;
    return {};
  }
  if (bytes >= BufferPool::kUnit) {
    DHPVM_ASSIGN(array.host.memory,
                 device_.device().import_host({captured.host.data, bytes}, HostMemory::kPageable));
    array.host.bytes = bytes;
    return {};
  }
  DHPVM_ASSIGN(array.staging, device_.pool().allocate(bytes, BufferContents::kUndefined));
  std::memcpy(array.staging->data(), captured.host.data, bytes);
  DHPVM_ASSIGN(array.host, device_.registrations().span_of(device_.device(), *array.staging));
  array.host.bytes = bytes;
  return {};
}

Status DeviceRun::prepare(std::uint32_t n) {
  const ArrayPlan& plan = plan_.arrays[n];
  RunArray& array = arrays_[n];
  DHPVM_TRY(prepare_host_memory(n));
  if (array.copies != nullptr) {
    array.copy = &array.copies->on(device_);
    if (!plan_.needs[n].writes.empty()) {
      array.copies->write_back().begin_loop();
      DHPVM_TRY(array.copies->transfers().wait_for_readers(*array.copy));
    }
    DHPVM_TRY(prepare_copy(n));
    // By now, elements that only other devices had have arrived. A device that may be lost never has the only copy:
    // with its inputs on the host, the loop can be run again from there.
    array.host_was_current =
        device_.info().may_be_lost
            ? plan_.needs[n].writes.empty() ||
                  std::ranges::all_of(plan_.needs[n].needed.intervals(),
                                      [&](const Interval& part) {
                                        return array.copies->contents().host_missing(part).empty();
                                      })
            : array.copies->contents().host_missing({0, array.host.bytes}).empty();
  }
  switch (plan.placement) {
    case Placement::kUnused: break;
    case Placement::kShared: array.memory = array.host; break;
    case Placement::kResident:
      if (array.copies != nullptr) {
        DHPVM_TRY(array.copies->allocate(*array.copy));
        array.memory = {array.copy->block.memory, 0, array.host.bytes};
      } else {
        DHPVM_ASSIGN(array.own, device_.blocks().acquire(array.host.bytes));
        array.before = array.own.busy;
        array.memory = {array.own.memory, 0, array.host.bytes};
      }
      break;
    case Placement::kSliced: array.slots.resize(kSlots); break;
  }
  if (array.copy != nullptr) {
    array.before = array.copy->busy;
    array.host_writes_before = array.copy->writes_to_host();
  }
  return {};
}

// Elements that only other devices have come through the host.
Status DeviceRun::prepare_copy(std::uint32_t n) {
  const ArrayPlan& plan = plan_.arrays[n];
  RunArray& array = arrays_[n];
  const IntervalSet& needed = plan_.needs[n].needed;
  Interval lacking;
  for (const Interval& part : needed.intervals()) {
    if (plan.placement == Placement::kSliced) {
      lacking = hull(lacking, part);
      continue;
    }
    for (const Interval& piece : array.copies->contents().missing(*array.copy, part))
      lacking = hull(lacking, piece);
  }
  if (plan.placement != Placement::kSliced || array.copy->block.memory == nullptr)
    return array.copies->transfers().prepare_host(*array.copy, lacking);
  // An earlier loop has left the whole array there. Slices come from the host, and need its memory.
  DHPVM_TRY(array.copies->transfers().prepare_host(*array.copy, {0, plan.array.buffer->size()}));
  ArrayCopies::give_back(*array.copy);
  return {};
}

// Memory for partial results and for the report.
Status DeviceRun::prepare_outputs() {
  const bool shared = device_.info().shares_host_memory;
  if (partials_ != nullptr) {
    DHPVM_ASSIGN(partials_host_, device_.registrations().span_of(device_.device(), *partials_));
    if (!shared) {
      DHPVM_ASSIGN(partials_block_, device_.blocks().acquire(partials_->size()));
    }
  }
  const auto needs_none = [](const Loop& loop) { return !loop.has_sites || loop.can_trap; };
  if (!std::ranges::all_of(loops_, needs_none)) {
    DHPVM_ASSIGN(unread_report_, device_.unread_report());
  }
  if (std::ranges::none_of(loops_, &Loop::can_trap)) return {};
  constexpr std::size_t kBytes = sizeof(codegen::KernelReport);
  DHPVM_ASSIGN(report_buffer_, device_.pool().allocate(kBytes, BufferContents::kUndefined));
  DHPVM_ASSIGN(report_host_, device_.registrations().span_of(device_.device(), *report_buffer_));
  report_host_.bytes = kBytes;
  std::memset(report_buffer_->data(), 0, kBytes);
  if (!shared) {
    DHPVM_ASSIGN(report_block_, device_.blocks().acquire(kBytes));
  }
  const MemorySpan report = shared ? report_host_ : MemorySpan{report_block_.memory, 0, kBytes};
  DHPVM_ASSIGN(const std::uint64_t position, device_.fill(report, std::byte{0}, report_block_.busy));
  last_.include(Stage::kLaunch, position);
  return {};
}

// `after` gets the positions that the launches have to wait for.
Status DeviceRun::upload_chunk(const std::vector<ArrayNeeds>& needs, Positions& after) {
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    switch (plan_.arrays[n].placement) {
      case Placement::kUnused: break;
      case Placement::kShared: after.include(arrays_[n].before); break;
      case Placement::kResident: DHPVM_TRY(upload_resident(n, needs[n], after)); break;
      case Placement::kSliced: DHPVM_TRY(upload_slice(n, needs[n], after)); break;
    }
  }
  return {};
}

Status DeviceRun::upload_resident(std::uint32_t n, const ArrayNeeds& needs, Positions& after) {
  RunArray& array = arrays_[n];
  // Downloads of an earlier loop's results come before anything new.
  after.include(array.before);
  const std::uint32_t element = plan_.arrays[n].array.element_bytes;
  for (const Interval& needed : needs.needed.intervals()) {
    const std::vector<Interval> missing = array.copies != nullptr
                                              ? array.copies->contents().missing(*array.copy, needed)
                                              : array.own_valid.missing(needed);
    if (!missing.empty() && array.copies != nullptr && device_.copies_with_launches(array.host.bytes))
      DHPVM_TRY(device_.wait(array.host_writes_before));
    for (Interval lack : missing) {
      // Whole elements only; the intervals consist of these anyway.
      lack.begin -= lack.begin % element;
      DHPVM_ASSIGN(const Positions there,
                   upload(n, needs, part_of(array.memory, lack), lack, array.before, array.host.bytes));
      last_.include(there);
      after.include(there);
      if (array.copies != nullptr) {
        array.copies->contents().uploaded(*array.copy, lack);
        array.copy->use_until(there);
      } else {
        array.own_valid.add(lack);
      }
    }
  }
  return {};
}

// Whether devices that share the loop may write some of these bytes of the host's memory meanwhile.
bool DeviceRun::others_may_write(std::uint32_t n, const ArrayNeeds& needs, const Interval& bytes) const {
  if (!is_shared_) return false;
  const Interval& of_all = plan_.needs[n].writes;
  const Interval written{std::max(bytes.begin, of_all.begin), std::min(bytes.end, of_all.end)};
  return !written.empty() && (written.begin < needs.writes.begin || needs.writes.end < written.end);
}

Result<Positions> DeviceRun::upload(std::uint32_t n, const ArrayNeeds& needs, const MemorySpan& to,
                                    const Interval& bytes, const Positions& order, std::uint64_t whole) {
  const MemorySpan from = part_of(arrays_[n].host, bytes);
  if (others_may_write(n, needs, bytes)) return upload_among_others(to, from, order, whole);
  return device_.upload(to, from, order, whole);
}

// Some of these bytes may be written at this moment. The kernel does not read those, outdate_between() takes them out
// of the copy, and what it does read is written by nobody. ThreadSanitizer knows this function by its name
// (tests/tsan.supp).
[[gnu::noinline]] Result<Positions> DeviceRun::upload_among_others(const MemorySpan& to,
                                                                   const MemorySpan& from,
                                                                   const Positions& order,
                                                                   std::uint64_t whole) {
  return device_.upload(to, from, order, whole);
}

Status DeviceRun::upload_slice(std::uint32_t n, const ArrayNeeds& needs, Positions& after) {
  RunArray& array = arrays_[n];
  Interval slice = needs.touched;
  slice.begin -= slice.begin % codegen::kDataAlignment;
  Slot& ring = slot(n);
  after.include(ring.busy);
  if (slice.empty()) {
    array.memory = {};
    return {};
  }
  if (ring.block.bytes < slice.size()) {
    if (ring.block.memory != nullptr) {
      ring.block.busy.include(ring.busy);
      device_.blocks().release(std::exchange(ring.block, {}));
    }
    DHPVM_ASSIGN(ring.block, device_.blocks().acquire(slice.size()));
    ring.busy.include(ring.block.busy);
  }
  array.memory = {ring.block.memory, 0, slice.size()};
  array.first = -static_cast<std::int64_t>(slice.begin);
  Positions order = ring.busy;
  order.include(array.before);
  for (const Interval& piece : needs.needed.intervals()) {
    const MemorySpan to{ring.block.memory, piece.begin - slice.begin, piece.size()};
    DHPVM_ASSIGN(const Positions there, upload(n, needs, to, piece, order, PipelineDevice::kLarge));
    last_.include(there);
    after.include(there);
    ring.busy.include(there);
    if (array.copy != nullptr) array.copy->use_until(there);
  }
  after.include(order);
  return {};
}

}  // namespace dhpvm::offload
