// SPDX-License-Identifier: Apache-2.0
// Expressions of enums: their values, and matches of them.
#include <algorithm>
#include <utility>

#include "compiler/testing/phrase.h"
#include "compiler/testing/source_expressions.h"

namespace dhpvm::compiler::testing {

std::string SourceExpressions::enum_value(const SourceType& type, unsigned depth) {
  const SourceType::Case& option = depth == 0 ? type.cases.front() : decisions_.pick(type.cases);
  std::string values;
  for (const SourceType* part : option.values)
    values += (values.empty() ? "" : ", ") + value(*part, depth - 1);
  return Phrase{"{}.{}{}", type.name, option.name, values.empty() ? "" : "(" + values + ")"}.text;
}

std::string SourceExpressions::case_pattern(const SourceType::Case& option,
                                            std::vector<SourceVariable>& variables) {
  if (option.values.empty() || decisions_.one_in(4)) return option.name;
  std::string parts;
  for (const SourceType* part : option.values) {
    parts += parts.empty() ? "" : ", ";
    if (part->shape == Shape::kEnum && decisions_.one_in(3)) {
      parts += case_pattern(decisions_.pick(part->cases), variables);
    } else {
      variables.push_back({world_.fresh("v"), part, VariableRole::kFixed, "", 0, place_.closures});
      parts += variables.back().name;
    }
  }
  return option.name + "(" + parts + ")";
}

// A pattern with the same variables for another case, or for other places of this one; empty if it cannot declare all.
std::string SourceExpressions::other_pattern(const SourceType::Case& option,
                                             std::vector<SourceVariable> variables) {
  std::string parts;
  for (const SourceType* part : option.values) {
    const auto fits = [&](const SourceVariable& variable) { return variable.type == part; };
    const auto found = std::ranges::find_if(variables, fits);
    parts += parts.empty() ? "" : ", ";
    parts += found == variables.end() ? "_" : found->name;
    if (found != variables.end()) variables.erase(found);
  }
  if (!variables.empty()) return "";
  return " | " + option.name + (parts.empty() ? "" : "(" + parts + ")");
}

std::string SourceExpressions::pattern_of(const SourceType& type) {
  std::vector<SourceVariable> variables;
  std::string pattern = case_pattern(decisions_.pick(type.cases), variables);
  place_.variables.insert(place_.variables.end(), variables.begin(), variables.end());
  return pattern;
}

std::string SourceExpressions::match_cases(unsigned depth, const std::function<std::string()>& arm) {
  std::vector<const SourceType*> subjects;
  for (const SourceType* type : world_.types.enums())
    if ((!place_.in_kernel && !place_.is_pure) || type->is_plain_enum()) subjects.push_back(type);
  const SourceType& subject = *decisions_.pick(subjects);
  std::string arms;
  for (std::size_t taken = decisions_.below(3); taken > 0; --taken) {
    std::vector<SourceVariable> variables;
    arms += case_pattern(decisions_.pick(subject.cases), variables);
    if (decisions_.one_in(2)) arms += other_pattern(decisions_.pick(subject.cases), variables);
    place_.variables.insert(place_.variables.end(), variables.begin(), variables.end());
    // With a condition, so that later arms are reachable.
    arms += Phrase{" if {} => {}", boolean(1), arm()}.text;
    place_.variables.resize(place_.variables.size() - variables.size());
  }
  std::string names;
  for (const SourceType::Case& option : subject.cases) {
    names += (names.empty() ? "" : " | ") + option.name;
    if (&option != &subject.cases.back() && decisions_.one_in(4)) continue;
    arms += Phrase{"{} => {}", std::exchange(names, ""), arm()}.text;
  }
  return Phrase{"match {} {{ {}}}", value(subject, depth), arms}.text;
}

std::string SourceExpressions::match(const SourceType& type, unsigned depth) {
  if (decisions_.one_in(2)) return "(" + match_cases(depth, [&] { return value(type, depth) + ", "; }) + ")";
  const SourceType& subject = *decisions_.pick(world_.types.integers());
  return Phrase{"(match {} {{ 0 | 7 => {}, 1..5 => {} else => {}, }})", value(subject, depth),
                value(type, depth), block(type, depth), value(type, depth)}
      .text;
}

}  // namespace dhpvm::compiler::testing
