// SPDX-License-Identifier: Apache-2.0
// For tests: the memory reachable from some references, as a text that is the same for equal memory.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "vm/isolate.h"

namespace dhpvm::vm {

// Objects are numbered in the order of the walk, so that addresses do not show. All NaNs are alike. Targets of weak
// references are left out: whether they live depends on when a collection ran.
class MemoryText {
 public:
  explicit MemoryText(Isolate& isolate) : isolate_(isolate) {}

  void add_value(std::uint64_t bits, bytecode::Kind kind);
  void add_reference(gc::Ref reference);
  // Describes everything that is reachable. Nothing may be allocated before it has returned.
  std::string finish() &&;

 private:
  void describe(const gc::Object& object);
  void describe_array(const gc::Array& array, const bytecode::Type& type);
  void add_fields(const std::byte* base, const bytecode::Type& type);
  void add_field(const std::byte* address, const bytecode::ValueType& type);

  Isolate& isolate_;
  std::string text_;
  std::unordered_map<gc::Ref, std::size_t> numbers_;
  std::vector<gc::Ref> found_;
};

}  // namespace dhpvm::vm
