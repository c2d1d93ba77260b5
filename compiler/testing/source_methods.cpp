// SPDX-License-Identifier: Apache-2.0
// Writes random statements that use the methods of lists, maps and sets of structs and tuples, closures that assign
// variables around them, and guards that do. No statement traps by itself.
#include "compiler/testing/source_statements.h"

namespace dhpvm::compiler::testing {

void SourceStatements::use_methods() {
  switch (decisions_.below(5)) {
    case 0: return use_list();
    case 1: return use_map();
    case 2: return use_set();
    case 3: return use_assigning_closure();
    default: return use_assigning_guard();
  }
}

std::string SourceStatements::in_closure(const SourceType& type) {
  ++place_.closures;
  std::string text = expressions_.value(type, 2);
  --place_.closures;
  return text;
}

const SourceType& SourceStatements::key_type() {
  if (decisions_.one_in(3)) return *decisions_.pick(world_.types.structs());
  const SourceType& first = *decisions_.pick(world_.types.primitives());
  if (decisions_.one_in(2)) return first;
  return world_.types.tuple(
      first, decisions_.one_in(2) ? world_.types.text() : *decisions_.pick(world_.types.plain()));
}

void SourceStatements::use_list() {
  const SourceType& element = key_type();
  const std::string name = world_.fresh("m");
  const auto value = [&] { return expressions_.value(element, 2); };
  write(Phrase{"let {} = typed<List<{}>>([{}, {}, {}]);", name, element.name, value(), value(), value()});
  const auto index = [&] {
    return Phrase{"at({}, {}.len())", expressions_.value(world_.types.i64(), 2), name}.text;
  };
  for (unsigned n = 2 + decisions_.below(4); n > 0; --n) {
    switch (decisions_.below(9)) {
      case 0: write(Phrase{"{}.append_array([{}, {}]);", name, value(), value()}); break;
      case 1:
        write(Phrase{"print({}.reversed(), {}.sorted_by(fn(x) => (weigh(x) % 3, weigh(x))));", name, name});
        break;
      case 2:
        write(Phrase{"print({}.{}_by(fn(x) => weigh(x) % {}));", name, decisions_.pick({"min", "max"}),
                     2 + decisions_.below(5)});
        break;
      case 3:
        write(Phrase{"print({}.find(fn(x) => weigh(x) % 2 == 0), {}.count(fn(x) => x == {}));", name, name,
                     in_closure(element)});
        break;
      case 4: {
        const std::string place = world_.fresh("k");
        const std::string body =
            block_with({place, &world_.types.i64(), VariableRole::kFixed, "", 0, place_.closures});
        write(Phrase{"for {}, _x in {}.copy() {{ if {} % 3 == 1 {{ continue; }} {} }}", place, name, place,
                     body});
        break;
      }
      case 5: write(Phrase{"{}[{}] = {};", name, index(), value()}); break;
      case 6: write(Phrase{"{}.insert(0, {}.remove({}));", name, name, index()}); break;
      case 7:
        write(Phrase{"print({}[{}..].len(), {}.slice(0, 2), {} == {}.copy());", name, index(), name, name,
                     name});
        break;
      default:
        write(
            Phrase{"print({}.map(fn(x) => (weigh(x) & 7, x)).sorted_by(fn((a, _)) => -a).map(fn((a, b)) => "
                   "(b, a)));",
                   name});
    }
  }
  write(Phrase{"print({}, {}.first(), {}.last());", name, name, name});
}

void SourceStatements::use_map() {
  const SourceType& key = key_type();
  const SourceType& number = *decisions_.pick(world_.types.integers());
  const std::string name = world_.fresh("m");
  const auto a_key = [&] { return expressions_.value(key, 2); };
  const auto value = [&] { return expressions_.value(number, 2); };
  write(Phrase{"let {} = Map<{}, {}>();\n{}[{}] = {};", name, key.name, number.name, name, a_key(), value()});
  for (unsigned n = 3 + decisions_.below(5); n > 0; --n) {
    switch (decisions_.below(8)) {
      case 0:
      case 1:
        write(Phrase{"{}[{}] {}= {};", name, a_key(), decisions_.pick({"+", "-", "^"}), value()});
        break;
      case 2: write(Phrase{"print({}.remove({}), {}.len());", name, a_key(), name}); break;
      case 3:
        write(Phrase{"for k, x in {} {{ if x % 2 == 0 {{ {}.remove(k); }} else {{ {}[k] += {}; }} }}", name,
                     name, name, value()});
        break;
      case 4:
        write(Phrase{"print({}.get_or_add({}, fn() => {}), {}.get({}) ?? {});", name, a_key(),
                     in_closure(number), name, a_key(), value()});
        break;
      case 5:
        write(Phrase{"print({} == {}.copy(), {}.keys().len, {}.values());", name, name, name, name});
        break;
      case 6:
        write(Phrase{"if let x = {}.get({}) && x > 3 {{ print(x); }} else {{ {}[{}] = {}; }}", name, a_key(),
                     name, a_key(), value()});
        break;
      default:
        write(Phrase{"{}.for_each(fn(k, x) {{ print(k, x); }});\n{}", name,
                     decisions_.one_in(3) ? name + ".clear();" : ""});
    }
  }
  write(Phrase{"print({});", name});
}

void SourceStatements::use_set() {
  const SourceType& key = key_type();
  const std::string a = world_.fresh("m");
  const std::string b = world_.fresh("m");
  const auto value = [&] { return expressions_.value(key, 2); };
  write(Phrase{"let {}: Set<{}> = [{}, {}];", a, key.name, value(), value()});
  write(Phrase{"let {}: Set<{}> = [{}, {}, {}];", b, key.name, value(), value(), value()});
  if (decisions_.one_in(2)) write(Phrase{"for k in {} {{ if weigh(k) % 3 != 0 {{ {}.add(k); }} }}", a, b});
  write(Phrase{"print({}.union({}), {}.intersection({}), {}.difference({}));", a, b, a, b, a, b});
  write(Phrase{"print({}.remove({}), {}.is_subset({}), {}.equals({}), {});", a, value(), a, b, a, b, a});
}

// Both see one variable; each turn of a loop has one of its own.
void SourceStatements::use_assigning_closure() {
  const SourceType& type = *decisions_.pick(world_.types.integers());
  const std::string name = world_.fresh("v");
  const std::string add = world_.fresh("f");
  write(Phrase{"var {}: {} = {};", name, type.name, expressions_.value(type, 2)});
  const std::string parameter = world_.fresh("x");
  ++place_.closures;
  place_.variables.push_back({parameter, &type, VariableRole::kFixed, "", 0, place_.closures});
  const std::string added = expressions_.value(type, 2);
  place_.variables.pop_back();
  --place_.closures;
  write(Phrase{"let {} = fn({}: {}) -> {} {{\n{} {}= {};\nreturn {};\n}};", add, parameter, type.name,
               type.name, name, decisions_.pick({"+", "-", "^"}), added, name});
  write(Phrase{"print({}({}), {}, {}({}) - {});", add, expressions_.value(type, 2), name, add,
               expressions_.value(type, 2), name});
  place_.variables.push_back({name, &type, VariableRole::kVar, "", 0, place_.closures});
}

// Guards are tried in order, each at most once. Parallel loops have them, too.
void SourceStatements::use_assigning_guard() {
  const SourceType& type = *decisions_.pick(world_.types.integers());
  const SourceType& boolean = world_.types.boolean();
  const std::string name = world_.fresh("v");
  const std::string taken = world_.fresh("x");
  write(Phrase{"var {} = {};", name, expressions_.value(world_.types.i64(), 1)});
  const std::string subject =
      Phrase{"({}, {})", expressions_.value(type, 2), expressions_.value(boolean, 1)}.text;
  const SourceVariable variable{taken, &type, VariableRole::kFixed, "", 0, place_.closures};
  const std::string first = expressions_.value(boolean, 1);
  std::string arms =
      Phrase{"({}, true) if {{ {} += 1; {} }} => {}\n", taken, name, first, block_with(variable)}.text;
  arms += Phrase{"({}, _) if {{ {} ^= {} as i64; {} & 1 == 0 }} => {}\n",
                 taken,
                 name,
                 taken,
                 name,
                 block_with(variable)}
              .text;
  write(Phrase{"match {} {{\n{}else => {}\n}}", subject, arms, block()});
  place_.variables.push_back({name, &world_.types.i64(), VariableRole::kVar, "", 0, place_.closures});
}

}  // namespace dhpvm::compiler::testing
