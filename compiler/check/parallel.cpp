// SPDX-License-Identifier: Apache-2.0
// `parallel for`: the frame of its body, captures, reductions, hints. That the body is pure is checked when
// all functions are known (purity.cpp).
#include "compiler/check/body.h"
#include "compiler/check/fold.h"

namespace dhpvm::compiler {

using bytecode::ReductionOp;
using hir::Binary;
using hir::ExprKind;
using hir::StmtKind;

namespace {

ReductionOp reduction_op(ast::ReductionOp op) {
  switch (op) {
    case ast::ReductionOp::kAdd: return ReductionOp::kAdd;
    case ast::ReductionOp::kMul: return ReductionOp::kMul;
    case ast::ReductionOp::kMin: return ReductionOp::kMin;
    case ast::ReductionOp::kMax: return ReductionOp::kMax;
    case ast::ReductionOp::kAnd: return ReductionOp::kAnd;
    case ast::ReductionOp::kOr: return ReductionOp::kOr;
    case ast::ReductionOp::kXor: return ReductionOp::kXor;
  }
  return ReductionOp::kAdd;
}

Binary binary_of(ReductionOp op) {
  switch (op) {
    case ReductionOp::kAdd: return Binary::kAdd;
    case ReductionOp::kMul: return Binary::kMul;
    case ReductionOp::kMin: return Binary::kMin;
    case ReductionOp::kMax: return Binary::kMax;
    case ReductionOp::kAnd: return Binary::kBitAnd;
    case ReductionOp::kOr: return Binary::kBitOr;
    case ReductionOp::kXor: return Binary::kBitXor;
  }
  return Binary::kAdd;
}

// The update that a reduction variable takes, as written.
std::string update_text(std::string_view name, ReductionOp op) {
  std::string variable(name);
  switch (op) {
    case ReductionOp::kAdd: return variable + " += e";
    case ReductionOp::kMul: return variable + " *= e";
    case ReductionOp::kMin: return variable + " = math.min(" + variable + ", e)";
    case ReductionOp::kMax: return variable + " = math.max(" + variable + ", e)";
    case ReductionOp::kAnd: return variable + " &= e";
    case ReductionOp::kOr: return variable + " |= e";
    case ReductionOp::kXor: return variable + " ^= e";
  }
  return variable;
}

}  // namespace

bool BodyChecker::is_kernel_array(const Type* type) {
  return type->is(TypeKind::kArray) && analysis_.is_plain(type->element);
}

Variable* BodyChecker::capture_in_kernel(Frame& kernel, std::string_view name, E value, Range range) {
  const Type* type = value->type;
  if (type->is(TypeKind::kError)) return nullptr;
  if (!analysis_.is_plain(type) && !is_kernel_array(type)) {
    Diagnostic& diagnostic = error(range, "a parallel loop cannot use '{}', a '{}'", name, type->name);
    if (type->is(TypeKind::kFixedArray)) {
      diagnostic.help("use an array: `[{}]({})`, or declare it in the loop", type->element->name,
                      type->count);
    } else if (type->is(TypeKind::kClass) && analysis_.nominal(type)->symbol->methods.contains("to_array")) {
      diagnostic.help("take what it holds before the loop: `let array = {}.to_array();`", name);
    } else if (type->is(TypeKind::kClass) || type->is(TypeKind::kInterface)) {
      diagnostic.help("name the fields it needs, such as `{}.field`: they are read once before the loop",
                      name);
    } else if (type->is(TypeKind::kNullable)) {
      diagnostic.help("test it for null before the loop");
    } else if (type->is(TypeKind::kArray)) {
      diagnostic.help("use arrays of numbers, bool, or structs of these");
    } else {
      diagnostic.help("it can use numbers, bool, structs of these, and arrays of them");
    }
    return nullptr;
  }
  Variable& inner = variables_.emplace_back();
  inner.name = name;
  inner.type = type;
  inner.kind = VariableKind::kLet;
  inner.range = range;
  inner.frame = &kernel;
  inner.local = temporary(type);
  inner.local->name = name;
  kernel.loop->captures.push_back({inner.local, value});
  return &inner;
}

void BodyChecker::parallel_hints(const ast::Stmt& stmt, hir::ParallelLoop& loop) {
  for (const ast::Hint& hint : stmt.parallel->hints) {
    switch (hint.kind) {
      case ast::HintKind::kDevice: {
        const hir::Expr* name = analysis_.constant_expression(*hint.argument, context_, basic(TypeKind::kStr),
                                                              "the name of a device");
        if (name != nullptr) loop.device_hint = name->text;
        break;
      }
      case ast::HintKind::kBatch: {
        const hir::Expr* count = analysis_.constant_expression(*hint.argument, context_,
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

void BodyChecker::parallel_reductions(const ast::Stmt& stmt, hir::ParallelLoop& loop, Frame& kernel) {
  for (const ast::Reduction& reduction : stmt.parallel->reductions) {
    const ast::Name& name = reduction.variable;
    if (name.empty()) continue;
    frame_ = kernel.outer;
    Variable* outer = find_variable(name.text);
    if (outer == nullptr) {
      if (this_has_field(name.text)) {
        error(name.range, "a reduction variable must be a local `var`, and '{}' is a field", name.text)
            .help("use a local, and assign the field after the loop");
      } else {
        report_unknown(name.text, name.range, false);
      }
    } else if (outer->kind == VariableKind::kReduction || !check_assignable(*outer, name.range)) {
      outer = nullptr;
    }
    if (outer != nullptr) outer = see(outer, name.range);
    frame_ = &kernel;
    const ReductionOp op = reduction_op(reduction.op);
    const Type* type = outer != nullptr ? outer->type : error_type();
    const bool bitwise = op >= ReductionOp::kAnd;
    if (outer != nullptr &&
        !(bitwise ? type->is_integer() || type->is(TypeKind::kBool) : type->is_number())) {
      error(name.range, "'{}' cannot be reduced with '{}': it is a '{}'", name.text,
            ast::to_string(reduction.op), type->name);
      outer = nullptr;
    }
    bool twice = false;
    for (const auto& known : loop.reductions)
      twice = twice || (outer != nullptr && known.outer == outer->local);
    if (twice) {
      error(name.range, "'{}' is reduced twice", name.text);
      continue;
    }
    Variable* inner = declare(name, outer != nullptr ? type : error_type(), VariableKind::kReduction);
    if (outer != nullptr) loop.reductions.push_back({op, outer->local, inner->local});
  }
}

void BodyChecker::parallel_for(const ast::Stmt& stmt, Body& out) {
  if (in_kernel()) {
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
    const bool fine = range_bounds(*dimension.low, *dimension.high, bounds.low, bounds.high);
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

  Frame& kernel = frames_.emplace_back();
  kernel.kind = Frame::Kind::kKernel;
  kernel.outer = frame_;
  kernel.function = frame_->function;
  kernel.loop = &loop;
  const Flow before = flow_;
  std::vector<Flow*> breaks = std::move(breaks_);
  breaks_.clear();
  frame_ = &kernel;
  open_scope();
  for (std::size_t i = 0; i < loop.dimensions.size(); ++i) {
    hir::ParallelLoop::Dimension& bounds = loop.dimensions[i];
    Variable* index = declare(stmt.parallel->dimensions[i].name, index_types[i], VariableKind::kLoop);
    bounds.local = index->local;
    if (bounds.low != nullptr && bounds.low->type != index->type && !index->type->is(TypeKind::kError)) {
      bounds.local = temporary(i64);
      bounds.local->name = index->local->name;
      E wide = read(bounds.local, index->range);
      loop.body.push_back(let(index->local, make(ExprKind::kConvert, index->type, index->range, {wide})));
    }
  }
  parallel_reductions(stmt, loop, kernel);
  block(*stmt.body[0], loop.body);
  close_scope();
  frame_ = kernel.outer;
  breaks_ = std::move(breaks);
  flow_ = before;
  if (!good) return;
  analysis_.add_kernel({made, analysis_.current(), stmt.range});
  out.push_back(made);
}

// `s += e`, `s = math.min(s, e)` and so on, where s is a reduction variable. False when `stmt` is no
// assignment to one.
bool BodyChecker::reduction_assign(const ast::Stmt& stmt, Body& out) {
  if (!in_kernel() || stmt.place->kind != ast::ExprKind::kName) return false;
  Variable* variable = find_variable(stmt.place->name.text);
  if (variable == nullptr || variable->kind != VariableKind::kReduction || variable->frame != frame_)
    return false;
  const hir::ParallelLoop::ReductionVariable* reduction = nullptr;
  for (const auto& known : frame_->loop->reductions) {
    if (known.inner == variable->local) reduction = &known;
  }
  const ast::Expr* given = nullptr;
  const bool subtracts = stmt.kind == ast::StmtKind::kUpdate && stmt.binary == ast::BinaryOp::kSub;
  if (reduction != nullptr && stmt.kind == ast::StmtKind::kUpdate) {
    const bool matches =
        (reduction->op == ReductionOp::kAdd && (stmt.binary == ast::BinaryOp::kAdd || subtracts)) ||
        (reduction->op == ReductionOp::kMul && stmt.binary == ast::BinaryOp::kMul) ||
        (reduction->op == ReductionOp::kAnd && stmt.binary == ast::BinaryOp::kBitAnd) ||
        (reduction->op == ReductionOp::kOr && stmt.binary == ast::BinaryOp::kBitOr) ||
        (reduction->op == ReductionOp::kXor && stmt.binary == ast::BinaryOp::kBitXor);
    if (matches) given = stmt.value;
  } else if (reduction != nullptr && stmt.value->kind == ast::ExprKind::kCall) {
    given = min_max_argument(*stmt.value, variable->name, reduction->op);
  }
  if (given == nullptr) {
    if (reduction != nullptr) {
      error(stmt.range, "the reduction variable '{}' can only be updated by its own operation",
            variable->name)
          .help("write `{};`", update_text(variable->name, reduction->op));
    }
    return true;
  }
  hir::Stmt* made = analysis_.make(StmtKind::kUpdate, stmt.range);
  made->place = read(variable->local, stmt.place->range);
  made->value = value_as(*given, variable->type);
  made->binary = binary_of(reduction->op);
  if (subtracts) {
    // s - e and s + (-e) have the same bits.
    made->value = make(ExprKind::kUnary, made->value->type, given->range, {made->value});
    made->value->unary = hir::Unary::kNegate;
  }
  if (!made->value->type->is(TypeKind::kError)) out.push_back(made);
  return true;
}

// The e of `math.min(s, e)`, or of `math.min(e, s)`; null when `call` is something else.
const ast::Expr* BodyChecker::min_max_argument(const ast::Expr& call, std::string_view variable,
                                               ReductionOp op) {
  if (op != ReductionOp::kMin && op != ReductionOp::kMax) return nullptr;
  const std::string_view wanted = op == ReductionOp::kMin ? "min" : "max";
  const ast::Expr& callee = *call.operands[0];
  if (callee.kind != ast::ExprKind::kMember || callee.safe || callee.name.text != wanted) return nullptr;
  const ModuleSymbols* module = module_named(*callee.operands[0]);
  if (module == nullptr || module->name != "math" || call.arguments.size() != 2) return nullptr;
  for (int i = 0; i < 2; ++i) {
    const ast::Expr& side = *call.arguments[static_cast<std::size_t>(i)].value;
    if (side.kind == ast::ExprKind::kName && side.name.text == variable) {
      return call.arguments[static_cast<std::size_t>(1 - i)].value;
    }
  }
  return nullptr;
}

}  // namespace dhpvm::compiler
