// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/link_probe.h"

#include <cstring>
#include <utility>

namespace dhpvm::offload {
namespace {

// The uploads that measure a link: two sizes separate the round trip from the rate. They take 0.1 s at 10 Mbit/s, and
// well under 1 ms on a quick link.
constexpr std::uint64_t kSmallProbe = 1024;
constexpr std::uint64_t kLargeProbe = 65536;

Result<Positions> copy_there_and_back(PipelineDevice& device, Buffer& buffer) {
  DHPVM_ASSIGN(MemorySpan here, device.registrations().span_of(device.device(), buffer));
  DHPVM_ASSIGN(DeviceBlock block, device.blocks().acquire(kLargeProbe));
  Positions after = block.busy;
  for (const std::uint64_t bytes : {kSmallProbe, kSmallProbe, kLargeProbe}) {
    here.bytes = bytes;
    const MemorySpan there{block.memory, 0, bytes};
    // In the queue that large arrays use.
    DHPVM_ASSIGN(const Positions up, device.upload(there, here, after, PipelineDevice::kLarge));
    after.include(up);
    DHPVM_ASSIGN(const Positions down, device.download(here, there, after, PipelineDevice::kLarge));
    after.include(down);
  }
  block.busy = after;
  device.blocks().release(std::move(block));
  return after;
}

}  // namespace

Result<Positions> probe_link(PipelineDevice& device) {
  DHPVM_ASSIGN(Buffer* const buffer, device.pool().allocate(kLargeProbe, BufferContents::kUndefined));
  std::memset(buffer->data(), 0, kLargeProbe);
  Result<Positions> done = copy_there_and_back(device, *buffer);
  device.hold(*buffer, device.submitted());
  buffer->close();
  return done;
}

}  // namespace dhpvm::offload
