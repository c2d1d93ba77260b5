// SPDX-License-Identifier: Apache-2.0
// DeviceStats as they are counted: by several threads at once.
#pragma once

#include <atomic>
#include <cstdint>

#include "offload/device/device.h"

namespace dhpvm::offload {

struct DeviceCounters {
  std::atomic<std::uint64_t> bytes_allocated = 0;
  std::atomic<std::uint64_t> peak_bytes_allocated = 0;
  std::atomic<std::uint64_t> imports = 0;
  std::atomic<std::uint64_t> imports_made = 0;
  std::atomic<std::uint64_t> bytes_uploaded = 0;
  std::atomic<std::uint64_t> bytes_downloaded = 0;
  std::atomic<std::uint64_t> copies = 0;
  std::atomic<std::uint64_t> launches = 0;

  void count_allocation(std::uint64_t bytes) {
    const std::uint64_t now = bytes_allocated += bytes;
    std::uint64_t peak = peak_bytes_allocated.load();
    while (peak < now && !peak_bytes_allocated.compare_exchange_weak(peak, now)) {
    }
  }
  void count_import() {
    ++imports;
    ++imports_made;
  }
  void count_copy(OperationRecord::Kind kind, std::uint64_t bytes) {
    ++copies;
    if (kind == OperationRecord::Kind::kUpload) bytes_uploaded += bytes;
    if (kind == OperationRecord::Kind::kDownload) bytes_downloaded += bytes;
  }
  DeviceStats snapshot() const {
    return {bytes_allocated, peak_bytes_allocated, imports, imports_made,
            bytes_uploaded,  bytes_downloaded,     copies,  launches};
  }
};

}  // namespace dhpvm::offload
