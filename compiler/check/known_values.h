// SPDX-License-Identifier: Apache-2.0
// Closures and objects that are known at compile time, in parts: see specialise.h.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/check/analysis.h"

namespace dhpvm::compiler {

struct KnownValue;

// A part of an argument, which a copy of a function takes as a parameter.
struct PieceParameter {
  std::size_t operand = 0;
  std::vector<std::uint32_t> path;
};

// A copy of a function, specialised for known arguments.
struct SpecialCopy {
  hir::Function* function = nullptr;
  std::vector<PieceParameter> pieces;  // after its other parameters
  bool in_work = true;
};

// The code in which values are known.
struct KnownContext {
  // An unchanged function; the body of a parallel loop; a copy of a function.
  enum class Kind : std::uint8_t { kPlain, kLoop, kCopy };
  Kind kind = Kind::kPlain;
  bool is_pure = false;               // a parallel loop, or called by one
  hir::ParallelLoop* loop = nullptr;  // kLoop
  SpecialCopy* copy = nullptr;        // kCopy
  std::unordered_map<const hir::Local*, KnownValue*> values;
  KnownValue* find(const hir::Local* local) const {
    const auto known = values.find(local);
    return known == values.end() ? nullptr : known->second;
  }
};

// A closure with its captures, an object with its fields; or one of these parts.
struct KnownValue {
  KnownContext* context = nullptr;
  const Type* type = nullptr;
  hir::Function* target = nullptr;             // of a closure
  hir::Expr* value = nullptr;                  // the expression, if the context can evaluate it
  bool may_change = false;                     // before it is read: captured by reference, or in an object
  KnownValue* outer = nullptr;                 // kLoop: the same value in the code around the loop
  std::size_t operand = 0;                     // kCopy: the argument that contains it
  std::vector<std::uint32_t> path;             // kCopy: its place in that argument
  hir::Local* local = nullptr;                 // the variable that holds it
  std::map<std::uint32_t, KnownValue*> parts;  // by the number of the capture or field
};

class KnownValues {
 public:
  explicit KnownValues(Analysis& analysis) : analysis_(analysis) {}

  // The known value of an expression; null if it is not a closure or object, or is unknown.
  KnownValue* find(hir::Expr& expr, KnownContext& context);
  KnownValue* part(KnownValue& whole, std::uint32_t index);
  // Reads a number or an array.
  hir::Expr* read(KnownValue& value, SourceRange range);
  // The same as an argument of a copy. Outside of parallel loops, a value that may change is passed as a closure.
  hir::Expr* give(KnownValue& value, SourceRange range);
  // The same value inside a loop, or as an argument of a copy.
  KnownValue* in_loop(KnownValue& outer, KnownContext& loop);
  KnownValue* in_copy(KnownValue& argument, KnownContext& copy, std::size_t operand,
                      std::vector<std::uint32_t> path);
  // Equal keys mean that a function has one copy for these values.
  std::string key_of(KnownValue& value);
  // Whether parallel loops can use values of the type only if they are known.
  static bool is_needed(const Type* type) {
    return type->is(TypeKind::kFunction) || (type->is(TypeKind::kClass) && !type->is_enum);
  }

 private:
  KnownValue& add(KnownContext& context, const Type* type);
  hir::Local* holder(KnownValue& value, SourceRange range);
  hir::Expr* reader(KnownValue& value, SourceRange range);

  Analysis& analysis_;
  std::deque<KnownValue> values_;
};

}  // namespace dhpvm::compiler
