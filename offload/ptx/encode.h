// SPDX-License-Identifier: Apache-2.0
// Encodes one written instruction as one operation, by its row of instructions.def.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "offload/ptx/program.h"
#include "offload/ptx/scopes.h"
#include "offload/ptx/syntax.h"

namespace dhpvm::ptx {

enum class Select : std::uint8_t { A, integer, float_, compare, convert, memory, threads, none };

struct InstructionRow {
  std::string_view name;
  std::string_view operands;
  std::string_view types;
  std::string_view modifiers;
  Select select;
  Flow flow;
};

class Encoder {
 public:
  Encoder(const Scopes& scopes, Program& program) : scopes_(scopes), program_(program) {}

  // The caller resolves labels and functions: `label` is the name of the operation's target.
  Result<Op> encode(const Written& written, std::string_view& label);

 private:
  bool fail(Place at, const std::string& message, ErrorCode code = ErrorCode::kCompile);
  bool modifiers(const Written& written, const InstructionRow& row, Op& op);
  bool modifier(std::string_view word, Op& op) const;
  bool type_modifier(std::string_view word, Op& op) const;
  bool operand(char role, const Operand& written, Op& op);
  bool result(char role, const Operand& written, Op& op);
  bool source(const Operand& written, Type type, std::int32_t& slot, Op& op);
  bool predicate(const Operand& written, std::int32_t& slot);
  bool address(const Operand& written, Op& op);
  bool vector(const Operand& written, bool is_result, Op& op);
  bool special_or_symbol(const Operand& written, std::int32_t& slot, Op& op);
  std::int32_t constant(std::uint64_t bits);

  const Scopes& scopes_;
  Program& program_;
  std::optional<Error> problem_;
  std::string_view label_;
  unsigned sources_ = 0;
};

}  // namespace dhpvm::ptx
