// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/body.h"

#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

void check_body(Analysis& analysis, FunctionInstance& instance) {
  instance.state = FunctionInstance::State::kBusy;
  Analysis::Enter enter(analysis, instance.origin);
  BodyParts(analysis, instance.context).functions.check_function(instance);
  instance.state = FunctionInstance::State::kDone;
}

hir::Expr* check_expression(Analysis& analysis, const ast::Expr& expr, const TypeContext& context,
                            const Type* expected, std::string_view what) {
  return BodyParts(analysis, context).functions.check_constant(expr, expected, what);
}

void write_derived(Analysis& analysis, const Type* type, DerivedKind kind, hir::Function& function,
                   SourceRange range) {
  BodyParts(analysis, analysis.nominal(type)->context).derived.write(type, kind, function, range);
}

hir::Function* forwarder(Analysis& analysis, Nominal& type, FunctionInstance& method, SourceRange range) {
  return BodyParts(analysis, type.context).functions.forwarder(type, method, range);
}

hir::Function* entry_of(Analysis& analysis, FunctionInstance& main) {
  return BodyParts(analysis, main.context).functions.entry_of(main);
}

}  // namespace dhpvm::compiler
