// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/blocked_loops.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "bytecode/reduction.h"
#include "bytecode/registers.h"
#include "compiler/check/body_parts.h"
#include "compiler/parse/ast_children.h"

namespace dhpvm::compiler {

using bytecode::ReductionOp;
using hir::Binary;
using hir::ExprKind;
using hir::StmtKind;

namespace {

// Bounds on the number of blocks. They are part of the language: changing one changes the bits of sums. Starting a
// block and combining its part costs about as much as this many short iterations.
constexpr std::uint64_t kLeastIterations = 64;
// Several blocks for each core of any host, to balance the load.
constexpr std::uint64_t kMostBlocks = 1024;
// With more than kBlocksAtLeast blocks, the copies have at most one element per this many iterations: clearing and
// combining an element costs about as much as a short iteration, and all cores share the cache that holds the copies.
constexpr std::uint64_t kIterationsPerElement = 16;
// So many blocks are allowed even if the copies then have more elements: an iteration can be as long as the array, as
// in a gradient.
constexpr std::uint64_t kBlocksAtLeast = 16;
// If iterations are known to be short, the copies have at most one element per iteration, but so many blocks are always
// allowed.
constexpr std::uint64_t kShortBlocksAtLeast = 2;
// The limit for all copies together, 128 MiB of f64. Larger arrays use fewer blocks, down to one.
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 24;

// Whether the body is short: it contains no loop, and no calls except of functions of the module `math`.
class ShortBody {
 public:
  explicit ShortBody(const ast::Stmt& loop) {
    for (const ast::Stmt* inner : loop.body) visit(*inner);
  }
  bool holds() const { return holds_; }

 private:
  static bool is_call(const ast::Expr& node) {
    if (node.kind != ast::ExprKind::kCall) return false;
    const ast::Expr& callee = *node.operands[0];
    return callee.kind != ast::ExprKind::kMember || callee.operands[0]->kind != ast::ExprKind::kName ||
           callee.operands[0]->name.text != "math";
  }
  void visit(const ast::Expr& node) {
    holds_ = holds_ && !is_call(node);
    go_into(node);
  }
  void visit(const ast::Stmt& node) {
    holds_ = holds_ && ast::flow_of(node.kind) != ast::StmtFlow::kLoop;
    go_into(node);
  }
  void visit(const ast::Type& /*node*/) {}
  void visit(const ast::Arm& node) { go_into(node); }
  void visit(const ast::Function& node) { go_into(node); }
  template <typename Node>
  void go_into(const Node& node) {
    ast::for_each_child(node, [this](const auto& inner) { this->visit(inner); });
  }

  bool holds_ = true;
};

}  // namespace

Blocks BlockedLoops::begin(const ast::Stmt& stmt, hir::ParallelLoop& loop, Body& before) {
  Blocks blocks;
  for (const ast::Reduction& reduction : stmt.parallel->reductions) {
    if (!reduction.of_elements || reduction.variable.empty()) continue;
    if (reduction.op >= ast::ReductionOp::kFirst) continue;  // folded_values.h refuses it
    const ast::Name& name = reduction.variable;
    if (std::ranges::find(blocks.arrays, name.text, &ReducedArray::name) != blocks.arrays.end()) {
      error(name.range, "'{}' is reduced twice", name.text);
      continue;
    }
    ReducedArray array = find_array(reduction, before);
    if (array.array != nullptr) blocks.arrays.push_back(array);
  }
  blocks.values = parts_.folded_values.find(stmt);
  if (!blocks.exist()) return blocks;
  keep_bounds(loop, stmt.range, before);
  const std::uint64_t least = ShortBody(stmt).holds() ? kShortBlocksAtLeast : kBlocksAtLeast;
  blocks.count = keep(number(least, stmt.range), before);
  choose_blocks(loop, blocks, stmt.range, before);
  for (ReducedArray& array : blocks.arrays) {
    array.copies = keep(copies_of(array, blocks.count, stmt.range), before);
    array.copies->name = array.name;
  }
  parts_.folded_values.make_places(blocks, stmt.range, before);
  return blocks;
}

ReducedArray BlockedLoops::find_array(const ast::Reduction& reduction, Body& before) {
  const ast::Name& name = reduction.variable;
  Variable* variable = parts_.scopes.find_variable(name.text);
  if (variable == nullptr) {
    if (parts_.names.this_has_field(name.text)) {
      error(name.range, "an array to reduce into must be a local variable, and '{}' is a field", name.text)
          .help("declare one before the loop: `let {} = this.{};`", name.text, name.text);
    } else if (state_.context.module->constants.contains(name.text)) {
      error(name.range, "an array to reduce into must be a local variable, and '{}' is a constant", name.text)
          .help("declare one before the loop: `let own = {};`", name.text);
    } else {
      parts_.names.report_unknown(name.text, name.range, false);
    }
    return {};
  }
  E value = parts_.names.read_variable(variable, name.range);
  const Type* type = value->type;
  if (type->is(TypeKind::kError)) return {};
  ReducedArray array{name.text, ReductionChecker::operation(reduction.op)};
  if (type->is(TypeKind::kFixedArray)) {
    error(name.range, "a loop cannot reduce into '{}', a fixed array", name.text)
        .help("use an array: `let {} = {};`", name.text, ArrayChecker::array_like(type));
  } else if (!type->is(TypeKind::kArray)) {
    error(name.range, "'{}' is no array but a '{}'", name.text, type->name)
        .help("without brackets the variable itself is reduced: `reduce({}: {})`",
              ast::to_string(reduction.op), name.text);
  } else if (!can_reduce(type->element, array.op)) {
    error(name.range, "the elements of '{}' cannot be reduced with '{}': they are '{}'", name.text,
          ast::to_string(reduction.op), type->element->name);
  } else if (type->rank > 2) {
    error(name.range, "a loop can reduce into arrays of rank 1 and 2, and '{}' is a '{}'", name.text,
          type->name)
        .help("use an array of rank 2, with one index for two");
  } else {
    array.array = keep(value, before);
    array.array->name = name.text;
  }
  return array;
}

// Whether the operation can combine all numbers in a value of the type.
bool BlockedLoops::can_reduce(const Type* type, ReductionOp op) {
  if (type->is(TypeKind::kStruct) && !type->is_enum && analysis_.is_plain(type)) {
    return std::ranges::all_of(type->fields,
                               [&](const FieldInfo& field) { return can_reduce(field.type, op); });
  }
  return ReductionChecker::can_reduce(type, op);
}

// The loop over blocks and the code before it read the bounds.
void BlockedLoops::keep_bounds(hir::ParallelLoop& loop, Range range, Body& before) {
  const Type* i64 = basic(TypeKind::kI64);
  for (hir::ParallelLoop::Dimension& dimension : loop.dimensions) {
    for (E* bound : {&dimension.low, &dimension.high}) {
      E wide = (*bound)->type == i64 ? *bound : make(ExprKind::kConvert, i64, range, {*bound});
      *bound = read(keep(wide, before), range);
    }
    if (std::exchange(dimension.may_wrap, false)) {
      const auto wrapped = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::min());
      E is_wrapped = binary(Binary::kEq, dimension.high, number(wrapped, range), range);
      trap_if(is_wrapped, "a parallel loop cannot include the largest index", before);
    }
    E length = binary(Binary::kSub, dimension.high, dimension.low, range);
    E too_long = make(ExprKind::kAnd, basic(TypeKind::kBool), range,
                      {binary(Binary::kLt, dimension.low, dimension.high, range),
                       binary(Binary::kLt, length, number(0, range), range)});
    trap_if(too_long, "a parallel loop has at most 2^63 - 1 iterations", before);
  }
}

void BlockedLoops::trap_if(E condition, std::string message, Body& before) {
  const Range range = analysis_.range_of(condition);
  hir::Stmt* check = analysis_.make(StmtKind::kIf, range);
  check->value = condition;
  hir::Stmt* trap = analysis_.make(StmtKind::kTrap, range);
  trap->value = string(std::move(message), range);
  check->body.push_back(trap);
  before.push_back(check);
}

// `blocks.count` holds the least number of blocks at first, and then the number.
void BlockedLoops::choose_blocks(const hir::ParallelLoop& loop, Blocks& blocks, Range range, Body& before) {
  const auto op = [&](Binary which, E left, E right) { return binary(which, left, right, range); };
  const auto at_least_one = [&](E value) { return op(Binary::kMax, value, number(1, range)); };
  // Rounds up, for a value of at least 0; no step overflows.
  const auto divided_up = [&](hir::Local* value, E by) {
    E whole = op(Binary::kDiv, op(Binary::kSub, read(value, range), number(1, range)), by);
    return op(Binary::kMin, read(value, range), op(Binary::kAdd, whole, number(1, range)));
  };
  const auto extent = [&](const hir::ParallelLoop::Dimension& dimension) {
    E length = op(Binary::kSub, read(dimension.high->local, range), read(dimension.low->local, range));
    return op(Binary::kMax, length, number(0, range));
  };
  hir::Local* const rows = keep(extent(loop.dimensions[0]), before);
  E all = read(rows, range);
  for (std::size_t i = 1; i < loop.dimensions.size(); ++i)
    all = op(Binary::kMul, all, extent(loop.dimensions[i]));
  hir::Local* const iterations = keep(all, before);
  E length = number(blocks.values.size(), range);
  for (const ReducedArray& array : blocks.arrays) {
    E one = make(ExprKind::kArrayLength, basic(TypeKind::kI64), range, {read(array.array, range)});
    length = op(Binary::kAdd, length, one);
  }
  hir::Local* const elements = keep(at_least_one(length), before);
  E by_iterations = divided_up(iterations, number(kLeastIterations, range));
  E for_each_element = op(Binary::kDiv, read(iterations, range), read(elements, range));
  E few = op(Binary::kMax, read(blocks.count, range),
             op(Binary::kMin, number(kBlocksAtLeast, range), for_each_element));
  E by_work =
      op(Binary::kMax, few,
         op(Binary::kDiv, op(Binary::kDiv, read(iterations, range), number(kIterationsPerElement, range)),
            read(elements, range)));
  E by_memory = op(Binary::kDiv, number(kMostElements, range), read(elements, range));
  E most = op(Binary::kMin, by_iterations, number(kMostBlocks, range));
  most = op(Binary::kMin, most, op(Binary::kMin, by_work, by_memory));
  hir::Local* const wanted = keep(at_least_one(most), before);
  blocks.rows = keep(at_least_one(divided_up(rows, read(wanted, range))), before);
  blocks.count = keep(divided_up(rows, read(blocks.rows, range)), before);
}

hir::Expr* BlockedLoops::copies_of(const ReducedArray& array, hir::Local* blocks, Range range) {
  const Type* type = array.array->type;
  std::vector<E> operands = dimensions_of(array.array, range);
  operands.insert(operands.begin(), read(blocks, range));
  operands.push_back(identity(array.op, type->element, range));
  E made =
      make(ExprKind::kNewArray, types().array(type->element, type->rank + 1), range, std::move(operands));
  made->has_fill = true;
  return made;
}

std::vector<hir::Expr*> BlockedLoops::dimensions_of(hir::Local* array, Range range) {
  const Type* i64 = basic(TypeKind::kI64);
  if (array->type->rank == 1) return {make(ExprKind::kArrayLength, i64, range, {read(array, range)})};
  std::vector<E> all;
  for (std::uint32_t i = 0; i < array->type->rank; ++i) {
    all.push_back(make(ExprKind::kArrayDim, i64, range, {read(array, range)}));
    all.back()->index = i;
  }
  return all;
}

hir::Expr* BlockedLoops::identity(ReductionOp op, const Type* type, Range range) {
  if (type->is(TypeKind::kStruct)) {
    std::vector<E> fields;
    for (const FieldInfo& field : type->fields) fields.push_back(identity(op, field.type, range));
    return make(ExprKind::kMakeStruct, type, range, std::move(fields));
  }
  const std::uint64_t value = bytecode::identity({op, kind_of(type)});
  if (!type->is_float()) return integer(value, type, range);
  E made = make(ExprKind::kFloat, type, range);
  made->number =
      type->is(TypeKind::kF32) ? double{bytecode::get<float>(value)} : bytecode::get<double>(value);
  return made;
}

void BlockedLoops::declare(const ast::Stmt& stmt, hir::ParallelLoop& loop, Blocks blocks) {
  for (const ast::Reduction& reduction : stmt.parallel->reductions) {
    if (!reduction.of_elements || reduction.variable.empty()) continue;
    const auto known = std::ranges::find(blocks.arrays, reduction.variable.text, &ReducedArray::name);
    const bool good = known != blocks.arrays.end();
    if (good && known->variable != nullptr) continue;  // reduced twice
    Variable* variable = parts_.scopes.declare(reduction.variable, good ? known->array->type : error_type(),
                                               VariableKind::kReduction);
    if (!good) continue;
    known->variable = variable;
    variable->local = parts_.kernel_captures.pass(loop, known->copies, reduction.variable.range);
  }
  if (blocks.exist()) blocks.number = temporary(basic(TypeKind::kI64));
  parts_.folded_values.declare(stmt, loop, blocks);
  state_.frame->blocks = std::move(blocks);
}

hir::Expr* BlockedLoops::array_inside(const ReducedArray& array, Range range) {
  hir::ParallelLoop& loop = *state_.frame->loop;
  const auto is_it = [&](const auto& capture) { return capture.value->local == array.array; };
  const auto known = std::ranges::find_if(loop.captures, is_it);
  return read(
      known != loop.captures.end() ? known->inner : parts_.kernel_captures.pass(loop, array.array, range),
      range);
}

void BlockedLoops::finish(hir::ParallelLoop& loop, const Blocks& blocks, Range range) {
  if (!blocks.exist()) return;
  const auto inside = [&](E bound) {
    return read(parts_.kernel_captures.pass(loop, bound->local, range), range);
  };
  for (std::size_t i = loop.dimensions.size(); i-- > 0;) {
    const hir::ParallelLoop::Dimension& dimension = loop.dimensions[i];
    hir::Stmt* each = analysis_.make(StmtKind::kForRange, range);
    each->local = dimension.local;
    each->body = std::exchange(loop.body, {});
    if (i == 0) {
      // Counted from 0, so that all blocks but the last have the same bounds, which is uniform across lanes. The three
      // captures are adjacent: messages about blocks rely on it.
      hir::Local* const rows = parts_.kernel_captures.pass(loop, blocks.rows, range);
      E low = inside(dimension.low);
      E high = inside(dimension.high);
      loop.block_rows = rows;
      E skipped = binary(Binary::kMul, read(blocks.number, range), read(rows, range), range);
      hir::Local* const first = keep(binary(Binary::kAdd, low, skipped, range), loop.body);
      // The end of the last block may exceed the largest number, so the shorter distance is added.
      E left = binary(Binary::kSub, high, read(first, range), range);
      E distance = binary(Binary::kMin, left, read(rows, range), range);
      each->local = temporary(basic(TypeKind::kI64));
      each->value = number(0, range);
      each->limit = distance;
      E index = binary(Binary::kAdd, read(first, range), read(each->local, range), range);
      each->body.insert(each->body.begin(), let(dimension.local, index));
    } else {
      each->value = inside(dimension.low);
      each->limit = inside(dimension.high);
    }
    loop.iterated.insert(loop.iterated.begin(), dimension.local);
    loop.body.push_back(each);
  }
  parts_.folded_values.finish(loop, blocks, range);
  for (const ReducedArray& array : blocks.arrays) loop.copies.push_back(array.variable->local);
  loop.dimensions = {{blocks.number, number(0, range), read(blocks.count, range)}};
}

void BlockedLoops::fold(const hir::ParallelLoop& loop, const Blocks& blocks, Range range, Body& out) {
  // Functions may trap, and sums do not: after a trap the arrays are unchanged.
  parts_.folded_values.fold(blocks, range, out);
  for (const ReducedArray& reduced : blocks.arrays) {
    hir::Stmt* made = analysis_.make(StmtKind::kParallelFor, range);
    made->loop = std::make_unique<hir::ParallelLoop>();
    hir::ParallelLoop& fold = *made->loop;
    fold.device_hint = loop.device_hint;
    hir::Local* const array = parts_.kernel_captures.pass(fold, reduced.array, range);
    hir::Local* const copies = parts_.kernel_captures.pass(fold, reduced.copies, range);
    hir::Local* const count = parts_.kernel_captures.pass(fold, blocks.count, range);
    fold.copies.push_back(copies);
    std::vector<E> element = {read(array, range)};
    std::vector<E> copy = {read(copies, range), nullptr};
    for (E high : dimensions_of(reduced.array, range)) {
      hir::Local* const index = temporary(basic(TypeKind::kI64));
      fold.dimensions.push_back({index, number(0, range), high});
      element.push_back(read(index, range));
      copy.push_back(read(index, range));
    }
    const Type* type = array->type->element;
    hir::Local* const whole = keep(make(ExprKind::kIndex, type, range, element), fold.body);
    fold.body.push_back(count_loop(read(count, range), range, [&](E block) {
      copy[1] = block;
      Body each;
      hir::Local* const value = keep(make(ExprKind::kIndex, type, range, copy), each);
      fold_parts(reduced.op, read(whole, range), read(value, range), range, each);
      return each;
    }));
    fold.body.push_back(assign(make(ExprKind::kIndex, type, range, element), read(whole, range), range));
    out.push_back(made);
    // The next execution reuses their mapped and warm memory, and no device downloads them.
    out.push_back(
        evaluate(make(ExprKind::kArrayClose, basic(TypeKind::kVoid), range, {read(reduced.copies, range)})));
  }
}

// whole = whole op copy, for each number in them.
void BlockedLoops::fold_parts(ReductionOp op, E whole, E copy, Range range, Body& out) {
  if (whole->type->is(TypeKind::kStruct)) {
    for (std::uint32_t i = 0; i < whole->type->fields.size(); ++i) {
      fold_parts(op, parts_.members.field(whole, i, range), parts_.members.field(copy, i, range), range, out);
    }
    return;
  }
  hir::Stmt* update = analysis_.make(StmtKind::kUpdate, range);
  update->place = whole;
  update->value = copy;
  update->binary = ReductionChecker::binary_of(op);
  out.push_back(update);
}

}  // namespace dhpvm::compiler
