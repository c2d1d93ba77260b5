// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/derived.h"

#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

using hir::Binary;
using hir::ExprKind;
using hir::StmtKind;

namespace {

constexpr std::string_view kEquals = "equals";

}

hir::Expr* DerivedFunctions::equality(E left, E right, Range range) {
  if (!analysis_.enums().compares_inside(left->type)) return binary(Binary::kEq, left, right, range);
  Body before;
  left = stable(left, before);
  right = stable(right, before);
  return in_block(std::move(before), inside_equality(left, right, range), range);
}

hir::Expr* DerivedFunctions::own_equality(E left, E right, Range range) {
  if (!analysis_.has_equals(left->type)) return nullptr;
  const Type* wanted = parts_.calls.parameters_of(left->type, kEquals, range)->front();
  E made = parts_.calls.invoke(left, kEquals, {parts_.conversions.coerce(right, wanted, range)}, range);
  return made->type->is(TypeKind::kBool) ? made : nullptr;
}

// Compares values that contain objects of enums, which are equal if their contents are, or that have a method `equals`.
hir::Expr* DerivedFunctions::inside_equality(E left, E right, Range range) {
  const Type* type = left->type;
  const Type* truth = basic(TypeKind::kBool);
  // Inside that method `==` compares fields, to avoid recursion.
  if (state_.function_name != type->name + "." + std::string(kEquals)) {
    if (E own = own_equality(left, right, range); own != nullptr) return own;
  }
  const bool is_object = !type->is_enum && (type->is(TypeKind::kClass) || type->is(TypeKind::kInterface));
  if (is_object || !analysis_.enums().compares_inside(type)) return binary(Binary::kEq, left, right, range);
  if (type->is_enum) return call(DerivedKind::kEquals, {left, right}, range);
  if (type->is(TypeKind::kNullable)) {
    const auto null = [&](E side) { return make(ExprKind::kIsNull, truth, range, {side}); };
    const auto present = [&](E side) { return make(ExprKind::kUnwrap, type->element, range, {side}); };
    E one = make(ExprKind::kOr, truth, range, {null(left), null(right)});
    E both = make(ExprKind::kAnd, truth, range, {null(left), null(right)});
    return make(ExprKind::kConditional, truth, range,
                {one, both, inside_equality(present(left), present(right), range)});
  }
  E whole = nullptr;
  for (std::uint32_t i = 0; i < type->fields.size(); ++i) {
    E same =
        inside_equality(parts_.members.field(left, i, range), parts_.members.field(right, i, range), range);
    whole = whole == nullptr ? same : make(ExprKind::kAnd, truth, range, {whole, same});
  }
  return whole;
}

hir::Expr* DerivedFunctions::call(DerivedKind kind, std::vector<E> arguments, Range range) {
  hir::Function* function = analysis_.enums().derived(arguments[0]->type, kind, range);
  E made = make(ExprKind::kCall, function->result, range, std::move(arguments));
  made->function = function;
  return made;
}

void DerivedFunctions::write(const Type* type, DerivedKind kind, hir::Function& function, Range range) {
  const bool compares = kind == DerivedKind::kEquals;
  const bool hashes = kind == DerivedKind::kHash;
  function.name = type->name + (compares ? ".equals" : hashes ? ".hash" : ".to_str");
  function.result = basic(compares ? TypeKind::kBool : hashes ? TypeKind::kI64 : TypeKind::kStr);
  state_.in_trap_message = kind == DerivedKind::kTextInTrap;
  state_.frame->function = &function;
  state_.frame->result = function.result;
  state_.function_name = function.name;
  std::vector<E> arguments;
  for (std::size_t i = 0; i < (compares ? 2U : 1U); ++i) {
    hir::Local* local = temporary(type);
    local->name = i == 0 ? "this" : "other";
    function.parameters.push_back(local);
    arguments.push_back(read(local, range));
  }
  const auto give = [&](E value) {
    hir::Stmt* made = analysis_.make(StmtKind::kReturn, range);
    made->value = value;
    return made;
  };
  if (!type->is_enum) {
    E text = parts_.texts.text_of(arguments[0], range);
    if (!text->type->is(TypeKind::kError)) function.body.push_back(give(text));
    return;
  }
  const auto when = [&](E condition, hir::Stmt* then, Body& body) {
    hir::Stmt* test = analysis_.make(StmtKind::kIf, range);
    test->value = condition;
    test->body.push_back(then);
    body.push_back(test);
  };
  const auto number = [&](E value) { return parts_.members.field(value, EnumTypes::kCaseField, range); };
  if (compares) {
    if (type->is(TypeKind::kClass))
      when(binary(Binary::kEq, arguments[0], arguments[1], range), give(boolean(true, range)), function.body);
    when(binary(Binary::kNe, number(arguments[0]), number(arguments[1]), range), give(boolean(false, range)),
         function.body);
  }
  const std::size_t count = analysis_.enums().cases(type).size();
  for (std::uint32_t i = 0; i < count; ++i) {
    E result = result_for(kind, arguments, i, range);
    if (result->type->is(TypeKind::kError)) return;
    E here = number(arguments[0]);
    E same = binary(Binary::kEq, here, integer(i, here->type, range), range);
    if (i + 1 == count) {
      function.body.push_back(give(result));
    } else {
      when(same, give(result), function.body);
    }
  }
}

hir::Expr* DerivedFunctions::result_for(DerivedKind kind, const std::vector<E>& arguments,
                                        std::uint32_t index, Range range) {
  switch (kind) {
    case DerivedKind::kHash: return case_hash(arguments[0], index, range);
    case DerivedKind::kEquals: return case_equality(arguments[0], arguments[1], index, range);
    default: return case_text(arguments[0], index, range);
  }
}

hir::Expr* DerivedFunctions::case_text(E value, std::uint32_t index, Range range) {
  const CaseInfo& option = analysis_.enums().cases(value->type)[index];
  std::vector<E> parts{string(std::string(option.name()), range)};
  for (std::size_t i = 0; i < option.values.size(); ++i) {
    const std::string& name = option.values[i].name;
    parts.push_back(string((i == 0 ? "(" : ", ") + name + (name.empty() ? "" : ": "), range));
    parts.push_back(parts_.texts.text_of(parts_.members.field(value, option.fields[i], range), range));
    if (parts.back()->type->is(TypeKind::kError)) return parts.back();
  }
  if (!option.values.empty()) parts.push_back(string(")", range));
  return parts_.texts.join_text(parts, range);
}

hir::Expr* DerivedFunctions::case_hash(E value, std::uint32_t index, Range range) {
  const CaseInfo& option = analysis_.enums().cases(value->type)[index];
  std::vector<E> values;
  for (const std::uint32_t field : option.fields) values.push_back(parts_.members.field(value, field, range));
  return parts_.builtins.combined_hash(index + 1, values, range);
}

hir::Expr* DerivedFunctions::case_equality(E left, E right, std::uint32_t index, Range range) {
  E whole = nullptr;
  for (const std::uint32_t field : analysis_.enums().cases(left->type)[index].fields) {
    E same = inside_equality(parts_.members.field(left, field, range),
                             parts_.members.field(right, field, range), range);
    whole = whole == nullptr ? same : make(ExprKind::kAnd, basic(TypeKind::kBool), range, {whole, same});
  }
  return whole != nullptr ? whole : boolean(true, range);
}

}  // namespace dhpvm::compiler
