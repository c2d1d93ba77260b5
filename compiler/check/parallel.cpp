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
        const hir::Expr* name = analysis_.constant_expression(*hint.argument, state_.context,
                                                              basic(TypeKind::kStr), "the name of a device");
        if (name != nullptr) loop.device_hint = name->text;
        break;
      }
      case ast::HintKind::kBatch: {
        const hir::Expr* count = analysis_.constant_expression(*hint.argument, state_.context,
                                                               basic(TypeKind::kI64), "the size of a batch");
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
  const Type* i64 = basic(TypeKind::kI64);

  std::vector<const Type*> index_types;
  bool good = true;
  for (const ast::Dimension& dimension : stmt.parallel->dimensions) {
    hir::ParallelLoop::Dimension bounds;
    const bool fine = parts_.loops.range_bounds(*dimension.low, *dimension.high, bounds.low, bounds.high);
    good = good && fine;
    index_types.push_back(fine ? bounds.low->type : error_type());
    if (fine && dimension.inclusive) {
      // The index of a narrower type is computed from a wide one: its maximum plus one must not wrap.
      bounds.may_wrap = bounds.high->type == i64 || bounds.high->type->is(TypeKind::kU64);
      for (E* bound : {&bounds.low, &bounds.high}) {
        if ((*bound)->type != i64) *bound = make(ExprKind::kConvert, i64, dimension.high->range, {*bound});
      }
      bounds.high =
          binary(Binary::kAdd, bounds.high, integer(1, i64, dimension.high->range), dimension.high->range);
    }
    loop.dimensions.push_back(bounds);
  }

  Body before;
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
  for (std::size_t i = 0; i < loop.dimensions.size(); ++i) {
    hir::ParallelLoop::Dimension& bounds = loop.dimensions[i];
    Variable* index =
        parts_.scopes.declare(stmt.parallel->dimensions[i].name, index_types[i], VariableKind::kLoop);
    bounds.local = index->local;
    if (bounds.low != nullptr && bounds.low->type != index->type && !index->type->is(TypeKind::kError)) {
      bounds.local = temporary(i64);
      bounds.local->name = index->local->name;
      E wide = read(bounds.local, index->range);
      loop.body.push_back(let(index->local, make(ExprKind::kConvert, index->type, index->range, {wide})));
    }
  }
  parts_.reductions.parallel_reductions(stmt, loop, kernel);
  parts_.blocked_loops.declare(stmt, loop, std::move(blocks));
  parts_.statements.block(*stmt.body[0], loop.body);
  parts_.scopes.close_scope();
  state_.frame = kernel.outer;
  state_.loops = std::move(loops);
  state_.flow = entry;
  if (!good) return;
  analysis_.add_kernel({made, analysis_.current(), stmt.range});
  if (kernel.blocks.arrays.empty()) {
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
