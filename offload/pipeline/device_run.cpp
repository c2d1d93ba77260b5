// SPDX-License-Identifier: Apache-2.0
#include "offload/pipeline/device_run.h"

#include <algorithm>
#include <cstring>
#include <iterator>
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
  DHPVM_TRY(device.keep_pace());
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
  // Those that go through in slices make room for the others.
  for (const bool sliced : {true, false}) {
    for (std::uint32_t n = 0; n < loop.arrays.size(); ++n) {
      const Placement placement = run->plan_.arrays[n].placement;
      if (placement == Placement::kUnused || (placement == Placement::kSliced) != sliced) continue;
      DHPVM_TRY(run->prepare(n));
    }
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
    DHPVM_TRY(prepare_copy(n));
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

// What the device has not, and is only on others, has to come over the host.
Status DeviceRun::prepare_copy(std::uint32_t n) {
  const ArrayPlan& plan = plan_.arrays[n];
  RunArray& array = arrays_[n];
  const Interval needed = hull(plan.reads, plan.overwritten ? Interval{} : plan.writes);
  if (plan.placement != Placement::kSliced) {
    Interval lacking;
    for (const Interval& part : array.copies->missing(*array.copy, needed)) lacking = hull(lacking, part);
    return array.copies->prepare_host(device_, lacking);
  }
  if (array.copy->block.memory == nullptr) return array.copies->prepare_host(device_, needed);
  // An earlier loop has left it there as a whole. Slices come from the host, and need the room.
  DHPVM_TRY(array.copies->prepare_host(device_, {0, loop_.arrays[n].buffer->size()}));
  array.copies->give_back(*array.copy);
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
  // Blocks are up to a quarter larger than what is asked for.
  const std::uint64_t rows = plan_.slice_budget / 5 * 4 / (kSlots * plan_.row_slice_bytes);
  return std::max<std::uint64_t>(rows > 64 ? rows - rows / 16 - 4 : rows / 2, 1);
}

Status DeviceRun::submit(const IterationSpace& box) {
  const ChunkNeeds needs =
      box.extent(0) == loop_.space.extent(0) ? plan_.needs : needs_of(loop_, box, descriptors());
  device_.begin_chunk();
  current_ = Chunk{};
  current_->box = box;
  Positions after;
  DHPVM_TRY(upload_chunk(needs, after));
  DHPVM_TRY(end_stage());
  DHPVM_TRY(launch(box, needs, after));
  DHPVM_TRY(end_stage());
  DHPVM_TRY(download_chunk(needs));
  DHPVM_TRY(end_stage());
  current_->until = last_;
  chunks_.push_back(std::move(*current_));
  current_.reset();
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
  Interval partials;
  if (partials_ != nullptr) {
    const std::uint64_t registers = loop_.reductions.size() * sizeof(std::uint64_t);
    IterationSpace behind = box;
    behind.low[0] = box.high[0];
    const Interval bytes{blocks_before(loop_, box) * registers, blocks_before(loop_, behind) * registers};
    const MemorySpan whole = partials_block_.memory == nullptr
                                 ? partials_host_
                                 : MemorySpan{partials_block_.memory, 0, partials_->size()};
    launch.partials = part_of(whole, bytes);
    order.include(partials_block_.busy);
    partials = bytes;
  }
  if (loop_.can_trap) {
    launch.report = report_block_.memory == nullptr
                        ? report_host_
                        : MemorySpan{report_block_.memory, 0, sizeof(codegen::KernelReport)};
  }
  DHPVM_ASSIGN(const std::uint64_t position, device_.launch(launch, order, loop_.label));
  last_.include(Stage::kLaunch, position);
  note_launch(needs, position);
  return download_partials(partials);
}

std::uint64_t DeviceRun::blocks_before(const DeviceLoop& loop, const IterationSpace& box) {
  constexpr std::uint64_t kBlock = bytecode::kReductionBlock;
  const auto rows = static_cast<std::uint64_t>(box.low[0]) - static_cast<std::uint64_t>(loop.space.low[0]);
  if (loop.space.dimensions == 1) return (rows + kBlock - 1) / kBlock;
  const unsigned inner = loop.space.inner();
  const std::uint64_t blocks = (loop.space.extent(inner) + kBlock - 1) / kBlock;
  return rows * (loop.space.dimensions == 3 ? loop.space.extent(1) : 1) * blocks;
}

void DeviceRun::note_launch(const ChunkNeeds& needs, std::uint64_t position) {
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    RunArray& array = arrays_[plan_.arrays[n].same_as];
    const Placement placement = plan_.arrays[plan_.arrays[n].same_as].placement;
    const Interval& writes = needs.arrays[n].writes;
    array.staged.add(writes);
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
  // A chunk that has been done must not be known without its trap.
  if (device_.info().may_be_lost) DHPVM_TRY(download_report());
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    const ArrayPlan& plan = plan_.arrays[n];
    const bool by_chunk = plan.same_as == n && plan.send_back && plan.by_chunk;
    if (by_chunk && plan.placement != Placement::kShared) DHPVM_TRY(send_back(n, needs.arrays[n].writes));
  }
  return take_over_arrivals();
}

Status DeviceRun::send_back(std::uint32_t n, const Interval& bytes) {
  if (bytes.empty()) return {};
  RunArray& array = arrays_[n];
  MemorySpan to = part_of(array.host, bytes);
  // What is staged is put in place when the run has ended well.
  if (current_ && is_in_place(n) && array.staging == nullptr) {
    if (device_.info().may_be_lost) {
      if (current_->arrival == nullptr) current_->arrival = std::make_shared<Arrival>();
      DHPVM_ASSIGN(Buffer* const buffer, device_.pool().allocate(bytes.size(), BufferContents::kUndefined));
      current_->arrival->pieces.push_back({loop_.arrays[n].host.data + bytes.begin, buffer, bytes.size()});
      DHPVM_ASSIGN(to, device_.registrations().span_of(device_.device(), *buffer));
      to.bytes = bytes.size();
    } else {
      current_->in_place_sent = true;
    }
  }
  const auto first = static_cast<std::uint64_t>(arguments_[n].first);
  const MemorySpan from = part_of(arguments_[n].memory, {bytes.begin + first, bytes.end + first});
  // Uploads of this loop are done when the launch is; earlier loops may still read what is about to be replaced.
  Positions order = array.before;
  order.include(Stage::kLaunch, last_[Stage::kLaunch]);
  DHPVM_ASSIGN(const std::uint64_t position, device_.download(to, from, order));
  last_.include(Stage::kDownload, position);
  if (plan_.arrays[n].placement == Placement::kSliced) slot(n).busy.include(Stage::kDownload, position);
  if (array.copy == nullptr) return {};
  array.copy->busy.include(Stage::kDownload, position);
  if (plan_.arrays[n].placement == Placement::kResident) array.copies->downloaded(bytes);
  return {};
}

// Puts the chunk's results in place once all of them are there.
Status DeviceRun::take_over_arrivals() {
  if (current_->arrival == nullptr) return {};
  auto put = [arrival = current_->arrival] {
    const std::lock_guard lock(arrival->mutex);
    if (arrival->abandoned) return;
    for (const Arrival::Piece& piece : arrival->pieces)
      std::memcpy(piece.to, piece.from->data(), piece.bytes);
    arrival->done = true;
  };
  DHPVM_ASSIGN(const std::uint64_t position, device_.host_call(std::move(put), {}));
  last_.include(Stage::kDownload, position);
  for (const Arrival::Piece& piece : current_->arrival->pieces) {
    device_.hold(*piece.from, last_);
    piece.from->close();
  }
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    if (arrays_[n].copy != nullptr && is_in_place(n))
      arrays_[n].copy->busy.include(Stage::kDownload, position);
  }
  return {};
}

Status DeviceRun::wait_for(std::size_t count) {
  while (chunks_.size() > count) {
    DHPVM_TRY(device_.wait(chunks_.front().until));
    chunks_done_.push_back(chunks_.front().box);
    chunks_.pop_front();
  }
  return {};
}

Status DeviceRun::download_partials(const Interval& bytes) {
  if (partials_block_.memory == nullptr || bytes.empty()) return {};
  Positions order;
  order.include(Stage::kLaunch, last_[Stage::kLaunch]);
  const MemorySpan from{partials_block_.memory, bytes.begin, bytes.size()};
  DHPVM_ASSIGN(const std::uint64_t position, device_.download(part_of(partials_host_, bytes), from, order));
  last_.include(Stage::kDownload, position);
  return {};
}

Status DeviceRun::download_report() {
  if (report_block_.memory == nullptr) return {};
  Positions order;
  order.include(Stage::kLaunch, last_[Stage::kLaunch]);
  const MemorySpan from{report_block_.memory, 0, sizeof(codegen::KernelReport)};
  DHPVM_ASSIGN(const std::uint64_t position, device_.download(report_host_, from, order));
  last_.include(Stage::kDownload, position);
  return {};
}

Status DeviceRun::finish(bool wait) {
  // What goes back only now counts as one more chunk, without iterations.
  current_ = Chunk{};
  current_->box = loop_.space;
  current_->box.high[0] = current_->box.low[0];
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    const ArrayPlan& plan = plan_.arrays[n];
    if (plan.same_as != n || !plan.send_back || plan.by_chunk || plan.placement == Placement::kShared)
      continue;
    DHPVM_TRY(send_back(n, plan.writes));
  }
  DHPVM_TRY(take_over_arrivals());
  current_->until = last_;
  chunks_.push_back(std::move(*current_));
  current_.reset();
  if (!device_.info().may_be_lost) DHPVM_TRY(download_report());
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    if (loop_.arrays[n].buffer != nullptr && plan_.arrays[n].placement != Placement::kUnused) {
      device_.hold(*loop_.arrays[n].buffer, last_);
    }
  }
  if (!wait && !plan_.synchronous) return {};
  DHPVM_TRY(wait_for(0));
  DHPVM_TRY(device_.wait(last_));
  return settle();
}

bool DeviceRun::is_in_place(std::uint32_t n) const {
  return !plan_.arrays[n].reads.empty() && !plan_.arrays[n].writes.empty();
}

// Whether a chunk that is done has left everything on the host.
bool DeviceRun::sends_all_back() const {
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    const ArrayPlan& plan = plan_.arrays[n];
    if (plan.same_as != n || plan.writes.empty() || plan.placement == Placement::kShared) continue;
    if (!plan.send_back || !plan.by_chunk || arrays_[n].staging != nullptr) return false;
  }
  return true;
}

std::optional<std::vector<IterationSpace>> DeviceRun::give_up() {
  if (current_) chunks_.push_back(std::move(*current_));
  current_.reset();
  bool intact = true;
  bool in_place_sent = false;
  bool all_done = false;
  std::vector<IterationSpace> unfinished;
  for (Chunk& chunk : chunks_) {
    if (chunk.arrival != nullptr) {
      const std::lock_guard lock(chunk.arrival->mutex);
      chunk.arrival->abandoned = true;
      if (chunk.arrival->done) {
        // What goes back at the end comes after everything else.
        all_done = all_done || chunk.box.empty();
        chunks_done_.push_back(chunk.box);
        continue;
      }
    }
    // Of what was on its way to its place, nobody can tell how much has arrived.
    intact = intact && !chunk.in_place_sent;
    if (!chunk.box.empty()) unfinished.push_back(chunk.box);
  }
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    RunArray& array = arrays_[n];
    const ArrayPlan& plan = plan_.arrays[n];
    if (plan.placement == Placement::kUnused) continue;
    const bool in_place = is_in_place(n) && array.staging == nullptr;
    // In shared memory what has been computed is there already.
    if (plan.placement == Placement::kShared && in_place && !unfinished.empty()) intact = false;
    in_place_sent = in_place_sent || (in_place && (plan.placement == Placement::kShared || plan.by_chunk));
    if (array.copies == nullptr) continue;
    // Results of earlier loops that were still on their way are lost too.
    Positions arriving;
    arriving[Stage::kDownload] = array.before[Stage::kDownload];
    intact = intact && array.host_was_current && device_.known_done(arriving);
  }
  if (!sends_all_back() && !all_done) {
    // What is done exists on the device only: it has to be done again, which must find what it found the first time.
    intact = intact && (chunks_done_.empty() || !in_place_sent);
    std::ranges::copy_if(chunks_done_, std::back_inserter(unfinished),
                         [](const IterationSpace& box) { return !box.empty(); });
  } else if (report_buffer_ != nullptr && !chunks_done_.empty()) {
    std::memcpy(&report_, report_buffer_->data(), sizeof(report_));
  }
  if (!intact) return std::nullopt;
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    if (arrays_[n].copies == nullptr) continue;
    arrays_[n].copies->forget(device_);
    arrays_[n].copy = nullptr;
    for (const IterationSpace& box : unfinished) {
      arrays_[n].copies->restore_on_host(needs_of(loop_, box, descriptors()).arrays[n].writes);
    }
  }
  return unfinished;
}

// Takes over what has arrived in memory of the run's own.
Status DeviceRun::settle() {
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    if (arrays_[n].staging == nullptr) continue;
    for (const Interval& part : arrays_[n].staged.intervals()) {
      std::memcpy(loop_.arrays[n].host.data + part.begin, arrays_[n].staging->data() + part.begin,
                  part.size());
    }
  }
  if (report_buffer_ != nullptr) std::memcpy(&report_, report_buffer_->data(), sizeof(report_));
  return {};
}

}  // namespace dhpvm::offload
