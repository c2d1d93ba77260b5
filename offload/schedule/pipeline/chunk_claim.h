// SPDX-License-Identifier: Apache-2.0
// The right to put the results of a chunk in place, for a chunk that several devices may compute: the first to be done
// has it, and the results of the others are dropped.
#pragma once

#include <mutex>
#include <utility>

namespace dhpvm::offload {

// Thread-safe.
class ChunkClaim {
 public:
  enum class State : unsigned char { kOpen, kTaken, kRevoked };

  // Calls `put` if the claim is open, and takes it. Returns whether it was open.
  template <typename Put>
  bool take(Put&& put) {
    const std::lock_guard lock(mutex_);
    if (state_ != State::kOpen) return false;
    std::forward<Put>(put)();
    state_ = State::kTaken;
    return true;
  }
  // Revokes the claim: no run that computes the chunk under it may put its results in place any more. Returns true if
  // it was open: then the caller must have the chunk computed.
  bool revoke() {
    const std::lock_guard lock(mutex_);
    if (state_ != State::kOpen) return false;
    state_ = State::kRevoked;
    return true;
  }
  State state() const {
    const std::lock_guard lock(mutex_);
    return state_;
  }

 private:
  mutable std::mutex mutex_;
  State state_ = State::kOpen;
};

}  // namespace dhpvm::offload
