// SPDX-License-Identifier: Apache-2.0
// Hand-written libfabric between two processes of this
// machine: the baseline for the layers of this folder.
#pragma once

#include <cstddef>
#include <memory>

#include "dhpvm/result.h"

namespace dhpvm::offload {

// A side waits for the network by spinning, which is quickest
// and takes a core, or in the kernel. The other process spins only
// briefly, so that it does not take a core from the next measurement.
enum class RawWait { kSpin, kBlock };

// Both sides of a connection; the other one is a process that echoes short messages, and answers bulk data with one.
class RawLibfabric {
 public:
  // Forks, so it must be called before other threads are started.
  static Result<std::unique_ptr<RawLibfabric>> start(RawWait wait, std::size_t bulk_bytes,
                                                     std::size_t piece_bytes);
  ~RawLibfabric();
  RawLibfabric(const RawLibfabric&) = delete;
  RawLibfabric& operator=(const RawLibfabric&) = delete;

  // 64 bytes in each direction.
  Status round_trip();
  // Sends all bytes in pieces, eight of them in flight at a time, and waits for an answer.
  Status upload();

 private:
  struct Side;
  RawLibfabric(int child, std::unique_ptr<Side> side);
  const int child_;
  const std::unique_ptr<Side> side_;
};

}  // namespace dhpvm::offload
