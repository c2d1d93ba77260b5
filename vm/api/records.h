// SPDX-License-Identifier: Apache-2.0
// Converts structs between the machine's leaves and dhpvm::Record.
//
// The module has a struct as fields whose names lead to the leaves: "at.x" and "at.y" for a field `at`, "limit?" and
// "limit" for one that may be null (bytecode::kFlagSuffix).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "bytecode/module.h"
#include "dhpvm/value.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail {

using Fields = std::span<const bytecode::Field>;
// The value of the leaf with this number, and the other way.
using ReadLeaf = std::function<Value(std::size_t leaf)>;
using WriteLeaf = std::function<Status(std::size_t leaf, const Value& value)>;

// Some consecutive leaves that are one value of the program: a member of a struct or class.
struct Part {
  std::string_view name;  // alone: "x" of "at.x"
  bool has_flag = false;  // the leaf before `first` is the flag for null
  std::size_t first = 0;
  std::size_t end = 0;
  std::size_t skip = 0;  // the characters of the fields' names that lead to it, its own name included
  unsigned depth = 0;    // the number of structs around it
  bool is_leaf = false;
};

// The leaves of a whole struct, or of a value that is the element of an array.
Part whole(Fields fields);
// The member that the name leads to: "at", "at.x", "limit".
std::optional<Part> find_part(Fields fields, std::string_view path);

// A number, text, object, record or null.
Value read_part(Fields fields, const Part& part, const ReadLeaf& read);
// The same with the struct's name.
Value read_struct(const bytecode::Type& type, const ReadLeaf& read);
// kBadCast, kInvalidArgument for a field that the record lacks, kNotFound for one that the struct lacks.
Status write_part(Fields fields, const Part& part, const Value& value, const WriteLeaf& write);

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail
