// SPDX-License-Identifier: Apache-2.0
// Registers chunks of a pool with devices. Each is registered as a whole, once, on first use, and stays registered
// until the pool gives it back to the system: programs that allocate buffers and run loops all the time register
// nothing more.
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
  std::uint64_t fallbacks = 0;       // of these, chunks whose memory could not be pinned
  std::chrono::nanoseconds time{0};  // spent making them
};

struct RegistrationOptions {
  // Called once, when memory cannot be pinned, with the cost and the remedy; from any thread.
  std::function<void(const std::string&)> warn;
  // How memory is registered; memory that cannot be pinned is registered as pageable.
  HostMemory kind = HostMemory::kPinned;
};

// Thread-safe. Destroyed before the pool, and before the devices.
class Registrations final : private ChunkObserver {
 public:
  explicit Registrations(BufferPool& pool, RegistrationOptions options = {});
  ~Registrations() override;
  Registrations(const Registrations&) = delete;
  Registrations& operator=(const Registrations&) = delete;

  // The buffer's bytes in the registration of its chunk with `device`. The caller holds a use or the handle of
  // `buffer`, which is of this pool. Fails when the device takes the chunk neither pinned nor pageable.
  Result<MemorySpan> span_of(Device& device, const Buffer& buffer);

  // Drops everything that was registered with the device, which is about to end, or unusable.
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
