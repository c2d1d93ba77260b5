// SPDX-License-Identifier: Apache-2.0
// Writes random statements that change the size of lists and maps: only outside loops, which may iterate over them.
#include "compiler/testing/source_statements.h"

namespace dhpvm::compiler::testing {

void SourceStatements::change_collection() {
  const auto collections = expressions_.readable([](const SourceVariable& variable) {
    return variable.type->shape == Shape::kList || variable.type->shape == Shape::kMap;
  });
  if (place_.loops != 0 || place_.closures != 0) return print();
  if (collections.empty()) {
    const SourceType& type = world_.types.list(*decisions_.pick(world_.types.primitives()));
    const std::string name = world_.fresh("v");
    write(Phrase{"let {} = {};", name, expressions_.value(type, 2)});
    place_.variables.push_back({name, &type, VariableRole::kFixed, "", 0, place_.closures});
    return change_list(SourceVariable(place_.variables.back()));
  }
  const SourceVariable& taken = *decisions_.pick(collections);
  return taken.type->shape == Shape::kList ? change_list(taken) : change_map(taken);
}

void SourceStatements::change_list(const SourceVariable& list) {
  const SourceType& element = *list.type->element;
  const std::string& name = list.name;
  switch (decisions_.below(9)) {
    case 7: return write(Phrase{"{}.sort_by(fn(x: {}) => weigh(x));", name, element.name});
    case 8: return write(Phrase{"{}.for_each(fn(x) {{ print(x); }});", name});
    case 0:
      return write(Phrase{"{}.insert({}, {});", name, expressions_.index(name + ".len()"),
                          expressions_.value(element, 2)});
    case 1:
      return write(
          Phrase{"if {}.len() > 1 {{ {}.remove({}); }}", name, name, expressions_.index(name + ".len()")});
    case 2: return write(Phrase{"{}.reverse();", name});
    case 3: return write(Phrase{"{}.append({});", name, expressions_.value(*list.type, 2)});
    case 4:
      return write(Phrase{"{}.sort(fn(x: {}, y: {}) -> bool => weigh(x) < weigh(y));", name, element.name,
                          element.name});
    case 5: return write(Phrase{"if {}.len() > 1 {{ {}.pop(); }}", name, name});
    default: return write(Phrase{"{}.push({});", name, expressions_.value(element, 2)});
  }
}

// Never removes the key 0.
void SourceStatements::change_map(const SourceVariable& map) {
  const std::string key = Phrase{"({}) & 7", expressions_.value(world_.types.i64(), 2)}.text;
  if (decisions_.one_in(2)) return write(Phrase{"print({}.remove(({}) | 1));", map.name, key});
  write(Phrase{"{}.set({}, {});", map.name, key, expressions_.value(*map.type->element, 2)});
}

}  // namespace dhpvm::compiler::testing
