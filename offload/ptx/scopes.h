// SPDX-License-Identifier: Apache-2.0
// The symbols of nested blocks.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "offload/ptx/types.h"

namespace dhpvm::ptx {

struct Symbol {
  enum class Kind : std::uint8_t { kRegister, kPredicate, kFrame, kEntryParameter, kShared, kGlobal };
  Kind kind = Kind::kRegister;
  Type type = Type::kNone;
  std::int32_t slot = 0;     // of a register, or the first of a family
  std::uint64_t offset = 0;  // of a variable; an address for kGlobal
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;  // of a family: %r<10> has 10
};

class Scopes {
 public:
  void open() { levels_.emplace_back(); }
  void close() { levels_.pop_back(); }
  // False if this block already declares the name.
  bool declare(std::string_view name, const Symbol& symbol) {
    return levels_.back().emplace(name, symbol).second;
  }
  // Register 7 of %r<10> is %r7. False if no block declares the name.
  bool find(std::string_view name, Symbol& symbol) const;

 private:
  std::vector<std::map<std::string, Symbol, std::less<>>> levels_;
};

}  // namespace dhpvm::ptx
