// SPDX-License-Identifier: Apache-2.0
// What comes back from a run's chunks, and what is left of the run after a failure.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "offload/schedule/pipeline/device_run.h"

namespace dhpvm::offload {

Status DeviceRun::download_chunk(const std::vector<ArrayNeeds>& needs) {
  // A chunk that has been done must not be known without its trap.
  if (device_.info().may_be_lost || current_->claim != nullptr) DHPVM_TRY(download_report());
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    const ArrayPlan& plan = plan_.arrays[n];
    if (plan.send_back && plan.by_chunk && plan.placement != Placement::kShared)
      DHPVM_TRY(send_back(n, needs[n].writes));
  }
  return take_over_arrivals();
}

Status DeviceRun::send_back(std::uint32_t n, const Interval& bytes) {
  if (bytes.empty()) return {};
  RunArray& array = arrays_[n];
  const ArrayPlan& plan = plan_.arrays[n];
  MemorySpan to = part_of(array.host, bytes);
  const bool is_claimed = current_ && current_->claim != nullptr;
  // Staged results are put in place when the run has ended well.
  if (is_claimed) {
    const auto result = std::ranges::find(current_->results, n, &ClaimedResult::array);
    DHPVM_ASSIGN(to, memory_for(*result));
  } else if (current_ && plan_.is_in_place(n) && array.staging == nullptr) {
    if (device_.info().may_be_lost) {
      if (current_->arrival == nullptr) current_->arrival = std::make_shared<Arrival>();
      DHPVM_ASSIGN(Buffer* const buffer, device_.pool().allocate(bytes.size(), BufferContents::kUndefined));
      current_->arrival->pieces.push_back({n, bytes, plan.array.host.data + bytes.begin, buffer});
      DHPVM_ASSIGN(to, device_.registrations().span_of(device_.device(), *buffer));
      to.bytes = bytes.size();
    } else {
      current_->in_place_sent = true;
    }
  }
  const auto first = static_cast<std::uint64_t>(array.first);
  const MemorySpan from = part_of(array.memory, {bytes.begin + first, bytes.end + first});
  // Uploads of this run are done when the launch is; earlier loops may still read what is about to be replaced.
  Positions order = array.before;
  order.include(Stage::kLaunch, last_[Stage::kLaunch]);
  DHPVM_ASSIGN(const std::uint64_t position, device_.download(to, from, order));
  last_.include(Stage::kDownload, position);
  if (plan.placement == Placement::kSliced) slot(n).busy.include(Stage::kDownload, position);
  if (array.copy == nullptr || is_claimed) return {};
  note_arrival(n, bytes, position);
  return {};
}

// ---- Chunks that others may compute as well ------------------------------------------------------------------------

// Before anything of the chunk has begun, so that it can be made smaller if there is no room.
Status DeviceRun::make_room_for_results(const std::vector<ArrayNeeds>& needs) {
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    const ArrayPlan& plan = plan_.arrays[n];
    const Interval& writes = needs[n].writes;
    if (!plan.send_back || !plan.by_chunk || plan.placement == Placement::kShared || writes.empty()) continue;
    DHPVM_TRY(add_result(n, writes, plan.array.host.data + writes.begin));
  }
  if (partials_block_.memory != nullptr) {
    const MemorySpan to = partials_of(current_->box).second;
    if (to.bytes != 0) DHPVM_TRY(add_result(kNoArray, {0, to.bytes}, partials_->data() + to.offset));
  }
  if (report_block_.memory == nullptr) return {};
  return add_result(kNoArray, {0, sizeof(codegen::KernelReport)}, report_buffer_->data());
}

Status DeviceRun::add_result(std::uint32_t array, const Interval& bytes, std::byte* to) {
  DHPVM_ASSIGN(Buffer* const buffer, device_.pool().allocate(bytes.size(), BufferContents::kUndefined));
  current_->results.push_back({array, bytes, to, buffer});
  return {};
}

// Where the device sends it.
Result<MemorySpan> DeviceRun::memory_for(const ClaimedResult& result) {
  DHPVM_ASSIGN(MemorySpan to, device_.registrations().span_of(device_.device(), *result.from));
  to.bytes = result.bytes.size();
  return to;
}

// The chunk has been computed: its results are put in place, or dropped if others were quicker.
void DeviceRun::conclude(RunChunk& chunk) {
  if (chunk.claim == nullptr) {
    chunks_done_.push_back(chunk.box);
    return;
  }
  const bool is_first = chunk.claim->take([&] {
    for (const ClaimedResult& result : chunk.results)
      std::memcpy(result.to, result.from->data(), result.bytes.size());
  });
  if (is_first) chunks_done_.push_back(chunk.box);
  leave(chunk, is_first);
}

// Takes note of where the results of the chunk are: if others have computed them, or will, this device's copy does not
// have them.
void DeviceRun::leave(RunChunk& chunk, bool is_mine) {
  const bool is_on_host = chunk.claim->state() == ChunkClaim::State::kTaken;
  for (const ClaimedResult& result : chunk.results) {
    if (result.array == kNoArray) continue;
    RunArray& array = arrays_[result.array];
    if (!is_mine) array.staged.remove(result.bytes);
    if (array.copies == nullptr) continue;
    if (!is_mine) array.copies->contents().outdate_in(*array.copy, result.bytes);
    if (!is_on_host) continue;
    array.copies->contents().present_on_host(result.bytes);
    array.copies->write_back().sent();
  }
  let_go(chunk);
}

void DeviceRun::let_go(RunChunk& chunk) {
  for (const ClaimedResult& result : chunk.results) {
    device_.hold(*result.from, last_);
    result.from->close();
  }
  chunk.results.clear();
}

void DeviceRun::abandon() {
  for (RunChunk& chunk : chunks_) leave(chunk, false);
  chunks_.clear();
  if (report_buffer_ != nullptr) std::memcpy(&report_, report_buffer_->data(), sizeof(report_));
  device_.set_behind(last_);
}

// The host's memory has what array `n` is there when this download, or call, is done.
void DeviceRun::note_arrival(std::uint32_t n, const Interval& bytes, std::uint64_t position) {
  RunArray& array = arrays_[n];
  if (array.copy == nullptr) return;
  Positions there;
  there.include(Stage::kDownload, position);
  array.copy->busy.include(there);
  array.copies->contents().arriving_on_host(*array.copy, bytes, there);
  array.copies->write_back().sent();
}

// Puts the chunk's results in place once all of them are there.
Status DeviceRun::take_over_arrivals() {
  if (current_->arrival == nullptr) return {};
  auto put = [arrival = current_->arrival] {
    const std::lock_guard lock(arrival->mutex);
    if (arrival->abandoned) return;
    for (const Arrival::Piece& piece : arrival->pieces)
      std::memcpy(piece.to, piece.from->data(), piece.bytes.size());
    arrival->done = true;
  };
  DHPVM_ASSIGN(const std::uint64_t position, device_.host_call(std::move(put), {}));
  last_.include(Stage::kDownload, position);
  for (const Arrival::Piece& piece : current_->arrival->pieces) {
    note_arrival(piece.array, piece.bytes, position);
    device_.hold(*piece.from, last_);
    piece.from->close();
  }
  return {};
}

// Where the partial results of `box` belong, on the device and on the host.
std::pair<MemorySpan, MemorySpan> DeviceRun::partials_of(const IterationSpace& box) const {
  const std::uint64_t registers = loops_[0].reductions.size() * sizeof(std::uint64_t);
  IterationSpace behind = box;
  behind.low[0] = box.high[0];
  const Interval bytes{blocks_before(box) * registers, blocks_before(behind) * registers};
  const MemorySpan host = part_of(partials_host_, bytes);
  if (partials_block_.memory == nullptr) return {host, host};
  return {{partials_block_.memory, bytes.begin, bytes.size()}, host};
}

// Blocks of reductions in the iterations before `box`.
std::uint64_t DeviceRun::blocks_before(const IterationSpace& box) const {
  constexpr std::uint64_t kBlock = bytecode::kReductionBlock;
  const IterationSpace& space = loops_[0].space;
  const auto rows = static_cast<std::uint64_t>(box.low[0]) - static_cast<std::uint64_t>(space.low[0]);
  if (space.dimensions == 1) return (rows + kBlock - 1) / kBlock;
  const std::uint64_t blocks = (space.extent(space.inner()) + kBlock - 1) / kBlock;
  return rows * (space.dimensions == 3 ? space.extent(1) : 1) * blocks;
}

Status DeviceRun::download_partials(const IterationSpace& box) {
  if (partials_block_.memory == nullptr) return {};
  auto [from, to] = partials_of(box);
  if (from.bytes == 0) return {};
  if (current_->claim != nullptr) {
    const auto result = std::ranges::find(current_->results, kNoArray, &ClaimedResult::array);
    DHPVM_ASSIGN(to, memory_for(*result));
  }
  Positions order;
  order.include(Stage::kLaunch, last_[Stage::kLaunch]);
  DHPVM_ASSIGN(const std::uint64_t position, device_.download(to, from, order));
  last_.include(Stage::kDownload, position);
  return {};
}

Status DeviceRun::download_report() {
  if (report_block_.memory == nullptr) return {};
  Positions order;
  order.include(Stage::kLaunch, last_[Stage::kLaunch]);
  const MemorySpan from{report_block_.memory, 0, sizeof(codegen::KernelReport)};
  MemorySpan to = report_host_;
  if (current_ && current_->claim != nullptr) {
    DHPVM_ASSIGN(to, memory_for(current_->results.back()));
  }
  DHPVM_ASSIGN(const std::uint64_t position, device_.download(to, from, order));
  last_.include(Stage::kDownload, position);
  return {};
}

// Whether a chunk that is done has left everything on the host that somebody can look at.
bool DeviceRun::sends_all_back() const {
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    const ArrayPlan& plan = plan_.arrays[n];
    if (plan_.needs[n].writes.empty() || plan.placement == Placement::kShared || plan.dead) continue;
    if (!plan.send_back || !plan.by_chunk || (arrays_[n].staging != nullptr && !has_claims_)) return false;
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
  for (RunChunk& chunk : chunks_) {
    if (chunk.claim != nullptr) {
      let_go(chunk);
      if (chunk.claim->revoke() && !chunk.box.empty()) unfinished.push_back(chunk.box);
      continue;
    }
    if (chunk.arrival != nullptr) {
      const std::lock_guard lock(chunk.arrival->mutex);
      chunk.arrival->abandoned = true;
      if (chunk.arrival->done) {
        // The chunk without iterations, which sends back at the end, comes after everything else.
        all_done = all_done || chunk.box.empty();
        chunks_done_.push_back(chunk.box);
        continue;
      }
    }
    // Nobody can tell how much of a direct copy has arrived.
    intact = intact && !chunk.in_place_sent;
    if (!chunk.box.empty()) unfinished.push_back(chunk.box);
  }
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    RunArray& array = arrays_[n];
    const ArrayPlan& plan = plan_.arrays[n];
    if (plan.placement == Placement::kUnused) continue;
    // In shared memory what has been computed is there already.
    const bool shared = plan.placement == Placement::kShared;
    const bool in_place = plan_.is_in_place(n) && array.staging == nullptr;
    if (shared && in_place && !unfinished.empty()) intact = false;
    in_place_sent = in_place_sent || (in_place && (shared || plan.by_chunk));
    if (array.copies == nullptr) continue;
    // Results of earlier loops that were still on their way are lost too.
    intact = intact && array.host_was_current && device_.fate_of(array.host_writes_before) == Fate::kDone;
  }
  if (!sends_all_back() && !all_done) {
    // The results exist on the device only: they must be computed again, from the inputs of the first time.
    intact = intact && (chunks_done_.empty() || !in_place_sent);
    std::ranges::copy_if(chunks_done_, std::back_inserter(unfinished),
                         [](const IterationSpace& box) { return !box.empty(); });
    chunks_done_.clear();
  } else if (report_buffer_ != nullptr && !chunks_done_.empty()) {
    std::memcpy(&report_, report_buffer_->data(), sizeof(report_));
  }
  if (!intact) return std::nullopt;
  for (RunArray& array : arrays_) {
    if (array.copies == nullptr) continue;
    array.copies->forget(device_);
    array.copy = nullptr;
    // The results of chunks that are done have arrived; the host has what others find.
    for (const Interval& part : array.staged.intervals()) array.copies->contents().present_on_host(part);
  }
  for (const IterationSpace& box : unfinished) {
    const std::vector<ArrayNeeds> needs = needs_of(loops_, plan_.captures, box);
    for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
      if (arrays_[n].copies != nullptr) arrays_[n].copies->contents().present_on_host(needs[n].writes);
    }
  }
  return unfinished;
}

// Takes over what has arrived in memory of the run's own.
Status DeviceRun::settle() {
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    if (arrays_[n].staging == nullptr || has_claims_) continue;
    for (const Interval& part : arrays_[n].staged.intervals()) {
      std::memcpy(plan_.arrays[n].array.host.data + part.begin, arrays_[n].staging->data() + part.begin,
                  part.size());
    }
  }
  if (report_buffer_ != nullptr) std::memcpy(&report_, report_buffer_->data(), sizeof(report_));
  return {};
}

}  // namespace dhpvm::offload
