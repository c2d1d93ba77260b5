// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/builtins.h"

#include <utility>

#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

using hir::Binary;
using hir::ExprKind;

namespace {

// Source text for a message: blanks and line ends become one blank each, and long text is cut.
std::string on_one_line(std::string_view source) {
  constexpr std::size_t kLongest = 100;
  std::string text;
  for (char c : source) {
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!blank) text += c;
    if (blank && !text.ends_with(' ')) text += ' ';
  }
  if (text.size() <= kLongest) return text;
  std::size_t cut = kLongest;
  while ((static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) --cut;  // not inside a code point
  return text.substr(0, cut) + " ...";
}

// Whether the source shows the value as it is.
bool is_literal(const ast::Expr& expr) {
  using Kind = ast::ExprKind;
  if (expr.kind == Kind::kUnary && expr.unary == ast::UnaryOp::kNegate) return is_literal(*expr.operands[0]);
  return expr.kind == Kind::kInt || expr.kind == Kind::kFloat || expr.kind == Kind::kBool ||
         expr.kind == Kind::kString;
}

}  // namespace

bool BuiltinCalls::is_builtin(std::string_view name) {
  return name == "print" || name == "trap" || name == "assert" || name == "str" || name == "hash" ||
         name == "equal";
}

hir::Expr* BuiltinCalls::call_builtin(std::string_view name, const ast::Expr& call) {
  if (!call.type_arguments.empty()) error(call.range, "'{}' takes no type arguments", name);
  if (name == "print") return print_call(call);
  if (name == "trap") return trap_call(call);
  if (name == "assert") return assert_call(call);
  if (name == "str") {
    if (!parts_.argument_matching.expect_arguments(call, 1, 1, "str(x)")) return wrong(call.range);
    E argument = parts_.conversions.value(*call.arguments[0].value);
    return parts_.texts.text_of(argument, call.arguments[0].value->range);
  }
  if (name == "equal") return equal_call(call);
  if (!parts_.argument_matching.expect_arguments(call, 1, 1, "hash(x)")) return wrong(call.range);
  E argument = parts_.conversions.value(*call.arguments[0].value);
  return hash_of(argument, call.arguments[0].value->range);
}

hir::Expr* BuiltinCalls::print_call(const ast::Expr& call) {
  if (!parts_.argument_matching.expect_arguments(call, 0, call.arguments.size(), "print(a, b, ...)"))
    return wrong(call.range);
  std::vector<E> parts;
  bool good = true;
  for (const ast::Argument& argument : call.arguments) {
    if (!parts.empty()) parts.push_back(string(" ", argument.value->range));
    parts.push_back(parts_.texts.text_of(parts_.conversions.value(*argument.value), argument.value->range));
    good = good && !parts.back()->type->is(TypeKind::kError);
  }
  if (!good) return wrong(call.range);
  parts.push_back(string("\n", call.range));
  return call_native("io.write", {parts_.texts.join_text(parts, call.range)}, basic(TypeKind::kVoid),
                     call.range);
}

// A trap is a statement; as an expression it is a block that never ends.
hir::Expr* BuiltinCalls::trap_expr(E message, Range range, std::string plain) {
  hir::Stmt* stmt = analysis_.make(hir::StmtKind::kTrap, range);
  stmt->value = message;
  stmt->plain = std::move(plain);
  E made = make(ExprKind::kBlock, basic(TypeKind::kNever), range);
  made->statements.push_back(stmt);
  return made;
}

hir::Expr* BuiltinCalls::trap_call(const ast::Expr& call) {
  if (!parts_.argument_matching.expect_arguments(call, 1, 1, "trap(\"message\")")) return wrong(call.range);
  E message = message_of(*call.arguments[0].value);
  if (message->type->is(TypeKind::kError)) return message;
  return trap_expr(message, call.range);
}

hir::Expr* BuiltinCalls::assert_call(const ast::Expr& call) {
  if (!parts_.argument_matching.expect_arguments(call, 1, 2, "assert(condition, \"message\")"))
    return wrong(call.range);
  Condition test = parts_.narrowing.condition(*call.arguments[0].value);
  E message = nullptr;
  std::string plain;
  Body operands;
  if (call.arguments.size() == 2) {
    const Flow before = state_.flow;
    parts_.narrowing.learn(test.when_false);
    message = message_of(*call.arguments[1].value);
    state_.flow = before;
  } else {
    plain = "assertion failed: " +
            on_one_line(analysis_.diagnostics().sources().text(call.arguments[0].value->range));
    message = failed_assertion(*call.arguments[0].value, plain, test.value, operands);
  }
  if (test.value->type->is(TypeKind::kError) || message->type->is(TypeKind::kError)) return wrong(call.range);
  // The assertion's facts hold from here on.
  parts_.narrowing.learn(test.when_true);
  E nothing = make(ExprKind::kBlock, basic(TypeKind::kVoid), call.range);
  E asserted = make(ExprKind::kConditional, basic(TypeKind::kVoid), call.range,
                    {test.value, nothing, trap_expr(message, call.range, std::move(plain))});
  return in_block(std::move(operands), asserted, call.range);
}

// The message of a trap. Generic code must compile for objects without text, too: see text_of.
hir::Expr* BuiltinCalls::message_of(const ast::Expr& expr) {
  const bool outer = std::exchange(state_.in_trap_message, true);
  E message = parts_.conversions.value_as(expr, basic(TypeKind::kStr));
  state_.in_trap_message = outer;
  return message;
}

// "assertion failed: a.len == n (3 == 4)": the source of the assertion, and the values of a comparison of numbers, bool
// or text, unless the source shows them. `before` evaluates each once. Parallel loops have no text for values.
hir::Expr* BuiltinCalls::failed_assertion(const ast::Expr& asserted, const std::string& text, E& test,
                                          Body& before) {
  const Range range = asserted.range;
  if (state_.in_kernel()) return string(text, range);
  if (asserted.kind != ast::ExprKind::kBinary || test->kind != ExprKind::kBinary) return string(text, range);
  if (is_literal(*asserted.operands[0]) && is_literal(*asserted.operands[1])) return string(text, range);
  hir::Expr& compared = test->operands[0]->kind == ExprKind::kStringCompare ? *test->operands[0] : *test;
  const Type* type = compared.operands[0]->type;
  if (!type->is_primitive() && !type->is(TypeKind::kStr)) return string(text, range);
  std::vector<E> sides;
  for (E& operand : compared.operands) sides.push_back(operand = stable(operand, before));
  return parts_.texts.join_text({string(text + " (", range), parts_.texts.text_of(sides[0], range),
                                 string(fmt::format(" {} ", ast::to_string(asserted.binary)), range),
                                 parts_.texts.text_of(sides[1], range), string(")", range)},
                                range);
}

// Whether two keys are equal: by their method `equals`, or by `==`.
hir::Expr* BuiltinCalls::equal_call(const ast::Expr& call) {
  if (!parts_.argument_matching.expect_arguments(call, 2, 2, "equal(x, y)")) return wrong(call.range);
  E left = parts_.conversions.value(*call.arguments[0].value);
  if (left->type->is(TypeKind::kError)) return left;
  if (analysis_.errors().is_result(left->type)) {
    const Range range = call.arguments[0].value->range;
    parts_.results.explain(error(range, "a '{}' may be an error", left->type->name), left->type, range);
    return wrong(range);
  }
  E right = parts_.conversions.value_as(*call.arguments[1].value, left->type);
  if (right->type->is(TypeKind::kError)) return right;
  if (E made = parts_.derived.own_equality(left, right, call.range); made != nullptr) return made;
  return parts_.derived.equality(left, right, call.range);
}

// Values are combined like digits of a number in an odd base, so that their order matters.
hir::Expr* BuiltinCalls::combined_hash(std::uint64_t first, const std::vector<E>& values, Range range) {
  constexpr std::uint64_t kBase = 0x9e3779b97f4a7c15;
  const Type* i64 = basic(TypeKind::kI64);
  E combined = integer(first, i64, range);
  for (E value : values) {
    E part = hash_of(value, range);
    if (part->type->is(TypeKind::kError)) return part;
    combined =
        binary(Binary::kAdd, binary(Binary::kMul, combined, integer(kBase, i64, range), range), part, range);
  }
  return combined;
}

hir::Expr* BuiltinCalls::hash_of(E value, Range range) {
  const Type* type = value->type;
  const Type* i64 = basic(TypeKind::kI64);
  if (type->is(TypeKind::kError) || type == i64) return value;
  if (type->is_integer() || type->is(TypeKind::kBool)) return make(ExprKind::kConvert, i64, range, {value});
  if (type->is_float()) {
    // 0.0 and -0.0 are equal and must have equal hashes: adding 0.0 turns -0.0 into 0.0.
    const Type* f64 = basic(TypeKind::kF64);
    if (type != f64) value = make(ExprKind::kConvert, f64, range, {value});
    std::vector<hir::Stmt*> before;
    value = stable(value, before);
    E zero = make(ExprKind::kFloat, f64, range);
    E bits = make(ExprKind::kBitCast, i64, range, {binary(Binary::kAdd, value, zero, range)});
    // Processors give different NaNs; all have one hash.
    constexpr std::uint64_t kNan = 0x7ff8'0000'0000'0000;
    E is_number = binary(Binary::kEq, value, value, range);
    E hash = make(ExprKind::kConditional, i64, range, {is_number, bits, integer(kNan, i64, range)});
    return in_block(std::move(before), hash, range);
  }
  if (type->is(TypeKind::kStr)) return call_native("str.hash", {value}, i64, range);
  std::vector<hir::Stmt*> before;
  if (type->is(TypeKind::kNullable)) {
    value = stable(value, before);
    E test = make(ExprKind::kIsNull, basic(TypeKind::kBool), range, {value});
    E present = hash_of(make(ExprKind::kUnwrap, type->element, range, {value}), range);
    if (present->type->is(TypeKind::kError)) return present;
    return in_block(std::move(before),
                    make(ExprKind::kConditional, i64, range, {test, integer(0, i64, range), present}), range);
  }
  if (E made = parts_.calls.invoke(value, "hash", {}, range); made != nullptr && made->type == i64)
    return made;
  if (type->is_enum) {
    if (analysis_.enums().is_plain(type))
      return make(ExprKind::kConvert, i64, range, {parts_.enums.number(value, range)});
    return parts_.derived.call(DerivedKind::kHash, {value}, range);
  }
  if (type->is(TypeKind::kStruct)) {
    analysis_.complete(*analysis_.nominal(type));
    value = stable(value, before);
    std::vector<E> fields;
    for (std::uint32_t i = 0; i < type->fields.size(); ++i) {
      fields.push_back(make(ExprKind::kField, type->fields[i].type, range, {value}));
      fields.back()->index = i;
    }
    E combined = combined_hash(fields.size(), fields, range);
    return combined->type->is(TypeKind::kError) ? combined : in_block(std::move(before), combined, range);
  }
  Diagnostic& diagnostic = error(range, "a '{}' cannot be hashed", type->name);
  const Nominal* nominal = analysis_.nominal(type);
  const bool is_of_library =
      nominal != nullptr && !analysis_.tuples().is_tuple(type) && nominal->symbol->module->module->is_stdlib;
  if (type->is(TypeKind::kArray) || is_of_library) {
    diagnostic.help("a tuple or a text of its contents can be, as `f\"{{...}}\"`");
  } else if (type->is(TypeKind::kClass) || type->is(TypeKind::kInterface)) {
    diagnostic.help("add `fn hash() -> i64` to '{}'", type->name);
  }
  return wrong(range);
}

}  // namespace dhpvm::compiler
