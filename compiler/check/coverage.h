// SPDX-License-Identifier: Apache-2.0
// Exhaustiveness of a `match`: the values that no arm covers, and the arms that no value reaches, by the matrix of
// patterns of Maranget, "Warnings for pattern matching" (2007).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "compiler/check/enum_types.h"
#include "compiler/check/tuple_types.h"
#include "compiler/hir/hir.h"

namespace dhpvm::compiler {

// A pattern whose names and constants are known.
struct CheckedPattern {
  enum class Kind : std::uint8_t {
    kWrong,     // reported; matches everything
    kAny,       //
    kNull,      //
    kPresent,   // parts[0], for values other than null
    kCase,      // the case `index`, and a part for each of its values
    kTuple,     // a part for each of its values
    kEither,    // one of its parts, which declare the same variables
    kConstant,  // low
    kRange,     // low .. high
    kObject,    // an object of class or interface `tested`
  };
  Kind kind = Kind::kWrong;
  SourceRange range;
  const Type* type = nullptr;  // the type of the value that it is compared with
  std::uint32_t index = 0;
  std::vector<CheckedPattern> parts;
  const hir::Expr* low = nullptr;
  const hir::Expr* high = nullptr;
  bool inclusive = false;
  const Type* tested = nullptr;
  const ast::Name* binding = nullptr;  // the variable for the value as `bound`, or null
  const Type* bound = nullptr;
};

class Coverage {
 public:
  using Row = std::vector<const CheckedPattern*>;

  Coverage(EnumTypes& enums, const TupleTypes& tuples, const Type* type)
      : enums_(enums), tuples_(tuples), type_(type) {
    anything_.kind = CheckedPattern::Kind::kAny;
  }

  // Whether a value matches `pattern` and no pattern added before.
  bool is_reached(const CheckedPattern& pattern);
  void add(CheckedPattern pattern);
  // Patterns for values that no pattern covers, a few if there are many; "_" for types with infinitely many values.
  std::vector<std::string> left_out();
  bool is_complete() { return left_out().empty(); }
  // Whether no pattern added was wrong, so that the answers are certain.
  bool is_certain() const { return is_certain_; }
  // Whether one of the patterns matches every value.
  bool takes_everything() const { return takes_everything_; }
  // Whether a question exceeded the work limit.
  bool gave_up() const { return gave_up_; }

 private:
  static constexpr std::uint32_t kMaxSteps = 100'000;
  static constexpr std::size_t kMaxExamples = 4;
  using Example = std::vector<std::string>;  // a pattern for each column

  // A constructor: one of the alternative forms of a type's values.
  struct Constructor {
    std::string name;
    std::string key;  // equal for equal ones
    std::vector<const Type*> parts;
  };
  const std::vector<Constructor>& constructors_of(const Type* type);
  static std::string key_of(const CheckedPattern& pattern);
  Constructor constructor_of(const CheckedPattern& pattern);
  std::vector<Example> examples(std::vector<Row> rows, const Row& candidate,
                                const std::vector<const Type*>& types);
  std::vector<Example> with(const Constructor& constructor, const std::vector<Row>& rows,
                            const Row& candidate, const std::vector<const Type*>& types);
  static void split_alternatives(std::vector<Row>& rows);
  bool specialise(const Constructor& constructor, const Row& row, Row& out);

  EnumTypes& enums_;
  const TupleTypes& tuples_;
  const Type* type_;
  CheckedPattern anything_;
  std::deque<CheckedPattern> patterns_;
  std::vector<Row> rows_;
  bool is_certain_ = true;
  bool takes_everything_ = false;
  bool gave_up_ = false;
  std::map<const Type*, std::vector<Constructor>> constructors_;
  std::uint32_t steps_ = 0;
};

}  // namespace dhpvm::compiler
