// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/device_run.h"

#include <algorithm>
#include <utility>

namespace dhpvm::offload {

Result<std::unique_ptr<DeviceRun>> DeviceRun::begin(PipelineDevice& device, Loops loops, RunPlan plan,
                                                    std::vector<std::shared_ptr<Kernel>> kernels,
                                                    Buffer* partials, WhenStopped when_stopped) {
  DHPVM_TRY(device.keep_pace());
  device.release_held();
  auto run =
      std::unique_ptr<DeviceRun>(new DeviceRun(device, loops, std::move(plan), std::move(kernels), partials));
  run->when_stopped_ = when_stopped;
  device.begin_run();
  const bool is_remote = device.info().is_remote;
  if (when_stopped == WhenStopped::kAtOnce && device.stop_token() != nullptr) {
    if (device.info().stops_kernels || is_remote)
      run->stop_ = std::make_shared<KernelStop>(*device.stop_token());
  } else if (is_remote) {
    run->stop_ = std::make_shared<KernelStop>(device.end_token());
  }
  const std::vector<ArrayPlan>& arrays = run->plan_.arrays;
  // Pin all copies first, so that none is evicted to make room for another.
  for (std::uint32_t n = 0; n < arrays.size(); ++n) {
    if (arrays[n].array.buffer == nullptr || arrays[n].placement == Placement::kUnused) continue;
    run->arrays_[n].copies = &ArrayCopies::of(*arrays[n].array.buffer);
    run->arrays_[n].copies->pin();
  }
  // Place the sliced ones first: they free memory for the others.
  for (const bool sliced : {true, false}) {
    for (std::uint32_t n = 0; n < arrays.size(); ++n) {
      const Placement placement = arrays[n].placement;
      if (placement == Placement::kUnused || (placement == Placement::kSliced) != sliced) continue;
      DHPVM_TRY(run->prepare(n));
    }
  }
  DHPVM_TRY(run->prepare_outputs());
  return run;
}

DeviceRun::DeviceRun(PipelineDevice& device, Loops loops, RunPlan plan,
                     std::vector<std::shared_ptr<Kernel>> kernels, Buffer* partials)
    : device_(device),
      loops_(loops.begin(), loops.end()),
      plan_(std::move(plan)),
      kernels_(std::move(kernels)),
      arrays_(plan_.arrays.size()),
      partials_(partials) {
  for (const Loop& loop : loops_) {
    for (const codegen::KernelArray& array : loop.arrays) arguments_.push_back({{}, 0, array.shape});
  }
}

DeviceRun::~DeviceRun() {
  for (RunChunk& chunk : chunks_) let_go(chunk);
  if (current_) let_go(*current_);
  // The token may be lowered again before a worker has seen it.
  if (when_stopped_ == WhenStopped::kAtOnce && stop_ != nullptr && device_.was_interrupted())
    stop_->is_abandoned = true;
  const auto give_back = [&](DeviceBlock& block) {
    block.busy.include(last_);
    device_.blocks().release(std::move(block));
  };
  const auto close = [&](Buffer* buffer) {
    if (buffer == nullptr) return;
    device_.hold(*buffer, last_);
    buffer->close();
  };
  // The owner of lent memory may do with it as it likes when the call has ended.
  if (uses_lent_memory()) device_.wait_out(last_);
  for (std::size_t n = 0; n < arrays_.size(); ++n) {
    RunArray& array = arrays_[n];
    if (array.copies != nullptr) {
      array.copies->unpin();
      device_.hold(*plan_.arrays[n].array.buffer, last_);
    }
    give_back(array.own);
    for (Slot& slot : array.slots) give_back(slot.block);
    close(array.staging);
  }
  // The waiting for the loop may have been interrupted, so the device keeps these buffers.
  if (partials_ != nullptr) device_.hold(*partials_, last_);
  give_back(partials_block_);
  give_back(report_block_);
  close(report_buffer_);
}

// Whether launches that nobody can interrupt access memory that belongs neither to the isolate nor to the run.
bool DeviceRun::uses_lent_memory() const {
  return device_.is_paced() && std::ranges::any_of(arrays_, [](const RunArray& array) {
           return array.copies == nullptr && array.staging == nullptr && array.host.memory != nullptr;
         });
}

bool DeviceRun::host_has_inputs() const {
  for (std::size_t n = 0; n < arrays_.size(); ++n) {
    if (arrays_[n].copies == nullptr) continue;
    CopyContents& contents = arrays_[n].copies->contents();
    for (const Interval& part : plan_.needs[n].needed.intervals()) {
      if (!contents.host_missing(part).empty()) return false;
    }
  }
  return true;
}

bool DeviceRun::has_first_read_inputs() {
  Positions uploads;
  uploads[Stage::kUpload] = chunks_.front().until[Stage::kUpload];
  return device_.fate_of(uploads) == Fate::kDone;
}

std::uint64_t DeviceRun::iterations_done() const {
  std::uint64_t sum = 0;
  for (const IterationSpace& box : chunks_done_) sum += box.empty() ? 0 : *box.count();
  return sum;
}

Status DeviceRun::submit(const IterationSpace& box, std::shared_ptr<ChunkClaim> claim) {
  std::vector<ArrayNeeds> of_chunk;
  if (!is_all(box)) of_chunk = needs_of(loops_, plan_.captures, box);
  const std::vector<ArrayNeeds>& needs = is_all(box) ? plan_.needs : of_chunk;
  device_.begin_chunk();
  // An earlier chunk could not be submitted.
  if (current_) let_go(*current_);
  current_ = RunChunk{};
  current_->box = box;
  current_->claim = std::move(claim);
  has_claims_ = has_claims_ || current_->claim != nullptr;
  if (Status status = make_room_for_results(needs); !status.ok()) {
    let_go(*current_);
    current_.reset();
    return status;
  }
  device_.begin_batch();
  Status status = submit_stages(needs);
  // Operations that are recorded as submitted must have been submitted.
  if (Status ended = device_.end_batch(); status.ok()) status = std::move(ended);
  DHPVM_TRY(status);
  current_->until = last_;
  chunks_.push_back(std::move(*current_));
  current_.reset();
  ++chunk_;
  if (has_stopped()) return device_.stop_reason();
  return {};
}

Status DeviceRun::submit_stages(const std::vector<ArrayNeeds>& needs) {
  const IterationSpace& box = current_->box;
  Positions after;
  DHPVM_TRY(upload_chunk(needs, after));
  DHPVM_TRY(end_stage());
  for (std::size_t loop = 0; loop < loops_.size(); ++loop) DHPVM_TRY(launch(loop, box, after));
  note_launches(needs);
  DHPVM_TRY(download_partials(box));
  DHPVM_TRY(end_stage());
  DHPVM_TRY(download_chunk(needs));
  return end_stage();
}

Status DeviceRun::end_stage() { return device_.overlaps() ? Status() : device_.wait(last_); }

// The launches of a chunk's loops follow each other on one queue, in order.
Status DeviceRun::launch(std::size_t loop, const IterationSpace& box, const Positions& after) {
  const Loop& the_loop = loops_[loop];
  std::size_t first = 0;
  for (std::size_t before = 0; before < loop; ++before) first += loops_[before].arrays.size();
  const std::span arguments = std::span(arguments_).subspan(first, the_loop.arrays.size());
  for (std::size_t n = 0; n < arguments.size(); ++n) {
    const RunArray& array = arrays_[plan_.captures.array_of[first + n]];
    arguments[n].memory = array.memory;
    arguments[n].first = array.first;
    // The chunk does not touch this array, so it has no memory here; but its sizes matter.
    const codegen::ArrayShape& shape = the_loop.arrays[n].shape;
    const bool is_there = array.memory.memory != nullptr;
    arguments[n].shape.readable = is_there ? shape.readable : 0;
    arguments[n].shape.writable = is_there ? shape.writable : 0;
  }
  Launch launch;
  launch.kernel = kernels_[loop];
  // Only loops with the same bounds run in parts.
  launch.space = is_all(box) ? the_loop.space : box_of(the_loop, box);
  launch.scalars = the_loop.scalars;
  launch.arrays = arguments;
  launch.stop = stop_;
  Positions order = after;
  if (partials_ != nullptr && !the_loop.reductions.empty()) {
    launch.partials = partials_of(box).first;
    order.include(partials_block_.busy);
  }
  if (the_loop.can_trap) {
    launch.report = report_block_.memory == nullptr
                        ? report_host_
                        : MemorySpan{report_block_.memory, 0, sizeof(codegen::KernelReport)};
  } else if (the_loop.has_sites) {
    launch.report = unread_report_;
  }
  Loop chunk = the_loop;
  chunk.space = launch.space;
  DHPVM_ASSIGN(const std::uint64_t position, device_.launch(launch, order, chunk));
  last_.include(Stage::kLaunch, position);
  return {};
}

void DeviceRun::note_launches(const std::vector<ArrayNeeds>& needs) {
  const std::uint64_t position = last_[Stage::kLaunch];
  Positions launched;
  launched[Stage::kLaunch] = position;
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    RunArray& array = arrays_[n];
    const Placement placement = plan_.arrays[n].placement;
    const Interval& writes = needs[n].writes;
    array.staged.add(writes);
    if (placement == Placement::kSliced) slot(n).busy.include(Stage::kLaunch, position);
    // Later chunks must not upload the old contents.
    if (array.copies == nullptr && placement == Placement::kResident) array.own_valid.add(writes);
    if (array.copy == nullptr || placement == Placement::kUnused) continue;
    array.copy->use_until(launched);
    if (writes.empty()) continue;
    array.copies->contents().set_writer(loops_.back().position);
    CopyContents& contents = array.copies->contents();
    if (placement == Placement::kResident) {
      is_shared_ ? contents.written_among_others(*array.copy, writes) : contents.written(*array.copy, writes);
    } else {
      is_shared_ ? contents.outdate_among_others(*array.copy, writes) : contents.outdate(writes);
    }
    if (placement == Placement::kShared) {
      contents.arriving_on_host(*array.copy, writes, launched);
      array.copies->write_back().sent();
    }
  }
}

void DeviceRun::outdate_between(std::span<DeviceRun* const> runs) {
  std::vector<CopyContents::Written> written;
  for (std::size_t n = 0; n < runs.front()->arrays_.size(); ++n) {
    written.clear();
    for (const DeviceRun* const run : runs) {
      const RunArray& array = run->arrays_[n];
      if (array.copies != nullptr && !array.staged.empty()) written.push_back({array.copy, &array.staged});
    }
    if (!written.empty()) runs.front()->arrays_[n].copies->contents().outdate_between(written);
  }
}

Status DeviceRun::wait_for(std::size_t count) {
  while (chunks_.size() > count) {
    DHPVM_TRY(device_.wait(chunks_.front().until));
    conclude_first();
  }
  return {};
}

Result<bool> DeviceRun::await_first(std::chrono::milliseconds moment) {
  DHPVM_ASSIGN(const bool is_done, device_.await(chunks_.front().until, moment));
  if (is_done) conclude_first();
  return is_done;
}

Result<bool> DeviceRun::take_first() {
  const Fate fate = device_.fate_of(chunks_.front().until);
  if (fate == Fate::kFailed) return *device_.failure();
  if (fate == Fate::kDone) conclude_first();
  return fate == Fate::kDone;
}

void DeviceRun::conclude_first() {
  conclude(chunks_.front());
  chunks_.pop_front();
}

Status DeviceRun::send_rest() {
  if (rest_sent_) return {};
  if (current_) let_go(*current_);
  // Results that are sent back only now count as one more chunk, without iterations.
  current_ = RunChunk{};
  current_->box = loops_[0].space;
  current_->box.high[0] = current_->box.low[0];
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    const ArrayPlan& plan = plan_.arrays[n];
    if (!plan.send_back || plan.by_chunk || plan.placement == Placement::kShared) continue;
    // Between what two chunks have written there may be elements that were never uploaded.
    for (const Interval& part : arrays_[n].staged.intervals()) DHPVM_TRY(send_back(n, plan_.needs[n], part));
  }
  current_->until = last_;
  chunks_.push_back(std::move(*current_));
  current_.reset();
  if (!device_.info().may_be_lost && !has_claims_) DHPVM_TRY(download_report());
  rest_sent_ = true;
  return {};
}

Status DeviceRun::finish(bool wait) {
  DHPVM_TRY(send_rest());
  if (!wait && !plan_.synchronous) return {};
  DHPVM_TRY(wait_for(0));
  DHPVM_TRY(device_.wait(last_));
  return settle();
}

}  // namespace dhpvm::offload
