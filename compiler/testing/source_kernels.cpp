// SPDX-License-Identifier: Apache-2.0
#include "compiler/testing/source_kernels.h"

#include <algorithm>

#include "compiler/testing/source_statements.h"

#include "compiler/testing/phrase.h"

namespace dhpvm::compiler::testing {

void SourceKernels::choose_space() {
  const unsigned dimensions = decisions_.one_in(2) ? 1 : 1 + decisions_.below(3);
  index_type_ = decisions_.one_in(5) ? world_.types.integers()[2] : &world_.types.i64();  // i32, i64
  for (unsigned d = 0; d < dimensions; ++d) {
    indices_.push_back(world_.fresh("p"));
    low_.push_back(decisions_.one_in(3) ? decisions_.below(4) : 0);
    const unsigned most = dimensions == 1 ? 70 : 12;
    const bool is_large = dimensions == 1 && place_.loops == 0 && decisions_.one_in(6);
    sizes_.push_back(low_.back() + (is_large ? 3000 : 0) + decisions_.below(most));
  }
}

void SourceKernels::declare_outputs() {
  std::string own;
  std::string sizes;
  for (std::size_t d = 0; d < indices_.size(); ++d) {
    own += (d == 0 ? "" : ", ") + indices_[d];
    sizes += Phrase{"{}{}", d == 0 ? "" : ", ", sizes_[d]}.text;
  }
  for (unsigned count = 1 + decisions_.below(2); count > 0; --count) {
    const SourceType& element = *decisions_.pick(world_.types.plain());
    const SourceType& type = world_.types.array(element, static_cast<unsigned>(indices_.size()));
    const std::string name = world_.fresh("out");
    before_ += Phrase{"let {} = {}({});\n", name, type.name, sizes}.text;
    outputs_.push_back({name, &type, VariableRole::kOutput, own, 0, place_.closures});
  }
}

void SourceKernels::declare_reductions() {
  for (unsigned count = decisions_.below(3); count > 0; --count) {
    Reduction reduction;
    reduction.name = world_.fresh("sum");
    reduction.type = decisions_.one_in(2) ? &world_.types.i64() : decisions_.pick(world_.types.numbers());
    reduction.op = reduction.type->shape == Shape::kFloat
                       ? decisions_.pick({"+", "*", "min", "max"})
                       : decisions_.pick({"+", "*", "min", "max", "&", "|", "^"});
    if (decisions_.one_in(4)) {
      reduce_elements(reduction);
    } else {
      const std::string first = expressions_.value(*reduction.type, 1);
      before_ += Phrase{"var {}: {} = {};\n", reduction.name, reduction.type->name, first}.text;
    }
    reductions_.push_back(reduction);
  }
  if (!decisions_.one_in(5)) return;
  best_ = world_.fresh("best");
  before_ += Phrase{"var {} = Best(i64.max, -1);\n", best_}.text;
}

// Reduces elements of an array of rank 1 or 2, or a field of elements of rank 1.
void SourceKernels::reduce_elements(Reduction& reduction) {
  reduction.rank = 1 + decisions_.below(2);
  reduction.element = reduction.type;
  if (reduction.rank == 1 && decisions_.one_in(2)) {
    for (const SourceType* type : world_.types.structs()) {
      const bool fits = std::ranges::all_of(type->fields, [&](const SourceType::Field& field) {
        return field.type->is_number() && field.type->shape == reduction.type->shape;
      });
      for (const SourceType::Field& field : type->fields) {
        if (!fits || type->is_tuple() || field.type != reduction.type) continue;
        reduction.element = type;
        reduction.field = "." + field.name;
      }
    }
  }
  const SourceType& array = world_.types.array(*reduction.element, reduction.rank);
  before_ += Phrase{"let {} = {}({}, fill: {});\n", reduction.name, array.name,
                    reduction.rank == 1 ? "8" : "2, 4", expressions_.value(*reduction.element, 1)}
                 .text;
}

// Declares a closure that is known at compile time.
void SourceKernels::declare_closure() {
  if (!decisions_.one_in(4)) return;
  const SourceType& result = *decisions_.pick(world_.types.primitives());
  const std::string name = world_.fresh("v");
  const std::string parameter = world_.fresh("x");
  const SourcePlace outside = place_;
  place_.is_pure = true;
  place_.calls_left = 1;
  ++place_.closures;
  place_.variables.push_back({parameter, &world_.types.i64(), VariableRole::kFixed, "", 0, place_.closures});
  before_ += Phrase{"let {} = fn({}: i64) -> {} => {};\n", name, parameter, result.name,
                    expressions_.value(result, 2)}
                 .text;
  place_ = outside;
  closures_.push_back({name, {&world_.types.i64()}, &result, true});
}

// Declares elements, or fields of elements, that iterations update in any order.
void SourceKernels::declare_counters() {
  if (!decisions_.one_in(3)) return;
  Counters counters;
  counters.name = world_.fresh("bins");
  counters.element = counters.updated = pick_updated();
  if (decisions_.one_in(3)) {
    for (const SourceType* type : world_.types.structs()) {
      for (const SourceType::Field& field : type->fields) {
        if (!type->is_plain() || type->is_tuple() || !is_updated(*field.type)) continue;
        counters.element = type;
        counters.updated = field.type;
        counters.field = "." + field.name;
      }
    }
  }
  const bool is_float = counters.updated->shape == Shape::kFloat;
  counters.op = is_float ? decisions_.pick({"min", "max"})
                         : decisions_.pick({"add", "min", "max", "and_", "or_", "xor"});
  before_ += Phrase{"let {} = [{}](8, fill: {});\n", counters.name, counters.element->name,
                    expressions_.value(*counters.element, 1)}
                 .text;
  counters_.push_back(counters);
}

// i32, i64, u32, u64, f32, f64
bool SourceKernels::is_updated(const SourceType& type) { return type.is_number() && type.bits >= 32; }

const SourceType* SourceKernels::pick_updated() {
  std::vector<const SourceType*> fitting;
  for (const SourceType* type : world_.types.numbers()) {
    if (is_updated(*type)) fitting.push_back(type);
  }
  return decisions_.pick(fitting);
}

std::string SourceKernels::head() {
  std::string text =
      decisions_.one_in(6) ? Phrase{"@batch({})\n", 1 + decisions_.below(50)}.text : std::string();
  text += "parallel for ";
  for (std::size_t d = 0; d < indices_.size(); ++d)
    text += Phrase{"{}{} in {}", d == 0 ? "" : ", ", indices_[d], range(d)}.text;
  std::string reduced = best_.empty() ? "" : "smaller: " + best_;
  for (const Reduction& reduction : reductions_) {
    reduced += Phrase{"{}{}: {}{}", reduced.empty() ? "" : ", ", reduction.op, reduction.name,
                      reduction.rank != 0 ? "[]" : ""}
                   .text;
  }
  return reduced.empty() ? text : text + " reduce(" + reduced + ")";
}

// The range of a dimension, ascending or descending, sometimes with a step.
std::string SourceKernels::range(std::size_t dimension) {
  const char* type = index_type_->name.c_str();
  const unsigned low = low_[dimension];
  const unsigned size = sizes_[dimension];
  if (size > low && decisions_.one_in(8))
    return Phrase{"{}{}..={}{} step -{}", size - 1, type, low, type, 1 + decisions_.below(3)}.text;
  const bool is_inclusive = size > 0 && decisions_.one_in(5);
  const std::string step =
      decisions_.one_in(5) ? Phrase{" step {}", 1 + decisions_.below(3)}.text : std::string();
  return Phrase{
      "{}{}..{}{}{}{}", low, type, is_inclusive ? "=" : "", size - (is_inclusive ? 1 : 0), type, step}
      .text;
}

std::string SourceKernels::update(const Reduction& reduction) {
  const std::string value = expressions_.value(*reduction.type);
  std::string place = reduction.name;
  if (reduction.rank == 1)
    place = Phrase{"{}[at({}, 8)]{}", place, expressions_.value(world_.types.i64(), 2), reduction.field}.text;
  if (reduction.rank == 2)
    place = Phrase{"{}[at({}, 2), at({}, 4)]", place, expressions_.value(world_.types.i64(), 2),
                   expressions_.value(world_.types.i64(), 1)}
                .text;
  if (reduction.op == "min" || reduction.op == "max")
    return Phrase{"{} = math.{}({}, {});\n", place, reduction.op, place, value}.text;
  return Phrase{"{} {}= {};\n", place, reduction.op, value}.text;
}

void SourceKernels::enter() {
  place_.in_kernel = true;
  place_.loops = 1;
  place_.labels.clear();
  place_.calls_left = 2;
  place_.result = nullptr;
  // Outer variables are constant in the loop; objects provide their fields.
  std::vector<SourceVariable> fields;
  for (SourceVariable& variable : place_.variables) {
    if (variable.role == VariableRole::kVar) variable.role = VariableRole::kFixed;
    if (variable.role == VariableRole::kFixedArray) variable.depth = ~0u;  // cannot be captured
    if (variable.type->shape != Shape::kClass) continue;
    for (const SourceType::Field& field : variable.type->fields) {
      if (!field.type->is_for_kernels()) continue;
      fields.push_back(
          {variable.name + "." + field.name, field.type, VariableRole::kFixed, "", 0, place_.closures});
    }
  }
  place_.variables.insert(place_.variables.end(), fields.begin(), fields.end());
  for (const std::string& index : indices_)
    place_.variables.push_back({index, index_type_, VariableRole::kFixed, "", 0, place_.closures});
  place_.variables.insert(place_.variables.end(), outputs_.begin(), outputs_.end());
  place_.pure_closures.insert(place_.pure_closures.end(), closures_.begin(), closures_.end());
}

std::string SourceKernels::body() {
  const SourcePlace outside = place_;
  enter();
  SourceStatements statements(world_, place_);
  statements.set_budget(7);
  std::string text = statements.block() + "\n";
  for (const SourceVariable& output : outputs_) {
    text += Phrase{"{}[{}] = {};\n", output.name, output.own_index, expressions_.value(*output.type->element)}
                .text;
  }
  for (const Reduction& reduction : reductions_) {
    const std::string line = update(reduction);
    text += decisions_.one_in(2)
                ? line
                : Phrase{"if {} {{ {} }}\n", expressions_.value(world_.types.boolean(), 2), line}.text;
  }
  if (!best_.empty()) {
    text += Phrase{"{} = smaller({}, Best({}, {} as i64));\n", best_, best_,
                   expressions_.value(world_.types.i64(), 2), indices_.front()}
                .text;
  }
  for (const Counters& counters : counters_) {
    // -0.0 and 0.0 are equal, so the result would depend on the order; -0.0 is avoided.
    const SourceType& type = *counters.updated;
    const std::string plus = type.shape == Shape::kFloat ? " + 0.0" + type.name : "";
    text += Phrase{"atomic.{}({}[at({}, 8)]{}, ({}){});\n",
                   counters.op,
                   counters.name,
                   expressions_.value(world_.types.i64(), 2),
                   counters.field,
                   expressions_.value(type, 2),
                   plus}
                .text;
  }
  place_ = outside;
  return "{\n" + text + "}";
}

// A loop that ends at its first hit. It must not trap: iterations after the hit may or may not run.
std::string SourceKernels::search() {
  const bool is_first = decisions_.one_in(2);
  const std::string name = world_.fresh("found");
  before_ += Phrase{"var {} = {};\n", name, is_first ? "-1" : "false"}.text;
  const SourcePlace outside = place_;
  enter();
  place_.may_trap = false;
  place_.calls_left = 0;
  place_.pure_closures.clear();
  const std::string first = Phrase{"let {}_x = {};\n", name, expressions_.value(world_.types.i64(), 3)}.text;
  place_.variables.push_back(
      {name + "_x", &world_.types.i64(), VariableRole::kFixed, "", 0, place_.closures});
  const std::string condition = expressions_.value(world_.types.boolean(), 3);
  const std::string hit = is_first ? indices_.front() + " as i64" : "true";
  place_ = outside;
  const std::string text =
      Phrase{
          "{}parallel for {} in {} reduce({}: {}) {{\n{}if {} && {}_x & 7 < 6 {{ {} = {}; "
          "}}\n}}\nprint({});\n",
          before_,
          indices_.front(),
          range(0),
          is_first ? "first" : "any",
          name,
          first,
          condition,
          name,
          name,
          hit,
          name}
          .text;
  const SourceType& type = is_first ? world_.types.i64() : world_.types.boolean();
  place_.variables.push_back({name, &type, VariableRole::kVar, "", 0, place_.closures});
  return text;
}

std::string SourceKernels::loop() {
  choose_space();
  if (indices_.size() == 1 && decisions_.one_in(5)) return search();
  declare_closure();
  declare_outputs();
  declare_reductions();
  declare_counters();
  const std::string loop = head();
  std::string text = before_ + loop + " " + body() + "\n";
  for (const Reduction& reduction : reductions_) {
    text += Phrase{"print({});\n", reduction.name}.text;
    const bool is_array = reduction.rank != 0;
    place_.variables.push_back(
        {reduction.name, is_array ? &world_.types.array(*reduction.element, reduction.rank) : reduction.type,
         is_array ? VariableRole::kFixed : VariableRole::kVar, "", 0, place_.closures});
  }
  if (!best_.empty()) text += Phrase{"print({}.value, {}.index);\n", best_, best_}.text;
  for (const SourceFunction& closure : closures_) {
    place_.variables.push_back({closure.name, &world_.types.function(*closure.result), VariableRole::kFixed,
                                "", 0, place_.closures});
  }
  for (const Counters& counters : counters_) {
    text += Phrase{"print({});\n", counters.name}.text;
    place_.variables.push_back({counters.name, &world_.types.array(*counters.element, 1),
                                VariableRole::kFixed, "", 0, place_.closures});
  }
  for (SourceVariable output : outputs_) {
    text += Phrase{"print(sum_{}({}));\n", output.type->rank, output.name}.text;
    output.role = VariableRole::kFixed;
    place_.variables.push_back(output);
  }
  return text;
}

}  // namespace dhpvm::compiler::testing
