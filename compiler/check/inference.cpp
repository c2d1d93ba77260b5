// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/inference.h"

#include <algorithm>
#include <utility>

#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

bool TypeInference::resolve_all(const std::vector<ast::Type*>& written, std::vector<const Type*>& types) {
  for (const ast::Type* syntax : written) {
    types.push_back(analysis_.resolve(syntax, state_.context));
    if (types.back()->is(TypeKind::kError)) return false;
  }
  return true;
}

void TypeInference::bind(Inference& inference, std::size_t index, const Type* type) {
  inference.arguments[index] = type;
  inference.context.bindings.emplace_back((*inference.parameters)[index].name.text, type);
}

Inference TypeInference::of_new(const NominalSymbol& symbol, const Type* expected) {
  Inference inference;
  inference.parameters = &symbol.declaration->type_parameters;
  inference.arguments.resize(inference.parameters->size());
  inference.context.module = symbol.module;
  if (expected != nullptr && expected->is(TypeKind::kNullable)) expected = expected->element;
  const Nominal* target = expected != nullptr ? analysis_.nominal(expected) : nullptr;
  if (target != nullptr && target->symbol == &symbol) {
    for (std::size_t i = 0; i < target->arguments.size(); ++i) bind(inference, i, target->arguments[i]);
  }
  return inference;
}

namespace {

// The number of the type parameter that `pattern` names, or -1.
std::ptrdiff_t parameter_index(const ast::Type& pattern, const std::vector<ast::TypeParameter>& parameters) {
  if (pattern.kind != ast::TypeKind::kNamed || !pattern.qualifier.empty()) return -1;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name.text == pattern.name.text) return static_cast<std::ptrdiff_t>(i);
  }
  return -1;
}

}  // namespace

bool TypeInference::mentions_unknown(const ast::Type* pattern, const Inference& inference) {
  if (pattern == nullptr) return false;
  if (const std::ptrdiff_t index = parameter_index(*pattern, *inference.parameters); index >= 0) {
    return inference.arguments[static_cast<std::size_t>(index)] == nullptr;
  }
  for (const ast::Type* argument : pattern->arguments) {
    if (mentions_unknown(argument, inference)) return true;
  }
  return mentions_unknown(pattern->element, inference);
}

const Type* TypeInference::known_type(const ast::Type* pattern, const Inference& inference) {
  return mentions_unknown(pattern, inference) ? nullptr : analysis_.resolve(pattern, inference.context);
}

NominalSymbol* TypeInference::alias_named(const ast::Type& pattern, const Inference& inference) {
  if (pattern.kind != ast::TypeKind::kNamed) return nullptr;
  NominalSymbol* symbol =
      analysis_.find_type(pattern.qualifier.text, pattern.name.text, pattern.range, inference.context, false);
  return symbol != nullptr && symbol->is_alias() ? symbol : nullptr;
}

// For the type parameters of an alias itself.
Inference TypeInference::for_alias(const NominalSymbol& symbol) {
  Inference inference;
  inference.parameters = &symbol.declaration->type_parameters;
  inference.arguments.resize(inference.parameters->size());
  inference.context.module = symbol.module;
  return inference;
}

const Type* TypeInference::of_alias(NominalSymbol& symbol, const std::vector<ast::Type*>& written,
                                    const Type* expected, Range range) {
  std::vector<const Type*> arguments;
  if (!written.empty()) {
    if (!resolve_all(written, arguments)) return nullptr;
  } else {
    Inference inference = for_alias(symbol);
    if (expected != nullptr && expected->is(TypeKind::kNullable)) expected = expected->element;
    unify(symbol.declaration->aliased, expected, inference);
    for (std::size_t i = 0; i < inference.arguments.size(); ++i) {
      if (inference.arguments[i] != nullptr) continue;
      error(range, "the type argument '{}' of '{}' is not known here", (*inference.parameters)[i].name.text,
            symbol.name())
          .note(symbol.declaration->name.range, "'{}' is declared here", symbol.name())
          .help("write it: `{}<...>`", symbol.name());
      return nullptr;
    }
    arguments = std::move(inference.arguments);
  }
  const Type* type = analysis_.instantiate(symbol, std::move(arguments), range);
  return type->is(TypeKind::kError) ? nullptr : type;
}

void TypeInference::unify(const ast::Type* pattern, const Type* type, Inference& inference) {
  if (pattern == nullptr || type == nullptr || type->is(TypeKind::kError) || type->is(TypeKind::kVoid) ||
      type->is(TypeKind::kNever))
    return;
  if (const std::ptrdiff_t found = parameter_index(*pattern, *inference.parameters); found >= 0) {
    const auto index = static_cast<std::size_t>(found);
    if (inference.arguments[index] == nullptr && !type->is(TypeKind::kNull)) bind(inference, index, type);
    return;
  }
  switch (pattern->kind) {
    case ast::TypeKind::kArray:
      if (type->is(TypeKind::kArray)) unify(pattern->element, type->element, inference);
      return;
    case ast::TypeKind::kFixedArray:
      if (type->is(TypeKind::kFixedArray)) unify(pattern->element, type->element, inference);
      return;
    case ast::TypeKind::kNullable:
      unify(pattern->element, type->is(TypeKind::kNullable) ? type->element : type, inference);
      return;
    case ast::TypeKind::kResult: {
      const Type* value = analysis_.errors().value_in(type);
      return unify(pattern->element, value != nullptr ? value : type, inference);
    }
    case ast::TypeKind::kFunction:
      if (!type->is(TypeKind::kFunction) || type->parameters.size() != pattern->arguments.size()) return;
      for (std::size_t i = 0; i < type->parameters.size(); ++i) {
        unify(pattern->arguments[i], type->parameters[i], inference);
      }
      unify(pattern->element, type->result, inference);
      return;
    case ast::TypeKind::kTuple:
      if (!analysis_.tuples().is_tuple(type) || type->fields.size() != pattern->arguments.size()) return;
      for (std::size_t i = 0; i < type->fields.size(); ++i)
        unify(pattern->arguments[i], type->fields[i].type, inference);
      return;
    case ast::TypeKind::kNamed: break;
    default: return;
  }
  if (pattern->arguments.empty()) return;
  if (const NominalSymbol* alias = alias_named(*pattern, inference); alias != nullptr) {
    Inference inner = for_alias(*alias);
    if (inner.arguments.size() != pattern->arguments.size()) return;
    unify(alias->declaration->aliased, type, inner);
    for (std::size_t i = 0; i < inner.arguments.size(); ++i)
      unify(pattern->arguments[i], inner.arguments[i], inference);
    return;
  }
  if (type->is(TypeKind::kWeak)) {
    if (pattern->name.text == "Weak") unify(pattern->arguments[0], type->element, inference);
    return;
  }
  Nominal* nominal = analysis_.nominal(type);
  if (nominal == nullptr) return;
  NominalSymbol* symbol = analysis_.find_type(pattern->qualifier.text, pattern->name.text, pattern->range,
                                              inference.context, false);
  const auto unify_arguments = [&](const Nominal& known) {
    for (std::size_t i = 0; i < known.arguments.size() && i < pattern->arguments.size(); ++i) {
      unify(pattern->arguments[i], known.arguments[i], inference);
    }
  };
  if (nominal->symbol == symbol) return unify_arguments(*nominal);
  analysis_.complete(*nominal);
  for (const Type* interface : nominal->interfaces) {
    Nominal* known = analysis_.nominal(interface);
    if (known->symbol == symbol) return unify_arguments(*known);
  }
}

// Adds the types of a closure's parameters and result, as far as the parameter's type determines them.
void TypeInference::types_of_closure(const ast::Type* pattern, const Inference& inference,
                                     ClosureChecker::Hints& hints) {
  if (pattern->kind == ast::TypeKind::kFunction) {
    for (const ast::Type* parameter : pattern->arguments)
      hints.parameters.push_back(known_type(parameter, inference));
    const ast::Type* result = pattern->element;
    hints.result = result == nullptr ? basic(TypeKind::kVoid) : known_type(result, inference);
    hints.gives_result = result != nullptr && result->kind == ast::TypeKind::kResult;
  } else if (const NominalSymbol* alias = alias_named(*pattern, inference); alias != nullptr) {
    Inference inner = for_alias(*alias);
    for (std::size_t i = 0; i < inner.arguments.size() && i < pattern->arguments.size(); ++i) {
      const Type* argument = known_type(pattern->arguments[i], inference);
      if (argument != nullptr) bind(inner, i, argument);
    }
    types_of_closure(alias->declaration->aliased, inner, hints);
  }
}

// The type of a function or method name that is passed as a function. Its parameter types select the instance of a
// generic one.
const Type* TypeInference::type_for_name(const ast::Type& pattern, const Inference& inference) {
  ClosureChecker::Hints hints;
  types_of_closure(&pattern, inference, hints);
  if (std::ranges::count(hints.parameters, nullptr) != 0) hints.parameters.clear();
  return types().function(std::move(hints.parameters),
                          hints.result != nullptr ? hints.result : basic(TypeKind::kVoid));
}

bool TypeInference::infer(Inference& inference, const Callee& callee,
                          const std::vector<const ast::Type*>& patterns, const ast::Type* result,
                          const ast::Expr& call, const Type* expected, std::vector<E>& ready) {
  std::vector<const ast::Expr*> matched;
  if (!parts_.argument_matching.match_arguments(callee, call, matched)) {
    parts_.argument_matching.check_all(call);
    return false;
  }
  ready.resize(matched.size(), nullptr);
  bool good = true;
  const auto check = [&](std::size_t i) {
    const Type* type = known_type(patterns[i], inference);
    const bool is_name =
        matched[i]->kind == ast::ExprKind::kName || matched[i]->kind == ast::ExprKind::kMember;
    if (type == nullptr && is_name && patterns[i]->kind == ast::TypeKind::kFunction)
      type = type_for_name(*patterns[i], inference);
    ready[i] = patterns[i]->kind == ast::TypeKind::kFixedArray
                   ? parts_.conversions.operand_value(*matched[i], type)
                   : parts_.conversions.value(*matched[i], type);
    good = good && !ready[i]->type->is(TypeKind::kError);
    unify(patterns[i], ready[i]->type, inference);
  };
  const auto is_function = [](const ast::Type& type) { return type.kind == ast::TypeKind::kFunction; };
  const auto is_closure = [](const ast::Expr& expr) { return expr.kind == ast::ExprKind::kClosure; };
  const auto is_open = [&](const ast::Expr& expr) {
    return LiteralChecker::is_flexible(expr) || expr.kind == ast::ExprKind::kNull ||
           LiteralChecker::is_flexible_array(expr);
  };
  for (std::size_t i = 0; i < matched.size(); ++i) {
    if (ready[i] != nullptr) {
      unify(patterns[i], ready[i]->type, inference);
    } else if (matched[i] != nullptr && !is_open(*matched[i]) && !is_closure(*matched[i])) {
      check(i);
    }
  }
  if (expected != nullptr && result != nullptr) {
    if (expected->is(TypeKind::kNullable) && result->kind != ast::TypeKind::kNullable)
      expected = expected->element;
    unify(result, expected, inference);
  }
  // Among literals alone, 1.5 takes precedence over 1.
  for (const bool floats : {true, false}) {
    for (std::size_t i = 0; i < matched.size(); ++i) {
      if (matched[i] == nullptr || ready[i] != nullptr || !is_open(*matched[i])) continue;
      if (LiteralChecker::has_float_literal(*matched[i]) == floats) check(i);
    }
  }
  for (std::size_t i = 0; i < matched.size(); ++i) {
    if (matched[i] == nullptr || ready[i] != nullptr || !is_closure(*matched[i])) continue;
    ClosureChecker::Hints hints;
    types_of_closure(patterns[i], inference, hints);
    if (const std::size_t given = matched[i]->closure->parameters.size();
        is_function(*patterns[i]) && given != hints.parameters.size()) {
      Diagnostic& diagnostic =
          error(matched[i]->range, "this closure takes {} parameter{}, and '{}' is expected", given,
                given == 1 ? "" : "s", analysis_.diagnostics().sources().text(patterns[i]->range));
      parts_.argument_matching.help_with_arguments(diagnostic, callee, fmt::format("(fn/{})", given));
      return false;
    }
    ready[i] = parts_.closures.closure(*matched[i], hints);
    good = good && !ready[i]->type->is(TypeKind::kError);
    unify(patterns[i], ready[i]->type, inference);
  }
  if (!good) return false;
  for (std::size_t i = 0; i < inference.arguments.size(); ++i) {
    if (inference.arguments[i] != nullptr) continue;
    const std::string_view name = (*inference.parameters)[i].name.text;
    error(call.range, "the type argument '{}' of '{}' cannot be inferred", name, callee.name)
        .note(callee.declared, "'{}' is declared here", callee.name)
        .help("write it: `{}`", callee.generic_form.empty() ? callee.name + "<...>(...)"
                                : call.arguments.empty()    ? callee.generic_form
                                                            : callee.generic_form + "(...)");
    return false;
  }
  return true;
}

}  // namespace dhpvm::compiler
