// SPDX-License-Identifier: Apache-2.0
// The memories and semaphores on the worker's devices that a session's client has made.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "offload/remote/worker/session_port.h"
#include "offload/remote/worker/session_state.h"

namespace dhpvm::offload {

class SessionObjects {
 public:
  explicit SessionObjects(SessionPort& port)
      : port_(port), memory_bytes_(port.host().own_figures(), &port.figures().memory_bytes) {}

  Status handle(wire::Allocate& record);
  Status handle(wire::Free& record);
  Status handle(wire::CreateSemaphore& record);
  Status handle(wire::DestroySemaphore& record);
  Status handle(wire::FailSemaphore& record);

  // kProtocol unless the span lies inside a memory of the device.
  Result<MemorySpan> span(const wire::Span& wanted, std::uint64_t device) const;
  // Null when there is none.
  std::shared_ptr<session::Timeline> timeline(wire::Id semaphore) const;
  // Makes all semaphores fail: waits for them end with `reason`.
  void fail_semaphores(const Error& reason);
  // On the session's own thread, when no operation uses the objects any more.
  void clear();

 private:
  struct Memory {
    std::shared_ptr<DeviceMemory> memory;  // null while it is being allocated
    std::uint64_t device = 0;
  };

  Result<std::shared_ptr<DeviceMemory>> allocate(Device& device, std::uint64_t bytes);

  SessionPort& port_;
  std::unordered_map<wire::Id, Memory> memories_;
  std::unordered_map<wire::Id, std::shared_ptr<session::Timeline>> timelines_;
  // The total size of existing memories, including freed ones that an operation still uses.
  const std::shared_ptr<std::atomic<std::uint64_t>> memory_bytes_;  // of the figures
};

}  // namespace dhpvm::offload
