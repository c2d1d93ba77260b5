// SPDX-License-Identifier: Apache-2.0
// Deferred loops that work on an array: an access to the array runs them first.
#pragma once

#include "dhpvm/result.h"

namespace dhpvm::offload {

class DeferredLoops {
 public:
  virtual ~DeferredLoops() = default;
  // Runs them: afterwards they are in flight, or done.
  virtual Status settle() = 0;
};

class DeferredAccess {
 public:
  // From now on, an access that reads what the loops write, or writes what they touch, runs them first.
  void defer(DeferredLoops& loops, bool writes) {
    loops_ = &loops;
    writes_ = writes_ || writes;
  }
  void clear() {
    loops_ = nullptr;
    writes_ = false;
  }
  bool is_pending() const { return loops_ != nullptr; }
  bool writes() const { return writes_; }

  Status settle_writers() { return writes_ ? settle_all() : Status(); }
  Status settle_all() { return loops_ != nullptr ? loops_->settle() : Status(); }

 private:
  DeferredLoops* loops_ = nullptr;
  bool writes_ = false;
};

}  // namespace dhpvm::offload
