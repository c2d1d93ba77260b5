// SPDX-License-Identifier: Apache-2.0
// Decides whether the results of loops are sent to the host while they run, or when the host asks: whichever was useful
// the last time. Devices that share a loop record what they send from their own threads; the isolate's thread calls
// everything else.
#pragma once

#include <atomic>

namespace dhpvm::offload {

class WriteBack {
 public:
  // Whether to send results while a loop runs: the host has read those that were sent last.
  bool is_worthwhile() const { return is_worthwhile_ && !has_unread(); }
  // Something was sent that the host has not read yet.
  bool has_unread() const { return has_unread_.load(std::memory_order_relaxed); }

  // A loop that writes the array is being submitted.
  void begin_loop() { is_worthwhile_ = is_worthwhile(); }
  void sent() { has_unread_.store(true, std::memory_order_relaxed); }
  void host_looked() {
    is_worthwhile_ = true;
    has_unread_.store(false, std::memory_order_relaxed);
  }

 private:
  bool is_worthwhile_ = true;
  std::atomic<bool> has_unread_ = false;
};

}  // namespace dhpvm::offload
