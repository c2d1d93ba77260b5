// SPDX-License-Identifier: Apache-2.0
#include "compiler/testing/random_source.h"

#include <bit>
#include <functional>
#include <utility>
#include <vector>

#include "compiler/testing/source_prelude.h"
#include "compiler/testing/source_statements.h"
#include "compiler/testing/source_world.h"

#include "compiler/testing/phrase.h"

namespace dhpvm::compiler::testing {

namespace {

class SourceProgram {
 public:
  explicit SourceProgram(std::span<const std::byte> bytes) : decisions_(bytes), world_(decisions_) {}

  std::string write() {
    world_.has_imports = decisions_.one_in(2);
    text_ = std::string(world_.has_imports ? kImports : "") + kPrelude;
    declare_struct(false);
    declare_struct(false);
    declare_struct(true);
    for (const EnumValues values : {EnumValues::kNone, EnumValues::kOthers, EnumValues::kItself})
      declare_enum(values);
    declare_class();
    declare_class();
    for (unsigned n = 1 + decisions_.below(2); n > 0; --n) declare_function(true);
    for (unsigned n = 1 + decisions_.below(3); n > 0; --n) declare_function(false);
    write_main();
    return std::move(text_);
  }

 private:
  // The fields of plain structs are plain.
  void declare_struct(bool has_text) {
    SourceType& type = world_.types.declare(Shape::kStruct, world_.fresh("Struct"));
    for (unsigned n = 1 + decisions_.below(3); n > 0; --n)
      type.fields.push_back({world_.fresh("f"), decisions_.pick(world_.types.plain())});
    if (has_text) type.fields.push_back({world_.fresh("f"), &world_.types.text()});
    text_ += Phrase{"struct {} {{\n{}{}}}\n", type.name, fields_of(type), operators_of(type)}.text;
    text_ +=
        Phrase{"const {} = {}({});\n", SourceExpressions::constant_of(type), type.name, constants_for(type)}
            .text;
    world_.types.finish(type);
  }

  static std::string constants_for(const SourceType& type) {
    std::string values;
    for (const SourceType::Field& field : type.fields) {
      values += values.empty() ? "" : ", ";
      switch (field.type->shape) {
        case Shape::kStruct: values += SourceExpressions::constant_of(*field.type); break;
        case Shape::kText: values += "f\"text {7}\""; break;
        case Shape::kBool: values += "true"; break;
        case Shape::kFloat: values += "2.5" + field.type->name; break;
        default: values += "3" + field.type->name; break;
      }
    }
    return values;
  }

  enum class EnumValues : std::uint8_t { kNone, kOthers, kItself };

  void declare_enum(EnumValues values) {
    SourceType& type = world_.types.declare(Shape::kEnum, world_.fresh("Enum"));
    type.cases.push_back({world_.fresh("c"), {}});
    std::string text = type.cases[0].name + ";\n";
    for (unsigned n = 1 + decisions_.below(3); n > 0; --n) {
      SourceType::Case& option = type.cases.emplace_back();
      option.name = world_.fresh("c");
      std::string listed;
      const unsigned count = values == EnumValues::kNone ? 0 : 1 + decisions_.below(3);
      while (option.values.size() < count) {
        const bool itself = values == EnumValues::kItself && decisions_.one_in(2);
        option.values.push_back(itself                 ? &type
                                : decisions_.one_in(4) ? &world_.types.text()
                                                       : decisions_.pick(world_.types.plain()));
        listed += (listed.empty() ? "" : ", ") + option.values.back()->name;
      }
      text += listed.empty() ? option.name + ";\n" : Phrase{"{}({});\n", option.name, listed}.text;
    }
    text_ += Phrase{"enum {} {{\n{}}}\n", type.name, text}.text;
    world_.types.finish(type);
  }

  static std::string fields_of(const SourceType& type) {
    std::string text;
    for (const SourceType::Field& field : type.fields)
      text += Phrase{"{}: {};\n", field.name, field.type->name}.text;
    return text;
  }

  // A value of the struct type, whose fields `of` writes.
  static std::string by_fields(const SourceType& type,
                               const std::function<std::string(const SourceType::Field&)>& of) {
    std::string values;
    for (const SourceType::Field& field : type.fields) values += (values.empty() ? "" : ", ") + of(field);
    return type.name + "(" + values + ")";
  }

  // Operators for all fields except text, which would grow; an order by the first field if it is a number.
  static std::string operators_of(const SourceType& type) {
    using Field = SourceType::Field;
    const auto has_operators = [](const Field& field) {
      return field.type->is_number() || field.type->shape == Shape::kStruct;
    };
    const auto with_other = [&](const char* op) {
      return by_fields(type, [&](const Field& field) {
        return has_operators(field) ? Phrase{"{} {} o.{}", field.name, op, field.name}.text : field.name;
      });
    };
    const std::string times = by_fields(type, [&](const Field& field) {
      if (!has_operators(field)) return field.name;
      const bool is_number = field.type->is_number();
      return Phrase{"{} * {}", field.name, is_number ? "(k as " + field.type->name + ")" : "k"}.text;
    });
    const std::string negated = by_fields(type, [&](const Field& field) {
      const bool has_sign = field.type->shape == Shape::kStruct || field.type->is_signed;
      return (has_sign ? "-" : "") + field.name;
    });
    const std::string& name = type.name;
    std::string text = Phrase{"fn plus(o: {}) -> {} => {};\n", name, name, with_other("+")}.text +
                       Phrase{"fn minus(o: {}) -> {} => {};\n", name, name, with_other("-")}.text +
                       Phrase{"fn times(k: i64) -> {} => {};\n", name, times}.text +
                       Phrase{"fn negated() -> {} => {};\n", name, negated}.text;
    const std::string& first = type.fields.front().name;
    if (type.fields.front().type->is_number())
      text +=
          Phrase{
              "fn compare(o: {}) -> i64 => if {} < o.{} {{ -1 }} else if {} > o.{} {{ 1 }} else {{ 0 }};\n",
              type.name,
              first,
              first,
              first,
              first}
              .text;
    return text;
  }

  // Every class is Sized, has an array and a number, and methods that use its fields without `this`.
  void declare_class() {
    SourceType& type = world_.types.declare(Shape::kClass, world_.fresh("Class"));
    const SourceType& element = *decisions_.pick(world_.types.numbers());
    const SourceType& number = *decisions_.pick(world_.types.integers());
    type.fields.push_back({world_.fresh("f"), &world_.types.array(element, 1)});
    type.fields.push_back({world_.fresh("f"), &number});
    for (unsigned n = decisions_.below(3); n > 0; --n)
      type.fields.push_back({world_.fresh("f"), decisions_.pick(world_.types.plain())});
    if (!world_.types.classes().empty())
      type.fields.push_back({world_.fresh("f"), &world_.types.nullable(*world_.types.classes().front())});

    SourcePlace place;
    for (const SourceType::Field& field : type.fields)
      place.variables.push_back({field.name, field.type, VariableRole::kVar, "", 0, 0});
    place.result = &world_.types.i64();
    text_ += Phrase{"class {} : Sized {{\n{}", type.name, fields_of(type)}.text;
    text_ += initialiser(type);
    text_ += "fn size() -> i64 " + body(place, 4) + "\n";
    if (decisions_.one_in(3)) text_ += "fn twice() -> i64 => size();\n";
    SourcePlace pure = place;
    pure.is_pure = true;
    for (SourceVariable& field : pure.variables) field.role = VariableRole::kFixed;
    pure.variables.push_back({"by", &world_.types.i64(), VariableRole::kFixed, "", 0, 0});
    text_ += "fn weight(by: i64) -> i64 " + body(pure, 3) + "\n";
    place.result = nullptr;
    place.variables.push_back({"by", &world_.types.i64(), VariableRole::kFixed, "", 0, 0});
    text_ += "fn bump(by: i64) " + body(place, 5) + "\n";
    text_ += Phrase{"fn to_str() -> str => f\"{}({{{}}})\";\n}}\n", type.name, type.fields[1].name}.text;
    world_.types.finish(type);
  }

  std::string initialiser(const SourceType& type) {
    if (decisions_.one_in(2)) return "";
    std::string parameters;
    std::string assignments;
    for (const SourceType::Field& field : type.fields) {
      parameters += Phrase{"{}{}: {}", parameters.empty() ? "" : ", ", field.name, field.type->name}.text;
      assignments += Phrase{"this.{} = {};\n", field.name, field.name}.text;
    }
    return Phrase{"init({}) {{\n{}}}\n", parameters, assignments}.text;
  }

  std::string body(SourcePlace place, unsigned budget) {
    SourceStatements statements(world_, place);
    statements.set_budget(budget);
    return statements.block(SourceStatements::Ending::kReturns);
  }

  void declare_function(bool is_pure) {
    SourceFunction function;
    function.is_pure = is_pure;
    function.name = world_.fresh("function");
    SourcePlace place;
    place.is_pure = is_pure;
    std::string parameters;
    for (unsigned n = 1 + decisions_.below(3); n > 0; --n) {
      const SourceType& type = is_pure ? pure_parameter() : world_.types.any(decisions_);
      const std::string name = world_.fresh("a");
      function.parameters.push_back(&type);
      parameters += Phrase{"{}{}: {}", parameters.empty() ? "" : ", ", name, type.name}.text;
      place.variables.push_back({name, &type, VariableRole::kFixed, "", 0, 0});
    }
    function.result = is_pure || decisions_.one_in(2) ? decisions_.pick(world_.types.plain())
                                                      : &world_.types.any(decisions_);
    place.result = function.result;
    text_ += Phrase{"fn {}({}) -> {} {}\n", function.name, parameters, function.result->name, body(place, 12)}
                 .text;
    world_.functions.push_back(std::move(function));
  }

  const SourceType& pure_parameter() {
    const SourceType& plain = *decisions_.pick(world_.types.plain());
    return decisions_.one_in(3) ? world_.types.array(plain, 1) : plain;
  }

  void write_main() {
    SourcePlace place;
    place.calls_left = 8;
    SourceStatements statements(world_, place);
    statements.set_budget(16);
    text_ += "fn main() {\n" + statements.block() + "\n";
    SourceExpressions expressions(world_, place);
    expressions.closure_body = [](const SourceType&, const std::string& parameter) {
      return Phrase{"{{ trap(str({})); }}", parameter}.text;
    };
    for (unsigned n = 0; n < 6; ++n)
      text_ += Phrase{"print({});\n", expressions.value(*decisions_.pick(world_.types.primitives()))}.text;
    text_ += "}\n";
  }

  Decisions decisions_;
  SourceWorld world_;
  std::string text_;
};

}  // namespace

std::string random_source(std::span<const std::byte> bytes) { return SourceProgram(bytes).write(); }

std::string random_source(std::uint64_t seed) {
  // A generator makes the decisions from the start: the seed alone would determine only the first eight.
  std::byte bytes[40] = {};
  for (unsigned n = 0; n < 40; ++n) {
    seed = (seed ^ (seed >> 31)) * 0x9e3779b97f4a7c15 + 0x7f4a7c15;
    bytes[n] = static_cast<std::byte>(seed >> 56);
  }
  return random_source(std::span<const std::byte>(bytes));
}

}  // namespace dhpvm::compiler::testing
