// SPDX-License-Identifier: Apache-2.0
// Whether the results of loops should be sent back to the host while they run, or when the host asks: as was
// of use the last time.
#pragma once

namespace dhpvm::offload {

class WriteBack {
 public:
  // They should if the host has looked at what was sent before a device writes the array again.
  bool is_worthwhile() const { return is_worthwhile_ && !has_unread_; }
  // Something was sent that the host has not looked at yet.
  bool has_unread() const { return has_unread_; }

  // A loop that writes the array is being submitted.
  void begin_loop() { is_worthwhile_ = is_worthwhile(); }
  void sent() { has_unread_ = true; }
  void host_looked() {
    is_worthwhile_ = true;
    has_unread_ = false;
  }

 private:
  bool is_worthwhile_ = true;
  bool has_unread_ = false;
};

}  // namespace dhpvm::offload
