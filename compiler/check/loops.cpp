// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/loops.h"

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "compiler/check/body_parts.h"
#include "compiler/check/fold.h"
#include "compiler/check/iterators.h"
#include "compiler/parse/ast_children.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

using hir::ExprKind;
using hir::StmtKind;

// Checks the body of a loop in its own scope. Before it, `state_.flow` is the state at the start of every iteration;
// after it, that at the end. `left` collects the states of `break`.
void LoopChecker::loop_body(const ast::Stmt& loop, Flow& left, Body& out) {
  left.reachable = false;
  const ast::Name& label = loop.label;
  const auto same = [&](const BodyState::Loop& outer) { return outer.label == label.text; };
  if (!label.empty() && std::any_of(state_.loops.begin(), state_.loops.end(), same))
    error(label.range, "a loop around this one is called '{}', too", label.text).help("choose another name");
  state_.loops.push_back({&left, label.text});
  ++state_.frame->loops;
  parts_.statements.block(*loop.body[0], out);
  --state_.frame->loops;
  state_.loops.pop_back();
}

void LoopChecker::while_stmt(const ast::Stmt& stmt, Body& out) {
  parts_.narrowing.forget_assigned_in(stmt.range);
  Condition test = parts_.narrowing.condition(*stmt.value);
  const Flow entry = state_.flow;
  hir::Stmt* made = analysis_.make(StmtKind::kWhile, stmt.range);
  made->value = test.value;
  Flow left;
  parts_.narrowing.learn(test.when_true);
  loop_body(stmt, left, made->body);
  state_.flow = entry;
  parts_.narrowing.learn(test.when_false);
  const bool endless = stmt.value->kind == ast::ExprKind::kBool && stmt.value->integer != 0;
  if (endless) state_.flow.reachable = false;
  state_.flow = Narrowing::merge(state_.flow, left);
  if (!test.value->type->is(TypeKind::kError)) out.push_back(made);
}

// The bounds of a range, of one integer type. False after a diagnostic.
bool LoopChecker::range_bounds(const ast::Expr& low, const ast::Expr& high, E& low_value, E& high_value) {
  const bool low_open = LiteralChecker::is_flexible(low);
  const bool high_open = LiteralChecker::is_flexible(high);
  if (low_open && !high_open) {
    high_value = parts_.conversions.value(high);
    low_value = parts_.conversions.value(low, high_value->type);
  } else {
    low_value = parts_.conversions.value(low);
    high_value = parts_.conversions.value(high, low_value->type);
  }
  if (low_value->type->is(TypeKind::kError) || high_value->type->is(TypeKind::kError)) return false;
  for (const auto& [bound, syntax] : {std::pair{low_value, &low}, std::pair{high_value, &high}}) {
    if (bound->type->is_integer()) continue;
    Diagnostic& diagnostic =
        error(syntax->range, "the bounds of a range are integers, not '{}'", bound->type->name);
    if (bound->type->is_float()) diagnostic.help("convert: `as i64`");
    return false;
  }
  if (low_value->type != high_value->type) {
    error(high.range, "the range starts as '{}' and ends as '{}'", low_value->type->name,
          high_value->type->name)
        .help("convert one of them with `as`");
    return false;
  }
  return true;
}

void LoopChecker::for_range(const ast::Stmt& stmt, Body& out) {
  hir::Stmt* made = analysis_.make(StmtKind::kForRange, stmt.range);
  made->inclusive = stmt.inclusive;
  bool good = range_bounds(*stmt.value, *stmt.limit, made->value, made->limit);
  const Type* type = good ? made->value->type : error_type();
  if (stmt.step != nullptr) {
    made->step = good ? parts_.conversions.value_as(*stmt.step, type) : parts_.conversions.value(*stmt.step);
    good = good && !made->step->type->is(TypeKind::kError);
    if (const auto known = good ? fold(*made->step) : std::nullopt; known.has_value()) {
      if (known->integer == 0) {
        error(stmt.step->range, "a step of 0 never ends");
        good = false;
      }
      made->step = integer(known->integer, type, stmt.step->range);
    } else if (good && made->step->kind == ExprKind::kUnary) {
      error(stmt.step->range, "a negative step must be constant")
          .help("count upwards and compute the index, or write a `while` loop");
      good = false;
    }
  }
  parts_.narrowing.forget_assigned_in(stmt.range);
  const Flow entry = state_.flow;
  Flow left;
  parts_.scopes.open_scope();
  made->local = parts_.scopes.declare(stmt.name, type, VariableKind::kLoop)->local;
  loop_body(stmt, left, made->body);
  parts_.scopes.close_scope();
  state_.flow = Narrowing::merge(entry, left);
  if (good) out.push_back(made);
}

// A loop that gets its elements from an iterator.
void LoopChecker::for_iterator(const ast::Stmt& stmt, IteratorLoops& iterators, const IteratedValue& given,
                               Body& out) {
  parts_.narrowing.forget_assigned_in(stmt.range);
  const Flow entry = state_.flow;
  Flow left;
  IteratorLoops::Loop loop = iterators.begin(stmt, given.collection);
  const bool positions = given.names == LoopNames::kPositionAndElement && stmt.has_index();
  parts_.scopes.open_scope();
  if (positions) iterators.count(loop, declare_position(stmt), stmt.value->range);
  parts_.scopes.open_scope();
  if (given.names == LoopNames::kPair) {
    loop.element = declare_pair(loop.element, stmt, loop.made->body);
    loop.is_good = loop.is_good && !loop.element->type->is(TypeKind::kError);
  } else if (!stmt.patterns.empty()) {
    declare_parts(stmt, loop.element, given.has_pairs, loop.made->body);
  } else {
    Variable* item = parts_.scopes.declare(stmt.name, loop.element->type, VariableKind::kLoop);
    loop.made->body.push_back(let(item->local, loop.element));
  }
  const std::size_t errors = analysis_.diagnostics().error_count();
  loop_body(stmt, left, loop.made->body);
  if (positions && stmt.patterns.empty())
    warn_of_position(stmt, loop.element->type, analysis_.diagnostics().error_count() != errors);
  parts_.scopes.close_scope();
  parts_.scopes.close_scope();
  state_.flow = Narrowing::merge(entry, left);
  loop.whole->body.push_back(loop.made);
  if (loop.is_good) out.push_back(loop.whole);
}

void LoopChecker::for_each(const ast::Stmt& stmt, Body& out) {
  IteratorLoops iterators(parts_);
  E given = iterators.value(*stmt.value);
  const Range range = stmt.value->range;
  IteratedValue iterated_value{given};
  if (!iterators.is_iterator(given->type, range)) iterated_value = iterated(given, stmt);
  E collection = iterated_value.collection;
  if (iterators.is_iterator(collection->type, range))
    return for_iterator(stmt, iterators, iterated_value, out);
  parts_.narrowing.forget_assigned_in(stmt.range);
  const Flow entry = state_.flow;
  Flow left;
  const Type* i64 = basic(TypeKind::kI64);
  Body before;
  if (is_assigned_in(*stmt.value, stmt.range)) {
    // The loop continues over the initial collection, even if its body assigns the variable.
    hir::Local* kept = temporary(collection->type);
    before.push_back(let(kept, collection));
    collection = read(kept, range);
  } else if (!collection->type->is(TypeKind::kFixedArray)) {
    collection = stable(collection, before);
  }

  parts_.scopes.open_scope();
  const bool positions = iterated_value.names == LoopNames::kPositionAndElement && stmt.has_index();
  hir::Local* index = positions ? declare_position(stmt) : temporary(i64);
  E element = nullptr;
  E count = count_of(collection, range);
  if (count != nullptr) element = element_of(collection, read(index, range), range);
  if (element == nullptr) {
    if (!collection->type->is(TypeKind::kError)) {
      report_not_iterable(collection->type, range);
    }
    element = wrong(range);
  }
  hir::Stmt* made = analysis_.make(StmtKind::kForRange, stmt.range);
  made->local = index;
  made->value = integer(0, i64, range);
  made->limit = count;
  parts_.scopes.open_scope();
  if (iterated_value.names == LoopNames::kPair) {
    element = declare_pair(element, stmt, made->body);
  } else if (!stmt.patterns.empty()) {
    declare_parts(stmt, element, iterated_value.has_pairs, made->body);
  } else {
    Variable* item = parts_.scopes.declare(stmt.name, element->type, VariableKind::kLoop);
    made->body.push_back(let(item->local, element));
  }
  const std::size_t errors = analysis_.diagnostics().error_count();
  loop_body(stmt, left, made->body);
  if (positions && stmt.patterns.empty())
    warn_of_position(stmt, element->type, analysis_.diagnostics().error_count() != errors);
  parts_.scopes.close_scope();
  parts_.scopes.close_scope();
  state_.flow = Narrowing::merge(entry, left);
  if (element->type->is(TypeKind::kError)) return;
  if (before.empty()) {
    out.push_back(made);
    return;
  }
  hir::Stmt* whole = analysis_.make(StmtKind::kBlock, stmt.range);
  whole->body = std::move(before);
  whole->body.push_back(made);
  out.push_back(whole);
}

// The first variable of `for i, x in xs`.
hir::Local* LoopChecker::declare_position(const ast::Stmt& stmt) {
  const Type* i64 = basic(TypeKind::kI64);
  if (stmt.index_patterns.empty())
    return parts_.scopes.declare(stmt.index_name, i64, VariableKind::kLoop)->local;
  const ast::Pattern& pattern = stmt.index_patterns[0];
  error(pattern.range, "this is the position of each element, a number, which has no parts")
      .help("write a name");
  parts_.patterns.bind_wrong(pattern);
  return temporary(i64);
}

// The variables of `for (a, b) in tuples`.
void LoopChecker::declare_parts(const ast::Stmt& stmt, E element, bool has_pairs, Body& out) {
  const ast::Pattern& pattern = stmt.patterns[0];
  if (element->type->is(TypeKind::kError)) return parts_.patterns.bind_wrong(pattern);
  if (has_pairs && !analysis_.tuples().is_tuple(element->type)) {
    error(pattern.range, "this goes over a '{}' each, which is no tuple", element->type->name)
        .help("remove the parentheses: `for k, v in ...` goes over pairs");
    return parts_.patterns.bind_wrong(pattern);
  }
  parts_.tuples.declare(pattern, element, VariableKind::kLoop, out);
}

// The two variables of `for k, v in pairs`, which are the fields of `pair`.
hir::Expr* LoopChecker::declare_pair(E pair, const ast::Stmt& stmt, Body& out) {
  const Type* type = pair->type;
  if (Nominal* nominal = analysis_.nominal(type); nominal != nullptr) analysis_.complete(*nominal);
  const bool good = type->is(TypeKind::kStruct) && type->fields.size() == 2 && !type->is_enum &&
                    !analysis_.errors().is_result(type);
  if (!good && !type->is(TypeKind::kError)) {
    error(stmt.value->range, "`iterate_pairs` gives elements of type '{}'", type->name)
        .help("let it give structs of two fields, which are the two variables of the loop");
  }
  if (good) pair = stable(pair, out);
  for (std::uint32_t i = 0; i < 2; ++i) {
    E part = good ? parts_.members.field(pair, i, stmt.value->range) : wrong(stmt.value->range);
    const std::vector<ast::Pattern>& patterns = i == 0 ? stmt.index_patterns : stmt.patterns;
    if (!patterns.empty()) {
      parts_.tuples.declare(patterns[0], part, VariableKind::kLoop, out);
      continue;
    }
    const ast::Name& name = i == 0 ? stmt.index_name : stmt.name;
    Variable* variable = parts_.scopes.declare(name, part->type, VariableKind::kLoop);
    out.push_back(let(variable->local, part));
  }
  return good ? pair : wrong(stmt.value->range);
}

// Whether `name` is a variable that the loop assigns.
bool LoopChecker::is_assigned_in(const ast::Expr& name, Range loop) {
  if (name.kind != ast::ExprKind::kName) return false;
  const Variable* variable = parts_.scopes.find_variable(name.name.text);
  return variable != nullptr && state_.assignments.inside(variable->range, loop);
}

// `collection`, or the result of its method `iterate()` or `iterate_pairs()`, which `for` iterates over. That method's
// result may have such a method itself.
LoopChecker::IteratedValue LoopChecker::iterated(E collection, const ast::Stmt& loop) {
  constexpr int kMostResults = 8;  // of methods that give objects of their own type
  const Range range = loop.value->range;
  const auto given_by = [&](std::string_view method) {
    E result = nullptr;
    for (int i = 0; i < kMostResults; ++i) {
      E given = parts_.calls.invoke(result == nullptr ? collection : result, method, {}, range);
      if (given == nullptr || given->type->is(TypeKind::kVoid)) break;
      result = given;
      if (parts_.calls.parameters_of(given->type, "nth", range) != nullptr) break;
    }
    return result;
  };
  if (loop.has_index()) {
    if (E pairs = given_by("iterate_pairs"); pairs != nullptr) return {pairs, LoopNames::kPair, true};
  }
  E given = given_by("iterate");
  const bool has_pairs = !loop.has_index() && !loop.patterns.empty() && given_by("iterate_pairs") != nullptr;
  return {given == nullptr ? collection : given, LoopNames::kPositionAndElement, has_pairs};
}

namespace {

// Whether the first name in the head of a loop suggests a position.
bool is_name_of_position(std::string_view name) {
  constexpr std::string_view kNames[] = {"i",   "j",        "k",      "n",    "index", "idx",
                                         "pos", "position", "number", "line", "row",   "at"};
  return name.starts_with('_') || std::ranges::find(kNames, name) != std::end(kNames);
}

// Whether a name suggests a position, and not an element.
bool is_name_of_index(std::string_view name) {
  constexpr std::string_view kNames[] = {"i", "j", "index", "idx", "pos", "position"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

// Whether a node destructures the tuple in the variable: `x.0`, `let (a, b) = x`, `match x`.
template <typename Node>
bool takes_apart(const Node& node, std::string_view variable) {
  const auto is_it = [&](const ast::Expr* value) {
    return value != nullptr && value->kind == ast::ExprKind::kName && value->name.text == variable;
  };
  bool found = false;
  if constexpr (std::is_same_v<Node, ast::Stmt>) {
    const bool has_patterns = !node.patterns.empty() || !node.arms.empty() ||
                              (node.place != nullptr && node.place->kind == ast::ExprKind::kTuple);
    found = has_patterns && is_it(node.value);
  } else if constexpr (std::is_same_v<Node, ast::Expr>) {
    const bool takes = node.kind == ast::ExprKind::kMember || node.kind == ast::ExprKind::kMatch;
    found = takes && !node.operands.empty() && is_it(node.operands[0]);
  }
  const ast::Overloaded visit{[&](const auto& part) { found = found || takes_apart(part, variable); }};
  if (!found) ast::for_each_child(node, visit);
  return found;
}

// Whether a node depends on the type of the variable. Arguments of `print` and `str`, and values in the braces of a
// formatted string, may have any type.
template <typename Node>
bool needs_type(const Node& node, std::string_view variable) {
  const auto is_it = [&](const ast::Expr* value) {
    return value != nullptr && value->kind == ast::ExprKind::kName && value->name.text == variable;
  };
  if constexpr (std::is_same_v<Node, ast::Expr>) {
    if (is_it(&node)) return true;
    const bool is_call = node.kind == ast::ExprKind::kCall && node.operands[0]->kind == ast::ExprKind::kName;
    if (is_call && (node.operands[0]->name.text == "print" || node.operands[0]->name.text == "str")) {
      return std::ranges::any_of(node.arguments, [&](const ast::Argument& argument) {
        return !is_it(argument.value) && needs_type(*argument.value, variable);
      });
    }
    if (node.kind == ast::ExprKind::kFormat) {
      return std::ranges::any_of(node.parts, [&](const ast::FormatPart& part) {
        const bool shows = part.spec.text.empty() && is_it(part.value);
        return part.value != nullptr && !shows && needs_type(*part.value, variable);
      });
    }
  }
  bool found = false;
  const ast::Overloaded visit{[&](const auto& part) { found = found || needs_type(part, variable); }};
  ast::for_each_child(node, visit);
  return found;
}

}  // namespace

// Warns about `for name, age in people` over pairs: in other languages these are the halves of the pair, but here the
// position and the pair. Also about `for word, i in words`: in other languages the position comes last. No warning if
// the body is free of errors and needs the type of a position or of the pair.
void LoopChecker::warn_of_position(const ast::Stmt& stmt, const Type* element, bool has_errors) {
  if (state_.context.module->module->is_stdlib || !state_.context.bindings.empty()) return;
  if (!stmt.index_patterns.empty()) return;
  const std::string_view first = stmt.index_name.text;
  const std::string_view second = stmt.name.text;
  const ast::Stmt& body = *stmt.body[0];
  const bool is_pair = analysis_.tuples().is_tuple(element) && element->fields.size() == 2;
  const bool is_byte = element->is(TypeKind::kU8);
  const bool looks_swapped = is_name_of_index(second) && (!element->is_integer() || is_byte);
  if (is_name_of_position(first) || !(is_pair || looks_swapped) || takes_apart(body, second)) return;
  const bool is_number = is_pair && element->fields[0].type->is_integer();
  const bool needs_position = !is_number && needs_type(body, first);
  if (!has_errors && (needs_position || needs_type(body, second))) return;
  Diagnostics& diagnostics = analysis_.diagnostics();
  const Range range = join(stmt.index_name.range, stmt.name.range);
  if (is_pair) {
    diagnostics
        .warning(range, "'{}' is the position of each '{}', and '{}' the whole", first, element->name, second)
        .help("write `for ({}, {}) in ...` for the parts, or `_{}` for the position", first, second, first);
  } else {
    diagnostics
        .warning(range, "'{}' is the position of each element, and '{}' the element, a '{}'", first, second,
                 element->name)
        .help("write `for {}, {} in ...`: the position comes first", second, first);
  }
}

void LoopChecker::report_not_iterable(const Type* type, Range range) {
  Diagnostic& diagnostic = error(range, "a '{}' cannot be iterated over", type->name);
  parts_.results.explain(diagnostic, type, range);
  Nominal* nominal = analysis_.nominal(type);
  if (type->is_integer()) {
    diagnostic.help("write a range: `0..n`");
  } else if (type->is(TypeKind::kNullable)) {
    diagnostic.help("test it for null first");
  } else if (type->is(TypeKind::kArray)) {
    diagnostic.help("iterate over its indices: `for i in 0..a.rows`");
  } else if (analysis_.tuples().is_tuple(type)) {
    diagnostic.help("take it apart, `let (a, b) = ...;`, or make an array of its values");
  } else if (const std::string_view advice =
                 nominal == nullptr || !nominal->symbol->module->module->is_stdlib
                     ? std::string_view()
                     : advice_for_foreign(fmt::format("for {}", nominal->symbol->name()));
             !advice.empty()) {
    diagnostic.help("{}", advice);
  } else if (nominal != nullptr && nominal->symbol->methods.contains("get")) {
    diagnostic.help(
        "if `get` takes positions from 0 to `len() - 1`, say so: `fn nth(i: i64) -> T => get(i);`");
  } else if (nominal != nullptr && nominal->symbol->methods.contains("next")) {
    diagnostic.help(
        "an iterator is a struct with the methods `has_next() -> bool` and `next()`, which gives two fields: "
        "the element, and the iterator behind it");
  } else if (nominal != nullptr) {
    diagnostic.help(
        "give it a method `iterate()` whose result can be, or the methods `len() -> i64` and `nth(i64)`");
  } else {
    diagnostic.help(
        "arrays, str, and types with a method `iterate()`, or with `len() -> i64` and `nth(i64)`, can");
  }
}

// The number of elements of `collection` for `for`; null if it is not iterable.
hir::Expr* LoopChecker::count_of(E collection, Range range) {
  const Type* i64 = basic(TypeKind::kI64);
  const Type* type = collection->type;
  switch (type->kind) {
    case TypeKind::kArray:
      return type->rank == 1 ? make(ExprKind::kArrayLength, i64, range, {collection}) : nullptr;
    case TypeKind::kFixedArray: return type->rank == 1 ? integer(type->count, i64, range) : nullptr;
    case TypeKind::kStr: return make(ExprKind::kStringLength, i64, range, {collection});
    default: break;
  }
  E made = parts_.calls.invoke(collection, "len", {}, range);
  return made != nullptr && made->type == i64 ? made : nullptr;
}

hir::Expr* LoopChecker::element_of(E collection, E index, Range range) {
  const Type* type = collection->type;
  switch (type->kind) {
    case TypeKind::kArray: return make(ExprKind::kIndex, type->element, range, {collection, index});
    case TypeKind::kFixedArray: return parts_.arrays.fixed_element(collection->local, {index}, range);
    case TypeKind::kStr: return make(ExprKind::kStringByte, basic(TypeKind::kU8), range, {collection, index});
    default: break;
  }
  E made = parts_.calls.invoke(collection, "nth", {index}, range);
  return made != nullptr && !made->type->is(TypeKind::kVoid) ? made : nullptr;
}

}  // namespace dhpvm::compiler
