// SPDX-License-Identifier: Apache-2.0
#include "codegen/cached/debugger.h"

#include <cstdint>
#include <mutex>

// NOLINTBEGIN(bugprone-reserved-identifier): gdb looks for these names, and knows this layout.
extern "C" {
struct jit_code_entry {
  jit_code_entry* next_entry;
  jit_code_entry* prev_entry;
  const char* symfile_addr;
  std::uint64_t symfile_size;
};

struct jit_descriptor {
  std::uint32_t version;
  std::uint32_t action_flag;
  jit_code_entry* relevant_entry;
  jit_code_entry* first_entry;
};

jit_descriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};

// gdb stops here.
[[gnu::noinline]] void __jit_debug_register_code() { asm volatile("" ::: "memory"); }
}
// NOLINTEND(bugprone-reserved-identifier)

namespace dhpvm::codegen {

void tell_debugger(std::vector<std::byte> object) {
  constexpr std::uint32_t kRegister = 1;
  static std::mutex mutex;
  const auto* const kept = new std::vector<std::byte>(std::move(object));
  auto* const entry =
      new jit_code_entry{nullptr, nullptr, reinterpret_cast<const char*>(kept->data()), kept->size()};
  const std::lock_guard lock(mutex);
  entry->next_entry = __jit_debug_descriptor.first_entry;
  if (entry->next_entry != nullptr) entry->next_entry->prev_entry = entry;
  __jit_debug_descriptor.first_entry = entry;
  __jit_debug_descriptor.relevant_entry = entry;
  __jit_debug_descriptor.action_flag = kRegister;
  __jit_debug_register_code();
}

}  // namespace dhpvm::codegen
