// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/call.h"

#include "compiler/lower/function_parts.h"

namespace dhpvm::compiler {

namespace bc = bytecode;
using hir::ExprKind;

// If the target is at the top, the windows begin there, and no result needs to be moved. Call this in a Scope, which
// gives the windows back.
CallLowering::Window CallLowering::open_window(const Leaves& results, const Target& target) {
  Window window{registers_.next_primitive(), registers_.next_reference()};
  if (!target.fresh) return window;
  Register primitives = 0;
  Register references = 0;
  for (const bc::ValueType& leaf : results) ++(leaf.is_ref() ? references : primitives);
  // Checks both banks: a target's registers are taken in order, but may lie below later ones.
  Register next_primitive = static_cast<Register>(window.primitive - primitives);
  Register next_reference = static_cast<Register>(window.reference - references);
  bool primitives_on_top = window.primitive >= primitives;
  bool references_on_top = window.reference >= references;
  for (std::size_t i = 0; i < target.registers.size(); ++i) {
    if (results[i].is_ref()) {
      references_on_top &= target.registers[i] == next_reference++;
    } else {
      primitives_on_top &= target.registers[i] == next_primitive++;
    }
  }
  if (target.registers.empty()) return window;
  if (primitives_on_top) window.primitive = static_cast<Register>(window.primitive - primitives);
  if (references_on_top) window.reference = static_cast<Register>(window.reference - references);
  registers_.release({window.primitive, window.reference});
  return window;
}

void CallLowering::argument(const Expr& e) {
  const Values at = allocate(e.type);
  into(e, Target{at});
}

void CallLowering::finish_call(const Window& window, const Leaves& results, const Target& target) {
  if (target.registers.empty()) return;
  Register primitive = window.primitive;
  Register reference = window.reference;
  for (std::size_t i = 0; i < results.size(); ++i)
    move(results[i], target.registers[i], results[i].is_ref() ? reference++ : primitive++);
}

void CallLowering::call(const Expr& e, Target target) {
  Scope scope(*this);
  if (e.kind == ExprKind::kCall && parts_.inlining.inline_call(e, target)) return;
  const Leaves& results = leaves(e.type);
  const Window window = open_window(results, target);
  for (const Expr* operand : e.operands) argument(*operand);
  emit_call(e, window);
  finish_call(window, results, target);
}

void CallLowering::emit_call(const Expr& e, const Window& window) {
  switch (e.kind) {
    case ExprKind::kCall:
      return code_.emit(Op::kCall, window.primitive, window.reference, module_.function(*e.function));
    case ExprKind::kCallNative:
      return code_.emit(Op::kCallNative, window.primitive, window.reference, module_.native(*e.native));
    case ExprKind::kCallInterface:
    case ExprKind::kCallClosure: {
      const Type* interface = e.operands[0]->type;
      return code_.emit(Op::kCallInterface, window.primitive, window.reference,
                        e.kind == ExprKind::kCallClosure ? 0 : e.index, types_.reference(interface));
    }
    default: return;
  }
}

}  // namespace dhpvm::compiler
