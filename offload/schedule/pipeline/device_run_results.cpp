// SPDX-License-Identifier: Apache-2.0
// The results of a run's chunks, and what is left of the run after a failure.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "offload/schedule/pipeline/device_run.h"

namespace dhpvm::offload {
namespace {

// Bytes that are compared at once.
constexpr std::uint64_t kWord = 8;

}  // namespace

Status DeviceRun::download_chunk(const std::vector<ArrayNeeds>& needs) {
  // A chunk may count as done only together with its trap.
  if (device_.info().may_be_lost || current_->claim != nullptr) DHPVM_TRY(download_report());
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    const ArrayPlan& plan = plan_.arrays[n];
    if (plan.send_back && plan.by_chunk && plan.placement != Placement::kShared)
      DHPVM_TRY(send_back(n, needs[n], needs[n].writes));
  }
  return {};
}

Status DeviceRun::send_back(std::uint32_t n, const ArrayNeeds& needs, const Interval& bytes) {
  if (bytes.empty()) return {};
  RunArray& array = arrays_[n];
  const ArrayPlan& plan = plan_.arrays[n];
  MemorySpan to = part_of(array.host, bytes);
  const bool is_kept = keeps_result(n, needs);
  if (is_kept) {
    // Those of a chunk have their memory already, those of send_rest() have not.
    if (!plan.by_chunk) DHPVM_TRY(add_result(n, needs, bytes));
    to = plan.by_chunk ? std::ranges::find(current_->results, n, &KeptResult::array)->memory
                       : current_->results.back().memory;
  } else if (plan_.is_in_place(n) && array.staging == nullptr) {
    current_->sent_in_place = n;
  }
  const auto first = static_cast<std::uint64_t>(array.first);
  const MemorySpan from = part_of(array.memory, {bytes.begin + first, bytes.end + first});
  // Uploads of this run end before the launch does, but earlier loops may still read what is about to be replaced.
  Positions order = array.before;
  order.include(Stage::kLaunch, last_[Stage::kLaunch]);
  const bool is_sliced = plan.placement == Placement::kSliced;
  DHPVM_ASSIGN(const Positions there,
               device_.download(to, from, order, is_sliced ? PipelineDevice::kLarge : array.host.bytes));
  last_.include(there);
  if (is_sliced) slot(n).busy.include(there);
  if (!is_kept) note_arrival(n, bytes, there);
  return {};
}

// ---- Results in memory of the run's own ----------------------------------------------------------------------------

// Whether they go there. Staged results of a chunk without a claim are put in place when the run has ended well.
bool DeviceRun::keeps_result(std::uint32_t n, const ArrayNeeds& needs) const {
  if (current_->claim != nullptr) return true;
  if (!plan_.is_in_place(n) || arrays_[n].staging != nullptr) return false;
  return device_.info().may_be_lost || (is_shared_ && needs.has_gaps);
}

// Called before anything of the chunk begins, so that it can be made smaller if there is no room.
Status DeviceRun::make_room_for_results(const std::vector<ArrayNeeds>& needs) {
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    const ArrayPlan& plan = plan_.arrays[n];
    const Interval& writes = needs[n].writes;
    if (!plan.send_back || !plan.by_chunk || plan.placement == Placement::kShared || writes.empty()) continue;
    if (keeps_result(n, needs[n])) DHPVM_TRY(add_result(n, needs[n], writes));
  }
  if (current_->claim == nullptr) return {};
  if (partials_block_.memory != nullptr) {
    const MemorySpan to = partials_of(current_->box).second;
    // Offsets are relative to the memory that the device knows, which contains the buffer.
    std::byte* const place = partials_->data() + (to.offset - partials_host_.offset);
    if (to.bytes != 0) DHPVM_TRY(add_result({0, to.bytes}, place));
  }
  if (report_block_.memory == nullptr) return {};
  DHPVM_TRY(add_result({0, sizeof(codegen::KernelReport)}, report_buffer_->data()));
  return {};
}

Status DeviceRun::add_result(std::uint32_t n, const ArrayNeeds& needs, const Interval& bytes) {
  DHPVM_ASSIGN(KeptResult* const result, add_result(bytes, plan_.arrays[n].array.host.data + bytes.begin));
  result->array = n;
  result->has_gaps = is_shared_ && needs.has_gaps;
  return {};
}

// One of no array.
Result<DeviceRun::KeptResult*> DeviceRun::add_result(const Interval& bytes, std::byte* to) {
  DHPVM_ASSIGN(Buffer* const buffer, device_.pool().allocate(bytes.size(), BufferContents::kUndefined));
  KeptResult& result = current_->results.emplace_back();
  result.bytes = bytes;
  result.to = to;
  result.from = buffer;
  DHPVM_ASSIGN(result.memory, device_.registrations().span_of(device_.device(), *buffer));
  result.memory.bytes = bytes.size();
  return &result;
}

// The chunk has been computed: puts its results in place, or drops them if others were quicker.
void DeviceRun::conclude(RunChunk& chunk) {
  const bool is_first = chunk.claim == nullptr || chunk.claim->take([&] { put_in_place(chunk); });
  if (chunk.claim == nullptr) put_in_place(chunk);
  if (is_first) chunks_done_.push_back(chunk.box);
  leave(chunk, is_first);
}

// Another device that computes the same chunk may be reading these elements now: it loses the claim, and what it
// computes from them is dropped. ThreadSanitizer knows this function by its name (tests/tsan.supp).
[[gnu::noinline]] void DeviceRun::put_in_place(const RunChunk& chunk) {
  for (const KeptResult& result : chunk.results) {
    const std::byte* const from = result.from->data();
    if (!result.has_gaps) {
      std::memcpy(result.to, from, result.bytes.size());
      continue;
    }
    // Others may be reading what the chunk has left as it was.
    const std::uint64_t bytes = result.bytes.size();
    for (std::uint64_t at = 0; at < bytes; at += kWord) {
      const std::uint64_t end = std::min(at + kWord, bytes);
      if (std::memcmp(result.to + at, from + at, end - at) == 0) continue;
      for (std::uint64_t byte = at; byte < end; ++byte) {
        if (result.to[byte] != from[byte]) result.to[byte] = from[byte];
      }
    }
  }
}

// Records where the results of the chunk are. If others have computed them, or will, this device's copy does not have
// them.
void DeviceRun::leave(RunChunk& chunk, bool is_mine) {
  const bool is_on_host = chunk.claim == nullptr || chunk.claim->state() == ChunkClaim::State::kTaken;
  for (const KeptResult& result : chunk.results) {
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
  for (const KeptResult& result : chunk.results) {
    device_.hold(*result.from, last_);
    result.from->close();
  }
  chunk.results.clear();
}

void DeviceRun::abandon(double seconds) {
  for (RunChunk& chunk : chunks_) leave(chunk, false);
  chunks_.clear();
  if (report_buffer_ != nullptr) std::memcpy(&report_, report_buffer_->data(), sizeof(report_));
  device_.set_behind(last_, seconds);
}

// The host's memory will have these bytes of array `n` when this download is done.
void DeviceRun::note_arrival(std::uint32_t n, const Interval& bytes, const Positions& there) {
  RunArray& array = arrays_[n];
  if (array.copy == nullptr) return;
  array.copy->use_until(there);
  array.copies->contents().arriving_on_host(*array.copy, bytes, there);
  array.copies->write_back().sent();
}

// The place of the partial results of `box` on the device and on the host. They are those of the last loop, which may
// have other bounds than the first if it is a single chunk.
std::pair<MemorySpan, MemorySpan> DeviceRun::partials_of(const IterationSpace& box) const {
  const Loop& loop = loops_.back();
  const std::uint64_t registers = loop.reductions.size() * sizeof(std::uint64_t);
  const IterationSpace& part = is_all(box) ? loop.space : box;
  IterationSpace behind = part;
  behind.low[0] = part.high[0];
  const Interval bytes{blocks_before(part) * registers, blocks_before(behind) * registers};
  const MemorySpan host = part_of(partials_host_, bytes);
  if (partials_block_.memory == nullptr) return {host, host};
  return {{partials_block_.memory, bytes.begin, bytes.size()}, host};
}

// The number of reduction blocks in iterations of the last loop before `box`.
std::uint64_t DeviceRun::blocks_before(const IterationSpace& box) const {
  constexpr std::uint64_t kBlock = bytecode::kReductionBlock;
  const IterationSpace& space = loops_.back().space;
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
    to = std::ranges::find(current_->results, kNoArray, &KeptResult::array)->memory;
  }
  Positions order;
  order.include(Stage::kLaunch, last_[Stage::kLaunch]);
  DHPVM_ASSIGN(const Positions there, device_.download(to, from, order, from.bytes));
  last_.include(there);
  return {};
}

Status DeviceRun::download_report() {
  if (report_block_.memory == nullptr) return {};
  Positions order;
  order.include(Stage::kLaunch, last_[Stage::kLaunch]);
  const MemorySpan from{report_block_.memory, 0, sizeof(codegen::KernelReport)};
  MemorySpan to = report_host_;
  if (current_ && current_->claim != nullptr) to = current_->results.back().memory;
  DHPVM_ASSIGN(const Positions there, device_.download(to, from, order, from.bytes));
  last_.include(there);
  return {};
}

// Whether a chunk that is done has sent all observable results to the host.
bool DeviceRun::sends_all_back() const {
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    const ArrayPlan& plan = plan_.arrays[n];
    if (plan_.needs[n].writes.empty() || plan.placement == Placement::kShared || plan.dead) continue;
    if (!plan.send_back || !plan.by_chunk || (arrays_[n].staging != nullptr && !has_claims_)) return false;
  }
  return true;
}

// The device has failed, and nothing else has some of the array's elements.
Error DeviceRun::lost(std::uint32_t n) const {
  if (arrays_[n].copies == nullptr) return *device_.failure();
  CopyContents& contents = arrays_[n].copies->contents();
  contents.settle();
  return contents.lost();
}

Result<std::vector<IterationSpace>> DeviceRun::give_up() {
  if (current_) chunks_.push_back(std::move(*current_));
  current_.reset();
  // The last chunk, without iterations, sends results back after everything else.
  const bool all_done =
      std::ranges::any_of(chunks_done_, [](const IterationSpace& box) { return box.empty(); });
  std::optional<std::uint32_t> sent_in_place;
  std::vector<IterationSpace> unfinished;
  for (RunChunk& chunk : chunks_) {
    let_go(chunk);
    if (chunk.claim != nullptr) {
      if (chunk.claim->revoke() && !chunk.box.empty()) unfinished.push_back(chunk.box);
      continue;
    }
    if (chunk.sent_in_place) sent_in_place = chunk.sent_in_place;
    if (!chunk.box.empty()) unfinished.push_back(chunk.box);
  }
  // How much of a direct copy has arrived is unknown.
  if (sent_in_place) return lost(*sent_in_place);
  // If not all results of finished chunks have come back, these chunks must be computed again, from the original
  // inputs.
  const bool redoes_all = !sends_all_back() && !all_done;
  for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
    RunArray& array = arrays_[n];
    const ArrayPlan& plan = plan_.arrays[n];
    if (plan.placement == Placement::kUnused) continue;
    // In shared memory, computed results are there already.
    const bool shared = plan.placement == Placement::kShared;
    const bool in_place = plan_.is_in_place(n) && array.staging == nullptr;
    if (shared && in_place && !unfinished.empty()) return lost(n);
    if (redoes_all && !chunks_done_.empty() && in_place && (shared || plan.by_chunk)) return lost(n);
    if (array.copies == nullptr) continue;
    // Results of earlier loops that were still on their way are lost, too.
    if (!array.host_was_current || device_.fate_of(array.host_writes_before) != Fate::kDone) return lost(n);
  }
  if (redoes_all) {
    std::ranges::copy_if(chunks_done_, std::back_inserter(unfinished),
                         [](const IterationSpace& box) { return !box.empty(); });
    chunks_done_.clear();
  } else if (report_buffer_ != nullptr && !chunks_done_.empty()) {
    std::memcpy(&report_, report_buffer_->data(), sizeof(report_));
  }
  for (RunArray& array : arrays_) {
    if (array.copies == nullptr) continue;
    array.copies->forget(device_);
    array.copy = nullptr;
    // The results of finished chunks have arrived, so the host has them.
    for (const Interval& part : array.staged.intervals()) array.copies->contents().present_on_host(part);
  }
  for (const IterationSpace& box : unfinished) {
    const std::vector<ArrayNeeds> needs = is_all(box) ? plan_.needs : needs_of(loops_, plan_.captures, box);
    for (std::uint32_t n = 0; n < arrays_.size(); ++n) {
      if (arrays_[n].copies != nullptr) arrays_[n].copies->contents().present_on_host(needs[n].writes);
    }
  }
  return unfinished;
}

// Takes over results that have arrived in memory of the run.
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
