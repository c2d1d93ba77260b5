// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/parallel.h"

#include <utility>

#include "compiler/check/body_parts.h"
#include "compiler/check/fold.h"

namespace dhpvm::compiler {

using hir::Binary;
using hir::ExprKind;
using hir::StmtKind;

void ParallelLoopChecker::parallel_hints(const ast::Stmt& stmt, hir::ParallelLoop& loop) {
  for (const ast::Hint& hint : stmt.parallel->hints) {
    switch (hint.kind) {
      case ast::HintKind::kDevice: {
        const hir::Expr* name = analysis_.constants().expression(
            *hint.argument, state_.context, basic(TypeKind::kStr), "the name of a device");
        if (name != nullptr) loop.device_hint = name->text;
        break;
      }
      case ast::HintKind::kBatch: {
        const hir::Expr* count = analysis_.constants().expression(
            *hint.argument, state_.context, basic(TypeKind::kI64), "the size of a batch");
        if (count == nullptr) break;
        if (static_cast<std::int64_t>(count->integer) <= 0) {
          error(hint.range, "a batch has at least one iteration");
        }
        loop.batch_hint = count->integer;
        break;
      }
      case ast::HintKind::kFastMath: loop.fast_math = true; break;
    }
  }
}

// The range of one loop variable. `before` receives the code for its step. False after a diagnostic.
bool ParallelLoopChecker::range(const ast::Dimension& dimension, hir::ParallelLoop::Dimension& bounds,
                                Index& index, Body& before) {
  const Type* i64 = basic(TypeKind::kI64);
  const Range range = dimension.high->range;
  if (!parts_.loops.range_bounds(*dimension.low, *dimension.high, bounds.low, bounds.high)) return false;
  index.type = bounds.low->type;
  if (dimension.step != nullptr) return steps(dimension, bounds, index, before);
  if (!dimension.inclusive) return true;
  // A narrower index is computed from a wide one: its maximum plus one must not wrap.
  bounds.may_wrap = bounds.high->type == i64 || bounds.high->type->is(TypeKind::kU64);
  for (E* bound : {&bounds.low, &bounds.high}) *bound = as_i64(*bound, range);
  bounds.high = binary(Binary::kAdd, bounds.high, integer(1, i64, range), range);
  return true;
}

hir::Expr* ParallelLoopChecker::as_i64(E value, Range range) {
  const Type* i64 = basic(TypeKind::kI64);
  return value->type == i64 ? value : make(ExprKind::kConvert, i64, range, {value});
}

// With a step the loop counts the indices from 0: a half-open range that is not empty has (distance - 1) / step + 1.
// The arithmetic is unsigned, so that no distance is too large.
bool ParallelLoopChecker::steps(const ast::Dimension& dimension, hir::ParallelLoop::Dimension& bounds,
                                Index& index, Body& before) {
  const Type* i64 = basic(TypeKind::kI64);
  const Type* u64 = basic(TypeKind::kU64);
  const Range range = dimension.step->range;
  bool downwards = false;
  E step = step_value(dimension, index.type, downwards);
  if (step == nullptr) return false;
  E low = stable(bounds.low, before);
  E high = stable(bounds.high, before);
  step = stable(step, before);
  if (step->kind != ExprKind::kInt) {
    hir::Stmt* check = analysis_.make(StmtKind::kIf, range);
    check->value = binary(Binary::kLe, step, integer(0, index.type, range), range);
    hir::Stmt* trap = analysis_.make(StmtKind::kTrap, range);
    trap->value = string("step must be positive", range);
    check->body.push_back(trap);
    before.push_back(check);
  }
  E from = downwards ? high : low;
  E to = downwards ? low : high;
  const Binary is_some = dimension.inclusive ? Binary::kLe : Binary::kLt;
  const auto as_u64 = [&](E value) { return make(ExprKind::kConvert, u64, range, {as_i64(value, range)}); };
  E distance = binary(Binary::kSub, as_u64(to), as_u64(from), range);
  if (!dimension.inclusive) distance = binary(Binary::kSub, distance, integer(1, u64, range), range);
  E width = downwards ? integer(0 - step->integer, u64, range) : as_u64(step);
  const std::uint64_t most = std::uint64_t{1} << 63;
  E behind_first = binary(Binary::kDiv, distance, width, range);
  behind_first = binary(Binary::kMin, behind_first, integer(most - 1, u64, range), range);
  E count = binary(Binary::kAdd, behind_first, integer(1, u64, range), range);
  count = make(ExprKind::kConvert, i64, range, {count});
  E none = integer(0, i64, range);
  bounds.high = make(ExprKind::kConditional, i64, range, {binary(is_some, from, to, range), count, none});
  bounds.high = read(keep(bounds.high, before), range);
  bounds.low = none;
  bounds.may_wrap = true;
  index.first = as_i64(low, range);
  index.step = as_i64(step, range);
  for (E* part : {&index.first, &index.step}) {
    if ((*part)->kind != ExprKind::kInt) *part = read(keep(*part, before), range);
  }
  return true;
}

// The step of a range over numbers of the type; null after a diagnostic.
hir::Expr* ParallelLoopChecker::step_value(const ast::Dimension& dimension, const Type* type,
                                           bool& downwards) {
  const Range range = dimension.step->range;
  E step = parts_.conversions.value_as(*dimension.step, type);
  if (step->type->is(TypeKind::kError)) return nullptr;
  const auto known = fold(*step);
  if (known.has_value() && known->integer == 0) {
    error(range, "a step of 0 never ends");
    return nullptr;
  }
  if (!known.has_value()) return step;
  downwards = type->is_signed_integer() && static_cast<std::int64_t>(known->integer) < 0;
  return integer(known->integer, type, range);
}

// The loop variable as the body sees it, computed from the counter if they differ.
void ParallelLoopChecker::declare_index(const ast::Name& name, const Index& index,
                                        hir::ParallelLoop::Dimension& bounds, hir::ParallelLoop& loop) {
  const Type* i64 = basic(TypeKind::kI64);
  const Variable* variable = parts_.scopes.declare(name, index.type, VariableKind::kLoop);
  bounds.local = variable->local;
  if (index.type->is(TypeKind::kError)) return;
  if (index.first == nullptr && bounds.low->type == index.type) return;
  bounds.local = temporary(i64);
  bounds.local->name = variable->local->name;
  E value = read(bounds.local, variable->range);
  if (index.first != nullptr) {
    const auto inside = [&](E part) {
      if (part->kind == ExprKind::kInt) return part;
      return read(parts_.kernel_captures.pass(loop, part->local, variable->range), variable->range);
    };
    value = binary(Binary::kMul, value, inside(index.step), variable->range);
    value = binary(Binary::kAdd, inside(index.first), value, variable->range);
  }
  if (index.type != i64) value = make(ExprKind::kConvert, index.type, variable->range, {value});
  loop.body.push_back(let(variable->local, value));
}

void ParallelLoopChecker::parallel_for(const ast::Stmt& stmt, Body& out) {
  if (state_.in_kernel()) {
    error(stmt.range, "a parallel loop cannot stand in another one")
        .help(
            "use an ordinary `for`, or give the outer loop more dimensions: `parallel for i in .., j in ..`");
    return;
  }
  hir::Stmt* made = analysis_.make(StmtKind::kParallelFor, stmt.range);
  made->loop = std::make_unique<hir::ParallelLoop>();
  hir::ParallelLoop& loop = *made->loop;
  parallel_hints(stmt, loop);

  Body before;
  std::vector<Index> indices;
  bool good = true;
  for (const ast::Dimension& dimension : stmt.parallel->dimensions) {
    hir::ParallelLoop::Dimension bounds;
    Index& index = indices.emplace_back();
    const bool fine = range(dimension, bounds, index, before);
    good = good && fine;
    if (!fine) index.type = error_type();
    loop.dimensions.push_back(bounds);
  }
  Blocks blocks = good ? parts_.blocked_loops.begin(stmt, loop, before) : Blocks{};

  Frame& kernel = state_.frames.emplace_back();
  kernel.kind = Frame::Kind::kKernel;
  kernel.outer = state_.frame;
  kernel.function = state_.frame->function;
  kernel.loop = &loop;
  const Flow entry = state_.flow;
  std::vector<BodyState::Loop> loops = std::move(state_.loops);
  state_.loops.clear();
  state_.frame = &kernel;
  parts_.scopes.open_scope();
  for (std::size_t i = 0; i < loop.dimensions.size(); ++i)
    declare_index(stmt.parallel->dimensions[i].name, indices[i], loop.dimensions[i], loop);
  parts_.reductions.parallel_reductions(stmt, loop, kernel);
  parts_.blocked_loops.declare(stmt, loop, std::move(blocks));
  parts_.statements.block(*stmt.body[0], loop.body);
  parts_.scopes.close_scope();
  state_.frame = kernel.outer;
  state_.loops = std::move(loops);
  state_.flow = entry;
  if (!good) return;
  analysis_.add_kernel({made, analysis_.current(), stmt.range});
  if (before.empty()) {
    out.push_back(made);
    return;
  }
  parts_.blocked_loops.finish(loop, kernel.blocks, stmt.range);
  before.push_back(made);
  parts_.blocked_loops.fold(loop, kernel.blocks, stmt.range, before);
  hir::Stmt* whole = analysis_.make(StmtKind::kBlock, stmt.range);
  whole->body = std::move(before);
  out.push_back(whole);
}

}  // namespace dhpvm::compiler
