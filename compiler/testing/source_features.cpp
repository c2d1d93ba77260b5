// SPDX-License-Identifier: Apache-2.0
// Writes random statements that use the types and functions of the prelude: each covers a part of the language that
// variables of random types do not reach. They are placed outside parallel loops.
#include "compiler/testing/source_statements.h"

namespace dhpvm::compiler::testing {

void SourceStatements::feature() {
  switch (decisions_.below(20)) {
    case 0: return visit_pairs();
    case 1: return visit_tuples();
    case 2: return visit_own();
    case 3: return visit_text();
    case 4: return exchange();
    case 5: return match_text();
    case 6: return match_interface();
    case 7: return let_case();
    case 8: return drain();
    case 9: return attempt_value();
    case 10: return declare_recursive();
    case 11: return use_containers();
    case 12: return use_generics();
    case 13: return use_own_elements();
    case 14: return use_objects();
    case 15: return count_words();
    case 16:
    case 17:
    case 18: return use_methods();
    default: return show_rest();
  }
}

std::string SourceStatements::fixed_variable(const SourceType& type, const char* prefix) {
  place_.variables.push_back({world_.fresh(prefix), &type, VariableRole::kFixed, "", 0, place_.closures});
  return place_.variables.back().name;
}

// Iterates over a map whose keys are tuples, destructured in the head of the loop.
void SourceStatements::visit_pairs() {
  if (place_.loops >= kMostLoops) return choose();
  const SourceType& first = *decisions_.pick(world_.types.primitives());
  const SourceType& second = decisions_.one_in(2) ? world_.types.text() : world_.types.i64();
  const SourceType& value =
      decisions_.one_in(2) ? world_.types.text() : *decisions_.pick(world_.types.plain());
  const SourceType& key = world_.types.tuple(first, second);
  const std::string map = world_.fresh("m");
  write(Phrase{"let {} = typed<Map<{}, {}>>([{}: {}, {}: {}]);", map, key.name, value.name,
               expressions_.value(key, 2), expressions_.value(value, 2), expressions_.value(key, 2),
               expressions_.value(value, 2)});
  write(Phrase{"{}[{}] = {};", map, expressions_.value(key, 2), expressions_.value(value, 2)});
  const std::size_t variables = place_.variables.size();
  const std::string a = fixed_variable(first, "k");
  const bool has_second = !decisions_.one_in(4);
  const std::string b = has_second ? fixed_variable(second, "k") : "_";
  const std::string name = world_.fresh("e");
  const std::string body = loop_block({name, &value, VariableRole::kFixed, "", 0, place_.closures});
  place_.variables.resize(variables);
  write(Phrase{"{}: for ({}, {}), {} in {} {}", label_of(name), a, b, name, map, body});
  write(Phrase{"print({});", map});
}

// Iterates over nested tuples in an array, with or without the position.
void SourceStatements::visit_tuples() {
  if (place_.loops >= kMostLoops) return choose();
  const SourceType& first = *decisions_.pick(world_.types.primitives());
  const SourceType& second =
      decisions_.one_in(2) ? world_.types.text() : *decisions_.pick(world_.types.plain());
  const SourceType& tuple = world_.types.tuple(first, second);
  const SourceType& sequence = decisions_.one_in(2) ? world_.types.list(tuple) : world_.types.array(tuple, 1);
  const bool is_zipped = sequence.shape == Shape::kList && decisions_.one_in(3);
  const std::string taken = expressions_.value(sequence, 2);
  const std::size_t variables = place_.variables.size();
  const bool has_place = is_zipped || decisions_.one_in(2);
  const std::string place = has_place ? fixed_variable(world_.types.i64(), "k") + ", " : std::string();
  const std::string a = decisions_.one_in(4) ? "_" : fixed_variable(first, "e");
  const std::string name = world_.fresh("e");
  const std::string body = loop_block({name, &second, VariableRole::kFixed, "", 0, place_.closures});
  place_.variables.resize(variables);
  const std::string zipped = is_zipped ? Phrase{"typed<List<i64>>([3, 1, {}]).zip({})",
                                                expressions_.value(world_.types.i64(), 1), taken}
                                             .text
                                       : taken;
  write(Phrase{"{}: for {}({}, {}) in {} {}", label_of(name), place, a, name, zipped, body});
}

// Iterates over types with their own elements: by iterators, `nth`, pairs, a chain of closures, a set.
void SourceStatements::visit_own() {
  if (place_.loops >= kMostLoops) return choose();
  const SourceType& i64 = world_.types.i64();
  const std::string size = Phrase{"at({}, 6)", expressions_.value(i64, 2)}.text;
  std::string sequence;
  bool may_have_place = false;
  switch (decisions_.below(5)) {
    case 0: sequence = Phrase{"Down({})", size}.text; break;
    case 1: sequence = Phrase{"Squares({})", size}.text; break;
    case 2:
      sequence = Phrase{"lazy.range(0, {}).filter(fn(x) => x % 3 != 1).map(fn(x) => x * 7)", size}.text;
      break;
    case 3: sequence = Phrase{"typed<Set<i64>>([{}, 3, {}])", size, expressions_.value(i64, 1)}.text; break;
    default:
      // Not `size`: a closure cannot capture a fixed array.
      sequence =
          Phrase{"moves.map(fn((a, b)) => a + 2 * b).filter(fn(x) => x < {})", decisions_.below(6)}.text;
      may_have_place = true;
      break;
  }
  const std::size_t variables = place_.variables.size();
  const bool has_place = may_have_place && decisions_.one_in(2);
  const std::string place = has_place ? fixed_variable(i64, "k") + ", " : std::string();
  const std::string name = world_.fresh("e");
  const std::string body = loop_block({name, &i64, VariableRole::kFixed, "", 0, place_.closures});
  place_.variables.resize(variables);
  write(Phrase{"{}: for {}{} in {} {}", label_of(name), place, name, sequence, body});
  if (decisions_.one_in(3)) write(Phrase{"for i, x in Squares({}) {{ print(i, x); }}", size});
}

void SourceStatements::visit_text() {
  if (place_.loops >= kMostLoops) return choose();
  const std::string text = Phrase{"({})", expressions_.value(world_.types.text(), 2)}.text;
  const char* parts =
      decisions_.pick({".words()", ".lines()", ".split(\"l\")", ".split(\" \").map(str.upper)"});
  const std::size_t variables = place_.variables.size();
  const bool has_place = decisions_.one_in(2);
  const std::string place = has_place ? fixed_variable(world_.types.i64(), "k") + ", " : std::string();
  const std::string name = world_.fresh("e");
  const std::string body =
      loop_block({name, &world_.types.text(), VariableRole::kFixed, "", 0, place_.closures});
  place_.variables.resize(variables);
  write(Phrase{"{}: for {}{} in {}{} {}", label_of(name), place, name, text, parts, body});
}

// Assigns several places at once.
void SourceStatements::exchange() {
  const SourceType& first = type_here();
  const SourceType& second = type_here();
  const std::string a = expressions_.assignable(first);
  const std::string b = expressions_.assignable(second);
  if (a.empty() || b.empty()) return assign();
  write(Phrase{"({}, {}) = ({}, {});", a, b, expressions_.value(first, 2), expressions_.value(second, 2)});
}

// Matches texts and floats: constants, ranges, guards that use the pattern's variable.
void SourceStatements::match_text() {
  if (decisions_.one_in(3)) {
    const SourceType& type = decisions_.one_in(2) ? world_.types.f64() : *world_.types.numbers()[8];
    const std::string subject = expressions_.value(type, 2);
    return write(
        Phrase{"match {} {{\n0.0..1.5 => {}\n2.5 => {}\nelse => {}\n}}", subject, block(), block(), block()});
  }
  const std::string subject = expressions_.value(world_.types.text(), 2);
  const std::string name = world_.fresh("v");
  std::string arms = Phrase{"\"a\" | \"hello\" => {}\n", block()}.text;
  const SourceVariable variable{name, &world_.types.text(), VariableRole::kFixed, "", 0, place_.closures};
  place_.variables.push_back(variable);
  const std::string condition = expressions_.value(world_.types.boolean(), 2);
  place_.variables.pop_back();
  arms +=
      Phrase{"{} if {{ let n = {}.len; n > 1 && {} }} => {}\n", name, name, condition, block_with(variable)}
          .text;
  write(Phrase{"match {} {{\n{}{} => {}\n}}", subject, arms, decisions_.pick({"_", "else"}), block()});
}

void SourceStatements::match_interface() {
  if (world_.types.classes().size() < 2) return narrow();
  const SourceType& first = *world_.types.classes()[0];
  const SourceType& second = *world_.types.classes()[1];
  const SourceType& taken = decisions_.one_in(2) ? first : second;
  const std::string name = world_.fresh("s");
  write(Phrase{"let {}: Sized = {};", name, expressions_.value(taken, 2)});
  const std::string object = world_.fresh("o");
  const std::string body = block_with({object, &first, VariableRole::kFixed, "", 0, place_.closures});
  const std::string others = decisions_.one_in(2)
                                 ? Phrase{"else => {}", block()}.text
                                 : Phrase{"{} => {}\nelse => print(\"other\");", second.name, block()}.text;
  write(Phrase{"match {} {{\n{} {} => {}\n{}\n}}", name, first.name, object, body, others});
  write(Phrase{"print({} is {}, ({} as? {})?.size() ?? -1);", name, first.name, name, second.name});
}

// `if let` with a case of an enum.
void SourceStatements::let_case() {
  const SourceType& type = *decisions_.pick(world_.types.enums());
  const std::string subject = expressions_.value(type, 3);
  const std::size_t before = place_.variables.size();
  const std::string pattern = expressions_.pattern_of(type);
  const std::string condition =
      decisions_.one_in(2) ? " && " + expressions_.value(world_.types.boolean(), 1) : std::string();
  const std::string body = block();
  place_.variables.resize(before);
  const std::string otherwise = decisions_.one_in(2) ? " else " + block() : std::string();
  write(Phrase{"if let {} = {}{} {}{}", pattern, subject, condition, body, otherwise});
}

// A loop that empties a list.
void SourceStatements::drain() {
  if (place_.loops >= kMostLoops) return choose();
  const SourceType& element =
      decisions_.one_in(2) ? *decisions_.pick(world_.types.plain()) : world_.types.text();
  const std::string list = world_.fresh("m");
  write(Phrase{"let {} = {};", list, expressions_.value(world_.types.list(element), 2)});
  const std::string name = world_.fresh("q");
  const std::string condition =
      decisions_.one_in(3) ? " && " + expressions_.value(world_.types.boolean(), 1) : std::string();
  const std::string body = loop_block({name, &element, VariableRole::kFixed, "", 0, place_.closures});
  write(Phrase{"{}: while let {} = pop_of({}){} {}", label_of(name), name, list, condition, body});
}

// A block that returns a value or traps, and whose kind of trap is tested.
void SourceStatements::attempt_value() {
  const SourceType& type = type_here();
  std::string body = block();
  body.resize(body.size() - 1);
  const std::string condition = expressions_.value(world_.types.boolean(), 2);
  const char* trap = decisions_.pick({"trap(\"t\");", "print(1 / [0][0]);", "print([1][[2][0]]);",
                                      "try wrapped(true, 1);", "fails(true, 1)!;"});
  const std::string value = expressions_.value(type, 2);
  const std::string name = world_.fresh("v");
  const std::string err = world_.fresh("err");
  const std::string handled =
      decisions_.one_in(2)
          ? Phrase{"match {}.kind {{ DivisionByZero => {}, IndexOutOfRange | Malformed => {}, else => {}, }}",
                   err, expressions_.value(type, 1), expressions_.value(type, 1), expressions_.value(type, 1)}
                .text
          : Phrase{"{{ print({}.message, {}.cause == null); {} }}", err, err, expressions_.value(type, 2)}
                .text;
  write(Phrase{"let {}: {} = try {}if {} {{ {} }}\n{}\n}} catch {} {{ {} }};", name, type.name, body,
               condition, trap, value, err, handled});
  place_.variables.push_back({name, &type, VariableRole::kFixed, "", 0, place_.closures});
}

// A closure that calls itself at most ten times.
void SourceStatements::declare_recursive() {
  const SourceType& type = *decisions_.pick(world_.types.numbers());
  const std::string name = world_.fresh("v");
  const std::string parameter = world_.fresh("x");
  ++place_.closures;
  place_.variables.push_back({parameter, &world_.types.i64(), VariableRole::kFixed, "", 0, place_.closures});
  const std::string first = expressions_.value(type, 2);
  const std::string again = Phrase{"({}({} - 1) {} {})", name, parameter, decisions_.pick({"+", "-", "*"}),
                                   expressions_.value(type, 2)}
                                .text;
  place_.variables.pop_back();
  --place_.closures;
  const std::string head = Phrase{"let {} = fn({}: i64) -> {}", name, parameter, type.name}.text;
  if (decisions_.one_in(2))
    write(Phrase{"{} => if {} <= 0 || {} > 9 {{ {} }} else {{ {} }};", head, parameter, parameter, first,
                 again});
  else
    write(Phrase{"{} {{\nif {} <= 0 || {} > 9 {{ return {}; }}\nreturn {};\n}};", head, parameter, parameter,
                 first, again});
  place_.variables.push_back(
      {name, &world_.types.function(type), VariableRole::kFixed, "", 0, place_.closures});
}

void SourceStatements::use_containers() {
  const SourceType& i64 = world_.types.i64();
  const SourceType& type = *decisions_.pick(world_.types.integers());
  const std::string name = world_.fresh("m");
  const auto value = [&] { return expressions_.value(type, 2); };
  const auto number = [&] { return Phrase{"at({}, 9)", expressions_.value(i64, 2)}.text; };
  switch (decisions_.below(5)) {
    case 0:
      write(Phrase{"let {}: Set<{}> = [{}, {}];\n{}.add({});", name, type.name, value(), value(), name,
                   value()});
      return write(Phrase{"print({}, {}.has({}), {}.union([{}]).len(), {}.remove({}));", name, name, value(),
                          name, value(), name, value()});
    case 1:
      write(Phrase{"let {}: Deque<{}> = [{}];\n{}.push_first({});\n{}.push({});", name, type.name, value(),
                   name, value(), name, value()});
      write(Phrase{"{}[1] {}= {};", name, decisions_.pick({"", "+", "^"}), value()});
      return write(Phrase{"print({}.pop_first(), {}.pop(), {});\nfor i, x in {} {{ print(i, x); }}", name,
                          name, name, name});
    case 2:
      write(Phrase{"let {} = Heap<({}, i64)>({});", name, type.name,
                   decisions_.pick({"", "fn(a, b) => a.1 < b.1", "fn(a, b) => a > b"})});
      write(Phrase{"for i in 0..{} {{ {}.push(({}, i * 5 % 7)); }}", number(), name, value()});
      return write(Phrase{"while !{}.is_empty() {{ let (a, b) = {}.pop(); print(a, b); }}", name, name});
    case 3:
      write(Phrase{"let {} = SortedMap<{}, str>();\n{}[{}] = {};\n{}[{}] += \"x\";", name, type.name, name,
                   value(), expressions_.value(world_.types.text(), 2), name, value()});
      return write(Phrase{"for k, x in {} {{ print(k, x); }}\nprint({}.floor({}), {}.first(), {});", name,
                          name, value(), name, name});
    default:
      write(Phrase{"let {} = BitSet(9);\n{}.add({});\n{}[{}] = {};", name, name, number(), name, number(),
                   expressions_.value(world_.types.boolean(), 2)});
      return write(Phrase{"for i in {} {{ print(i, {}[{}]); }}\nprint({}.count(), {}.next(2));", name, name,
                          number(), name, name});
  }
}

// Generic types with generic methods, an interface with type parameters and its inherited method.
void SourceStatements::use_generics() {
  const SourceType& first = *decisions_.pick(world_.types.plain());
  const SourceType& second =
      decisions_.one_in(2) ? world_.types.text() : *decisions_.pick(world_.types.plain());
  const SourceType& third = *decisions_.pick(world_.types.primitives());
  const std::string a = expressions_.value(first, 2);
  const std::string b = expressions_.value(second, 2);
  const std::string c = expressions_.value(third, 2);
  const std::string name = world_.fresh("v");
  switch (decisions_.below(4)) {
    case 0:
      return write(Phrase{"print(Pair<{}, {}>({}, {}).swapped().with_first<{}>({}));", first.name,
                          second.name, a, b, third.name, c});
    case 1: {
      const char* made = decisions_.pick({"Choice.one({})", "Choice<{}>.nothing", "Choice.both({}, {})"});
      const std::string choice = made[7] == '<'   ? "Choice<" + first.name + ">.nothing"
                                 : made[8] == 'n' ? "typed<Choice<" + first.name + ">>(Choice.one(" + a + "))"
                                                  : "typed<Choice<" + first.name + ">>(Choice.both(" + a +
                                                        ", " + expressions_.value(first, 1) + "))";
      return write(Phrase{"let {} = {};\nprint({}, {} is both, {}.or({}));", name, choice, name, name, name,
                          expressions_.value(first, 2)});
    }
    case 2:
      write(Phrase{"let {} = Box<{}>({});\nlet {}_m: Maker<{}> = {};", name, first.name, a, name, first.name,
                   name});
      return write(Phrase{"print({}_m.made_twice({}), {}, {} == Box<{}>({}));", name,
                          expressions_.value(world_.types.i64(), 2), name, name, first.name,
                          expressions_.value(first, 2)});
    default:
      return write(Phrase{"print(Box<{}>({}).map<{}>(fn(_x) => {}).map<{}>(fn(x) => x));", first.name, a,
                          third.name, c, third.name});
  }
}

// `x[i, j]` of a class, operators of an enum, fixed arrays that functions change.
void SourceStatements::use_own_elements() {
  const SourceType& type = *decisions_.pick(world_.types.numbers());
  const SourceType& i64 = world_.types.i64();
  const std::string name = world_.fresh("m");
  const auto three = [&] { return Phrase{"at({}, 3)", expressions_.value(i64, 1)}.text; };
  switch (decisions_.below(3)) {
    case 0:
      write(Phrase{"let {} = Grid<{}>([{}](9), 3);", name, type.name, type.name});
      write(Phrase{"{}[{}, {}] = {};", name, three(), three(), expressions_.value(type, 2)});
      write(Phrase{"{}[{}, {}] {}= {};", name, three(), three(), decisions_.pick({"+", "-", "*"}),
                   expressions_.value(type, 2)});
      return write(Phrase{"for x in {} {{ print(x); }}", name});
    case 1:
      write(Phrase{"var {} = Level.low;\nif {} {{ {} += {}; }}", name,
                   expressions_.value(world_.types.boolean(), 2), name, expressions_.value(i64, 2)});
      return write(Phrase{"print({}, {} < Level.mid({}), [{}, Level.mid(3), Level.low].sorted());", name,
                          name, expressions_.value(i64, 2), name});
    default: return use_fixed_arrays();
  }
}

// Fixed arrays of rank 1 and 2, which functions change.
void SourceStatements::use_fixed_arrays() {
  const std::string name = world_.fresh("w");
  const SourceType& i64 = world_.types.i64();
  if (decisions_.one_in(2)) {
    write(Phrase{"var {}: [i64; 4];\n{}[({}) & 3] = {};\nstir({}, {});", name, name,
                 expressions_.value(i64, 1), expressions_.value(i64, 2), name, expressions_.value(i64, 2)});
    place_.variables.push_back({name, &i64, VariableRole::kFixedArray, "", 4, place_.closures});
    return;
  }
  const SourceType& type = *decisions_.pick(world_.types.plain());
  const auto place = [&] {
    return Phrase{"{}[({}) & 1, ({}) & 3]", name, expressions_.value(i64, 1), expressions_.value(i64, 1)}
        .text;
  };
  write(Phrase{"var {}: [{}; 2, 4];\n{} = {};", name, type.name, place(), expressions_.value(type, 2)});
  write(Phrase{"{} = {};", place(), place()});
  const std::string result = world_.fresh("v");
  write(Phrase{"let {} = {};", result, place()});
  place_.variables.push_back({result, &type, VariableRole::kFixed, "", 0, place_.closures});
}

void SourceStatements::use_objects() {
  if (world_.types.classes().empty()) return print();
  const SourceType& type = *decisions_.pick(world_.types.classes());
  const std::string name = world_.fresh("o");
  switch (decisions_.below(3)) {
    case 0:
      write(Phrase{"let {} = {};\nlet {}_weak = Weak<{}>({});", name, expressions_.value(type, 2), name,
                   type.name, name});
      return write(Phrase{"print({}_weak.get()?.to_str() ?? \"gone\", {});", name, name});
    case 1: {
      const SourceType::Field& field = decisions_.pick(type.fields);
      write(Phrase{"let {} = {};\n{}?.{} = {};", name, expressions_.value(world_.types.nullable(type), 2),
                   name, field.name, expressions_.value(*field.type, 2)});
      return write(Phrase{"print({});", name});
    }
    default:
      write(Phrase{"let {} = {};\nprint(ask({}.size), ask({}.to_str));", name, expressions_.value(type, 2),
                   name, name});
      return write(Phrase{"print(apply({}, {}));",
                          decisions_.pick({"str.upper", "str.trim", "fn(s: str) => s + s"}),
                          expressions_.value(world_.types.text(), 2)});
  }
}

// Updates map entries that may be missing.
void SourceStatements::count_words() {
  const std::string name = world_.fresh("m");
  const SourceType& type = *decisions_.pick(world_.types.numbers());
  const char* map = decisions_.pick({"Map", "Map", "SortedMap"});
  write(Phrase{"let {} = {}<str, {}>();", name, map, type.name});
  write(Phrase{"for w in ({} + \" a b a\").{} {{ {}[w] {}= {}; }}",
               expressions_.value(world_.types.text(), 2),
               decisions_.pick({"words()", "split(\" \")", "split(\"l\")"}), name,
               decisions_.pick({"+", "-"}), expressions_.value(type, 2)});
  write(Phrase{"for k, x in {} {{ print(k, x); }}", name});
}

void SourceStatements::show_rest() {
  const SourceType& i64 = world_.types.i64();
  const auto number = [&] { return expressions_.value(i64, 2); };
  switch (decisions_.below(7)) {
    case 0: {
      const SourceType& type = type_here();
      const std::string name = world_.fresh("v");
      write(Phrase{"let {} = [{}](0);\nprint({}.len, {}.concat([{}]).len, {}[0..].len);", name, type.name,
                   name, name, expressions_.value(type, 2), name});
      return;
    }
    case 1:
      return write(Phrase{"print({});", decisions_.pick({"mixed(c: \"n\", a: 1)", "mixed(2, c: \"m\")",
                                                         "mixed(b: 4, a: 5)", "mixed(6)"})});
    case 2:
      return write(Phrase{"print(rows[at({}, 2)][at({}, 3)], moves[at({}, 3)].0, moves.len);", number(),
                          number(), number()});
    case 3: {
      const SourceType& type = *decisions_.pick(world_.types.numbers());
      const char* format = type.shape == Shape::kFloat ? decisions_.pick({".2f", "10.3e", "g", "+.1f"})
                                                       : decisions_.pick({"^9", ">+8", "b", "#x", "*<6"});
      return write(Phrase{"print(f\"{{{}:{}}}|{{\"ab\":>{{at({}, 9)}}}}|\");", expressions_.value(type, 0),
                          format, expressions_.value(i64, 0)});
    }
    case 4: {
      const SourceType& type = *decisions_.pick(world_.types.enums());
      const std::string name = world_.fresh("v");
      write(Phrase{"let {} = {};\nprint({}, hash({}) == hash({}), equal({}, {}), {} is {});", name,
                   expressions_.value(type, 3), name, name, name, name, expressions_.value(type, 2), name,
                   decisions_.pick(type.cases).name});
      return;
    }
    case 5: {
      const SourceType& tuple = world_.types.tuple(*decisions_.pick(world_.types.numbers()),
                                                   *decisions_.pick(world_.types.numbers()));
      return write(Phrase{"print(({}) < ({}), hash({}));", expressions_.value(tuple, 2),
                          expressions_.value(tuple, 2), expressions_.value(tuple, 1)});
    }
    default:
      return write(Phrase{
          "print(({}).{});", expressions_.value(world_.types.array(i64, 1), 2),
          decisions_.pick({"sorted()", "sum()", "max()", "map(fn(x) => x % 7)", "filter(fn(x) => x > 2).len",
                           "fold(1, fn(a, x) => a * 31 + x)", "min_by(fn(x) => (x % 3, x))",
                           "sorted_by(fn(x) => -x)", "any(fn(x) => x == 3)", "contains(3)", "index_of(2)",
                           "count(fn(x) => x < 0)", "copy()[..1]", "find(fn(x) => x > 3)"})});
  }
}

}  // namespace dhpvm::compiler::testing
