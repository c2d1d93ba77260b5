// SPDX-License-Identifier: Apache-2.0
#include "vm/deferred_chain.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "offload/schedule/pipeline/chain_rules.h"

namespace dhpvm::vm {

// Only where chunks overlap: the serial modes exist for comparison, one loop after the other. Loops that can trap or
// have a result are never deferred, and need no plan to decide that.
std::optional<DeferredChain::Way> DeferredChain::way_of(offload::Part& part, const offload::Loop& loop,
                                                        std::uint64_t rows) {
  if (!part.device->overlaps() || loop.can_trap || !loop.reductions.empty()) return std::nullopt;
  // Loops whose arrays fit on the device are many, and short.
  std::uint64_t bytes = 0;
  for (std::size_t n = 0; n < loop.arrays.size(); ++n) bytes += loop.array(n).bytes();
  const bool is_large = bytes > part.device->blocks().budget() / 2;
  const bool joins_others = rows == 0 && part.device->joins(loop);
  if (!is_large && !joins_others) return std::nullopt;
  if (joins_others && !part.plan && offload::can_wait_unplanned(*part.device, loop)) return Way::kAsWholes;
  if (!part.plan) {
    auto plan = plan_run(*part.device, {&loop, 1});
    if (!plan.ok()) return std::nullopt;
    part.plan = std::move(plan).value();
  }
  if (is_large && offload::can_wait_in_slices(*part.plan)) return Way::kInSlices;
  if (joins_others && offload::can_wait_as_whole(*part.plan)) return Way::kAsWholes;
  return std::nullopt;
}

// Makes the kernel for the host, in case the host must run the loop long after it has returned.
offload::HostPart DeferredChain::host_part(const KernelWish& wish) {
  return [this, wish]() -> std::optional<offload::Part> {
    const OpenDevices::OnHost cores = devices_.load_on_host(wish);
    if (cores.device == nullptr) return std::nullopt;
    return offload::Part{cores.device, cores.loaded->kernel, {}};
  };
}

Status DeferredChain::defer(const OffloadRequest& request, const offload::Loop& loop,
                            const offload::Part& part, std::uint64_t rows, bool is_forced, Way way) {
  std::string apart;
  if (is_pending()) {
    if (&chain_->device() != part.device) {
      apart = "that is on another device";
    } else if (chain_->rows() != rows) {
      apart = "that has chunks of another size";
    } else if (chain_->way() != way) {
      apart = "the arrays of one of them go through in slices";
    } else {
      apart = chain_->add(loop, part, host_part(request.kernel));
    }
    if (!apart.empty()) DHPVM_TRY(chain_->settle());
  } else {
    loops_.clear();
  }
  const bool joins = is_pending();
  history_.kept_apart(request.number(), std::move(apart));
  loops_.push_back({request.number(), request.kernel.position, is_forced});
  if (joins) return {};
  if (chain_ == nullptr || &chain_->device() != part.device || chain_->rows() != rows ||
      chain_->way() != way) {
    chain_ = std::make_unique<offload::LoopChain>(*part.device, rows, way);
    chain_->on_end = [this](const offload::ChainOutcome& outcome) { ended(outcome); };
  }
  chain_->add(loop, part, host_part(request.kernel));
  return {};
}

bool DeferredChain::takes_last(offload::Part& part, const offload::Loop& loop) const {
  // Stopping the program also stops the kernel that it waits for, except when deferred loops run with it.
  constexpr double kShort = 2e-3;
  if (!is_pending() || &chain_->device() != part.device || !chain_->takes_last() || !part.device->joins(loop))
    return false;
  const offload::LinkModel launch = part.device->model().launch(loop.label);
  if (!launch.known() || launch.seconds(static_cast<double>(*loop.space.count())) > kShort) return false;
  if (!part.plan) {
    auto plan = plan_run(*part.device, {&loop, 1});
    if (!plan.ok()) return false;
    part.plan = std::move(plan).value();
  }
  return offload::can_end_chain(*part.plan);
}

Result<offload::LoopChain::LastResult> DeferredChain::run_with(const OffloadRequest& request,
                                                               const offload::Loop& loop,
                                                               const offload::Part& part, bool is_forced) {
  loops_.push_back({request.number(), request.kernel.position, is_forced});
  return chain_->run_with(loop, part, host_part(request.kernel), request.accumulators);
}

Result<bool> DeferredChain::settle() {
  if (!is_pending()) return false;
  DHPVM_TRY(chain_->settle());
  return true;
}

void DeferredChain::leave(const offload::PipelineDevice& device) {
  if (chain_ == nullptr || &chain_->device() != &device) return;
  (void)chain_->settle();
  chain_.reset();
}

void DeferredChain::ended(const offload::ChainOutcome& outcome) {
  const bool told = outcome.failure && devices_.tell_losses();
  auto positions = std::make_shared<std::vector<std::string_view>>();
  positions->reserve(loops_.size());
  for (const Deferred& loop : loops_) positions->push_back(loop.position);
  for (std::size_t n = 0; n < loops_.size(); ++n) {
    const Deferred& loop = loops_[n];
    history_.ran_in_chain(loop.number, outcome, positions, n);
    if (!outcome.failure) continue;
    const std::string text =
        fmt::format("in part: {}: {}", history_.devices(loop.number), first_cause(*outcome.failure));
    history_.stayed(loop.number, text);
    if (loop.is_forced && !told) devices_.warn_of_host(loop.position, text);
  }
  chunks_ += outcome.chunks;
  if (loops_.size() > 1) chained_ += loops_.size();
  loops_.clear();
}

bool DeferredChain::contains(std::uint32_t number) const {
  return is_pending() &&
         std::ranges::any_of(loops_, [&](const Deferred& loop) { return loop.number == number; });
}

}  // namespace dhpvm::vm
