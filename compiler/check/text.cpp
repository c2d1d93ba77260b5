// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/text.h"

#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

using hir::ExprKind;

hir::Expr* TextMaker::join_text(const std::vector<E>& parts, Range range) {
  std::vector<E> flat;
  for (E part : parts) {
    if (part->kind == ExprKind::kStringConcat) {
      flat.insert(flat.end(), part->operands.begin(), part->operands.end());
    } else if (part->kind == ExprKind::kString && !flat.empty() && flat.back()->kind == ExprKind::kString) {
      flat.back() = string(flat.back()->text + part->text, analysis_.range_of(flat.back()));
    } else {
      flat.push_back(part);
    }
  }
  if (flat.empty()) return string("", range);
  if (flat.size() == 1) return flat[0];
  return make(ExprKind::kStringConcat, basic(TypeKind::kStr), range, std::move(flat));
}

hir::Expr* TextMaker::text_of(E value, Range range) {
  const Type* type = value->type;
  const Type* str = basic(TypeKind::kStr);
  const auto converted = [&](TypeKind kind) {
    return type->is(kind) ? value : make(ExprKind::kConvert, basic(kind), range, {value});
  };
  if (type->is(TypeKind::kError) || type == str) return value;
  if (type->is(TypeKind::kNever)) return parts_.conversions.coerce(value, str, range);
  if (analysis_.errors().is_result(type)) {
    parts_.results.explain(error(range, "a '{}' may be an error, which has another text", type->name), type,
                           range);
    return wrong(range);
  }
  if (type->is_signed_integer()) return call_native("str.from_i64", {converted(TypeKind::kI64)}, str, range);
  if (type->is_unsigned_integer())
    return call_native("str.from_u64", {converted(TypeKind::kU64)}, str, range);
  if (type->is(TypeKind::kF32)) return call_native("str.from_f32", {value}, str, range);
  if (type->is(TypeKind::kF64)) return call_native("str.from_f64", {value}, str, range);
  if (type->is(TypeKind::kBool)) {
    return make(ExprKind::kConditional, str, range, {value, string("true", range), string("false", range)});
  }
  if (type->is(TypeKind::kNull)) return string("null", range);
  if (type->is(TypeKind::kNullable)) {
    std::vector<hir::Stmt*> before;
    value = stable(value, before);
    E test = make(ExprKind::kIsNull, basic(TypeKind::kBool), range, {value});
    E present = text_of(make(ExprKind::kUnwrap, type->element, range, {value}), range);
    if (present->type->is(TypeKind::kError)) return present;
    return in_block(std::move(before),
                    make(ExprKind::kConditional, str, range, {test, string("null", range), present}), range);
  }
  if (E made = parts_.calls.invoke(value, "to_str", {}, range); made != nullptr && made->type == str)
    return made;
  // A struct can hold arrays of itself.
  if (type->is_enum || state_.texts_in_work.contains(type)) {
    const bool in_trap = state_.in_trap_message;
    return parts_.derived.call(in_trap ? DerivedKind::kTextInTrap : DerivedKind::kText, {value}, range);
  }
  if (type->is(TypeKind::kStruct)) {
    state_.texts_in_work.insert(type);
    E text = struct_text(value, range);
    state_.texts_in_work.erase(type);
    return text;
  }
  if (type->is(TypeKind::kArray)) return array_text(value, range);
  const bool is_object = type->is(TypeKind::kClass) || type->is(TypeKind::kInterface);
  if (is_object && state_.in_trap_message) {
    // Messages show only the name of its type: a message must not make a program fail to compile, least of all in
    // generic code.
    Body effects{evaluate(value)};
    return in_block(std::move(effects), string("a '" + type->name + "'", range), range);
  }
  Diagnostic& diagnostic = error(range, "a '{}' has no text", type->name);
  if (type->is(TypeKind::kClass) || type->is(TypeKind::kInterface)) {
    diagnostic.help("add `fn to_str() -> str` to '{}'", type->name);
  }
  return wrong(range);
}

hir::Expr* TextMaker::struct_text(E value, Range range) {
  const Type* type = value->type;
  analysis_.complete(*analysis_.nominal(type));
  std::vector<hir::Stmt*> before;
  value = stable(value, before);
  const bool is_tuple = analysis_.tuples().is_tuple(type);
  std::vector<E> parts{string(is_tuple ? "(" : type->name + "(", range)};
  for (std::uint32_t i = 0; i < type->fields.size(); ++i) {
    parts.push_back(string((i == 0 ? "" : ", ") + (is_tuple ? "" : type->fields[i].name + ": "), range));
    E part = make(ExprKind::kField, type->fields[i].type, range, {value});
    part->index = i;
    parts.push_back(text_of(part, range));
    if (parts.back()->type->is(TypeKind::kError)) return parts.back();
  }
  parts.push_back(string(")", range));
  return in_block(std::move(before), join_text(parts, range), range);
}

hir::Expr* TextMaker::array_text(E array, Range range) {
  Body before;
  array = stable(array, before);
  E text = row_text({array}, range);
  return text->type->is(TypeKind::kError) ? text : in_block(std::move(before), text, range);
}

// The text of `place`, an array with some of its indices, over the remaining dimensions. The texts of the elements are
// collected in an array and joined once: repeated concatenation would take quadratic time.
hir::Expr* TextMaker::row_text(const std::vector<E>& place, Range range) {
  const Type* str = basic(TypeKind::kStr);
  const Type* type = place[0]->type;
  const auto dimension = static_cast<std::uint32_t>(place.size() - 1);
  Body before;
  E count = stable(parts_.array_methods.dim_of(place[0], dimension, range), before);
  E texts = stable(make(ExprKind::kNewArray, types().array(str, 1), range, {count}), before);
  bool good = true;
  before.push_back(count_loop(count, range, [&](E index) -> Body {
    std::vector<E> inner = place;
    inner.push_back(index);
    E text = inner.size() <= type->rank ? row_text(inner, range)
                                        : text_of(make(ExprKind::kIndex, type->element, range, inner), range);
    good = !text->type->is(TypeKind::kError);
    return {assign(make(ExprKind::kIndex, str, range, {texts, index}), text, range)};
  }));
  if (!good) return wrong(range);
  E joined = call_native("str.join", {texts, count, string(", ", range)}, str, range);
  return in_block(std::move(before), join_text({string("[", range), joined, string("]", range)}, range),
                  range);
}

hir::Expr* TextMaker::format_expr(const ast::Expr& expr) {
  std::vector<E> parts;
  bool good = true;
  for (const ast::FormatPart& part : expr.parts) {
    if (part.value == nullptr) {
      parts.push_back(string(part.text, part.range));
      continue;
    }
    E value = parts_.conversions.value(*part.value);
    parts.push_back(part.spec.text.empty() ? text_of(value, part.value->range) : formatted(value, part));
    good = good && !parts.back()->type->is(TypeKind::kError);
  }
  if (!good) return wrong(expr.range);
  return join_text(parts, expr.range);
}

// A number in braces of a format specification. A negative one becomes larger than the largest width allowed.
hir::Expr* TextMaker::spec_number(const ast::Expr& number) {
  E value = parts_.conversions.value(number);
  if (value->type->is(TypeKind::kError)) return value;
  if (!value->type->is_integer()) {
    error(number.range, "the width and the precision of a format are integers, not a '{}'",
          value->type->name);
    return wrong(number.range);
  }
  const Type* u64 = basic(TypeKind::kU64);
  if (value->type != u64) value = make(ExprKind::kConvert, u64, number.range, {value});
  return call_native("str.from_u64", {value}, basic(TypeKind::kStr), number.range);
}

hir::Expr* TextMaker::spec_text(const ast::FormatPart& part) {
  if (part.spec_numbers.empty()) return string(std::string(part.spec.text), part.range);
  std::vector<E> texts;
  for (std::size_t i = 0; i < part.spec_texts.size(); ++i) {
    texts.push_back(string(std::string(part.spec_texts[i]), part.range));
    if (i == part.spec_numbers.size()) break;
    texts.push_back(spec_number(*part.spec_numbers[i]));
    if (texts.back()->type->is(TypeKind::kError)) return texts.back();
  }
  return join_text(texts, part.range);
}

// The fill character, alignment and width for text.
hir::Expr* TextMaker::padding(const ast::FormatPart& part) {
  const ast::FormatSpec& spec = part.spec;
  const bool is_computed = !part.spec_numbers.empty();
  E width = is_computed ? spec_number(*part.spec_numbers[0]) : string(std::to_string(spec.width), part.range);
  if (width->type->is(TypeKind::kError)) return width;
  return join_text({string(spec.fill + (spec.align == 0 ? '>' : spec.align), part.range), width}, part.range);
}

hir::Expr* TextMaker::formatted(E value, const ast::FormatPart& part) {
  const Range range = part.value->range;
  const ast::FormatSpec& spec = part.spec;
  const Type* str = basic(TypeKind::kStr);
  const Type* type = value->type;
  if (type->is(TypeKind::kError)) return value;
  const auto one_of = [&](std::string_view letters) {
    return spec.type == 0 || letters.find(spec.type) != std::string_view::npos;
  };
  const auto native = [&](const char* name, E operand, E text) {
    return text->type->is(TypeKind::kError) ? text : call_native(name, {operand, text}, str, range);
  };
  const auto converted = [&](TypeKind kind) {
    return type->is(kind) ? value : make(ExprKind::kConvert, basic(kind), range, {value});
  };
  const bool float_format = spec.has_precision || (spec.type != 0 && one_of("eEfFgG%"));
  if (type->is_integer() && !float_format) {
    if (!one_of("bcdoxX")) {
      error(part.range, "format '{}' does not suit a '{}'", spec.type, type->name)
          .help("for integers use b, c, d, o, x or X; e, f, g and % convert to f64");
      return wrong(range);
    }
    return type->is_signed_integer() ? native("str.format_i64", converted(TypeKind::kI64), spec_text(part))
                                     : native("str.format_u64", converted(TypeKind::kU64), spec_text(part));
  }
  if (type->is_number()) {
    if (!one_of("eEfFgG%")) {
      error(part.range, "format '{}' does not suit a '{}'", spec.type, type->name)
          .help("for floats use e, f, g or %, or convert: `as i64`");
      return wrong(range);
    }
    // An f32 and the f64 of the same value have different shortest texts.
    const bool only_padding =
        spec.sign == 0 && !spec.zero && !spec.grouping && !spec.alternate && spec.align != '=';
    if (type->is(TypeKind::kF32) && spec.type == 0 && !spec.has_precision && only_padding) {
      return native("str.format_str", text_of(value, range), padding(part));
    }
    return native("str.format_f64", converted(TypeKind::kF64), spec_text(part));
  }
  if (!one_of("s") || spec.sign != 0 || spec.alternate || spec.zero || spec.grouping || spec.align == '=') {
    error(part.range, "the format '{}' suits numbers, not a '{}'", spec.text, type->name)
        .help("for text use [[fill]align][width][.precision][s], with align one of < > ^");
    return wrong(range);
  }
  E text = text_of(value, range);
  if (text->type->is(TypeKind::kError)) return text;
  return native("str.format_str", text, spec_text(part));
}

std::string TextMaker::advice(const Type* type, Range range) {
  const std::string_view text = analysis_.diagnostics().sources().text(range);
  if (text.size() > 2 && text.front() == '\'' && text.back() == '\'') {
    const std::string_view byte = text.substr(1, text.size() - 2);
    return fmt::format("write `\"{}\"`", byte == "\"" ? "\\\"" : byte);
  }
  if (!type->is(TypeKind::kU8)) return {};
  return "the text of a byte is `s[i..=i]`, where it stands in a text; `str(x)` is that of its number";
}

}  // namespace dhpvm::compiler
