// SPDX-License-Identifier: Apache-2.0
// The syntax tree of PTX, made by the parser and resolved by the assembler. All text refers to the source.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "dhpvm/result.h"
#include "offload/ptx/types.h"

namespace dhpvm::ptx {

struct Operand {
  enum class Kind : std::uint8_t { kName, kNumber, kAddress, kVector, kPair };
  Kind kind = Kind::kName;
  bool negated = false;     // !%p1
  bool is_float = false;    // of a number: its bits are those of a double, or of a float
  bool is_single = false;   // 0f3F800000
  std::string_view name;    // a register or symbol, also of an address; empty in an address that is a number
  std::uint64_t bits = 0;   // of a number
  std::int64_t offset = 0;  // of an address
  std::vector<Operand> parts;  // of {a, b} and of p|q
  Place at;
};

struct Written {
  std::string_view name;                    // ld
  std::vector<std::string_view> modifiers;  // .global, .u64
  std::string_view guard;                   // %p1 of @%p1
  bool guard_negated = false;
  std::vector<Operand> operands;
  // The results and the arguments of a call, in parentheses.
  std::vector<Operand> results;
  std::vector<Operand> arguments;
  Place at;
};

struct Declared {
  std::string_view space;  // .reg, .local, .shared, .param, .global, .const
  Type type = Type::kNone;
  std::string_view name;
  std::uint64_t count = 1;  // elements, or registers
  bool is_family = false;   // %r<10>
  bool is_unsized = false;  // name[]
  std::uint64_t align = 0;
  std::vector<Operand> values;  // of the initialiser
  Place at;
};

struct Label {
  std::string_view name;
  Place at;
};
struct BranchTargets {
  std::string_view name;
  std::vector<std::string_view> labels;
  Place at;
};
struct ScopeBegin {};
struct ScopeEnd {};

using Statement = std::variant<Written, Declared, Label, BranchTargets, ScopeBegin, ScopeEnd>;

struct WrittenFunction {
  std::string_view name;
  bool is_entry = false;
  bool has_body = false;
  std::vector<Declared> results;
  std::vector<Declared> parameters;
  Extent required_block = {0, 0, 0};  // .reqntid
  Extent largest_block = {0, 0, 0};   // .maxntid
  std::vector<Statement> body;
  Place at;
};

struct WrittenModule {
  std::vector<Declared> variables;
  std::vector<WrittenFunction> functions;
};

// The text must outlive what is returned. Errors are kCompile, "line:column: message".
Result<WrittenModule> parse(std::string_view text);

}  // namespace dhpvm::ptx
