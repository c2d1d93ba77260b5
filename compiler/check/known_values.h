// SPDX-License-Identifier: Apache-2.0
// Closures and objects that are known when compiling, in pieces: see specialise.h.
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

// A piece of an argument that a copy of a function takes as a parameter.
struct PieceParameter {
  std::size_t operand = 0;
  std::vector<std::uint32_t> path;
};

// A copy of a function for what is known of its arguments.
struct SpecialCopy {
  hir::Function* function = nullptr;
  std::vector<PieceParameter> pieces;  // behind its other parameters
  bool in_work = true;
};

// Code in which values are known.
struct KnownContext {
  // A function that is as it was written; the body of a parallel loop; a copy of a function.
  enum class Kind : std::uint8_t { kPlain, kLoop, kCopy };
  Kind kind = Kind::kPlain;
  bool is_pure = false;               // a loop, or called by one
  hir::ParallelLoop* loop = nullptr;  // kLoop
  SpecialCopy* copy = nullptr;        // kCopy
  std::unordered_map<const hir::Local*, KnownValue*> values;
  KnownValue* find(const hir::Local* local) const {
    const auto known = values.find(local);
    return known == values.end() ? nullptr : known->second;
  }
};

// A closure with what it captured, an object with its fields; or one of these parts.
struct KnownValue {
  KnownContext* context = nullptr;
  const Type* type = nullptr;
  hir::Function* target = nullptr;             // of a closure
  hir::Expr* value = nullptr;                  // where the context can compute it as it is
  bool may_change = false;                     // until it is read: by reference, or in an object
  KnownValue* outer = nullptr;                 // kLoop: the same in the code around the loop
  std::size_t operand = 0;                     // kCopy: the argument that it is a part of
  std::vector<std::uint32_t> path;             // kCopy: which part
  hir::Local* local = nullptr;                 // what holds it
  std::map<std::uint32_t, KnownValue*> parts;  // by the number of the capture or field
};

class KnownValues {
 public:
  explicit KnownValues(Analysis& analysis) : analysis_(analysis) {}

  // The known value of an expression; null when it is no closure or object, or not known.
  KnownValue* find(hir::Expr& expr, KnownContext& context);
  KnownValue* part(KnownValue& whole, std::uint32_t index);
  // Reads a number or an array.
  hir::Expr* read(KnownValue& value, SourceRange range);
  // The same as an argument of a copy: outside of parallel loops a closure that reads it, if it may change.
  hir::Expr* give(KnownValue& value, SourceRange range);
  // The same value inside of a loop, or as an argument of a copy.
  KnownValue* in_loop(KnownValue& outer, KnownContext& loop);
  KnownValue* in_copy(KnownValue& argument, KnownContext& copy, std::size_t operand,
                      std::vector<std::uint32_t> path);
  // Equal for values for which a function has the same copy.
  std::string key_of(KnownValue& value);
  // Whether values of the type have to be known in loops.
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
