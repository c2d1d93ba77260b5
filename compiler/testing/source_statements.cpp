// SPDX-License-Identifier: Apache-2.0
#include "compiler/testing/source_statements.h"

#include <utility>

#include "compiler/testing/source_kernels.h"

namespace dhpvm::compiler::testing {

namespace {

constexpr unsigned kMostNesting = 5;

}  // namespace

SourceStatements::SourceStatements(SourceWorld& world, SourcePlace& place)
    : world_(world), place_(place), decisions_(world.decisions), expressions_(world, place) {
  expressions_.closure_body = [this](const SourceType& result, const std::string& parameter) {
    SourcePlace inner = place_;
    inner.result = &result;
    inner.loops = 0;
    inner.labels.clear();
    inner.closures += 1;
    inner.calls_left = 1;
    inner.variables.push_back({parameter, &world_.types.i64(), VariableRole::kFixed, "", 0, inner.closures});
    SourceStatements body(world_, inner);
    body.budget_ = 3;
    body.nesting_ = nesting_ + 1;
    return body.block(Ending::kReturns);
  };
}

std::string SourceStatements::block(Ending ending) {
  const std::string before = std::exchange(text_, "");
  const std::size_t variables = place_.variables.size();
  ++nesting_;
  for (unsigned left = 1 + decisions_.below(5); left > 0 && budget_ > 0; --left) statement();
  if (ending == Ending::kReturns && place_.result != nullptr)
    write(Phrase{"return {};", expressions_.value(*place_.result)});
  --nesting_;
  place_.variables.resize(variables);
  std::string inside = std::exchange(text_, before);
  return "{\n" + inside + "}";
}

std::string SourceStatements::block_with(SourceVariable variable) {
  place_.variables.push_back(std::move(variable));
  std::string text = block();
  place_.variables.pop_back();
  return text;
}

std::string SourceStatements::label_of(const std::string& variable) { return "loop_" + variable; }

std::string SourceStatements::loop_block(SourceVariable variable) {
  ++place_.loops;
  place_.labels.push_back(label_of(variable.name));
  std::string text = block_with(std::move(variable));
  place_.labels.pop_back();
  --place_.loops;
  return text;
}

const SourceType& SourceStatements::type_here() {
  return is_free() ? world_.types.any(decisions_) : *decisions_.pick(world_.types.plain());
}

void SourceStatements::statement() {
  --budget_;
  if (nesting_ >= kMostNesting || decisions_.below(5) < 2) return simple();
  compound();
}

void SourceStatements::simple() {
  switch (decisions_.below(is_free() ? 13 : 9)) {
    case 0:
    case 1: return declare();
    case 2: return decisions_.one_in(4) ? check() : declare();
    case 3: return declare_fixed_array();
    case 4: return leave_loop();
    case 5: return leave_function();
    case 9: return print();
    case 10: return call_method();
    case 11: return open_resource();
    case 12: return change_collection();
    default: return assign();
  }
}

void SourceStatements::compound() {
  switch (decisions_.below(is_free() ? 17 : 9)) {
    case 0:
    case 1: return choose();
    case 2: return repeat_while();
    case 3:
    case 4: return count();
    case 5: return visit();
    case 6: return match_number();
    case 7: return nested();
    case 8: return is_free() ? match_object() : use_assigning_guard();
    case 9: return narrow();
    case 10: return attempt();
    case 11:
    case 12:
    case 13:
    case 14: return feature();
    default: return parallel();
  }
}

// Declares two variables by destructuring.
void SourceStatements::declare_tuple() {
  const bool is_var = decisions_.one_in(2);
  const VariableRole role = is_var ? VariableRole::kVar : VariableRole::kFixed;
  const SourceType& first = type_here();
  const SourceType& second = type_here();
  const std::string names[] = {world_.fresh("v"), world_.fresh("v")};
  write(Phrase{"{} ({}, {}) = ({}, {});", is_var ? "var" : "let", names[0], names[1],
               expressions_.value(first), expressions_.value(second)});
  place_.variables.push_back({names[0], &first, role, "", 0, place_.closures});
  place_.variables.push_back({names[1], &second, role, "", 0, place_.closures});
}

// An integer that starts as a constant, and is assigned a value of another type on some paths.
void SourceStatements::declare_mixed() {
  const auto& types = world_.types;
  const SourceType& type = decisions_.one_in(2) ? types.i64() : *decisions_.pick(types.integers());
  std::string first = expressions_.edge(type);
  if (decisions_.one_in(2)) first = Phrase{"(-{}i64) as {}", 1 + decisions_.below(9), type.name}.text;
  const auto value = [&] {
    return Phrase{"({}) as {}", expressions_.value(*decisions_.pick(types.primitives()), 2), type.name}.text;
  };
  const std::string name = world_.fresh("v");
  write(Phrase{"var {} = {};", name, first});
  const std::string condition = expressions_.value(types.boolean(), 2);
  switch (decisions_.below(4)) {
    case 0:
      write(Phrase{"if {} {{ {} = {}; }} else {{ {} = {}; }}", condition, name, value(), name, value()});
      break;
    case 1:
      if (place_.loops < kMostLoops) {
        const std::string turn = world_.fresh("i");
        write(Phrase{"for {} in 0..{} {{ if {} {{ continue; }} {} = {}; }}", turn, 1 + decisions_.below(4),
                     condition, name, value()});
        break;
      }
      [[fallthrough]];
    default: write(Phrase{"if {} {{ {} = {}; }}", condition, name, value()});
  }
  place_.variables.push_back({name, &type, VariableRole::kVar, "", 0, place_.closures});
}

void SourceStatements::declare() {
  if (decisions_.one_in(10)) return declare_tuple();
  if (decisions_.one_in(6)) return declare_mixed();
  const SourceType& type = type_here();
  const bool is_var = decisions_.one_in(2);
  const std::string name = world_.fresh("v");
  const bool is_typed = decisions_.one_in(3);
  const bool has_value = !is_var || !type.is_plain() || !decisions_.one_in(5);
  const std::string written = is_typed || !has_value ? ": " + type.name : "";
  const std::string value = has_value ? " = " + expressions_.value(type) : "";
  write(Phrase{"{} {}{}{};", is_var ? "var" : "let", name, written, value});
  place_.variables.push_back(
      {name, &type, is_var ? VariableRole::kVar : VariableRole::kFixed, "", 0, place_.closures});
}

// An assertion that holds.
void SourceStatements::check() {
  const char* text = decisions_.one_in(2) ? ", \"never\"" : "";
  write(Phrase{"assert(({}) | 1 != 0{});", expressions_.value(*decisions_.pick(world_.types.integers()), 2),
               text});
}

void SourceStatements::declare_fixed_array() {
  if (decisions_.one_in(3)) return use_fixed_arrays();
  const SourceType& element = *decisions_.pick(world_.types.primitives());
  const unsigned count = 1u << decisions_.below(4);
  const std::string name = world_.fresh("w");
  write(Phrase{"var {}: [{}; {}];", name, element.name, count});
  place_.variables.push_back({name, &element, VariableRole::kFixedArray, "", count, place_.closures});
}

void SourceStatements::assign() {
  const SourceType& type = type_here();
  const std::string target = expressions_.assignable(type);
  if (target.empty()) return declare();
  if (type.is_number() && decisions_.one_in(2)) {
    const char* op = type.shape == Shape::kFloat
                         ? decisions_.pick({"+", "-", "*", "/"})
                         : decisions_.pick({"+", "-", "*", "&", "|", "^", "<<", ">>"});
    write(Phrase{"{} {}= {};", target, op, expressions_.value(type)});
  } else if (type.shape == Shape::kStruct && !type.is_tuple() && decisions_.one_in(3)) {
    write(Phrase{"{} {}= {};", target, decisions_.pick({"+", "-"}), expressions_.value(type)});
  } else {
    write(Phrase{"{} = {};", target, expressions_.value(type)});
  }
}

void SourceStatements::choose() {
  const std::string condition = expressions_.value(world_.types.boolean());
  const std::string then = block();
  std::string otherwise;
  if (decisions_.one_in(3)) {
    const std::string second = expressions_.value(world_.types.boolean(), 2);
    otherwise += Phrase{" else if {} {}", second, block()}.text;
  }
  if (decisions_.one_in(2)) otherwise += " else " + block();
  write(Phrase{"if {} {}{}", condition, then, otherwise});
}

void SourceStatements::repeat_while() {
  if (place_.loops >= kMostLoops) return choose();
  if (decisions_.one_in(3)) return repeat_while_let();
  const std::string turns = world_.fresh("n");
  const std::string condition =
      decisions_.one_in(2) ? " && " + expressions_.value(world_.types.boolean(), 2) : std::string();
  const std::string body =
      loop_block({turns, &world_.types.i64(), VariableRole::kFixed, "", 0, place_.closures});
  write(Phrase{"var {} = 0;", turns});
  write(Phrase{"{}: while {} < {}{} {{\n{} += 1;\n{}\n}}", label_of(turns), turns, 1 + decisions_.below(6),
               condition, turns, body});
}

// `while let` of a nullable value, of a case with a value, or of both parts of a tuple; with or without a condition.
void SourceStatements::repeat_while_let() {
  const SourceType& type = is_free() ? *decisions_.pick(world_.types.primitives()) : world_.types.i64();
  const std::string turns = world_.fresh("n");
  const std::string name = world_.fresh("q");
  const std::string limit = Phrase{"{} < {}", turns, 1 + decisions_.below(5)}.text;
  const std::string value = expressions_.value(type, 2);
  const std::string condition =
      decisions_.one_in(3) ? " && " + expressions_.value(world_.types.boolean(), 1) : std::string();
  const std::string body = loop_block({name, &type, VariableRole::kFixed, "", 0, place_.closures});
  const bool is_tuple = !is_free() || decisions_.one_in(3);
  const std::string pattern = is_tuple ? Phrase{"({}, true)", name}.text : name;
  const std::string subject =
      is_tuple ? Phrase{"({}, {})", value, limit}.text : Phrase{"some({}, {})", limit, value}.text;
  write(Phrase{"var {} = 0;", turns});
  write(Phrase{"{}: while let {} = {}{} {{\n{} += 1;\n{}\n}}", label_of(name), pattern, subject, condition,
               turns, body});
}

// Counting loops with bounds and steps of every kind: constants, variables, other integer types, up and down.
void SourceStatements::count() {
  if (place_.loops >= kMostLoops) return choose();
  const SourceType& type =
      decisions_.one_in(3) ? *decisions_.pick(world_.types.integers()) : world_.types.i64();
  const std::string name = world_.fresh("i");
  const std::string small = Phrase{"(({}) & 7)", expressions_.value(type, 2)}.text;
  const std::string low = decisions_.one_in(3) ? small : Phrase{"{}{}", decisions_.below(4), type.name}.text;
  const std::string high = decisions_.one_in(2) ? small : Phrase{"{}{}", decisions_.below(9), type.name}.text;
  std::string step;
  bool is_down = false;
  switch (decisions_.below(8)) {
    case 0: step = Phrase{" step {}", 1 + decisions_.below(4)}.text; break;
    case 1:
    case 2: step = Phrase{" step ((({}) & 3) + 1)", expressions_.value(type, 2)}.text; break;
    case 3:
      // A variable; it may be zero, which traps.
      for (const SourceVariable* variable : expressions_.readable([&](const SourceVariable& v) {
             return v.type == &type && v.role != VariableRole::kFixedArray && v.role != VariableRole::kOutput;
           }))
        step = " step " + variable->name;
      break;
    case 4:
      is_down = type.is_signed;
      if (is_down) step = Phrase{" step -{}", 1 + decisions_.below(3)}.text;
      break;
    default: break;
  }
  const std::string range =
      Phrase{"{}..{}{}", is_down ? high : low, decisions_.one_in(3) ? "=" : "", is_down ? low : high}.text;
  const std::string body = loop_block({name, &type, VariableRole::kFixed, "", 0, place_.closures});
  write(Phrase{"{}: for {} in {}{} {}", label_of(name), name, range, step, body});
}

void SourceStatements::visit() {
  if (place_.loops >= kMostLoops) return choose();
  const auto sequences = expressions_.readable([&](const SourceVariable& variable) {
    if (variable.role == VariableRole::kFixedArray) return true;
    if (variable.role == VariableRole::kOutput) return false;
    if (is_free() && variable.type->shape == Shape::kText) return true;
    if (variable.type->shape == Shape::kList || variable.type->shape == Shape::kMap) return true;
    return variable.type->shape == Shape::kArray && variable.type->rank == 1;
  });
  if (sequences.empty()) return count();
  const SourceVariable sequence = *decisions_.pick(sequences);
  const SourceType* element = sequence.type->element;
  if (sequence.role == VariableRole::kFixedArray) element = sequence.type;
  if (sequence.type->shape == Shape::kText) element = world_.types.integers()[4];  // u8
  const std::string name = world_.fresh("e");
  const std::string place = world_.fresh("k");
  const bool has_index = decisions_.one_in(2);
  if (has_index)
    place_.variables.push_back({place, &world_.types.i64(), VariableRole::kFixed, "", 0, place_.closures});
  // Without a second name, iterating over a map gives its keys.
  if (!has_index && sequence.type->shape == Shape::kMap) element = &world_.types.i64();
  const std::string body = loop_block({name, element, VariableRole::kFixed, "", 0, place_.closures});
  if (has_index) place_.variables.pop_back();
  write(Phrase{"{}: for {}{} in {} {}", label_of(name), has_index ? place + ", " : "", name, sequence.name,
               body});
}

void SourceStatements::match_number() {
  if (decisions_.one_in(6)) return match_tuple();
  if (decisions_.one_in(2))
    return write(Phrase{"{}", expressions_.match_cases(2, [&] { return block() + "\n"; })});
  const SourceType& type = *decisions_.pick(world_.types.integers());
  std::string arms = Phrase{"0{}3 => {}\n", decisions_.pick({" | ", ", "}), block()}.text;
  if (decisions_.one_in(2)) arms += Phrase{"4..{} => {}\n", 5 + decisions_.below(60), block()}.text;
  if (decisions_.one_in(2)) arms += Phrase{"100..=120 => {}\n", block()}.text;
  if (decisions_.one_in(2)) arms += Phrase{"else => {}\n", block()}.text;
  write(Phrase{"match {} {{\n{}}}", expressions_.value(type, 2), arms});
}

// Matches on both parts of a tuple.
void SourceStatements::match_tuple() {
  const SourceType& first = world_.types.i64();
  const SourceType& second = world_.types.boolean();
  const std::string subject =
      Phrase{"({}, {})", expressions_.value(first, 2), expressions_.value(second, 2)}.text;
  const std::string name = world_.fresh("v");
  std::string arms = Phrase{"(0 | 3, true) => {}\n", block()}.text;
  const std::string body = block_with({name, &first, VariableRole::kFixed, "", 0, place_.closures});
  arms += Phrase{"({}, false) if {} < 9 => {}\n", name, name, body}.text;
  const char* rest = decisions_.pick({"(_, _)", "_", "else"});
  write(Phrase{"match {} {{\n{}{} => {}\n}}", subject, arms, rest, block()});
}

void SourceStatements::match_object() {
  if (world_.types.classes().empty()) return narrow();
  const SourceType& type = *decisions_.pick(world_.types.classes());
  const std::string name = world_.fresh("o");
  const SourceType& nullable = world_.types.nullable(type);
  // Through a function: a subject that is narrowed to an object has no case for null.
  const std::string subject = Phrase{"typed<{}>({})", nullable.name, expressions_.value(nullable, 2)}.text;
  const std::string body = block_with({name, &type, VariableRole::kFixed, "", 0, place_.closures});
  write(Phrase{"match {} {{\n{} {} => {}\nnull => {}\n}}", subject, type.name, name, body, block()});
}

void SourceStatements::narrow() {
  const bool is_object = !world_.types.classes().empty() && decisions_.one_in(2);
  const SourceType& type = *decisions_.pick(is_object ? world_.types.classes() : world_.types.primitives());
  const std::string name = world_.fresh("q");
  // A variable may be narrowed to non-null here.
  const SourceType& nullable = world_.types.nullable(type);
  write(Phrase{"let {} = pick<{}>(true, {}, null);", name, nullable.name, expressions_.value(nullable, 2)});
  const std::string body = block_with({name, &type, VariableRole::kFixed, "", 0, place_.closures});
  switch (decisions_.below(4)) {
    case 0: return write(Phrase{"if {} == null {} else {}", name, block(), body});
    case 2: return let_condition(nullable, type);
    case 1:
      return write(
          Phrase{"if {} != null && {} {}", name, expressions_.value(world_.types.boolean(), 1), body});
    default: return write(Phrase{"if {} != null {}", name, body});
  }
}

// `if let`, with a condition or an `else`, or with a pattern for both parts of a tuple.
void SourceStatements::let_condition(const SourceType& nullable, const SourceType& type) {
  const std::string name = world_.fresh("q");
  const std::string subject =
      Phrase{"pick<{}>(true, {}, null)", nullable.name, expressions_.value(nullable, 2)}.text;
  const std::string body = block_with({name, &type, VariableRole::kFixed, "", 0, place_.closures});
  const std::string condition = expressions_.value(world_.types.boolean(), 1);
  switch (decisions_.below(3)) {
    case 0: return write(Phrase{"if let {} = {} {} else {}", name, subject, body, block()});
    case 1: return write(Phrase{"if let {} = {} && {} {}", name, subject, condition, body});
    default:
      return write(Phrase{"if let ({}, true) = ({}, {}) {} else {}", name, expressions_.value(type, 2),
                          condition, body, block()});
  }
}

// A block whose trap is caught: one that traps under a condition, or arbitrary statements.
void SourceStatements::attempt() {
  const std::string body = block();
  const std::string condition = expressions_.value(world_.types.boolean(), 2);
  const char* trap =
      decisions_.pick({"trap(\"t\")", "assert(false)", "fail()!", "try fail()", "print([1][1])"});
  const std::string name = world_.fresh("err");
  const std::string shown = decisions_.one_in(2) ? Phrase{"print({}.message);", name}.text : std::string();
  write(Phrase{"try {{\n{}\nif {} {{ {}; }}\n}} catch {} {{\n{}\n{}\n}}", body, condition, trap, name, shown,
               block()});
}

void SourceStatements::leave_loop() {
  if (place_.loops == 0) return assign();
  // A parallel loop has no `break`, its inner loops do.
  const bool can_break = !place_.in_kernel || place_.loops > 1;
  std::string jump = can_break && decisions_.one_in(2) ? "break" : "continue";
  if (!place_.labels.empty() && decisions_.one_in(3)) jump += " " + decisions_.pick(place_.labels);
  write(Phrase{"if {} {{ {}; }}", expressions_.value(world_.types.boolean(), 2), jump});
}

void SourceStatements::leave_function() {
  if (place_.in_kernel || place_.result == nullptr) return assign();
  if (is_free() && decisions_.one_in(2)) return unwrap_or_leave();
  const std::string condition = expressions_.value(world_.types.boolean(), 2);
  write(Phrase{"if {} {{ return {}; }}", condition, expressions_.value(*place_.result, 2)});
}

// A guard clause: binds a variable, or leaves the function.
void SourceStatements::unwrap_or_leave() {
  const SourceType& type = *decisions_.pick(world_.types.primitives());
  const std::string name = world_.fresh("v");
  const std::string given = expressions_.value(world_.types.boolean(), 2);
  const std::string value = expressions_.value(type, 2);
  write(Phrase{"let {} = some({}, {}) ?? return {};", name, given, value,
               expressions_.value(*place_.result, 1)});
  place_.variables.push_back({name, &type, VariableRole::kFixed, "", 0, place_.closures});
}

void SourceStatements::open_resource() {
  write(Phrase{"use {} = Guard({});", world_.fresh("g"), expressions_.value(world_.types.i64(), 1)});
}

void SourceStatements::print() {
  const auto& types = world_.types;
  switch (decisions_.below(6)) {
    case 4: return write(Phrase{"print({});", expressions_.question(2)});
    case 0: {
      const char* lines = decisions_.one_in(3) ? " + \"\"\"\n  a\n b\n \"\"\"" : "";
      return write(Phrase{"print({}{});", expressions_.value(types.text(), 2), lines});
    }
    case 3: {
      const SourceType& element = *decisions_.pick(types.primitives());
      const SourceType* const kinds[] = {&world_.types.array(element, 1 + decisions_.below(3)),
                                         &world_.types.list(element), &world_.types.map(element)};
      return write(Phrase{"print({});", expressions_.value(*kinds[decisions_.below(3)], 2)});
    }
    case 1: {
      const auto& kinds = decisions_.one_in(2) ? types.structs() : types.enums();
      return write(Phrase{"print({});", expressions_.value(*decisions_.pick(kinds), 2)});
    }
    case 2:
      return write(Phrase{"print(f\"{{{}}}\");", expressions_.value(*decisions_.pick(types.integers()), 0)});
    default:
      return write(Phrase{"print({}, {});", expressions_.value(*decisions_.pick(types.primitives()), 2),
                          expressions_.value(*decisions_.pick(types.primitives()), 2)});
  }
}

void SourceStatements::nested() { write(Phrase{"{}", block()}); }

void SourceStatements::call_method() {
  const auto objects = expressions_.readable(
      [](const SourceVariable& variable) { return variable.type->shape == Shape::kClass; });
  if (objects.empty() || place_.calls_left == 0) return print();
  --place_.calls_left;
  const std::string& object = decisions_.pick(objects)->name;
  switch (decisions_.below(3)) {
    case 0: return write(Phrase{"print({}.{}());", object, decisions_.pick({"size", "twice"})});
    case 1: return write(Phrase{"{}.bump({});", object, expressions_.value(world_.types.i64(), 2)});
    default:
      return write(Phrase{"print(({} as Sized).{}(), {}.to_str());", object,
                          decisions_.pick({"size", "twice"}), object});
  }
}

void SourceStatements::parallel() {
  // Enclosing loops would make the program slow.
  if (place_.loops > 1) return choose();
  SourceKernels kernels(world_, place_, expressions_);
  text_ += kernels.loop();
}

}  // namespace dhpvm::compiler::testing
