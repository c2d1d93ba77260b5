// SPDX-License-Identifier: Apache-2.0
// Expressions of lists and maps, and of parts of texts.
#include "compiler/testing/phrase.h"
#include "compiler/testing/source_expressions.h"

namespace dhpvm::compiler::testing {

std::string SourceExpressions::collection(const SourceType& type, unsigned depth) {
  if (type.shape == Shape::kList && depth != 0 && decisions_.one_in(4)) return mapped(type, depth - 1);
  const bool is_literal = depth != 0 && decisions_.one_in(2);
  if (!is_literal && !world_.has_imports && type.shape == Shape::kList) return grown(type, depth);
  if (is_literal && type.shape == Shape::kMap)
    return Phrase{"typed<{}>([0: {}, {}: {}])", type.name, value(*type.element, depth - 1),
                  decisions_.below(9), value(*type.element, depth - 1)}
        .text;
  if (is_literal)
    return Phrase{"typed<{}>([{}, {}])", type.name, value(*type.element, depth - 1),
                  value(*type.element, depth - 1)}
        .text;
  if (type.shape == Shape::kMap)
    return Phrase{"map_of<{}>({})", type.element->name, value(*type.element, depth)}.text;
  return Phrase{"list.of<{}>({})", type.element->name, array(world_.types.array(*type.element, 1), depth)}
      .text;
}

// A list built by methods from a shorter one.
std::string SourceExpressions::grown(const SourceType& type, unsigned depth) {
  const std::string first = value(*type.element, depth == 0 ? 0 : depth - 1);
  if (decisions_.one_in(2))
    return Phrase{"typed<{}>([{}]).map<{}>(fn(x) => x)", type.name, first, type.element->name}.text;
  return Phrase{"({{ let list = {}(); list.push({}); list }})", type.name, first}.text;
}

// A list mapped from another one by a closure.
std::string SourceExpressions::mapped(const SourceType& type, unsigned depth) {
  const SourceType& from = *decisions_.pick(world_.types.primitives());
  const std::string source = value(world_.types.list(from), depth);
  const std::string parameter = world_.fresh("x");
  ++place_.closures;
  place_.variables.push_back({parameter, &from, VariableRole::kFixed, "", 0, place_.closures});
  const std::string element = value(*type.element, depth);
  place_.variables.pop_back();
  --place_.closures;
  if (decisions_.one_in(2)) {
    return Phrase{"({}).map(fn(x: {}) => (x, x)).map<{}>(fn(({}, _)) => {})",
                  source,
                  from.name,
                  type.element->name,
                  parameter,
                  element}
        .text;
  }
  return Phrase{"({}).map<{}>(fn({}: {}) -> {} => {})",
                source,
                type.element->name,
                parameter,
                from.name,
                type.element->name,
                element}
      .text;
}

// A text that is split and joined.
std::string SourceExpressions::parts_of_text(unsigned depth) {
  const std::string text = value(world_.types.text(), depth);
  switch (decisions_.below(4)) {
    case 0:
      return Phrase{"str.join(({}).split({}), \"-\")", text, decisions_.pick({"\" \"", "\"l\"", "\"el\""})}
          .text;
    case 1: return Phrase{"str.join(({}).words(), \"/\")", text}.text;
    case 2: return Phrase{"str.pad_left({}, {})", text, decisions_.below(12)}.text;
    default: return Phrase{"({}).lower()", text}.text;
  }
}

// A chain of method calls.
std::string SourceExpressions::chained(unsigned depth) {
  std::string made = Phrase{"({})", value(world_.types.list(world_.types.i64()), depth)}.text;
  for (unsigned links = 1 + decisions_.below(3); links > 0; --links) {
    made += decisions_.pick({".filter(fn(x) => x % 2 == 0)", ".map(fn(x) => x * 3 + 1)", ".copy()",
                             ".filter(fn(x: i64) -> bool => x > 7)", ".slice(0, 0)"});
  }
  return made + decisions_.pick({".len()", ".sum()", ".any(fn(x) => x == 1)", ".all(fn(x) => x != 4)",
                                 ".fold(1, fn(a, x) => a * 31 + x)", ".to_str()"});
}

std::string SourceExpressions::question(unsigned depth) {
  const SourceType& element = *decisions_.pick(world_.types.primitives());
  switch (decisions_.below(13)) {
    case 6: return chained(depth);
    case 7: {
      const std::string map = value(world_.types.map(element), depth);
      return Phrase{"({}).{}", map, decisions_.pick({"keys()", "values().len", "len()", "is_empty()"})}.text;
    }
    case 8: {
      const std::string list = value(world_.types.list(element), depth);
      return Phrase{"({}).{}", list, decisions_.pick({"copy()", "len()", "to_array().len", "join(\" \")"})}
          .text;
    }
    case 9: {
      const std::string list = value(world_.types.list(element), depth);
      return Phrase{"({}).zip({}).to_list().len()", list, value(world_.types.list(world_.types.i64()), depth)}
          .text;
    }
    case 10: {
      const std::string list = value(world_.types.list(element), depth);
      return Phrase{"({})[({}) & 0]", list, value(world_.types.i64(), 1)}.text;
    }
    case 0: {
      const SourceType& list = world_.types.list(element);
      return Phrase{"({}).contains({})", value(list, depth), value(element, depth)}.text;
    }
    case 1: {
      const SourceType& list = world_.types.list(element);
      return Phrase{"({}).index_of({})", value(list, depth), value(element, depth)}.text;
    }
    case 2: {
      const std::string map = value(world_.types.map(element), depth);
      return Phrase{"({}).get_or(({}) & 7, {})", map, value(world_.types.i64(), 1), value(element, depth)}
          .text;
    }
    case 3: {
      const std::string map = value(world_.types.map(element), depth);
      return Phrase{"({}).has(({}) & 7)", map, value(world_.types.i64(), 1)}.text;
    }
    case 4: {
      const std::string list = value(world_.types.list(world_.types.i64()), depth);
      return Phrase{"({}).fold<i64>(7, fn(sum: i64, x: i64) -> i64 => sum * 31 + x)", list}.text;
    }
    default: {
      const std::string text = value(world_.types.text(), depth);
      const char* question =
          decisions_.pick({"contains(\"l\")", "starts_with(\"h\")", "ends_with(\"o\")", "find(\"l\")"});
      return Phrase{"({}).{}", text, question}.text;
    }
  }
}

}  // namespace dhpvm::compiler::testing
