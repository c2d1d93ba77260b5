// SPDX-License-Identifier: Apache-2.0
// What a random program has so far: its types, functions, and the variables in scope.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/decisions.h"

namespace dhpvm::compiler::testing {

enum class Shape : std::uint8_t {
  kBool,
  kInteger,
  kFloat,
  kText,
  kStruct,  // and tuples
  kEnum,
  kClass,
  kArray,
  kList,
  kMap,  // from i64; contains the key 0
  kNullable,
  kFunction
};

struct SourceType {
  struct Field {
    std::string name;
    const SourceType* type = nullptr;
  };
  Shape shape = Shape::kInteger;
  std::string name;  // as it is written
  unsigned bits = 0;
  bool is_signed = false;
  unsigned rank = 0;
  const SourceType* element =
      nullptr;  // of arrays, lists, maps and nullables; the result of a function of one i64
  std::vector<Field> fields;
  struct Case {
    std::string name;
    std::vector<const SourceType*> values;
  };
  std::vector<Case> cases;  // of an enum; the first has no values

  bool is_tuple() const { return name.front() == '('; }  // a struct whose fields have numbers for names
  bool is_number() const { return shape == Shape::kInteger || shape == Shape::kFloat; }
  bool is_primitive() const { return is_number() || shape == Shape::kBool; }
  // A primitive, or a struct of primitives: a parallel loop may have variables of the type.
  bool is_plain() const;
  bool has_elements() const {
    return shape == Shape::kArray || shape == Shape::kList || shape == Shape::kMap;
  }
  // An enum whose values are all plain.
  bool is_plain_enum() const;
  // A parallel loop may read variables of the type.
  bool is_for_kernels() const {
    return is_plain() || is_plain_enum() || (shape == Shape::kArray && element->is_plain());
  }
};

enum class VariableRole : std::uint8_t {
  kFixed,      // is not assigned: `let`, parameters, loop variables
  kVar,        //
  kOutput,     // an array that a parallel loop accesses only at the iteration's own index
  kFixedArray  // a fixed array: `type` is that of its elements
};

struct SourceVariable {
  std::string name;
  const SourceType* type = nullptr;
  VariableRole role = VariableRole::kFixed;
  std::string own_index;  // kOutput
  unsigned count = 0;     // kFixedArray: a power of two
  unsigned depth = 0;     // the number of closures around its declaration
};

struct SourceFunction {
  std::string name;
  std::vector<const SourceType*> parameters;
  const SourceType* result = nullptr;
  bool is_pure = false;  // a parallel loop may call it
};

// The types of one program.
class SourceTypes {
 public:
  SourceTypes();
  const SourceType& boolean() const { return *primitives_[0]; }
  const SourceType& i64() const { return *i64_; }
  const SourceType& f64() const { return *f64_; }
  const SourceType& text() const { return *text_; }
  const std::vector<const SourceType*>& primitives() const { return primitives_; }
  const std::vector<const SourceType*>& integers() const { return integers_; }
  const std::vector<const SourceType*>& numbers() const { return numbers_; }
  const std::vector<const SourceType*>& plain() const { return plain_; }      // primitives and plain structs
  const std::vector<const SourceType*>& structs() const { return structs_; }  // all of them
  const std::vector<const SourceType*>& enums() const { return enums_; }
  const std::vector<const SourceType*>& classes() const { return classes_; }

  const SourceType& array(const SourceType& element, unsigned rank);
  const SourceType& list(const SourceType& element);
  const SourceType& map(const SourceType& value);
  const SourceType& tuple(const SourceType& first, const SourceType& second);
  const SourceType& nullable(const SourceType& element);
  const SourceType& function(const SourceType& result);
  SourceType& declare(Shape shape, std::string name);
  // Completes a type once its fields are known.
  void finish(const SourceType& declared);
  // Any type that a variable may have.
  const SourceType& any(Decisions& decisions);

 private:
  const SourceType& derived(Shape shape, std::string name, const SourceType& element, unsigned rank);

  std::deque<SourceType> all_;
  std::vector<const SourceType*> primitives_, integers_, numbers_, plain_, structs_, enums_, classes_;
  const SourceType* i64_ = nullptr;
  const SourceType* f64_ = nullptr;
  const SourceType* text_ = nullptr;
};

// The position at which text is generated.
struct SourcePlace {
  std::deque<SourceVariable> variables;  // those in scope, outer first; their addresses are stable
  const SourceType* result = nullptr;    // of the enclosing function or closure; null: none
  bool in_kernel = false;
  bool is_pure = false;                       // the code may run in a parallel loop
  bool may_trap = true;                       // the code may trap occasionally
  unsigned loops = 0;                         // enclosing loops in the function
  std::vector<std::string> labels;            // labels of these loops, except a parallel one
  std::vector<SourceFunction> pure_closures;  // closures in variables that a parallel loop may call
  unsigned closures = 0;                      // enclosing closures
  unsigned calls_left = 3;                    // that may be written here: the program is to end soon
};

struct SourceWorld {
  explicit SourceWorld(Decisions& made) : decisions(made) {}

  Decisions& decisions;
  SourceTypes types;
  std::deque<SourceFunction> functions;  // those written so far, which alone may be called: no recursion
  unsigned names = 0;
  bool has_imports = false;  // of the modules of lists and maps, whose types programs know without them

  // The underscore avoids names such as `f32`.
  std::string fresh(const std::string& prefix) { return prefix + "_" + std::to_string(names++); }
};

}  // namespace dhpvm::compiler::testing
