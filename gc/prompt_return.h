// SPDX-License-Identifier: Apache-2.0
// While an object of this class exists, the memory of freed large objects goes back to the system at once. The
// allocator otherwise keeps it for a while, until the next allocation, which an idle program never makes.
#pragma once

namespace dhpvm::gc {

class PromptReturn {
 public:
  PromptReturn();
  ~PromptReturn();
  PromptReturn(const PromptReturn&) = delete;
  PromptReturn& operator=(const PromptReturn&) = delete;

 private:
  [[maybe_unused]] long delay_ = 0;  // the allocator's own delay, in milliseconds
};

}  // namespace dhpvm::gc
