// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/arguments.h"

#include "base/spelling.h"
#include "compiler/check/body_parts.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

using hir::ExprKind;

namespace {

// "Map.get" of "Map<str, i64>.get".
std::string without_type_arguments(std::string_view name) {
  const std::size_t begin = name.find('<');
  const std::size_t end = name.rfind('>');
  if (begin == std::string_view::npos || end == std::string_view::npos) return std::string(name);
  return std::string(name.substr(0, begin)).append(name.substr(end + 1));
}

}  // namespace

// Adds what to write in place of such arguments, for functions and types of the library.
void ArgumentMatching::help_with_arguments(Diagnostic& diagnostic, const Callee& callee,
                                           std::string_view arguments) {
  if (!callee.has_declaration) return;
  const std::string& file = analysis_.diagnostics().sources().file(callee.declared.file).name();
  const bool is_of_arrays = file == "stdlib/array.dhp";
  const std::string_view advice = advice_for_foreign(
      fmt::format("{}{}{}", is_of_arrays ? "array." : "", without_type_arguments(callee.name), arguments));
  if (!advice.empty()) diagnostic.help("{}", advice);
}

bool ArgumentMatching::match_arguments(const Callee& callee, const ast::Expr& call,
                                       std::vector<const ast::Expr*>& matched) {
  const auto declared = [&](Diagnostic& diagnostic) {
    if (callee.has_declaration) diagnostic.note(callee.declared, "'{}' is declared here", callee.name);
  };
  const std::size_t count = callee.parameters.size();
  const std::size_t receivers = callee.has_receiver ? 1 : 0;
  const auto report_count = [&](Range range) {
    const std::size_t wanted = count - receivers;
    const std::size_t given = call.arguments.size() - receivers;
    Diagnostic& diagnostic =
        error(range, "'{}' takes {} argument{}, not {}", callee.name, wanted, wanted == 1 ? "" : "s", given);
    help_with_arguments(diagnostic, callee, fmt::format("/{}", given));
    help_with_arguments(diagnostic, callee, "(...)");
    declared(diagnostic);
  };
  matched.assign(count, nullptr);
  std::size_t position = 0;
  for (const ast::Argument& argument : call.arguments) {
    std::size_t index = count;
    if (argument.name.empty()) {
      if (position >= count) {
        report_count(argument.value->range);
        return false;
      }
      index = position++;
    } else {
      std::vector<std::string_view> names;
      for (std::size_t i = 0; i < count; ++i) {
        names.push_back(callee.parameters[i].name);
        if (callee.parameters[i].name == argument.name.text) index = i;
      }
      if (index == count) {
        Diagnostic& diagnostic =
            error(argument.name.range, "'{}' has no parameter '{}'", callee.name, argument.name.text);
        declared(diagnostic);
        if (std::string_view near = nearest_name(argument.name.text, names); !near.empty()) {
          diagnostic.help("write `{}: ...`", near);
        } else {
          help_with_arguments(diagnostic, callee, fmt::format("({}: )", argument.name.text));
        }
        return false;
      }
    }
    if (matched[index] != nullptr) {
      error(argument.value->range, "'{}' is given twice", callee.parameters[index].name)
          .note(matched[index]->range, "first given here");
      return false;
    }
    matched[index] = argument.value;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Callee::Parameter& parameter = callee.parameters[i];
    if (matched[i] != nullptr || parameter.optional) continue;
    if (parameter.type != nullptr && parameter.type->is(TypeKind::kError)) return false;
    if (parameter.name.empty()) {
      report_count(call.range);
    } else {
      Diagnostic& diagnostic = error(call.range, "'{}' is not given to '{}'", parameter.name, callee.name);
      declared(diagnostic);
      help_with_arguments(diagnostic, callee, "(...)");
      if (diagnostic.helps.empty() && parameter.type != nullptr)
        diagnostic.help("add `{}: ...`, a '{}', or give it a default where it is declared", parameter.name,
                        parameter.type->name);
    }
    return false;
  }
  return true;
}

bool ArgumentMatching::arguments(const Callee& callee, const ast::Expr& call, const std::vector<E>* ready,
                                 std::vector<hir::Stmt*>& before, std::vector<E>& values) {
  std::vector<const ast::Expr*> matched;
  if (!match_arguments(callee, call, matched)) {
    if (ready == nullptr || ready->empty()) check_all(call);
    return false;
  }
  const std::size_t count = callee.parameters.size();
  values.assign(count, nullptr);
  // Arguments are evaluated in the order of the source. If names reorder them, temporaries keep that order.
  std::vector<std::size_t> order;
  bool reordered = false;
  for (const ast::Argument& argument : call.arguments) {
    for (std::size_t i = 0; i < count; ++i) {
      if (matched[i] != argument.value) continue;
      reordered = reordered || (!order.empty() && i < order.back());
      order.push_back(i);
    }
  }
  bool good = true;
  for (std::size_t i : order) {
    const Callee::Parameter& parameter = callee.parameters[i];
    const bool checked = ready != nullptr && i < ready->size() && (*ready)[i] != nullptr;
    E value = checked ? parts_.conversions.coerce((*ready)[i], parameter.type, matched[i]->range)
                      : parts_.conversions.value_as(*matched[i], parameter.type);
    good = good && !value->type->is(TypeKind::kError) && !parameter.type->is(TypeKind::kError);
    values[i] = reordered ? stable(value, before) : value;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (values[i] != nullptr) continue;
    const Callee::Parameter& parameter = callee.parameters[i];
    if (parameter.fallback != nullptr) {
      const std::size_t before_it = analysis_.diagnostics().error_count();
      values[i] = fallback_value(*parameter.fallback, parameter.type, callee.fallback_context);
      if (analysis_.diagnostics().error_count() != before_it) {
        error(call.range, "the default of '{}' does not fit in this call of '{}'", parameter.name,
              callee.name)
            .help("give it: `{}: ...`, a '{}'", parameter.name, parameter.type->name);
        values[i] = wrong(call.range);
      }
    } else {
      values[i] = make(ExprKind::kNull, parameter.type, call.range);
    }
    good = good && !values[i]->type->is(TypeKind::kError);
  }
  return good;
}

// A default is resolved in the module of the declaration, not in the caller's.
hir::Expr* ArgumentMatching::fallback_value(const ast::Expr& expr, const Type* type,
                                            const TypeContext& context) {
  Frame isolated;
  isolated.scopes.emplace_back();
  isolated.function = state_.frame->function;
  Frame* const frame = state_.frame;
  Nominal* const self = state_.self;
  TypeContext outer = std::move(state_.context);
  Flow flow = state_.flow;
  state_.frame = &isolated;
  state_.self = nullptr;
  state_.context = context;
  state_.assignments.collect(expr);
  E value = parts_.conversions.value_as(expr, type);
  state_.frame = frame;
  state_.self = self;
  state_.context = std::move(outer);
  state_.flow = std::move(flow);
  return value;
}

void ArgumentMatching::check_all(const ast::Expr& call) {
  for (const ast::Argument& argument : call.arguments) {
    // Without known parameter types a closure would only report that they are missing.
    if (argument.value->kind != ast::ExprKind::kClosure) parts_.expressions.expr(*argument.value);
  }
}

bool ArgumentMatching::expect_arguments(const ast::Expr& call, std::size_t least, std::size_t most,
                                        std::string_view usage) {
  bool good = call.arguments.size() >= least && call.arguments.size() <= most;
  for (const ast::Argument& argument : call.arguments) good = good && argument.name.empty();
  if (good) return true;
  check_all(call);
  Diagnostic& diagnostic = error(call.range, "wrong arguments");
  for (const ast::Argument& argument : call.arguments) {
    if (!usage.starts_with("print(")) break;
    if (argument.name.text == "end") diagnostic.help("`io.write(text)` writes without a line end");
    if (argument.name.text == "sep") diagnostic.help("write `[a, b].join(\", \")`, or a formatted string");
  }
  diagnostic.help("write `{}`", usage);
  return false;
}

}  // namespace dhpvm::compiler
