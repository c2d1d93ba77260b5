// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/kernel_captures.h"

#include <utility>

#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

// `this.data`, `cfg.scale`: the text that identifies the path, and the variable at its root.
bool KernelCaptures::path_of(const ast::Expr& expr, std::string& path, Variable*& root) {
  switch (expr.kind) {
    case ast::ExprKind::kThis:
      root = parts_.scopes.find_variable("this");
      path = "this";
      return root != nullptr;
    case ast::ExprKind::kName:
      path = expr.name.text;
      root = parts_.scopes.find_variable(expr.name.text);
      if (root != nullptr) return true;
      root = parts_.scopes.find_variable("this");
      path = "this." + path;
      return root != nullptr && parts_.names.this_has_field(expr.name.text);
    case ast::ExprKind::kMember:
      if (expr.safe || !path_of(*expr.operands[0], path, root)) return false;
      path += "." + std::string(expr.name.text);
      return true;
    default: return false;
  }
}

// A parallel loop reads a field path of an outer object once, before the loop. Null if `expr` is not such a path.
hir::Expr* KernelCaptures::hoisted(const ast::Expr& expr) {
  std::string path;
  Variable* root = nullptr;
  if (!path_of(expr, path, root) || root->frame == state_.frame) return nullptr;
  if (analysis_.is_plain(root->type) || is_kernel_array(root->type) || root->type->is(TypeKind::kError) ||
      root->type->is(TypeKind::kFixedArray)) {
    return nullptr;
  }
  if (auto known = state_.frame->paths.find(path); known != state_.frame->paths.end()) {
    return known->second == nullptr ? wrong(expr.range) : read(known->second->local, expr.range);
  }
  Frame* const kernel = state_.frame;
  state_.frame = kernel->outer;
  E value = parts_.conversions.value(expr);
  state_.frame = kernel;
  Variable* inner =
      value->type->is(TypeKind::kError) ? nullptr : capture_in_kernel(*kernel, path, value, expr.range);
  kernel->paths[path] = inner;
  return inner == nullptr ? wrong(expr.range) : read(inner->local, expr.range);
}

hir::Local* KernelCaptures::pass(hir::ParallelLoop& loop, hir::Local* outer, Range range) {
  hir::Local* inner = temporary(outer->type);
  inner->name = outer->name;
  loop.captures.push_back({inner, read(outer, range)});
  return inner;
}

bool KernelCaptures::is_kernel_array(const Type* type) {
  return type->is(TypeKind::kArray) && analysis_.is_plain(type->element);
}

// A copy of the elements of a fixed array, which is held in registers: the loop can capture the copy.
hir::Expr* KernelCaptures::array_of(hir::Local* fixed, Range range) {
  const Type* type = fixed->type;
  const auto size = [&](std::uint64_t value) { return integer(value, basic(TypeKind::kI64), range); };
  const std::uint64_t rows = ArrayChecker::rows_of(type);
  std::vector<E> sizes = {size(rows)};
  if (type->rank == 2) sizes.push_back(size(type->columns));
  Body before;
  hir::Local* const copy =
      keep(make(hir::ExprKind::kNewArray, types().array(type->element, type->rank), range, std::move(sizes)),
           before);
  const auto copied = [&](const std::vector<hir::Local*>& indices) {
    const auto element = [&](hir::Local* array) {
      std::vector<E> values;
      for (hir::Local* index : indices) values.push_back(read(index, range));
      return parts_.arrays.fixed_element(array, std::move(values), range);
    };
    E to = element(copy);
    return Body{assign(to, element(fixed), range)};
  };
  before.push_back(count_loop(size(rows), range, [&](E row) {
    if (type->rank == 1) return copied({row->local});
    return Body{count_loop(size(type->columns), range,
                           [&](E column) { return copied({row->local, column->local}); })};
  }));
  return in_block(std::move(before), read(copy, range), range);
}

bool KernelCaptures::refuses_write(const hir::Expr& array, Range range) {
  const auto copy = fixed_arrays_.find(array.local);
  if (copy == fixed_arrays_.end()) return false;
  const Type* type = copy->second;
  error(range, "a parallel loop cannot assign elements of '{}', a fixed array that is declared outside of it",
        array.local->name)
      .help("use an array: `let {} = {};`, or declare it in the loop", array.local->name,
            ArrayChecker::array_like(type));
  return true;
}

hir::Expr* KernelCaptures::receiver(const std::function<E()>& object) {
  const bool outer = std::exchange(is_receiver_, state_.in_kernel());
  E made = object();
  is_receiver_ = outer;
  return made;
}

// Whether a loop may capture such a value to call it or its methods. Collections of the library are better passed as
// arrays.
bool KernelCaptures::may_call(const Type* type) {
  if (type->is(TypeKind::kFunction)) return true;
  if (!is_receiver_ || !type->is(TypeKind::kClass) || type->is_enum) return false;
  const ast::Module* const source = analysis_.nominal(type)->symbol->module->module;
  return source != nullptr && !source->is_stdlib;
}

Variable* KernelCaptures::capture_in_kernel(Frame& kernel, std::string_view name, E value, Range range) {
  const Type* type = value->type;
  if (type->is(TypeKind::kError)) return nullptr;
  const bool is_fixed = type->is(TypeKind::kFixedArray);
  if (is_fixed) value = array_of(value->local, range);
  if (may_call(type)) {
    analysis_.loops_call_values();
  } else if (!analysis_.is_plain(type) && !is_kernel_array(type) && !is_fixed) {
    // A constant has no variable.
    if (name.empty() && value->kind == hir::ExprKind::kLocal) name = value->local->name;
    Diagnostic& diagnostic = error(range, "a parallel loop cannot use '{}', a '{}'", name, type->name);
    if (type->is(TypeKind::kClass) && analysis_.nominal(type)->symbol->methods.contains("to_array")) {
      diagnostic.help("take what it holds before the loop: `let array = {}.to_array();`", name);
    } else if (type->is(TypeKind::kClass) || type->is(TypeKind::kInterface)) {
      diagnostic.help("name the fields it needs, such as `{}.field`: they are read once before the loop",
                      name);
    } else if (type->is(TypeKind::kNullable)) {
      diagnostic.help("test it for null before the loop");
    } else if (type->is(TypeKind::kArray) && is_kernel_array(type->element)) {
      diagnostic.help(
          "use a matrix, `[T, 2]`; of a constant whose rows have one length, it can read elements, "
          "`{}[i][j]`",
          name);
    } else if (type->is(TypeKind::kArray)) {
      diagnostic.help("use arrays of numbers, bool, or structs of these");
    } else {
      diagnostic.help("it can use numbers, bool, structs of these, and arrays of them");
    }
    return nullptr;
  }
  Variable& inner = state_.variables.emplace_back();
  inner.name = name;
  inner.type = type;
  inner.kind = VariableKind::kLet;
  inner.range = range;
  inner.frame = &kernel;
  inner.local = temporary(value->type);
  inner.local->name = name;
  if (is_fixed) fixed_arrays_[inner.local] = type;
  kernel.loop->captures.push_back({inner.local, value});
  return &inner;
}

}  // namespace dhpvm::compiler
