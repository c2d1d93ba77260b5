// SPDX-License-Identifier: Apache-2.0
// Maps an address of machine code to the function that it belongs to, for profiles.
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
  // `name`: the symbol's name. "body.12" contains the function's index in its module; other names are ignored.
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
