// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/inline_call.h"

#include "compiler/lower/function_parts.h"

namespace dhpvm::compiler {

// Arguments are evaluated like those of any call, then become the parameters: an argument that is a local is used in
// place, and a constant remains one.
bool InlineLowering::inline_call(const Expr& e, Target target) {
  const hir::Function& function = *e.function;
  const InlineDecisions::Decision decision = module_.inlines().decide(function);
  if (!decision.is_required) {
    if (!decision.inlined || (!decision.is_tiny && !code_.in_loop())) return false;
    if (depth_ >= kMostDepth || state_.is_failing) return false;
  }
  state_.facts.add(function.body);
  struct Argument {
    std::optional<std::int64_t> constant;
    LocalSlot slot;
  };
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < e.operands.size(); ++i) {
    const Expr& operand = *e.operands[i];
    const bool assigned = state_.facts.assigned.contains(function.parameters[i]);
    Argument& argument = arguments.emplace_back();
    if (!assigned) argument.constant = constant_of(operand);
    if (argument.constant) continue;
    if (operand.type->is(TypeKind::kFixedArray)) {
      argument.slot = parts_.locals.slot(*operand.local);
      continue;
    }
    argument.slot.registers = assigned ? allocate(operand.type) : values(operand);
    if (assigned) into(operand, Target{argument.slot.registers});
  }
  // Only after all arguments, since one may have been a call of the same function.
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const hir::Local* parameter = function.parameters[i];
    parts_.constants.forget(*parameter);
    if (arguments[i].constant) {
      parts_.constants.remember(*parameter, *arguments[i].constant);
    } else {
      parts_.locals.slot(*parameter) = std::move(arguments[i].slot);
    }
  }
  Values dropped;
  if (target.registers.empty()) {
    dropped = allocate(e.type);
    target.registers = dropped;
  }
  const Inlined inner{target, code_.new_label(), parts_.exits.depth()};
  const std::optional<Inlined> outer = std::exchange(innermost_, inner);
  const bool outer_keeps_position = state_.keeps_position;
  state_.keeps_position |= module_.inlines().is_library(function);
  ++depth_;
  parts_.statements.scoped(function.body);
  --depth_;
  state_.keeps_position = outer_keeps_position;
  innermost_ = outer;
  code_.bind(inner.end);
  return true;
}

}  // namespace dhpvm::compiler
