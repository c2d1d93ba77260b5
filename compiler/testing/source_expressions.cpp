// SPDX-License-Identifier: Apache-2.0
#include "compiler/testing/source_expressions.h"

#include <algorithm>
#include <utility>

#include "compiler/testing/phrase.h"

namespace dhpvm::compiler::testing {

namespace {

constexpr unsigned kMostElements = 2;  // nesting of elements in indices

}  // namespace

std::vector<const SourceVariable*> SourceExpressions::readable(
    const std::function<bool(const SourceVariable&)>& fits) const {
  std::vector<const SourceVariable*> found;
  for (const SourceVariable& variable : place_.variables) {
    if ((place_.in_kernel || place_.is_pure) && !variable.type->is_for_kernels()) continue;
    // A closure cannot capture a fixed array.
    if (variable.role == VariableRole::kFixedArray && variable.depth != place_.closures) continue;
    if (fits(variable)) found.push_back(&variable);
  }
  return found;
}

std::string SourceExpressions::value(const SourceType& type, unsigned depth) {
  if (depth == 0) return zero_deep(type);
  if (decisions_.below(5) < 2) {
    if (std::string found = stored(type); !found.empty()) return found;
  }
  if (decisions_.one_in(6)) {
    if (std::string found = call(type, depth - 1); !found.empty()) return found;
  }
  if (decisions_.one_in(9)) return choice(type, depth - 1);
  if (decisions_.one_in(12)) return match(type, depth - 1);
  const bool is_free = !place_.in_kernel && !place_.is_pure;
  if (is_free && decisions_.one_in(14)) return from_result(type, depth - 1);
  if (is_free && decisions_.one_in(12) && type.shape != Shape::kNullable) return unwrapped(type, depth - 1);
  switch (type.shape) {
    case Shape::kBool: return boolean(depth - 1);
    case Shape::kInteger: return integer(type, depth - 1);
    case Shape::kFloat: return floating(type, depth - 1);
    case Shape::kText: return text(depth - 1);
    case Shape::kEnum: return enum_value(type, depth - 1);
    case Shape::kStruct: return structure(type, depth - 1);
    case Shape::kClass: return construct(type, depth - 1);
    case Shape::kArray: return array(type, depth - 1);
    case Shape::kList:
    case Shape::kMap: return collection(type, depth - 1);
    case Shape::kNullable:
      return Phrase{"some<{}>({}, {})", type.element->name, boolean(depth - 1),
                    value(*type.element, depth - 1)}
          .text;
    case Shape::kFunction: return closure(type, depth - 1);
  }
  return literal(type);
}

// The value of a result: its error is handled or absent, or passed on inside `passes`.
std::string SourceExpressions::from_result(const SourceType& type, unsigned depth) {
  switch (decisions_.below(4)) {
    case 0: return Phrase{"fails<{}>(false, {})!", type.name, value(type, depth)}.text;
    case 1:
      return Phrase{"(passes<{}>({}, {}) catch err {{ print(err, err.kind.name()); {} }})", type.name,
                    boolean(depth), value(type, depth), value(type, depth)}
          .text;
    default:
      return Phrase{"(passes<{}>({}, {}) catch {{ {} }})", type.name, boolean(depth), value(type, depth),
                    value(type, depth)}
          .text;
  }
}

// Without recursion.
std::string SourceExpressions::zero_deep(const SourceType& type) {
  if (decisions_.below(3) != 0) {
    if (std::string found = stored(type); !found.empty()) return found;
  }
  switch (type.shape) {
    case Shape::kEnum: return enum_value(type, 0);
    case Shape::kStruct:
    case Shape::kClass: return construct(type, 0);
    case Shape::kArray: return array(type, 0);
    case Shape::kList:
    case Shape::kMap: return collection(type, 0);
    case Shape::kNullable:
      return Phrase{"some<{}>(false, {})", type.element->name, zero_deep(*type.element)}.text;
    case Shape::kFunction: return closure(type, 0);
    default: return literal(type);
  }
}

std::string SourceExpressions::literal(const SourceType& type) {
  switch (type.shape) {
    case Shape::kBool: return decisions_.one_in(2) ? "true" : "false";
    case Shape::kText:
      if (decisions_.one_in(8)) return "r\"a\\n\"";
      return Phrase{"\"{}\"", decisions_.pick({"", "a", "hello", "\\u{e9}t\\u{e9}", "x y"})}.text;
    case Shape::kFloat:
      if (decisions_.one_in(8))
        return Phrase{"{}.{}", type.name, decisions_.pick({"max", "min", "epsilon", "infinity"})}.text;
      return Phrase{"{}.{}{}", decisions_.below(20), decisions_.pick({0, 5, 25}), type.name}.text;
    default: break;
  }
  if (decisions_.one_in(8)) return edge(type);
  const std::uint32_t small = decisions_.below(decisions_.one_in(3) ? 100 : 6);
  if (type.is_signed && decisions_.one_in(4)) return Phrase{"(-{}{})", small, type.name}.text;
  return Phrase{"{}{}", small, type.name}.text;
}

std::string SourceExpressions::edge(const SourceType& type) {
  if (type.bits < 32 || decisions_.one_in(2)) return type.name + (decisions_.one_in(2) ? ".max" : ".min");
  const char* number = type.bits == 32
                           ? decisions_.pick({"255", "65535", "70000"})
                           : decisions_.pick({"255", "65535", "2147483648", "4294967295", "4294967301"});
  const bool is_negative = type.is_signed && decisions_.one_in(2);
  return Phrase{"({}{}{})", is_negative ? "-" : "", number, type.name}.text;
}

std::string SourceExpressions::index(const std::string& length, unsigned depth) {
  if (place_.may_trap && decisions_.one_in(60)) return value(world_.types.i64(), 1);  // may well trap
  return Phrase{"at({}, {})", value(world_.types.i64(), depth), length}.text;
}

std::string SourceExpressions::element(const SourceVariable& array, ElementUse use) {
  if (array.role == VariableRole::kOutput) return Phrase{"{}[{}]", array.name, array.own_index}.text;
  ++elements_;
  std::string indices;
  if (array.role == VariableRole::kFixedArray) {
    const SourceType& type = *decisions_.pick(world_.types.integers());
    indices = Phrase{"({}) & {}", value(type, 1), array.count - 1}.text;
  } else if (array.type->shape == Shape::kList) {
    indices = index(array.name + ".len()");
  } else if (array.type->shape == Shape::kMap) {
    // Any key can be written. Reading a missing one traps.
    const bool any = use == ElementUse::kWrite || decisions_.one_in(40);
    indices = any ? Phrase{"({}) & 7", value(world_.types.i64(), 1)}.text : "0";
  } else {
    for (unsigned d = 0; d < array.type->rank; ++d) {
      const std::string length =
          array.type->rank == 1 ? array.name + ".len" : Phrase{"{}.dim({})", array.name, d}.text;
      indices += (d == 0 ? "" : ", ") + index(length);
    }
  }
  --elements_;
  return Phrase{"{}[{}]", array.name, indices}.text;
}

// A variable, a field of one, or an element: its text is written only if it is chosen.
struct SourceExpressions::Candidate {
  const SourceVariable* variable = nullptr;
  const SourceType::Field* field = nullptr;
  bool is_element = false;
};

std::string SourceExpressions::one_of(const std::vector<Candidate>& candidates, ElementUse use) {
  if (candidates.empty()) return "";
  const Candidate& taken = decisions_.pick(candidates);
  const std::string field = taken.field != nullptr ? "." + taken.field->name : "";
  // A field can only be changed in an existing element.
  if (taken.is_element)
    return element(*taken.variable, taken.field != nullptr ? ElementUse::kRead : use) + field;
  return taken.variable->name + field;
}

std::string SourceExpressions::stored(const SourceType& type) {
  std::vector<Candidate> found;
  const bool has_elements = elements_ < kMostElements;
  for (const SourceVariable* variable : readable([](const SourceVariable&) { return true; })) {
    const bool is_own =
        variable->role == VariableRole::kOutput || variable->role == VariableRole::kFixedArray;
    if (variable->type == &type && !is_own) found.push_back({variable});
    const bool is_fixed = variable->role == VariableRole::kFixedArray && variable->type == &type;
    if (has_elements && (is_fixed || (variable->type->has_elements() && variable->type->element == &type)))
      found.push_back({variable, nullptr, true});
    if (is_own || (variable->type->shape != Shape::kStruct && variable->type->shape != Shape::kClass))
      continue;
    for (const SourceType::Field& field : variable->type->fields)
      if (field.type == &type) found.push_back({variable, &field});
  }
  return one_of(found, ElementUse::kRead);
}

std::string SourceExpressions::assignable(const SourceType& type) {
  std::vector<Candidate> found;
  const bool is_free = !place_.in_kernel && !place_.is_pure;
  for (const SourceVariable* variable : readable([](const SourceVariable&) { return true; })) {
    if (variable->role == VariableRole::kVar && variable->type == &type) found.push_back({variable});
    const bool is_struct = variable->role == VariableRole::kVar && variable->type->shape == Shape::kStruct;
    if (is_struct || (is_free && variable->type->shape == Shape::kClass)) {
      for (const SourceType::Field& field : variable->type->fields)
        if (field.type == &type) found.push_back({variable, &field});
    }
    const bool is_fixed = variable->role == VariableRole::kFixedArray && variable->type == &type;
    const bool can_change = is_free || variable->role == VariableRole::kOutput;
    const bool has_elements = variable->type->has_elements() && can_change;
    if (is_fixed || (has_elements && variable->type->element == &type))
      found.push_back({variable, nullptr, true});
    if (has_elements && variable->type->element->shape == Shape::kStruct) {
      for (const SourceType::Field& field : variable->type->element->fields)
        if (field.type == &type) found.push_back({variable, &field, true});
    }
  }
  return one_of(found, ElementUse::kWrite);
}

std::string SourceExpressions::number(const SourceType& type, unsigned depth) {
  switch (decisions_.below(5)) {
    case 0: {
      const SourceType& from = *decisions_.pick(world_.types.numbers());
      return Phrase{"({} as {})", value(from, depth), type.name}.text;
    }
    case 1:
      return Phrase{"math.{}({}, {})", decisions_.pick({"min", "max"}), value(type, depth),
                    value(type, depth)}
          .text;
    case 2:
      // Generic functions, with inferred or explicit type arguments.
      return Phrase{"pick{}({}, {}, {})", decisions_.one_in(2) ? "<" + type.name + ">" : "", boolean(depth),
                    value(type, depth), value(type, depth)}
          .text;
    case 3:
      if (type.is_signed) return Phrase{"(-{})", value(type, depth)}.text;
      [[fallthrough]];
    default: return literal(type);
  }
}

std::string SourceExpressions::integer(const SourceType& type, unsigned depth) {
  const auto operand = [&] { return value(type, depth); };
  switch (decisions_.below(10)) {
    case 0: return Phrase{"(~{})", operand()}.text;
    case 1: {
      const SourceType& count = *decisions_.pick(world_.types.integers());
      return Phrase{"({} {} {})", operand(), decisions_.pick({"<<", ">>"}), value(count, depth)}.text;
    }
    case 2: {
      // The divisor is odd, and so never zero; occasionally arbitrary.
      const char* odd = place_.may_trap && decisions_.one_in(40) ? "" : " | 1";
      return Phrase{"({} {} ({}{}))", operand(), decisions_.pick({"/", "%"}), operand(), odd}.text;
    }
    case 3:
      if (&type != &world_.types.i64()) return number(type, depth);
      // A function that parallel loops call must not allocate arrays.
      if (!place_.is_pure && decisions_.one_in(6))
        return Phrase{"rows[at({}, 2)][at({}, 3)]", operand(), operand()}.text;
      if (!place_.is_pure && decisions_.one_in(4)) return Phrase{"table[at({}, table.len)]", operand()}.text;
      for (const SourceVariable& object : place_.variables)
        if (object.type->shape == Shape::kClass && !place_.is_pure && decisions_.one_in(3) && place_.may_trap)
          return Phrase{"{}.weight({})", object.name, operand()}.text;
      if (!place_.in_kernel && !place_.is_pure && decisions_.one_in(4))
        return Phrase{"countdown({})", operand()}.text;
      for (const SourceVariable* array : readable([](const SourceVariable& variable) {
             return variable.type->shape == Shape::kArray || variable.type->shape == Shape::kText;
           }))
        if (decisions_.one_in(2)) return array->name + ".len";
      return number(type, depth);
    case 4:
      return Phrase{"({} {} {})", operand(), decisions_.pick({"+", "-", "*"}), 1 + decisions_.below(9)}.text;
    case 5:
    case 6: return number(type, depth);
    default: {
      const char* op = decisions_.pick({"+", "-", "*", "&", "|", "^", "+"});
      return Phrase{"({} {} {})", operand(), op, operand()}.text;
    }
  }
}

std::string SourceExpressions::floating(const SourceType& type, unsigned depth) {
  const auto operand = [&] { return value(type, depth); };
  switch (decisions_.below(8)) {
    case 0:
      return Phrase{"math.{}({})", decisions_.pick({"sqrt", "floor", "ceil", "trunc", "abs", "round"}),
                    operand()}
          .text;
    case 1: return Phrase{"math.fma({}, {}, {})", operand(), operand(), operand()}.text;
    case 2:
    case 3: return number(type, depth);
    default: {
      const char* op = decisions_.pick({"+", "-", "*", "/", "%"});
      return Phrase{"({} {} {})", operand(), op, operand()}.text;
    }
  }
}

std::string SourceExpressions::boolean(unsigned depth) {
  if (depth == 0) return zero_deep(world_.types.boolean());
  --depth;
  const bool is_free = !place_.in_kernel && !place_.is_pure;
  switch (decisions_.below(is_free ? 9 : 6)) {
    case 0: return Phrase{"(!{})", boolean(depth)}.text;
    case 1: return Phrase{"({} && {})", boolean(depth), boolean(depth)}.text;
    case 2: return Phrase{"({} || {})", boolean(depth), boolean(depth)}.text;
    case 6: {
      const SourceType& type = world_.types.text();
      return Phrase{"({} {} {})", value(type, depth), decisions_.pick({"==", "!=", "<", ">="}),
                    value(type, depth)}
          .text;
    }
    case 7: {
      const SourceType& type = world_.types.nullable(*decisions_.pick(world_.types.primitives()));
      return Phrase{"({} {} null)", value(type, depth), decisions_.pick({"==", "!="})}.text;
    }
    case 8: {
      const auto& types = decisions_.one_in(2) ? world_.types.structs() : world_.types.enums();
      const SourceType& type = *decisions_.pick(types);
      const bool is_ordered = !type.cases.empty() && std::ranges::all_of(type.cases, [](const auto& option) {
        return option.values.empty();
      });
      const bool compares =
          type.shape == Shape::kStruct && type.fields.front().type->is_number() && decisions_.one_in(2);
      const char* op =
          is_ordered || compares ? decisions_.pick({"==", "<", ">="}) : decisions_.pick({"==", "!="});
      return Phrase{"({} {} {})", value(type, depth), op, value(type, depth)}.text;
    }
    default: {
      const SourceType& type = *decisions_.pick(world_.types.numbers());
      const char* op = decisions_.pick({"==", "!=", "<", "<=", ">", ">="});
      return Phrase{"({} {} {})", value(type, depth), op, value(type, depth)}.text;
    }
  }
}

std::string SourceExpressions::text(unsigned depth) {
  switch (decisions_.below(9)) {
    case 7: return parts_of_text(depth);
    case 3:
      return Phrase{"cut({}, {}, {})", value(world_.types.text(), depth), value(world_.types.i64(), 1),
                    value(world_.types.i64(), 1)}
          .text;
    case 4:
      return Phrase{"({}).{}", value(world_.types.text(), depth),
                    decisions_.pick({"upper()", "trim()", "repeat(2)", "replace(\"a\", \"bc\")"})}
          .text;
    case 0:
      return Phrase{"({} + {})", value(world_.types.text(), depth), value(world_.types.text(), depth)}.text;
    case 1: return Phrase{"str({})", value(*decisions_.pick(world_.types.primitives()), depth)}.text;
    case 2: {
      const SourceType& type = *decisions_.pick(world_.types.integers());
      return Phrase{"f\"<{{{}:{}}}>\"", value(type, 0), decisions_.pick({"5", "<4", "x", "+", ",", "04"})}
          .text;
    }
    default: return literal(world_.types.text());
  }
}

std::string SourceExpressions::constant_of(const SourceType& type) { return "constant_" + type.name; }

// By the operators of structs, or from its fields.
std::string SourceExpressions::structure(const SourceType& type, unsigned depth) {
  if (type.is_tuple() || !decisions_.one_in(3)) return construct(type, depth);
  switch (decisions_.below(4)) {
    case 0: return Phrase{"({} * {})", value(type, depth), value(world_.types.i64(), depth)}.text;
    case 1: return Phrase{"(-{})", value(type, depth)}.text;
    default:
      return Phrase{"({} {} {})", value(type, depth), decisions_.pick({"+", "-"}), value(type, depth)}.text;
  }
}

std::string SourceExpressions::construct(const SourceType& type, unsigned depth) {
  const bool is_struct = type.shape == Shape::kStruct && !type.is_tuple();
  if (is_struct && decisions_.one_in(8)) return constant_of(type);
  std::string arguments;
  const bool is_named = !type.is_tuple() && decisions_.one_in(4);
  for (const SourceType::Field& field : type.fields) {
    if (!arguments.empty()) arguments += ", ";
    if (is_named) arguments += field.name + ": ";
    arguments += value(*field.type, depth == 0 ? 0 : depth - 1);
    // A literal takes its type from its context, and a tuple may have none.
    if (type.is_tuple()) arguments += " as " + field.type->name;
  }
  return Phrase{"{}({})", type.is_tuple() ? "" : type.name, arguments}.text;
}

std::string SourceExpressions::array(const SourceType& type, unsigned depth) {
  if (type.rank == 1 && depth != 0 && decisions_.one_in(6))
    return Phrase{"part({}, {}, {})", value(type, depth - 1), value(world_.types.i64(), 1),
                  value(world_.types.i64(), 1)}
        .text;
  if (type.rank == 1 && (depth != 0 || !type.element->is_plain()) && decisions_.one_in(2)) {
    std::string elements = value(*type.element, depth == 0 ? 0 : depth - 1);
    for (unsigned more = decisions_.below(4); more > 0; --more)
      elements += ", " + value(*type.element, depth == 0 ? 0 : depth - 1);
    return Phrase{"[{}]", elements}.text;
  }
  std::string sizes;
  for (unsigned d = 0; d < type.rank; ++d)
    sizes += Phrase{"{}{}", d == 0 ? "" : ", ", 1 + decisions_.below(9)}.text;
  const bool is_filled = !type.element->is_plain() || decisions_.one_in(2);
  const std::string fill =
      is_filled ? ", fill: " + value(*type.element, depth == 0 ? 0 : depth - 1) : std::string();
  return Phrase{"{}({}{})", type.name, sizes, fill}.text;
}

std::string SourceExpressions::closure(const SourceType& type, unsigned depth) {
  const std::string parameter = world_.fresh("x");
  if (depth != 0 && decisions_.one_in(2) && place_.closures < 2)
    return Phrase{"(fn({}: i64) -> {} {})", parameter, type.element->name,
                  closure_body(*type.element, parameter)}
        .text;
  ++place_.closures;
  place_.variables.push_back({parameter, &world_.types.i64(), VariableRole::kFixed, "", 0, place_.closures});
  const std::string result = value(*type.element, depth);
  place_.variables.pop_back();
  --place_.closures;
  return Phrase{"(fn({}: i64) -> {} => {})", parameter, type.element->name, result}.text;
}

std::string SourceExpressions::choice(const SourceType& type, unsigned depth) {
  const std::string test = boolean(depth);
  return Phrase{"(if {} {} else {})", test, block(type, depth), block(type, depth)}.text;
}

// A block with a value, sometimes after statements.
std::string SourceExpressions::block(const SourceType& type, unsigned depth) {
  if (!decisions_.one_in(4)) return Phrase{"{{ {} }}", value(type, depth)}.text;
  const SourceType& changing = *decisions_.pick(world_.types.plain());
  const std::string name = world_.fresh("t");
  const std::string before =
      Phrase{
          "var {} = {}; if {} {{ {} = {}; }}", name, value(changing, 1), boolean(1), name, value(changing, 1)}
          .text;
  place_.variables.push_back({name, &changing, VariableRole::kFixed, "", 0, place_.closures});
  const std::string result = value(type, depth);
  place_.variables.pop_back();
  return Phrase{"{{ {} {} }}", before, result}.text;
}

std::string SourceExpressions::unwrapped(const SourceType& type, unsigned depth) {
  const SourceType& nullable = world_.types.nullable(type);
  if (type.shape == Shape::kFunction) return closure(type, depth);
  const std::string otherwise = value(type, depth);
  return Phrase{"({} ?? {})", value(nullable, depth), otherwise}.text;
}

std::string SourceExpressions::call(const SourceType& type, unsigned depth) {
  if (place_.calls_left == 0) return "";
  const bool is_free = !place_.in_kernel && !place_.is_pure;
  if (is_free) {
    const auto closures = readable([&](const SourceVariable& variable) {
      return variable.type->shape == Shape::kFunction && variable.type->element == &type;
    });
    if (!closures.empty() && decisions_.one_in(2)) {
      --place_.calls_left;
      return Phrase{"{}({})", decisions_.pick(closures)->name, value(world_.types.i64(), depth)}.text;
    }
  }
  std::vector<const SourceFunction*> fitting;
  for (const SourceFunction& function : world_.functions)
    if (function.result == &type && (is_free || function.is_pure)) fitting.push_back(&function);
  for (const SourceFunction& closure : place_.pure_closures)
    if (closure.result == &type) fitting.push_back(&closure);
  if (fitting.empty()) return "";
  --place_.calls_left;
  const SourceFunction& function = *decisions_.pick(fitting);
  std::string arguments;
  for (const SourceType* parameter : function.parameters) {
    std::string argument;
    if (is_free || parameter->is_plain()) {
      argument = value(*parameter, depth);
    } else {
      // A parallel loop allocates no arrays, and passes none that it writes.
      const auto arrays = readable([&](const SourceVariable& variable) {
        return variable.type == parameter && variable.role != VariableRole::kOutput;
      });
      if (arrays.empty()) return literal(type).empty() ? "" : zero_deep(type);
      argument = decisions_.pick(arrays)->name;
    }
    arguments += (arguments.empty() ? "" : ", ") + argument;
  }
  return Phrase{"{}({})", function.name, arguments}.text;
}

}  // namespace dhpvm::compiler::testing
