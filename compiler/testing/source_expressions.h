// SPDX-License-Identifier: Apache-2.0
// Writes random expressions of a given type.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/testing/source_world.h"

namespace dhpvm::compiler::testing {

class SourceExpressions {
 public:
  SourceExpressions(SourceWorld& world, SourcePlace& place)
      : world_(world), place_(place), decisions_(world.decisions) {}

  // A random expression of the type, nested to a depth of about `depth`.
  // The name of the constant of a struct.
  static std::string constant_of(const SourceType& type);
  std::string value(const SourceType& type, unsigned depth = 3);
  // A constant of an integer type, at a limit of this type or of a narrower one.
  std::string edge(const SourceType& type);
  // An index inside an array of `length` elements; both are i64.
  std::string index(const std::string& length, unsigned depth = 1);
  // An element of the array, at any index or at the iteration's own.
  enum class ElementUse : std::uint8_t { kRead, kWrite };
  std::string element(const SourceVariable& array, ElementUse use);
  // The variables in scope that satisfy `fits`.
  std::vector<const SourceVariable*> readable(const std::function<bool(const SourceVariable&)>& fits) const;
  // An assignable place of the type; empty if there is none.
  std::string assignable(const SourceType& type);
  // A number or boolean that a method of a list, map or text returns, as source text.
  std::string question(unsigned depth);
  // A match of an enum with an arm for each case, which `arm` writes; on one line if the arms have no line breaks.
  std::string match_cases(unsigned depth, const std::function<std::string()>& arm);
  // A pattern for a case of the enum, whose variables are in scope afterwards.
  std::string pattern_of(const SourceType& type);
  // The body of a closure with one i64 parameter.
  std::function<std::string(const SourceType& result, const std::string& parameter)> closure_body;

 private:
  struct Candidate;
  std::string one_of(const std::vector<Candidate>& candidates, ElementUse use);
  std::string literal(const SourceType& type);
  std::string from_result(const SourceType& type, unsigned depth);
  std::string zero_deep(const SourceType& type);
  std::string number(const SourceType& type, unsigned depth);
  std::string integer(const SourceType& type, unsigned depth);
  std::string floating(const SourceType& type, unsigned depth);
  std::string boolean(unsigned depth);
  std::string text(unsigned depth);
  std::string block(const SourceType& type, unsigned depth);
  std::string enum_value(const SourceType& type, unsigned depth);
  std::string case_pattern(const SourceType::Case& option, std::vector<SourceVariable>& variables);
  static std::string other_pattern(const SourceType::Case& option, std::vector<SourceVariable> variables);
  std::string structure(const SourceType& type, unsigned depth);
  std::string construct(const SourceType& type, unsigned depth);
  std::string array(const SourceType& type, unsigned depth);
  std::string collection(const SourceType& type, unsigned depth);
  std::string mapped(const SourceType& type, unsigned depth);
  std::string grown(const SourceType& type, unsigned depth);
  std::string chained(unsigned depth);
  std::string parts_of_text(unsigned depth);
  std::string closure(const SourceType& type, unsigned depth);
  std::string choice(const SourceType& type, unsigned depth);
  std::string match(const SourceType& type, unsigned depth);
  std::string stored(const SourceType& type);  // a variable, field or element; empty if there is none
  std::string call(const SourceType& type, unsigned depth);  // likewise
  std::string unwrapped(const SourceType& type, unsigned depth);

  SourceWorld& world_;
  SourcePlace& place_;
  Decisions& decisions_;
  unsigned elements_ = 0;  // nesting of indices being written
};

}  // namespace dhpvm::compiler::testing
