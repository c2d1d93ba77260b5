// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/members.h"

#include <algorithm>
#include <limits>

#include "base/spelling.h"
#include "compiler/check/body_parts.h"
#include "compiler/check/fold.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

using hir::ExprKind;

namespace {

constexpr std::string_view kGrowing[] = {"push"};

// The enum of a module that has a case of this name.
const NominalSymbol* enum_with_case(const ModuleSymbols& module, std::string_view name) {
  for (const auto& [known, symbol] : module.types) {
    const auto has_name = [&](const auto& option) { return option.name.text == name; };
    if (!symbol->is_alias() && std::ranges::any_of(symbol->declaration->cases, has_name)) return symbol;
  }
  return nullptr;
}

// Whether a function type or its nullable is expected.
bool is_function(const Type* expected) {
  if (expected != nullptr && expected->is(TypeKind::kNullable)) expected = expected->element;
  return expected != nullptr && expected->is(TypeKind::kFunction);
}

// Whether it is the method of other languages, or of classes, that gives the text of a value.
bool is_name_of_text(std::string_view name) {
  return name == "to_string" || name == "toString" || name == "to_str";
}

// Tuples have no source.
bool is_of_library(const Nominal* nominal) {
  if (nominal == nullptr || nominal->symbol->module->module == nullptr) return false;
  return nominal->symbol->module->module->is_stdlib;
}

// Adds the name here for a member of texts or collections in other languages.
bool help_with_library(Analysis& analysis, Diagnostic& diagnostic, const Type* type, std::string_view name) {
  const Nominal* nominal = analysis.nominal(type);
  std::string_view owner;
  if (is_of_library(nominal)) owner = nominal->symbol->name();
  if (type->is(TypeKind::kStr)) owner = "str";
  if (type->is(TypeKind::kArray) && type->rank == 1) owner = "array";
  std::string_view advice = advice_for_foreign(fmt::format("{}.{}", owner, name));
  if (advice.empty()) advice = advice_for_foreign(fmt::format("{}.*", owner));
  if (!advice.empty()) {
    diagnostic.help("{}", advice);
    return true;
  }
  const std::string_view function = type->is(TypeKind::kStr) ? text_function_for(name) : std::string_view();
  if (function.empty()) return false;
  if (function == "join") {
    diagnostic.help("write `parts.join(separator)`");
  } else {
    diagnostic.help("write `.{}(...)`", function);
  }
  return true;
}

}  // namespace

hir::Expr* MemberChecker::member(const ast::Expr& expr, const Type* expected) {
  const ast::Expr& object_expr = *expr.operands[0];
  if (expr.safe) return safe_member(expr, nullptr);
  if (ModuleSymbols* module = parts_.names.module_named(object_expr); module != nullptr) {
    return module_member(*module, expr, expected);
  }
  if (const Type* type = parts_.names.primitive_named(object_expr); type != nullptr)
    return type_constant(type, expr);
  if (NominalSymbol* symbol = parts_.enums.named(object_expr); symbol != nullptr)
    return parts_.enums.member(*symbol, expr, expected);
  if (state_.in_kernel()) {
    if (E value = parts_.kernel_captures.hoisted(expr); value != nullptr) return value;
  }
  if (const ReducedArray* reduced = parts_.reductions.reduced_array(object_expr); reduced != nullptr) {
    if (E size = array_member(parts_.blocked_loops.array_inside(*reduced, object_expr.range), expr);
        size != nullptr)
      return size;
  }
  E object = receiver(object_expr);
  if (is_function(expected)) {
    std::uint32_t index = 0;
    const bool is_field = (object->type->is(TypeKind::kStruct) || object->type->is(TypeKind::kClass)) &&
                          analysis_.find_field(object->type, expr.name.text, index) != nullptr;
    E bound = is_field ? nullptr : parts_.closures.of_method(object, expr.name.text, expr.range);
    if (bound != nullptr) return bound;
  }
  return member_of(object, expr);
}

// The object of a member: unlike other uses, `this` is allowed here before all its fields are set.
hir::Expr* MemberChecker::receiver(const ast::Expr& expr) {
  return expr.kind == ast::ExprKind::kThis ? parts_.names.this_value(expr.range)
                                           : parts_.conversions.operand_value(expr);
}

hir::Expr* MemberChecker::module_member(ModuleSymbols& module, const ast::Expr& expr, const Type* expected) {
  const std::string_view name = expr.name.text;
  if (auto function = module.functions.find(name); function != module.functions.end()) {
    return parts_.names.function_value(*function->second, expr, expected);
  }
  if (auto constant = module.constants.find(name); constant != module.constants.end()) {
    return parts_.names.constant_value(*constant->second, expr.range);
  }
  report_missing_in_module(module, expr.operands[0]->name.text, expr.name);
  return wrong(expr.range);
}

void MemberChecker::report_missing_in_module(ModuleSymbols& module, std::string_view as,
                                             const ast::Name& name) {
  if (name.empty()) return;
  if (module.types.contains(name.text)) {
    const ast::TypeDecl& declaration = *module.types.at(name.text)->declaration;
    Diagnostic& diagnostic = error(name.range, "'{}' is a type, and a value is expected here", name.text);
    if (declaration.kind == ast::TypeDeclKind::kEnum && !declaration.cases.empty()) {
      diagnostic.help("name a case: `{}.{}.{}`", as, name.text, declaration.cases[0].name.text);
    } else {
      diagnostic.help("construct one: `{}.{}(...)`", as, name.text);
    }
    return;
  }
  std::vector<std::string_view> names;
  for (const auto& [known, symbol] : module.functions) names.push_back(known);
  for (const auto& [known, symbol] : module.constants) names.push_back(known);
  for (const auto& [known, symbol] : module.types) names.push_back(known);
  Diagnostic& diagnostic = error(name.range, "module '{}' has no '{}'", as, name.text);
  const std::string whole = std::string(as) + "." + std::string(name.text);
  if (const std::string_view advice = advice_for_foreign(whole); !advice.empty()) {
    diagnostic.help("{}", advice);
  } else if (const std::string_view other = library_module_of(name.text);
             !other.empty() && other != name.text) {
    diagnostic.help("write `{}.{}`, with `import {};` at the top of the file", other, name.text, other);
  } else if (std::string_view near = nearest_name(name.text, names); !near.empty()) {
    diagnostic.help("write `{}.{}`", as, near);
  } else if (const NominalSymbol* type = enum_with_case(module, name.text); type != nullptr) {
    diagnostic.help("write `{}.{}`", type->name(), name.text);
  }
}

hir::Expr* MemberChecker::type_constant(const Type* type, const ast::Expr& expr) {
  const std::string_view name = expr.name.text;
  if (type->is_integer()) {
    const bool is_signed = type->is_signed_integer();
    const std::uint64_t top = std::uint64_t{1} << (bits_of(type) - 1);
    if (name == "max") return integer(is_signed ? top - 1 : top - 1 + top, type, expr.range);
    if (name == "min") return integer(is_signed ? top : 0, type, expr.range);
  }
  if (type->is_float()) {
    const bool single = type->is(TypeKind::kF32);
    E made = make(ExprKind::kFloat, type, expr.range);
    using Single = std::numeric_limits<float>;
    using Twice = std::numeric_limits<double>;
    if (name == "max" || name == "min") {
      made->number = single ? double{Single::max()} : Twice::max();
      if (name == "min") made->number = -made->number;
      return made;
    }
    if (name == "epsilon") {
      made->number = single ? double{Single::epsilon()} : Twice::epsilon();
      return made;
    }
    if (name == "infinity") {
      made->number = Twice::infinity();
      return made;
    }
    if (name == "nan") {
      made->number = Twice::quiet_NaN();
      return made;
    }
  }
  Diagnostic& diagnostic = error(expr.name.range, "'{}' has no constant '{}'", type->name, name);
  if (type->is_float()) {
    diagnostic.help("it has `max`, `min`, `epsilon`, `infinity` and `nan`");
  } else if (type->is_integer()) {
    diagnostic.help("it has `max` and `min`");
  }
  return wrong(expr.range);
}

hir::Expr* MemberChecker::field(E object, std::uint32_t index, Range range) {
  if (object->type->is(TypeKind::kError)) return wrong(range);
  const FieldInfo& info = object->type->fields[index];
  if (state_.in_init_frame() && object->kind == ExprKind::kLocal && object->local->name == "this" &&
      state_.flow.unassigned.contains(index)) {
    error(range, "'{}' is read before it has a value", info.name)
        .help("assign it first: `this.{} = ...;`", info.name);
    return wrong(range);
  }
  E made = make(ExprKind::kField, info.type, range, {object});
  made->index = index;
  return made;
}

hir::Expr* MemberChecker::member_of(E object, const ast::Expr& expr) {
  const Type* type = object->type;
  const ast::Name& name = expr.name;
  if (name.empty()) return wrong(expr.range);
  switch (type->kind) {
    case TypeKind::kError: return wrong(expr.range);
    case TypeKind::kStruct:
      if (analysis_.errors().is_result(type)) {
        parts_.results.explain(error(name.range, "this may be an error: it is a '{}'", type->name), type,
                               expr.operands[0]->range);
        return wrong(expr.range);
      }
      [[fallthrough]];
    case TypeKind::kClass: {
      std::uint32_t index = 0;
      if (analysis_.find_field(type, name.text, index) != nullptr)
        return parts_.field_narrowing.refine(field(object, index, expr.range));
      break;
    }
    case TypeKind::kArray:
    case TypeKind::kFixedArray: {
      if (E made = array_member(object, expr); made != nullptr) return made;
      break;
    }
    case TypeKind::kStr:
      if (name.text == "len")
        return make(ExprKind::kStringLength, basic(TypeKind::kI64), expr.range, {object});
      break;
    case TypeKind::kNullable:
      parts_.narrowing.report_null_member(type, name, expr.operands[0]->range, "");
      return wrong(expr.range);
    default: break;
  }
  if (report_hidden_module(*expr.operands[0], name)) return wrong(expr.range);
  report_missing_member(type, name, false);
  return wrong(expr.range);
}

hir::Expr* MemberChecker::array_member(E object, const ast::Expr& expr) {
  const Type* type = object->type;
  const Type* i64 = basic(TypeKind::kI64);
  const std::string_view name = expr.name.text;
  if (type->is(TypeKind::kFixedArray)) {
    if (name == "len") return integer(type->count, i64, expr.range);
    if (type->rank == 1) return nullptr;
    if (name == "rows") return integer(ArrayChecker::rows_of(type), i64, expr.range);
    return name == "cols" ? integer(type->columns, i64, expr.range) : nullptr;
  }
  if (const hir::Expr* literal = analysis_.constants().array_of(*object); literal != nullptr && name == "len")
    return integer(literal->operands.size(), i64, expr.range);
  if (name == "len") return make(ExprKind::kArrayLength, i64, expr.range, {parts_.names.shared_rows(object)});
  int dimension = -1;
  const int rank = static_cast<int>(type->rank);
  if (name == "cols" && rank >= 2) dimension = rank - 1;
  if (name == "rows" && rank >= 2) dimension = rank - 2;
  if (name == "depth" && rank == 3) dimension = 0;
  if (dimension < 0) return nullptr;
  E made = make(ExprKind::kArrayDim, i64, expr.range, {object});
  made->index = static_cast<std::uint32_t>(dimension);
  return made;
}

// If `object` is a variable that hides a module of the same name with this member, reports it.
bool MemberChecker::report_hidden_module(const ast::Expr& object, const ast::Name& name) {
  if (object.kind != ast::ExprKind::kName) return false;
  const auto import = state_.context.module->imports.find(object.name.text);
  if (import == state_.context.module->imports.end()) return false;
  const ModuleSymbols& module = *import->second;
  if (!module.functions.contains(name.text) && !module.constants.contains(name.text) &&
      !module.types.contains(name.text)) {
    return false;
  }
  Diagnostic& diagnostic = error(object.range, "'{}' is a variable here, and hides the module '{}'",
                                 object.name.text, object.name.text);
  if (const Variable* variable = parts_.scopes.find_variable(object.name.text); variable != nullptr) {
    diagnostic.note(variable->range, "'{}' is declared here", object.name.text);
  }
  diagnostic.help("give the variable another name, or the module: `import {} as m;`", module.name);
  return true;
}

void MemberChecker::report_missing_member(const Type* type, const ast::Name& name, bool called) {
  if (name.empty()) return;
  Nominal* nominal = analysis_.nominal(type);
  std::vector<std::string_view> fields;
  std::vector<std::string_view> methods;
  if (nominal != nullptr) {
    analysis_.complete(*nominal);
    if (type->is_enum) {
      for (const CaseInfo& option : nominal->cases) {
        for (const FieldInfo& value : option.values) {
          if (value.name != name.text) continue;
          error(name.range, "'{}' is a value of the case '{}', and this may be another case", name.text,
                option.name())
              .help("match it: `match x {{ {}({}: v) => ..., else => ... }}`", option.name(), name.text);
          return;
        }
      }
    } else {
      for (const FieldInfo& field : type->fields) fields.push_back(field.name);
    }
    methods = analysis_.names_of_methods(*nominal);
  } else if (type->is(TypeKind::kArray)) {
    fields = {"len"};
    if (type->rank >= 2) fields.insert(fields.end(), {"rows", "cols"});
    if (type->rank == 3) fields.emplace_back("depth");
    methods = analysis_.library_methods(type);
    methods.insert(methods.end(), {"dim", "slice", "copy", "fill", "close"});
  } else if (type->is(TypeKind::kFixedArray)) {
    fields = {"len"};
    if (type->rank == 2) fields.insert(fields.end(), {"rows", "cols"});
  } else if (type->is(TypeKind::kStr)) {
    fields = {"len"};
    methods = analysis_.library_methods(type);
  } else if (type->is(TypeKind::kU8)) {
    methods = analysis_.library_methods(type);
  } else if (type->is(TypeKind::kWeak)) {
    methods = {"get"};
  }
  const auto contains = [&](const std::vector<std::string_view>& list) {
    return std::find(list.begin(), list.end(), name.text) != list.end();
  };
  if (!called && contains(methods)) {
    const std::vector<const Type*>* parameters = parts_.calls.parameters_of(type, name.text, name.range);
    const bool takes_none = parameters != nullptr && parameters->empty();
    error(name.range, "'{}' of '{}' is a method", name.text, type->name)
        .help("call it: `.{}({})`{}", name.text, takes_none ? "" : "...",
              nominal != nullptr ? "; it is a value where a function is expected, as in `let f: fn() = x.f;`"
                                 : "");
    return;
  }
  // The fields of collections are private.
  const bool is_collection = is_of_library(nominal);
  if (called && contains(fields) && !is_collection) {
    error(name.range, "'{}' of '{}' is a field and no function", name.text, type->name)
        .help("remove the parentheses: `.{}`", name.text);
    return;
  }
  Diagnostic& diagnostic =
      error(name.range, "'{}' has no {} '{}'", type->name, called ? "method" : "field", name.text);
  std::vector<std::string_view> all = called ? methods : fields;
  const auto& rest = called ? fields : methods;
  if (!called || !is_collection) all.insert(all.end(), rest.begin(), rest.end());
  help_with_member(diagnostic, type, name, all);
}

// Suggests one of `all` members of `type` for a missing one.
void MemberChecker::help_with_member(Diagnostic& diagnostic, const Type* type, const ast::Name& name,
                                     const std::vector<std::string_view>& all) {
  const Nominal* nominal = analysis_.nominal(type);
  if (help_with_library(analysis_, diagnostic, type, name.text)) return;
  std::string_view near = member_for_foreign(name.text, all);
  const bool is_of_lists = type->is(TypeKind::kArray) && is_method_of_lists(name.text);
  if (near.empty() && !is_of_lists) near = nearest_name(name.text, all);
  if (!near.empty()) {
    diagnostic.help("write `.{}`", near);
  } else if (is_of_lists) {
    diagnostic.help("lists have it: write `list.of(xs).{}(...)`", name.text);
  } else if (type->is(TypeKind::kArray)) {
    if (!member_for_foreign(name.text, kGrowing).empty() || name.text == "push") {
      diagnostic.help("arrays keep their size, a `List` grows: `let xs: List<{}> = [...];`, and `xs.push(x)`",
                      type->element->name);
    } else if (type->rank != 1) {
      diagnostic.help("the methods of module `array` are for arrays of rank 1");
    } else {
      diagnostic.help("arrays keep their size, a `List<{}>` grows; functions on arrays are in module `array`",
                      type->element->name);
    }
  } else if (type->is(TypeKind::kU8) &&
             analysis_.library_method(basic(TypeKind::kStr), name.text) != nullptr) {
    diagnostic.help("a byte is a number; the text of one is `s[i..=i]`");
  } else if (type->is_primitive() && is_name_of_text(name.text)) {
    diagnostic.help("write `str(x)`");
  } else if (type->is_number() && library_module_of(name.text) == "math") {
    diagnostic.help("write `math.{}(x)`, with `import math;` at the top", name.text);
  } else if (type->is_enum && analysis_.enums().is_plain(type) &&
             (name.text == "name" || is_name_of_text(name.text))) {
    diagnostic.help("`str(x)` is the name of its case");
  } else if (type->is_enum) {
    diagnostic.help("a `match` takes it apart: its cases are {}", parts_.enums.list_of_cases(type));
  } else if (analysis_.tuples().is_tuple(type)) {
    diagnostic.help("its values are `.0` to `.{}`", type->fields.size() - 1);
  } else if (type->is(TypeKind::kInterface)) {
    diagnostic.help("its classes may have it: `match x {{ Name c => c.{}, ... }}`", name.text);
  } else if (nominal != nullptr) {
    diagnostic.note(nominal->symbol->declaration->name.range, "'{}' is declared here",
                    nominal->symbol->name());
  }
}

hir::Expr* MemberChecker::safe_member(const ast::Expr& expr, const ast::Expr* call) {
  E object = parts_.conversions.value(*expr.operands[0]);
  const Range range = call != nullptr ? call->range : expr.range;
  if (object->type->is(TypeKind::kError)) {
    if (call != nullptr) parts_.argument_matching.check_all(*call);
    return wrong(range);
  }
  if (!object->type->is(TypeKind::kNullable)) {
    if (object->kind != ExprKind::kUnwrap && state_.context.bindings.empty()) {
      error(expr.name.range, "a '{}' is never null", object->type->name).help("write `.{}`", expr.name.text);
    }
    // Narrowed to non-null already; the result keeps the type of `?.`.
    E result =
        call != nullptr ? parts_.calls.call_method(object, expr, *call, nullptr) : member_of(object, expr);
    const Type* type = result->type;
    if (type->is(TypeKind::kError) || type->is(TypeKind::kVoid)) return result;
    return parts_.conversions.coerce(result, types().nullable(type), range);
  }
  std::vector<hir::Stmt*> before;
  object = stable(object, before);
  E present = make(ExprKind::kUnwrap, object->type->element, expr.operands[0]->range, {object});
  E result =
      call != nullptr ? parts_.calls.call_method(present, expr, *call, nullptr) : member_of(present, expr);
  if (result->type->is(TypeKind::kError)) return result;
  E test = make(ExprKind::kIsNull, basic(TypeKind::kBool), range, {object});
  if (result->type->is(TypeKind::kVoid)) {
    E nothing = make(ExprKind::kBlock, result->type, range);
    return in_block(std::move(before),
                    make(ExprKind::kConditional, result->type, range, {test, nothing, result}), range);
  }
  const Type* type = types().nullable(result->type);
  E null = make(ExprKind::kNull, type, range);
  return in_block(
      std::move(before),
      make(ExprKind::kConditional, type, range, {test, null, parts_.conversions.coerce(result, type, range)}),
      range);
}

}  // namespace dhpvm::compiler
