// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/memory/registrations.h"

#include <sys/resource.h>

#include <vector>

#include "base/error.h"

namespace dhpvm::offload {

Registrations::Registrations(BufferPool& pool, RegistrationOptions options)
    : pool_(pool), options_(std::move(options)) {
  pool_.set_observer(this);
}

Registrations::~Registrations() { pool_.set_observer(nullptr); }

Result<MemorySpan> Registrations::span_of(Device& device, const Buffer& buffer) {
  const std::span<std::byte> chunk = buffer.chunk();
  const auto offset = static_cast<std::size_t>(buffer.data() - chunk.data());
  // Held while a chunk is registered: other users of the chunk on the same device have to wait for that anyway.
  const std::lock_guard lock(mutex_);
  std::shared_ptr<DeviceMemory>& memory = known_[{chunk.data(), &device}];
  if (memory == nullptr) {
    Result<std::shared_ptr<DeviceMemory>> made = import(device, chunk);
    if (!made.ok()) {
      known_.erase({chunk.data(), &device});
      return std::move(made).error();
    }
    memory = std::move(made).value();
  }
  return MemorySpan{memory, offset, buffer.size()};
}

Result<std::shared_ptr<DeviceMemory>> Registrations::import(Device& device, std::span<std::byte> chunk) {
  const auto begin = std::chrono::steady_clock::now();
  Result<std::shared_ptr<DeviceMemory>> memory = device.import_host(chunk, options_.kind);
  if (!memory.ok() && options_.kind == HostMemory::kPinned) {
    const Error reason = std::move(memory).error();
    memory = device.import_host(chunk, HostMemory::kPageable);
    if (memory.ok()) {
      ++stats_.fallbacks;
      warn_once(device, chunk.size(), reason);
    }
  }
  if (!memory.ok()) return memory;
  ++stats_.made;
  stats_.time += std::chrono::steady_clock::now() - begin;
  return memory;
}

void Registrations::warn_once(const Device& device, std::size_t bytes, const Error& reason) {
  if (std::exchange(has_warned_, true) || !options_.warn) return;
  std::string text = fmt::format(
      "the memory of arrays cannot be pinned for device '{}' ({}): copies go on without, slower, and do not "
      "overlap",
      device.info().name, reason.message());
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    text += fmt::format(
        "; this process may lock {} KiB, and {} were asked for: raise that with `ulimit -l unlimited`, or "
        "`memlock` in /etc/security/limits.conf",
        limit.rlim_cur / 1024, bytes / 1024);
  }
  options_.warn(text);
}

void Registrations::forget(const Device& device) {
  // Unregistering takes long, so the device does it without the lock.
  std::vector<std::shared_ptr<DeviceMemory>> dropped;
  const std::lock_guard lock(mutex_);
  for (auto entry = known_.begin(); entry != known_.end();) {
    if (entry->first.second != &device) {
      ++entry;
      continue;
    }
    dropped.push_back(std::move(entry->second));
    entry = known_.erase(entry);
  }
}

bool Registrations::release_chunk(std::span<std::byte> chunk) {
  std::vector<std::shared_ptr<DeviceMemory>> dropped;
  const std::lock_guard lock(mutex_);
  const auto first = known_.lower_bound({chunk.data(), nullptr});
  auto end = first;
  for (; end != known_.end() && end->first.first == chunk.data(); ++end) {
    // No buffer is left, so no further reference can be made. But an operation that has ended its use of the buffer may
    // still exist: if the memory were unmapped now, the device would later unregister other memory at this address.
    if (end->second.use_count() != 1) return false;
  }
  for (auto entry = first; entry != end; ++entry) dropped.push_back(std::move(entry->second));
  known_.erase(first, end);
  return true;
}

void Registrations::while_unknown(std::span<std::byte> chunk, const std::function<void()>& action) {
  const std::lock_guard lock(mutex_);
  const auto first = known_.lower_bound({chunk.data(), nullptr});
  if (first == known_.end() || first->first.first != chunk.data()) action();
}

RegistrationStats Registrations::stats() const {
  const std::lock_guard lock(mutex_);
  RegistrationStats stats = stats_;
  stats.registered = known_.size();
  return stats;
}

}  // namespace dhpvm::offload
