// SPDX-License-Identifier: Apache-2.0
// While one exists, large objects that are freed go back to the system at once. The allocator otherwise waits for a
// while, and then for the next object of the same pages, which an idle program never makes.
#pragma once

namespace dhpvm::gc {

class PromptReturn {
 public:
  PromptReturn();
  ~PromptReturn();
  PromptReturn(const PromptReturn&) = delete;
  PromptReturn& operator=(const PromptReturn&) = delete;

 private:
  [[maybe_unused]] long delay_ = 0;  // the allocator's own, in milliseconds
};

}  // namespace dhpvm::gc
