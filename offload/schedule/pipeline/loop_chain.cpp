// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/loop_chain.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "offload/schedule/pipeline/chain_rules.h"
#include "offload/schedule/pipeline/stage_load.h"

namespace dhpvm::offload {
namespace {

bool is_interruption(const Status& status) {
  return !status.ok() &&
         (status.error().code() == ErrorCode::kInterrupted || status.error().code() == ErrorCode::kDeadline);
}

// A chunk that found no room, on the device or for its results on the host, has not begun.
bool lacks_room(const Error& error) {
  return error.code() == ErrorCode::kDeviceExhausted || error.code() == ErrorCode::kOffHeapExhausted;
}

std::uint64_t bytes_of(const RunPlan& plan) { return plan.upload_bytes + plan.download_bytes; }

}  // namespace

// One loop, with copies of everything that it refers to.
struct LoopChain::Link {
  Loop loop;
  std::string position;
  std::vector<std::uint64_t> scalars;
  std::vector<codegen::KernelArray> arrays;
  std::vector<ArrayStorage> storage;
  std::vector<BufferUse> uses;
  std::vector<std::vector<std::byte>> copies;  // of small arrays in the heap, which are only read
  std::shared_ptr<Kernel> kernel;
  HostPart host;

  // Holds another loop, in the memory that the last one has left.
  void set(const Loop& from, std::shared_ptr<Kernel> its_kernel, HostPart its_host) {
    loop = from;
    position = from.position;
    scalars.assign(from.scalars.begin(), from.scalars.end());
    arrays.assign(from.arrays.begin(), from.arrays.end());
    storage.assign(from.storage.begin(), from.storage.end());
    kernel = std::move(its_kernel);
    host = std::move(its_host);
    for (std::size_t n = 0; n < arrays.size(); ++n) {
      const LoopArray array = from.array(n);
      if (array.buffer != nullptr) {
        uses.emplace_back(*array.buffer);
      } else if (array.bytes() != 0) {
        const auto* const data = array.host.data;
        arrays[n].data = copies.emplace_back(data, data + array.bytes()).data();
      }
    }
    loop.position = position;
    loop.scalars = scalars;
    loop.arrays = arrays;
    loop.storage = storage;
  }
  // Releases everything that belongs to others.
  void clear() {
    uses.clear();
    copies.clear();
    kernel.reset();
    host = nullptr;
  }
};

namespace {

// No refusals for a device that keeps no recordings, or does not report on them.
BatchRecorder::Refusals refusals_of(const Device& device) {
  const auto* const recorder = dynamic_cast<const BatchRecorder*>(&device);
  return recorder == nullptr ? BatchRecorder::Refusals() : recorder->refusals();
}

}  // namespace

LoopChain::LoopChain(PipelineDevice& device, std::uint64_t rows, Way way)
    : device_(device), wanted_rows_(rows), way_(way) {}

LoopChain::~LoopChain() { end(); }

std::vector<Loop> LoopChain::loops() const {
  std::vector<Loop> loops;
  loops.reserve(links_.size());
  for (const std::unique_ptr<Link>& link : links_) loops.push_back(link->loop);
  return loops;
}

// Empty if the loop may run behind those in the chain.
std::string LoopChain::why_not_behind(const Loop& loop, const Part& part) {
  if (run_ != nullptr) return "the loops before it were interrupted";
  if (way_ == Way::kAsWholes) {
    if (links_.size() < kLongestChainOfWholes) return {};
    return fmt::format("{} loops run together at most", kLongestChainOfWholes);
  }
  const RunPlan& alone = *part.plan;
  if (links_.empty()) {
    planned_bytes_ = bytes_of(alone);
    return {};
  }
  std::vector<Loop> all = loops();
  all.push_back(loop);
  const auto together = plan_run(device_, all);
  if (!together.ok()) return together.error().message();
  std::string reason = why_apart(all, *together, planned_bytes_ + bytes_of(alone));
  if (reason.empty()) planned_bytes_ = bytes_of(*together);
  return reason;
}

std::string LoopChain::add(const Loop& loop, const Part& part, HostPart host) {
  std::string reason = why_not_behind(loop, part);
  if (reason.empty()) append(loop, part, std::move(host));
  return reason;
}

void LoopChain::append(const Loop& loop, const Part& part, HostPart host) {
  if (spare_.empty()) {
    links_.push_back(std::make_unique<Link>());
  } else {
    links_.push_back(std::move(spare_.back()));
    spare_.pop_back();
  }
  links_.back()->set(loop, part.kernel, std::move(host));
  const auto defer = [this](Buffer* buffer, bool is_touched, bool is_written) {
    if (buffer != nullptr && is_touched) ArrayCopies::of(*buffer).deferred().defer(*this, is_written);
  };
  if (!part.plan) {
    // Needs no plan.
    for (std::size_t n = 0; n < loop.arrays.size(); ++n) {
      const ArrayUse& use = loop.footprint->arrays[n];
      const bool is_known = loop.footprint->complete;
      defer(loop.array(n).buffer, !is_known || use.kind != ArrayClass::kUnused,
            !is_known || use.is_written || use.is_updated);
    }
    return;
  }
  for (std::size_t n = 0; n < part.plan->arrays.size(); ++n) {
    const ArrayNeeds& needs = part.plan->needs[n];
    defer(part.plan->arrays[n].array.buffer, !needs.touched.empty(), !needs.writes.empty());
  }
}

Result<LoopChain::LastResult> LoopChain::run_with(const Loop& last, const Part& part, HostPart host,
                                                  std::span<std::uint64_t> accumulators) {
  LastResult result;
  append(last, part, std::move(host));
  awaited_ = std::make_unique<Awaited>(last, accumulators, &result);
  Status status = settle();
  if (awaited_ != nullptr) awaited_->result = nullptr;
  // Stopped before anything has begun: more loops may still join the deferred ones.
  if (awaited_ != nullptr && run_ == nullptr) {
    awaited_.reset();
    links_.pop_back();
  }
  if (!status.ok()) return std::move(status).error();
  return result;
}

Status LoopChain::settle() {
  if (links_.empty()) return {};
  outcome_.way = way_;
  outcome_.is_remote = device_.info().is_remote;
  Status status = run_ == nullptr ? begin() : Status();
  if (status.ok()) status = submit_all();
  // The error of a device that has failed does not concern this call.
  if (is_interruption(status) && !device_.failure()) return status;
  if (!status.ok()) {
    outcome_.failure = status.error();
    std::vector<IterationSpace> boxes;
    status = leave_device(boxes);
    if (is_interruption(status) && !device_.failure()) return status;
    if (status.ok() && boxes.empty()) take_result();
    run_.reset();
    if (status.ok()) status = do_on_host(boxes);
  } else {
    take_result();
  }
  if (status.ok()) {
    const DeviceStats stats = device_.device().stats();
    const std::uint64_t batches = stats.batches - stats_before_.batches;
    outcome_.is_replay = batches != 0 && batches == stats.replays - stats_before_.replays;
    outcome_.takes_batches = device_.info().batch_bytes != 0;
    const BatchRecorder::Refusals refusals = refusals_of(device_.device());
    if (refusals.count != refusals_before_.count) outcome_.why_unrecorded = refusals.reason;
    if (on_end) on_end(outcome_);
  } else {
    // The reason for stopping this call no longer applies when the results are needed.
    const Error reason = is_interruption(status)
                             ? Error(*outcome_.failure)
                                   .with_context(
                                       "the results of parallel loops are lost, because the host was stopped "
                                       "while it did what the device had left")
                             : device_.failure().value_or(status.error());
    for_each_buffer([&](ArrayCopies& copies) {
      if (copies.deferred().writes()) copies.contents().lose(reason);
    });
  }
  end();
  return status;
}

Status LoopChain::begin() {
  stats_before_ = device_.device().stats();
  refusals_before_ = refusals_of(device_.device());
  const std::vector<Loop> all = loops();
  // Arrays that have been closed since the loops were added need no results.
  DHPVM_ASSIGN(RunPlan plan, plan_run(device_, all));
  if (way_ == Way::kAsWholes && plan.slice_budget != 0)
    return error(ErrorCode::kDeviceExhausted, "their arrays do not fit into the memory of {} together",
                 device_.info().name);
  // All results come back at the end: elements that some loops have replaced on the host could not be computed again
  // for others whose results a lost device has not sent.
  if (way_ == Way::kAsWholes) {
    for (ArrayPlan& array : plan.arrays) array.by_chunk = false;
  }
  const std::uint64_t most = most_rows(all, plan);
  chunk_rows_ = most;
  if (way_ == Way::kInSlices && wanted_rows_ != 0) chunk_rows_ = std::min(wanted_rows_, most);
  if (way_ == Way::kInSlices && wanted_rows_ == 0) {
    for (const std::unique_ptr<Link>& link : links_)
      row_unit_ = std::max(row_unit_, link->kernel->row_unit(link->loop.space));
    chunk_rows_ = rows_for(device_, all, plan);
    if (chunk_rows_ < all[0].space.extent(0)) chunk_rows_ = in_units(chunk_rows_, row_unit_, most);
  }
  outcome_.rows_per_chunk = std::min(chunk_rows_, all[0].space.extent(0));
  outcome_.upload_bytes = plan.upload_bytes;
  outcome_.download_bytes = plan.download_bytes;
  if (awaited_ != nullptr && awaited_->partials.buffer() == nullptr)
    DHPVM_TRY(awaited_->partials.allocate(device_.pool()));
  Buffer* const partials = awaited_ == nullptr ? nullptr : awaited_->partials.buffer();
  std::vector<std::shared_ptr<Kernel>> kernels;
  kernels.reserve(links_.size());
  for (const std::unique_ptr<Link>& link : links_) kernels.push_back(link->kernel);
  DHPVM_ASSIGN(run_, DeviceRun::begin(device_, all, std::move(plan), std::move(kernels), partials,
                                      DeviceRun::WhenStopped::kBetweenChunks));
  return {};
}

Status LoopChain::submit_all() {
  const IterationSpace& space = links_[0]->loop.space;
  const std::vector<Loop> all = way_ == Way::kInSlices ? loops() : std::vector<Loop>();
  while (next_row_ < space.extent(0)) {
    DHPVM_TRY(device_.await_turn());
    // Loops that run as wholes are short.
    std::uint64_t rows = chunk_rows_;
    if (way_ == Way::kInSlices) rows = std::min(rows, soon_done_rows(device_, all));
    if (way_ == Way::kInSlices && rows < space.extent(0) - next_row_) rows = in_units(rows, row_unit_, rows);
    const IterationSpace box = rows_of(space, next_row_, rows);
    next_row_ += box.extent(0);
    Status status = run_->submit(box);
    if (!status.ok() && !device_.failure()) {
      // Nothing of this chunk has begun.
      next_row_ -= box.extent(0);
      if (!lacks_room(status.error())) return status;
      if (status.error().code() == ErrorCode::kOffHeapExhausted && run_->in_flight() != 0) {
        // The results of earlier chunks take the room until they are put in place.
        DHPVM_TRY(run_->wait_for(0));
        device_.release_held();
        continue;
      }
      if (chunk_rows_ == 1 || way_ == Way::kAsWholes) return status;
      chunk_rows_ /= 2;
      continue;
    }
    DHPVM_TRY(status);
    ++outcome_.chunks;
    DHPVM_TRY(run_->wait_for(kChunksInFlight));
  }
  return run_->finish(awaited_ != nullptr);
}

// Takes the device's results of the last loop, if a caller waits for it.
void LoopChain::take_result() {
  if (awaited_ == nullptr || awaited_->result == nullptr) return;
  awaited_->result->report = run_->report();
  if (!has_trapped(run_->report())) awaited_->partials.fold(awaited_->accumulators);
}

// Determines what is left to be done: everything that was not submitted, and, if the device has failed, what it had not
// done.
Status LoopChain::leave_device(std::vector<IterationSpace>& boxes) {
  const IterationSpace& space = links_[0]->loop.space;
  if (next_row_ < space.extent(0)) boxes.push_back(rows_of(space, next_row_, space.extent(0)));
  if (run_ == nullptr) return {};
  if (!device_.failure()) {
    // After other failures the progress of the chunk is unknown.
    if (!lacks_room(*outcome_.failure)) return *outcome_.failure;
    if (Status status = run_->finish(true); !device_.failure()) return status;
  }
  DHPVM_ASSIGN(const std::vector<IterationSpace> unfinished, run_->give_up());
  boxes.insert(boxes.end(), unfinished.begin(), unfinished.end());
  return {};
}

// Loop after loop, because no chunk needs anything of another one.
Status LoopChain::do_on_host(const std::vector<IterationSpace>& boxes) {
  if (boxes.empty()) return {};
  for (const std::unique_ptr<Link>& link : links_) {
    const std::optional<Part> host = link->host();
    if (!host) return *outcome_.failure;
    LastResult* const result = awaited_ != nullptr && link == links_.back() ? awaited_->result : nullptr;
    std::vector<std::uint64_t> unwanted(link->loop.reductions.size());
    for (const IterationSpace& box : boxes) {
      Loop part = link->loop;
      if (way_ == Way::kInSlices) part.space = box_of(part, box);
      auto done = run_on_devices({&*host, 1}, part, 0,
                                 result != nullptr ? awaited_->accumulators : std::span(unwanted), {});
      if (auto* const failure = std::get_if<PipelineFailure>(&done)) return std::move(failure->error);
      if (result != nullptr) *result = {std::get<PipelineOutcome>(done).report, true};
    }
  }
  return {};
}

template <typename Visit>
void LoopChain::for_each_buffer(Visit&& visit) {
  for (const std::unique_ptr<Link>& link : links_) {
    for (const ArrayStorage& array : link->storage) {
      if (array.buffer != nullptr) visit(ArrayCopies::of(*array.buffer));
    }
  }
}

void LoopChain::end() {
  run_.reset();
  awaited_.reset();
  for_each_buffer([](ArrayCopies& copies) { copies.deferred().clear(); });
  for (std::unique_ptr<Link>& link : links_) {
    link->clear();
    spare_.push_back(std::move(link));
  }
  links_.clear();
  next_row_ = 0;
  row_unit_ = 1;
  outcome_ = {};
}

}  // namespace dhpvm::offload
