// SPDX-License-Identifier: Apache-2.0
// Loops that are put off until somebody needs what they compute, to be run together.
#include <utility>

#include "base/error.h"
#include "offload/schedule/pipeline/chain_rules.h"
#include "vm/device_loops.h"

namespace dhpvm::vm {
namespace {

// The loops of a chain but one.
std::string others(const std::vector<std::string>& positions, std::size_t one) {
  std::string text;
  for (std::size_t n = 0; n < positions.size(); ++n) {
    if (n != one) text += (text.empty() ? "that at " : ", ") + positions[n];
  }
  return text;
}

}  // namespace

// Only where chunks overlap: the serial modes are there to be compared with, a loop after the other.
bool DeviceLoops::may_be_put_off(std::span<const offload::Part> parts,
                                 const offload::DeviceLoop& loop) const {
  if (parts.size() != 1 || !parts[0].device->overlaps()) return false;
  // Loops whose arrays fit are many, and short.
  std::uint64_t bytes = 0;
  for (const offload::LoopArray& array : loop.arrays) bytes += array.bytes();
  if (bytes <= parts[0].device->budget() / 2) return false;
  const auto plan = plan_run(*parts[0].device, {&loop, 1});
  return plan.ok() && offload::may_be_put_off(*plan);
}

// Behind those that have been, or, after they have been run, as the first of a new chain.
Status DeviceLoops::put_off(const Execution& execution, const offload::DeviceLoop& loop,
                            const offload::Part& part, std::uint64_t rows, bool forced) {
  Story& story = stories_[execution.number];
  // What the kernel is made from, should the host need one, long after the loop has returned.
  Execution later = execution;
  later.loop = {};
  later.arrays = nullptr;
  later.accumulators = {};
  const auto host = [this, later, position = std::string(execution.position)]() mutable {
    later.position = position;
    const Loaded* loaded = nullptr;
    return host_part(later, loaded);
  };
  std::string apart;
  if (chain_ != nullptr && chain_->size() != 0) {
    if (&chain_->device() != part.device) {
      apart = "that is on another device";
    } else if (chain_->rows() != rows) {
      apart = "that has chunks of another size";
    } else {
      apart = chain_->add(loop, part.kernel, host);
    }
    if (!apart.empty()) DHPVM_TRY(chain_->settle());
  } else {
    put_off_.clear();
  }
  story.apart = apart;
  put_off_.push_back({execution.number, std::string(execution.position), forced});
  if (chain_ != nullptr && chain_->size() != 0) return {};
  chain_ = std::make_unique<offload::LoopChain>(*part.device, rows);
  chain_->on_end = [this](const offload::ChainOutcome& outcome) { chain_ended(outcome); };
  chain_->add(loop, part.kernel, host);
  return {};
}

void DeviceLoops::chain_ended(const offload::ChainOutcome& outcome) {
  const bool told = outcome.failure && tell_losses();
  std::vector<std::string> positions;
  for (const PutOff& loop : put_off_) positions.push_back(loop.position);
  for (std::size_t n = 0; n < put_off_.size(); ++n) {
    Story& story = stories_[put_off_[n].number];
    ++story.executions;
    story.last = {};
    story.last.chunks = outcome.chunks;
    story.last.rows_per_chunk = outcome.rows_per_chunk;
    story.last.upload_bytes = outcome.upload_bytes;
    story.last.download_bytes = outcome.download_bytes;
    story.last.sliced = true;
    story.chained = others(positions, n);
    if (!outcome.failure) continue;
    const std::string text = fmt::format("in part: {}: {}", story.device, first_cause(*outcome.failure));
    ++story.stays[text];
    if (put_off_[n].forced && !told)
      warn_once(fmt::format("parallel for at {} runs on the host: {}", positions[n], text));
  }
  chunks_ += outcome.chunks;
  if (put_off_.size() > 1) chained_ += put_off_.size();
  put_off_.clear();
}

Status DeviceLoops::release_buffers() {
  if (chain_ != nullptr) DHPVM_TRY(chain_->settle());
  for (const std::unique_ptr<Opened>& opened : opened_) {
    if (opened->device == nullptr || opened->device->failure()) continue;
    DHPVM_TRY(opened->device->wait(opened->device->submitted()));
    opened->device->release_held();
  }
  return {};
}

}  // namespace dhpvm::vm
