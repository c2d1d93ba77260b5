// SPDX-License-Identifier: Apache-2.0
// Registers chunks of a pool with devices. Each is registered once, on first use, as a whole, and
// stays so until the pool gives it back to the system: a program that keeps allocating buffers and running
// loops registers nothing more.
//
// Pinning 64 MiB makes all of it resident and costs some 20 to 35 ms where the device locks pages, which is
// why it is not done before a device needs the chunk; devices that share the host's memory only note the
// address.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "dhpvm/result.h"
#include "offload/devices/device.h"
#include "offload/schedule/memory/buffer.h"
#include "offload/schedule/memory/buffer_pool.h"

namespace dhpvm::offload {

struct RegistrationStats {
  std::uint64_t registered = 0;      // pairs of chunk and device, now
  std::uint64_t made = 0;            // since creation
  std::uint64_t fallbacks = 0;       // of them, those whose memory could not be pinned
  std::chrono::nanoseconds time{0};  // spent making them
};

struct RegistrationOptions {
  // Told once when memory cannot be pinned, what that costs, and what to do; from any thread.
  std::function<void(const std::string&)> warn;
  // The way in which memory is made known; memory that cannot be pinned is pageable after all.
  HostMemory kind = HostMemory::kPinned;
};

// Thread-safe. Ends before the pool, and before the devices.
class Registrations final : private ChunkObserver {
 public:
  explicit Registrations(BufferPool& pool, RegistrationOptions options = {});
  ~Registrations() override;
  Registrations(const Registrations&) = delete;
  Registrations& operator=(const Registrations&) = delete;

  // The buffer's bytes as `device` knows them: a part of what was made of its chunk. A use or the handle of
  // the buffer is held by the caller, and `buffer` is of this pool. Fails when the device takes the chunk
  // neither pinned nor pageable.
  Result<MemorySpan> span_of(Device& device, const Buffer& buffer);

  // Drops everything that was registered with the device: it is about to end, or no longer usable.
  void forget(const Device& device);

  RegistrationStats stats() const;

 private:
  // Chunks by the address where they begin.
  using Key = std::pair<const std::byte*, const Device*>;

  bool release_chunk(std::span<std::byte> chunk) override;
  void while_unknown(std::span<std::byte> chunk, const std::function<void()>& action) override;
  Result<std::shared_ptr<DeviceMemory>> import(Device& device, std::span<std::byte> chunk);
  void warn_once(const Device& device, std::size_t bytes, const Error& reason);

  BufferPool& pool_;
  const RegistrationOptions options_;
  mutable std::mutex mutex_;
  std::map<Key, std::shared_ptr<DeviceMemory>> known_;
  bool has_warned_ = false;
  RegistrationStats stats_;
};

}  // namespace dhpvm::offload
