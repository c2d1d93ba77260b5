// SPDX-License-Identifier: Apache-2.0
// Variables and the blocks in which they are visible; capture by closures.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class Scopes : public BodyPart {
 public:
  using BodyPart::BodyPart;

  void open_scope() { state_.frame->scopes.emplace_back(); }
  void close_scope();
  Variable* declare(const ast::Name& name, const Type* type, VariableKind kind);
  Variable* declare_hidden(std::string_view name, const Type* type, VariableKind kind, Range range);
  Variable* find_variable(std::string_view name);  // as in the frame that declares it
  Variable* see(Variable* variable, Range range);  // as the current frame sees it: captured if needed
};

}  // namespace dhpvm::compiler
