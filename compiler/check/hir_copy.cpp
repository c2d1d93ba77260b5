// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/hir_copy.h"

#include <memory>

namespace dhpvm::compiler {

hir::Function& HirCopy::function(const hir::Function& original) {
  hir::Function& copy = analysis_.program().function_arena.emplace_back(original);
  copy.exported = false;
  copy.captures.clear();
  copy.closure_type = nullptr;
  for (hir::Local*& parameter : copy.parameters) parameter = declare(parameter);
  for (const hir::Capture& capture : original.captures) declare(capture.inner);
  copy.body = statements(original.body);
  return copy;
}

hir::Local* HirCopy::declare(const hir::Local* original) {
  const auto [known, fresh] = locals_.try_emplace(original, nullptr);
  if (fresh) {
    known->second = &analysis_.program().local_arena.emplace_back(*original);
    known->second->boxed = false;
  }
  return known->second;
}

hir::Local* HirCopy::local(hir::Local* original) const {
  const auto known = locals_.find(original);
  return known == locals_.end() ? original : known->second;
}

std::vector<hir::Stmt*> HirCopy::statements(const std::vector<hir::Stmt*>& originals) {
  std::vector<hir::Stmt*> copies;
  copies.reserve(originals.size());
  for (const hir::Stmt* original : originals) copies.push_back(statement(*original));
  return copies;
}

std::vector<hir::Expr*> HirCopy::expressions(const std::vector<hir::Expr*>& originals) {
  std::vector<hir::Expr*> copies;
  copies.reserve(originals.size());
  for (const hir::Expr* original : originals) copies.push_back(expression(original));
  return copies;
}

hir::Expr* HirCopy::expression(const hir::Expr* original) {
  if (original == nullptr) return nullptr;
  hir::Expr* copy = analysis_.make(original->kind, original->type, analysis_.range_of(original));
  *copy = *original;
  copy->statements = statements(original->statements);
  copy->operands = expressions(original->operands);
  copy->arguments = expressions(original->arguments);
  copy->local = local(original->local);
  if (original->kind != hir::ExprKind::kClosure) return copy;
  // The body of the closure refers only to its own variables.
  copy->function = &analysis_.program().function_arena.emplace_back(*original->function);
  analysis_.program().functions.push_back(copy->function);
  for (hir::Capture& capture : copy->function->captures) {
    const bool by_reference = capture.outer->boxed;
    capture.outer = local(capture.outer);
    capture.outer->boxed = capture.outer->boxed || by_reference;
  }
  return copy;
}

hir::Stmt* HirCopy::statement(const hir::Stmt& original) {
  hir::Stmt* copy = analysis_.make(original.kind, analysis_.range_of(&original));
  copy->local = original.local == nullptr ? nullptr : declare(original.local);
  copy->place = expression(original.place);
  copy->value = expression(original.value);
  copy->binary = original.binary;
  copy->limit = expression(original.limit);
  copy->outwards = original.outwards;
  copy->inclusive = original.inclusive;
  copy->step = expression(original.step);
  copy->body = statements(original.body);
  copy->otherwise = statements(original.otherwise);
  copy->close = expression(original.close);
  copy->plain = original.plain;
  if (original.loop != nullptr) {
    copy->loop = std::make_unique<hir::ParallelLoop>();
    parallel_loop(*original.loop, *copy->loop);
    loops_.push_back({&original, copy});
  }
  return copy;
}

void HirCopy::parallel_loop(const hir::ParallelLoop& original, hir::ParallelLoop& copy) {
  copy = original;
  for (hir::ParallelLoop::Dimension& dimension : copy.dimensions) {
    dimension.low = expression(dimension.low);
    dimension.high = expression(dimension.high);
    dimension.local = declare(dimension.local);
  }
  for (hir::ParallelLoop::Capture& capture : copy.captures) {
    capture.value = expression(capture.value);
    capture.inner = declare(capture.inner);
  }
  for (hir::ParallelLoop::ReductionVariable& reduction : copy.reductions) {
    reduction.outer = local(reduction.outer);
    reduction.inner = declare(reduction.inner);
  }
  copy.body = statements(original.body);
  for (hir::Local*& counter : copy.iterated) counter = local(counter);
  for (hir::Local*& array : copy.copies) array = local(array);
  copy.block_rows = local(copy.block_rows);
}

}  // namespace dhpvm::compiler
