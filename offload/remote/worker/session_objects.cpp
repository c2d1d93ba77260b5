// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/session_objects.h"

#include <cstring>
#include <utility>

namespace dhpvm::offload {
namespace {

// New memory may contain data of another session, or of the worker.
Status wipe(Device& device, const std::shared_ptr<DeviceMemory>& memory, std::uint64_t bytes) {
  if (device.info().shares_host_memory && memory->host() != nullptr) {
    std::memset(memory->host(), 0, bytes);
    return {};
  }
  DHPVM_ASSIGN(const std::shared_ptr<Semaphore> semaphore, device.create_semaphore(0));
  DHPVM_ASSIGN(const std::unique_ptr<Queue> queue, device.create_queue({"wipe", nullptr}));
  const SemaphoreValue cleared{semaphore, 1};
  DHPVM_TRY(queue->fill({memory, 0, bytes}, std::byte{0}, {{}, {&cleared, 1}}));
  DHPVM_TRY(queue->flush());
  DHPVM_ASSIGN(const bool is_cleared, semaphore->wait(1, Semaphore::Clock::time_point::max()));
  return is_cleared ? Status() : Status(error(ErrorCode::kDeviceFailed, "new memory could not be cleared"));
}

}  // namespace

Status SessionObjects::handle(wire::Allocate& record) {
  DHPVM_ASSIGN(Device* const device, port_.device(record.device));
  DHPVM_TRY(port_.begin_request());
  if (memories_.contains(record.memory)) return protocol_violation("a memory is allocated twice");
  if (memories_.size() >= port_.limits().objects) {
    port_.reply(record.request, error(ErrorCode::kDeviceExhausted,
                                      "this session has {} memories, which is the limit", memories_.size()));
    return {};
  }
  memories_[record.memory] = {nullptr, record.device};
  port_.post_task([this, device, record] {
    port_.post_to_progress([this, record, memory = allocate(*device, record.bytes)] {
      const auto entry = memories_.find(record.memory);
      if (entry != memories_.end() && memory.ok()) entry->second.memory = *memory;
      if (entry != memories_.end() && !memory.ok()) memories_.erase(entry);
      if (!port_.has_ended()) port_.reply(record.request, memory.ok() ? Status() : Status(memory.error()));
    });
  });
  return {};
}

// On the session's own thread. Freed memory counts until the last operation that uses it has released it.
Result<std::shared_ptr<DeviceMemory>> SessionObjects::allocate(Device& device, std::uint64_t bytes) {
  const std::uint64_t most = port_.limits().memory_bytes;
  if (const std::uint64_t held = memory_bytes_->load(); held > most || bytes > most - held) {
    return error(
        ErrorCode::kDeviceExhausted,
        "this session may have {} bytes of memory, has {}, and asks for {}: use smaller batches (@batch)",
        most, held, bytes);
  }
  DHPVM_ASSIGN(std::shared_ptr<DeviceMemory> memory, device.allocate(bytes));
  if (bytes != 0) DHPVM_TRY(wipe(device, memory, bytes));
  memory_bytes_->fetch_add(bytes);
  DeviceMemory* const raw = memory.get();
  return std::shared_ptr<DeviceMemory>(
      raw, [memory = std::move(memory), total = memory_bytes_, bytes](DeviceMemory*) mutable {
        memory.reset();
        total->fetch_sub(bytes);
      });
}

Status SessionObjects::handle(wire::Free& record) {
  const auto entry = memories_.find(record.memory);
  if (entry == memories_.end() || entry->second.memory == nullptr) {
    return protocol_violation("it frees memory that does not exist");
  }
  // Freeing may block, and operations in flight keep the memory until they are done.
  port_.post_task([memory = std::move(entry->second.memory)]() mutable { memory.reset(); });
  memories_.erase(entry);
  return {};
}

Status SessionObjects::handle(wire::CreateSemaphore& record) {
  DHPVM_ASSIGN(Device* const device, port_.device(record.device));
  if (timelines_.contains(record.semaphore)) return protocol_violation("a semaphore is made twice");
  if (timelines_.size() >= port_.limits().objects) {
    return error(ErrorCode::kDeviceExhausted, "this session has {} semaphores, which is the limit",
                 timelines_.size());
  }
  auto timeline = std::make_shared<session::Timeline>();
  DHPVM_ASSIGN(timeline->semaphore, device->create_semaphore(record.initial));
  timeline->device = record.device;
  timeline->promised = record.initial;
  timelines_.emplace(record.semaphore, std::move(timeline));
  return {};
}

Status SessionObjects::handle(wire::DestroySemaphore& record) {
  if (timelines_.erase(record.semaphore) == 0) {
    return protocol_violation("it destroys a semaphore that does not exist");
  }
  return {};
}

Status SessionObjects::handle(wire::FailSemaphore& record) {
  const auto found = timeline(record.semaphore);
  if (found == nullptr) return protocol_violation("it fails a semaphore that does not exist");
  found->failure = record.failure.to_error();
  found->semaphore->fail(*found->failure);
  return {};
}

Result<MemorySpan> SessionObjects::span(const wire::Span& wanted, std::uint64_t device) const {
  const auto entry = memories_.find(wanted.memory);
  if (entry == memories_.end() || entry->second.memory == nullptr || entry->second.device != device) {
    return protocol_violation("an operation on memory that its device does not have");
  }
  const std::shared_ptr<DeviceMemory>& memory = entry->second.memory;
  if (wanted.offset > memory->size() || wanted.bytes > memory->size() - wanted.offset) {
    return protocol_violation("an operation beyond the end of its memory");
  }
  return MemorySpan{memory, wanted.offset, wanted.bytes};
}

std::shared_ptr<session::Timeline> SessionObjects::timeline(wire::Id semaphore) const {
  const auto entry = timelines_.find(semaphore);
  return entry == timelines_.end() ? nullptr : entry->second;
}

void SessionObjects::fail_semaphores(const Error& reason) {
  for (auto& [id, timeline] : timelines_) timeline->semaphore->fail(reason);
}

void SessionObjects::clear() {
  memories_.clear();
  timelines_.clear();
}

}  // namespace dhpvm::offload
