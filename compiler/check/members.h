// SPDX-License-Identifier: Apache-2.0
// `a.b` and `a?.b`: fields, properties, constants of number types, members of modules.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class MemberChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  E member(const ast::Expr& expr, const Type* expected);
  E safe_member(const ast::Expr& expr, const ast::Expr* call);
  E receiver(const ast::Expr& expr);
  E field(E object, std::uint32_t index, Range range);
  void report_missing_member(const Type* type, const ast::Name& name, bool called);
  void report_missing_in_module(ModuleSymbols& module, std::string_view as, const ast::Name& name);
  bool report_hidden_module(const ast::Expr& object, const ast::Name& name);
  E member_of(E object, const ast::Expr& expr);

 private:
  E module_member(ModuleSymbols& module, const ast::Expr& expr, const Type* expected);
  E type_constant(const Type* type, const ast::Expr& expr);
  E array_member(E object, const ast::Expr& expr);
  void help_with_member(Diagnostic& diagnostic, const Type* type, const ast::Name& name,
                        const std::vector<std::string_view>& all);
};

}  // namespace dhpvm::compiler
