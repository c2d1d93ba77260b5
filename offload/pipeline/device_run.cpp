// SPDX-License-Identifier: Apache-2.0
#include "offload/pipeline/device_run.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

// Slots of the ring of a sliced array: one is filled while another is worked on and a third is emptied.
constexpr std::size_t kSlots = 3;

MemorySpan part_of(const MemorySpan& span, const Interval& bytes) {
  return {span.memory, span.offset + bytes.begin, bytes.size()};
}

}  // namespace

Result<std::unique_ptr<DeviceRun>> DeviceRun::begin(PipelineDevice& device, const DeviceLoop& loop,
                                                    RunPlan plan, std::shared_ptr<Kernel> kernel,
                                                    Buffer* partials) {
  device.release_held();
  auto run =
      std::unique_ptr<DeviceRun>(new DeviceRun(device, loop, std::move(plan), std::move(kernel), partials));
  // First all are kept from being given up, so that none makes room for another.
  for (std::uint32_t n = 0; n < loop.arrays.size(); ++n) {
    const ArrayPlan& array = run->plan_.arrays[n];
    if (loop.arrays[n].buffer == nullptr || array.placement == Placement::kUnused) continue;
    run->arrays_[n].copies = &ArrayCopies::of(*loop.arrays[n].buffer);
    run->arrays_[n].copies->pin();
  }
  for (std::uint32_t n = 0; n < loop.arrays.size(); ++n) {
    if (run->plan_.arrays[n].placement != Placement::kUnused) DHPVM_TRY(run->prepare(n));
  }
  DHPVM_TRY(run->prepare_outputs());
  return run;
}

DeviceRun::DeviceRun(PipelineDevice& device, const DeviceLoop& loop, RunPlan plan,
                     std::shared_ptr<Kernel> kernel, Buffer* partials)
    : device_(device),
      loop_(loop),
      plan_(std::move(plan)),
      kernel_(std::move(kernel)),
      arrays_(loop.arrays.size()),
      arguments_(loop.arrays.size()),
      partials_(partials) {
  for (const LoopArray& array : loop.arrays) descriptors_.push_back(array.host);
  for (unsigned d = 1; d < loop.space.dimensions; ++d) row_iterations_ *= loop.space.extent(d);
}

DeviceRun::~DeviceRun() {
  const auto give_back = [&](DeviceBlock& block) {
    block.busy.include(last_);
    device_.release(std::move(block));
  };
  const auto close = [&](Buffer* buffer) {
    if (buffer == nullptr) return;
    device_.hold(*buffer, last_);
    buffer->close();
  };
  for (RunArray& array : arrays_) {
    if (array.copies != nullptr) array.copies->unpin();
    give_back(array.own);
    for (Slot& slot : array.slots) give_back(slot.block);
    close(array.staging);
  }
  give_back(partials_block_);
  give_back(report_block_);
  close(report_buffer_);
}

// Makes the whole array's memory on the host known to the device.
Status DeviceRun::prepare_host_memory(std::uint32_t n) {
  const LoopArray& captured = loop_.arrays[n];
  RunArray& array = arrays_[n];
  const auto bytes = static_cast<std::size_t>(captured.host.length) * captured.element_bytes;
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
  ArrayArgument& argument = arguments_[n];
  const codegen::KernelArray& host = loop_.arrays[n].host;
  argument.readable = host.readable;
  argument.writable = host.writable;
  argument.length = host.length;
  std::copy_n(host.dims, 3, argument.dims);
  if (array.copies != nullptr) {
    array.copy = &array.copies->on(device_);
    if (!plan.writes.empty()) array.copies->begin_writing();
    array.host_was_current = array.copies->host_missing({0, array.host.bytes}).empty();
    // What is only on other devices has to come over the host.
    DHPVM_TRY(
        array.copies->prepare_host(device_, hull(plan.reads, plan.overwritten ? Interval{} : plan.writes)));
  }
  switch (plan.placement) {
    case Placement::kUnused: break;
    case Placement::kShared: argument.memory = array.host; break;
    case Placement::kResident:
      if (array.copies != nullptr) {
        DHPVM_TRY(array.copies->allocate(*array.copy));
        argument.memory = {array.copy->block.memory, 0, array.host.bytes};
      } else {
        DHPVM_ASSIGN(array.own, device_.acquire(array.host.bytes));
        array.before = array.own.busy;
        argument.memory = {array.own.memory, 0, array.host.bytes};
      }
      break;
    case Placement::kSliced: array.slots.resize(kSlots); break;
  }
  if (array.copy != nullptr) array.before = array.copy->busy;
  return {};
}

// Memory for partial results, and for the report.
Status DeviceRun::prepare_outputs() {
  const bool shared = device_.info().shares_host_memory;
  if (partials_ != nullptr) {
    DHPVM_ASSIGN(partials_host_, device_.registrations().span_of(device_.device(), *partials_));
    if (!shared) {
      DHPVM_ASSIGN(partials_block_, device_.acquire(partials_->size()));
    }
  }
  if (!loop_.can_trap) return {};
  constexpr std::size_t kBytes = sizeof(codegen::KernelReport);
  DHPVM_ASSIGN(report_buffer_, device_.pool().allocate(kBytes, BufferContents::kUndefined));
  DHPVM_ASSIGN(report_host_, device_.registrations().span_of(device_.device(), *report_buffer_));
  report_host_.bytes = kBytes;
  if (!shared) {
    DHPVM_ASSIGN(report_block_, device_.acquire(kBytes));
  }
  const MemorySpan report = shared ? report_host_ : MemorySpan{report_block_.memory, 0, kBytes};
  DHPVM_ASSIGN(const std::uint64_t position, device_.fill(report, std::byte{0}, report_block_.busy));
  last_.include(Stage::kLaunch, position);
  return {};
}

std::uint64_t DeviceRun::most_rows() const {
  if (plan_.slice_budget == 0) return loop_.space.extent(0);
  // Halos make a slice somewhat larger than its rows: they are rarely more than a row or two, each side.
  const std::uint64_t rows = plan_.slice_budget / (kSlots * plan_.row_slice_bytes);
  return std::max<std::uint64_t>(rows > 64 ? rows - rows / 16 - 4 : rows / 2, 1);
}

Status DeviceRun::submit(const IterationSpace& box) {
  const ChunkNeeds needs = needs_of(loop_, box, descriptors());
  Positions after;
  DHPVM_TRY(upload_chunk(needs, after));
  DHPVM_TRY(end_stage());
  DHPVM_TRY(launch(box, needs, after));
  DHPVM_TRY(end_stage());
  DHPVM_TRY(download_chunk(needs));
  DHPVM_TRY(end_stage());
  chunks_.push_back({box, last_});
  ++chunk_;
  return {};
}

Status DeviceRun::end_stage() { return device_.overlaps() ? Status() : device_.wait(last_); }

// `after` becomes what the launch has to wait for.
Status DeviceRun::upload_chunk(const ChunkNeeds& needs, Positions& after) {
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    const ArrayPlan& plan = plan_.arrays[n];
    if (plan.same_as != n) continue;
    ChunkNeeds::Part part = needs.arrays[n];
    for (std::uint32_t other = n + 1; other < arrays_.size(); ++other) {
      if (plan_.arrays[other].same_as != n) continue;
      part.reads = hull(part.reads, needs.arrays[other].reads);
      part.writes = hull(part.writes, needs.arrays[other].writes);
      part.overwritten = false;
    }
    // A chunk that traps leaves some of it as it was.
    part.overwritten = part.overwritten && !loop_.can_trap;
    switch (plan.placement) {
      case Placement::kUnused: break;
      case Placement::kShared: after.include(arrays_[n].before); break;
      case Placement::kResident: DHPVM_TRY(upload_resident(n, part, after)); break;
      case Placement::kSliced: DHPVM_TRY(upload_slice(n, part, after)); break;
    }
  }
  return {};
}

Status DeviceRun::upload_resident(std::uint32_t n, const ChunkNeeds::Part& part, Positions& after) {
  RunArray& array = arrays_[n];
  // Downloads of what an earlier loop has left there come before anything new.
  after.include(array.before);
  const std::uint32_t element = loop_.arrays[n].element_bytes;
  for (const Interval& needed : {part.reads, part.overwritten ? Interval{} : part.writes}) {
    const std::vector<Interval> missing = array.copies != nullptr ? array.copies->missing(*array.copy, needed)
                                                                  : array.own_valid.missing(needed);
    for (Interval lack : missing) {
      // Whole elements, which the intervals consist of anyway.
      lack.begin -= lack.begin % element;
      DHPVM_ASSIGN(const std::uint64_t position, device_.upload(part_of(arguments_[n].memory, lack),
                                                                part_of(array.host, lack), array.before));
      last_.include(Stage::kUpload, position);
      after.include(Stage::kUpload, position);
      if (array.copies != nullptr) {
        array.copies->uploaded(*array.copy, lack);
        array.copy->busy.include(Stage::kUpload, position);
      } else {
        array.own_valid.add(lack);
      }
    }
  }
  return {};
}

Status DeviceRun::upload_slice(std::uint32_t n, const ChunkNeeds::Part& part, Positions& after) {
  RunArray& array = arrays_[n];
  const Interval slice = hull(part.reads, part.writes);
  Slot& ring = slot(n);
  after.include(ring.busy);
  if (slice.empty()) {
    arguments_[n].memory = {};
    return {};
  }
  if (ring.block.bytes < slice.size()) {
    if (ring.block.memory != nullptr) {
      ring.block.busy.include(ring.busy);
      device_.release(std::move(ring.block));
    }
    DHPVM_ASSIGN(ring.block, device_.acquire(slice.size()));
    ring.busy.include(ring.block.busy);
  }
  arguments_[n].memory = {ring.block.memory, 0, slice.size()};
  arguments_[n].first = -static_cast<std::int64_t>(slice.begin);
  Positions order = ring.busy;
  order.include(array.before);
  IntervalSet needed(part.reads);
  if (!part.overwritten) needed.add(part.writes);
  for (const Interval& piece : needed.intervals()) {
    const MemorySpan to{ring.block.memory, piece.begin - slice.begin, piece.size()};
    DHPVM_ASSIGN(const std::uint64_t position, device_.upload(to, part_of(array.host, piece), order));
    last_.include(Stage::kUpload, position);
    after.include(Stage::kUpload, position);
    ring.busy.include(Stage::kUpload, position);
    if (array.copy != nullptr) array.copy->busy.include(Stage::kUpload, position);
  }
  after.include(order);
  return {};
}

Status DeviceRun::launch(const IterationSpace& box, const ChunkNeeds& needs, const Positions& after) {
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    if (plan_.arrays[n].same_as == n) continue;
    arguments_[n].memory = arguments_[plan_.arrays[n].same_as].memory;
    arguments_[n].first = arguments_[plan_.arrays[n].same_as].first;
    const codegen::KernelArray& host = loop_.arrays[n].host;
    arguments_[n].readable = host.readable;
    arguments_[n].writable = host.writable;
    arguments_[n].length = host.length;
    std::copy_n(host.dims, 3, arguments_[n].dims);
  }
  Launch launch;
  launch.kernel = kernel_;
  launch.space = box;
  launch.scalars = loop_.scalars;
  launch.arrays = arguments_;
  Positions order = after;
  if (partials_ != nullptr) {
    const std::uint64_t registers = loop_.reductions.size() * sizeof(std::uint64_t);
    IterationSpace behind = box;
    behind.low[0] = box.high[0];
    const Interval bytes{blocks_before(box) * registers, blocks_before(behind) * registers};
    const MemorySpan whole = partials_block_.memory == nullptr
                                 ? partials_host_
                                 : MemorySpan{partials_block_.memory, 0, partials_->size()};
    launch.partials = part_of(whole, bytes);
    order.include(partials_block_.busy);
    partials_written_.push_back(bytes);
  }
  if (loop_.can_trap) {
    launch.report = report_block_.memory == nullptr
                        ? report_host_
                        : MemorySpan{report_block_.memory, 0, sizeof(codegen::KernelReport)};
  }
  DHPVM_ASSIGN(const std::uint64_t position, device_.launch(launch, order, loop_.label));
  last_.include(Stage::kLaunch, position);
  note_launch(needs, position);
  return {};
}

// Blocks of reductions in the iterations before `box`.
std::uint64_t DeviceRun::blocks_before(const IterationSpace& box) const {
  constexpr std::uint64_t kBlock = bytecode::kReductionBlock;
  const auto rows = static_cast<std::uint64_t>(box.low[0]) - static_cast<std::uint64_t>(loop_.space.low[0]);
  if (loop_.space.dimensions == 1) return (rows + kBlock - 1) / kBlock;
  const unsigned inner = loop_.space.inner();
  const std::uint64_t blocks = (loop_.space.extent(inner) + kBlock - 1) / kBlock;
  return rows * (loop_.space.dimensions == 3 ? loop_.space.extent(1) : 1) * blocks;
}

void DeviceRun::note_launch(const ChunkNeeds& needs, std::uint64_t position) {
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    RunArray& array = arrays_[plan_.arrays[n].same_as];
    const Placement placement = plan_.arrays[plan_.arrays[n].same_as].placement;
    const Interval& writes = needs.arrays[n].writes;
    if (placement == Placement::kSliced) slot(plan_.arrays[n].same_as).busy.include(Stage::kLaunch, position);
    if (array.copy == nullptr || placement == Placement::kUnused) continue;
    array.copy->busy.include(Stage::kLaunch, position);
    if (writes.empty()) continue;
    if (placement == Placement::kResident) {
      array.copies->written(*array.copy, writes);
    } else {
      array.copies->written_on_host(writes);
    }
  }
}

Status DeviceRun::download_chunk(const ChunkNeeds& needs) {
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    const ArrayPlan& plan = plan_.arrays[n];
    const bool by_chunk = plan.same_as == n && plan.send_back && plan.by_chunk;
    if (by_chunk && plan.placement != Placement::kShared) DHPVM_TRY(send_back(n, needs.arrays[n].writes));
  }
  return {};
}

Status DeviceRun::send_back(std::uint32_t n, const Interval& bytes) {
  if (bytes.empty()) return {};
  RunArray& array = arrays_[n];
  in_place_sent_ = in_place_sent_ || is_in_place(n);
  const Interval source = arguments_[n].first == 0
                              ? bytes
                              : Interval{bytes.begin + static_cast<std::uint64_t>(arguments_[n].first),
                                         bytes.end + static_cast<std::uint64_t>(arguments_[n].first)};
  // Uploads of this loop are done when the launch is; earlier loops may still read what is about to be replaced.
  Positions order = array.before;
  order.include(Stage::kLaunch, last_[Stage::kLaunch]);
  DHPVM_ASSIGN(const std::uint64_t position,
               device_.download(part_of(array.host, bytes), part_of(arguments_[n].memory, source), order));
  last_.include(Stage::kDownload, position);
  if (plan_.arrays[n].placement == Placement::kSliced) slot(n).busy.include(Stage::kDownload, position);
  if (array.copy == nullptr) return {};
  array.copy->busy.include(Stage::kDownload, position);
  if (plan_.arrays[n].placement == Placement::kResident) array.copies->downloaded(bytes);
  return {};
}

Status DeviceRun::wait_for(std::size_t count) {
  while (chunks_.size() > count) {
    DHPVM_TRY(device_.wait(chunks_.front().until));
    rows_done_ += chunks_.front().box.extent(0);
    chunks_.pop_front();
  }
  return {};
}

Status DeviceRun::download_partials() {
  if (partials_block_.memory == nullptr) return {};
  IntervalSet written;
  for (const Interval& bytes : partials_written_) written.add(bytes);
  Positions order;
  order.include(Stage::kLaunch, last_[Stage::kLaunch]);
  for (const Interval& bytes : written.intervals()) {
    const MemorySpan from{partials_block_.memory, bytes.begin, bytes.size()};
    DHPVM_ASSIGN(const std::uint64_t position, device_.download(part_of(partials_host_, bytes), from, order));
    last_.include(Stage::kDownload, position);
  }
  return {};
}

Status DeviceRun::finish(bool wait) {
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    const ArrayPlan& plan = plan_.arrays[n];
    if (plan.same_as != n || !plan.send_back || plan.by_chunk || plan.placement == Placement::kShared)
      continue;
    DHPVM_TRY(send_back(n, plan.writes));
  }
  DHPVM_TRY(download_partials());
  if (report_block_.memory != nullptr) {
    Positions order;
    order.include(Stage::kLaunch, last_[Stage::kLaunch]);
    const MemorySpan from{report_block_.memory, 0, sizeof(codegen::KernelReport)};
    DHPVM_ASSIGN(const std::uint64_t position, device_.download(report_host_, from, order));
    last_.include(Stage::kDownload, position);
  }
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    if (loop_.arrays[n].buffer != nullptr && plan_.arrays[n].placement != Placement::kUnused) {
      device_.hold(*loop_.arrays[n].buffer, last_);
    }
  }
  if (!wait && !plan_.synchronous) return {};
  DHPVM_TRY(device_.wait(last_));
  chunks_.clear();
  return settle();
}

bool DeviceRun::is_in_place(std::uint32_t n) const {
  return !plan_.arrays[n].reads.empty() && !plan_.arrays[n].writes.empty();
}

std::optional<std::vector<IterationSpace>> DeviceRun::give_up() {
  bool intact = true;
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    RunArray& array = arrays_[n];
    if (plan_.arrays[n].placement == Placement::kUnused) continue;
    // In shared memory what has been computed is there already.
    if (plan_.arrays[n].placement == Placement::kShared && is_in_place(n) && chunk_ > 0) intact = false;
    if (array.copies == nullptr) continue;
    // Results of earlier loops that were still on their way are lost too.
    Positions arriving;
    arriving[Stage::kDownload] = array.before[Stage::kDownload];
    intact = intact && array.host_was_current && device_.known_done(arriving);
  }
  if (!intact) return std::nullopt;
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    if (arrays_[n].copies != nullptr) arrays_[n].copies->return_to_host(device_);
    arrays_[n].copy = nullptr;
  }
  if (!in_place_sent_) return std::vector<IterationSpace>(1, loop_.space);
  // Chunks that are done stay done; of those on their way back, nobody can tell how much has arrived.
  if (!chunks_.empty() || !loop_.reductions.empty()) return std::nullopt;
  IterationSpace rest = loop_.space;
  rest.low[0] = static_cast<std::int64_t>(static_cast<std::uint64_t>(rest.low[0]) + rows_done_);
  return std::vector<IterationSpace>(rest.empty() ? 0 : 1, rest);
}

// Takes over what has arrived in memory of the run's own.
Status DeviceRun::settle() {
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    const Interval& writes = plan_.arrays[n].writes;
    if (arrays_[n].staging == nullptr || writes.empty()) continue;
    std::memcpy(loop_.arrays[n].host.data + writes.begin, arrays_[n].staging->data() + writes.begin,
                writes.size());
  }
  if (report_buffer_ != nullptr) std::memcpy(&report_, report_buffer_->data(), sizeof(report_));
  return {};
}

}  // namespace dhpvm::offload
