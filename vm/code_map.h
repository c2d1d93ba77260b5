// SPDX-License-Identifier: Apache-2.0
// Which function the machine code at an address belongs to, for profiles.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>

namespace dhpvm::vm {

// Thread-safe: the compiling thread adds what it loads while programs look addresses up.
class CodeMap {
 public:
  // `name`: that of the symbol, "body.12", which has the function's index in its module. Others are not kept.
  void add(const void* begin, std::size_t size, std::string_view name);
  // The function's index in its module.
  std::optional<std::uint32_t> find(std::uintptr_t address) const;

 private:
  struct Part {
    std::uintptr_t end;
    std::uint32_t function;
  };

  // Bounds of all parts, so that most words of a stack are dismissed without the lock.
  std::atomic<std::uintptr_t> lowest_{UINTPTR_MAX};
  std::atomic<std::uintptr_t> highest_{0};
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, Part> parts_;  // by where they begin
};

}  // namespace dhpvm::vm
