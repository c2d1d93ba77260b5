// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/copy_transfers.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace dhpvm::offload {
namespace {

// Each stage by itself: if one has failed, another may still be at work.
std::array<Positions, kStages> by_stage(const Positions& positions) {
  std::array<Positions, kStages> parts;
  for (unsigned stage = 0; stage < kStages; ++stage) parts[stage].at[stage] = positions.at[stage];
  return parts;
}

}  // namespace

// Fetches the parts of `bytes` that the host lacks from the devices that have them.
Status CopyTransfers::request(const Interval& bytes) {
  contents_.settle();
  std::vector<Interval> lacking = contents_.host_missing(bytes);
  for (DeviceCopy& copy : contents_.entries()) {
    if (copy.block.memory == nullptr || lacking.empty()) continue;
    bool submitted = false;
    for (const Interval& lack : lacking) {
      for (const Interval& part : copy.valid.common(lack)) {
        DHPVM_ASSIGN(MemorySpan to, copy.device->registrations().span_of(copy.device->device(), buffer_));
        to.offset += part.begin;
        to.bytes = part.size();
        const MemorySpan from{copy.block.memory, part.begin, part.size()};
        DHPVM_ASSIGN(const Positions there, copy.device->download(to, from, copy.busy, buffer_.size()));
        copy.use_until(there);
        contents_.arriving_on_host(copy, part, there);
        submitted = true;
      }
    }
    if (submitted) copy.device->hold(buffer_, copy.busy);
    lacking = contents_.host_missing(bytes);
  }
  return lacking.empty() ? Status() : contents_.lost();
}

// Fails only when the waiting is interrupted: a device that has failed reads and writes nothing.
Status CopyTransfers::wait_for(const DeviceCopy& copy, const Positions& positions) {
  for (const Positions& part : by_stage(positions)) {
    if (Status status = copy.device->wait(part); !status.ok() && !copy.device->failure()) return status;
  }
  return {};
}

// Whether no device uses the host's memory. Examines all devices only if an operation has been submitted since the last
// time: when a thousand devices begin a loop, each of them asks.
bool CopyTransfers::is_quiet() {
  const std::uint64_t uses = contents_.uses();
  if (quiet_at_ == uses) return true;
  const bool is_quiet = std::ranges::none_of(contents_.entries(), [](const DeviceCopy& copy) {
    return std::ranges::any_of(by_stage(copy.uses_of_host()), [&](const Positions& part) {
      return copy.device->fate_of(part) == Fate::kUnderWay;
    });
  });
  if (is_quiet) quiet_at_ = uses;
  return is_quiet;
}

// Waits until no device except that of `except` writes the host's memory.
Status CopyTransfers::wait_for_writes(const DeviceCopy* except) {
  for (const DeviceCopy& copy : contents_.entries()) {
    if (&copy != except) DHPVM_TRY(wait_for(copy, copy.writes_to_host()));
  }
  return {};
}

Status CopyTransfers::wait_for_readers(const DeviceCopy& writer) {
  if (is_quiet()) return {};
  for (const DeviceCopy& copy : contents_.entries()) {
    if (&copy != &writer) DHPVM_TRY(wait_for(copy, copy.reads_of_host()));
  }
  return {};
}

std::size_t CopyTransfers::failures() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      contents_.entries(), [](const DeviceCopy& copy) { return copy.device->failure().has_value(); }));
}

// Makes `bytes` current on the host; the caller waits for arrivals from `except`. If a device fails meanwhile, another
// one may have what it was to send.
Status CopyTransfers::fetch(const Interval& bytes, const DeviceCopy* except) {
  if (is_quiet() && contents_.is_on_host(bytes)) return {};
  for (;;) {
    const std::size_t before = failures();
    if (Status status = request(bytes); !status.ok()) {
      if (failures() == before) return status;
      continue;
    }
    DHPVM_TRY(wait_for_writes(except));
    contents_.settle();
    if (contents_.host_missing(bytes).empty()) return {};
  }
}

Status CopyTransfers::rescue(const DeviceCopy& copy) {
  const std::vector<Interval> parts = copy.valid.intervals();
  for (const Interval& part : parts) {
    if (Status status = fetch(part, nullptr); !status.ok() && !copy.device->failure()) return status;
  }
  return wait_for_writes(nullptr);
}

Status CopyTransfers::wait_until_unused() {
  for (const DeviceCopy& copy : contents_.entries()) DHPVM_TRY(wait_for(copy, copy.uses_of_host()));
  return {};
}

}  // namespace dhpvm::offload
