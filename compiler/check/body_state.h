// SPDX-License-Identifier: Apache-2.0
// The state that the parts of the checker of one body share: the current position, the variables in scope, and the
// known facts about them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/check/analysis.h"
#include "compiler/check/assignments.h"

namespace dhpvm::compiler {

struct Frame;

enum class VariableKind : std::uint8_t { kLet, kVar, kParameter, kLoop, kThis, kReduction };

struct Variable {
  std::string_view name;
  hir::Local* local = nullptr;
  const Type* type = nullptr;
  VariableKind kind = VariableKind::kLet;
  SourceRange range;
  Frame* frame = nullptr;
  Variable* source = nullptr;   // the captured variable behind this one
  bool is_own_closure = false;  // the closure in it captures the variable itself
  bool assignable() const { return kind == VariableKind::kVar || kind == VariableKind::kReduction; }
};

// An array that a parallel loop reduces into: `reduce(+: counts[])`.
struct ReducedArray {
  std::string_view name;
  bytecode::ReductionOp op = bytecode::ReductionOp::kAdd;
  hir::Local* array = nullptr;         // before the loop
  hir::Local* copies = nullptr;        // before the loop: one more dimension, outermost, for the blocks
  const Variable* variable = nullptr;  // in the body; its local holds the copies
};

// A variable that a parallel loop reduces by a function, or a search: the first iteration that assigns it gives it a
// value.
struct FoldedValue {
  const ast::Reduction* reduction = nullptr;
  hir::Local* outer = nullptr;        // the variable, before the loop
  hir::Function* function = nullptr;  // null for `first` and `any`
  hir::Local* values = nullptr;       // before the loop: an array, a value for each block
  hir::Local* has_values = nullptr;   // before the loop: whether there is one
  hir::Local* lowest_hit =
      nullptr;  // before the loop, of a search: one element, the lowest block with a hit so far
  const Variable* variable = nullptr;  // in the body
  hir::Local* has_value = nullptr;     // in the body
  bool is_search() const { return reduction->op != ast::ReductionOp::kFunction; }
};

// How the iterations of a parallel loop with such reductions are divided into blocks.
struct Blocks {
  std::vector<ReducedArray> arrays;
  std::vector<FoldedValue> values;
  bool exist() const { return !arrays.empty() || !values.empty(); }
  hir::Local* rows = nullptr;    // before the loop: iterations of the outermost range in a block
  hir::Local* count = nullptr;   // before the loop
  hir::Local* number = nullptr;  // in the loop: the number of the block
};

// An enclosing function, closure or parallel loop: it sees its own variables without capturing.
struct Frame {
  enum class Kind : std::uint8_t { kFunction, kClosure, kKernel };
  Kind kind = Kind::kFunction;
  Frame* outer = nullptr;
  hir::Function* function = nullptr;     // null for kernels and outside of functions
  hir::ParallelLoop* loop = nullptr;     // kernels
  const Type* result = nullptr;          // null while it is inferred
  bool gives_result = false;             // closures: a `T!` of unknown T while `result` is null
  std::vector<hir::Stmt*> early_errors;  // returned an `Error` while `result` was null
  std::vector<std::vector<Variable*>> scopes;
  // Variables by name, with the number of their scope; inner ones after outer ones.
  struct Declared {
    Variable* variable = nullptr;
    std::size_t scope = 0;
  };
  std::unordered_map<std::string_view, std::vector<Declared>> declared;
  unsigned loops = 0;  // loops around the current statement, inside this frame
  std::map<const Variable*, Variable*> captures;
  std::map<std::string, Variable*> paths;  // kernels: captured field paths
  Blocks blocks;                           // kernels
};

// A field that is reached from a variable by fields alone: `list.first.next`.
struct FieldPath {
  const hir::Local* root = nullptr;
  std::vector<std::pair<const Type*, std::uint32_t>>
      fields;  // the type of the object, and the field's number
  auto operator<=>(const FieldPath&) const = default;
};

// The type that a test has established for a field. If the field can be assigned, the fact is temporary: it ends at a
// statement that may assign the field.
struct FieldType {
  static constexpr unsigned kForever = ~0U;
  const Type* type = nullptr;
  unsigned moment = kForever;  // as of BodyState::moment
};

// The facts known at a point of the program.
struct Flow {
  bool reachable = true;
  std::map<const Variable*, const Type*> narrowed;
  std::map<FieldPath, FieldType> fields;
  std::set<std::uint32_t> unassigned;  // in `init`: fields without a value yet
};

// The fact that a condition establishes about a variable, or about a field if `variable` is null.
struct Fact {
  Variable* variable = nullptr;
  const Type* type = nullptr;
  FieldPath field;
  bool is_lasting = true;  // no code can assign the field
};

struct Condition {
  hir::Expr* value = nullptr;
  std::vector<Fact> when_true;
  std::vector<Fact> when_false;
};

// A callee: the common part of functions, methods, constructors and closures.
struct Callee {
  std::string name;          // for messages: "area", "List<i64>.push"
  std::string generic_form;  // with the type arguments if they are not at the end: "Option<...>.some"
  struct Parameter {
    std::string_view name;  // empty for closures
    const Type* type = nullptr;
    const ast::Expr* fallback = nullptr;
    bool optional = false;  // has a default
    SourceRange range;
  };
  std::vector<Parameter> parameters;
  bool has_receiver = false;  // a library method: the first parameter is the receiver
  TypeContext fallback_context;
  SourceRange declared;
  bool has_declaration = false;
};

// Shared by the parts of one check; `frame` is never null.
struct BodyState {
  BodyState(Analysis& whole, TypeContext surroundings) : analysis(whole), context(std::move(surroundings)) {
    frame = &frames.emplace_back();
    frame->scopes.emplace_back();
  }

  bool in_kernel() const { return frame->kind == Frame::Kind::kKernel; }
  bool in_init_frame() const { return init != nullptr && frame->outer == nullptr; }

  Analysis& analysis;
  TypeContext context;
  Frame* frame = nullptr;
  Nominal* self = nullptr;
  Nominal* init = nullptr;  // when the body is the `init` of this class
  Flow flow;
  struct Loop {
    Flow* left = nullptr;  // where `break` merges the flow into
    std::string_view label;
  };
  std::vector<Loop> loops;  // around the current point, inside of its function, closure or parallel loop
  Assignments assignments;
  unsigned moment = 0;                        // counts calls and starts of loops, which may assign fields
  unsigned field_assignments = 0;             // counts the assignments of fields in this body
  std::set<std::string_view> tested_in_vain;  // source text of values compared with null, not narrowed
  std::set<std::string_view> tested_for_a_moment;  // source text of fields that null tests narrow temporarily
  bool in_trap_message = false;
  std::map<const hir::Function*, Variable*> shared_constants;  // by the function that makes them
  std::map<const hir::Function*, Variable*> shared_matrices;   // the same for constant arrays of arrays
  std::vector<hir::Stmt*> first_statements;                    // inserted at the start of the function
  std::set<const hir::Local*> assigned_in_expressions;
  std::set<const Type*> texts_in_work;  // structs whose text function is being written
  std::deque<Variable> variables;
  std::deque<Frame> frames;
  std::string function_name;
  unsigned closures = 0;
  std::string_view constant;  // if not empty, the expression must be constant: "the size of a fixed array"
};

}  // namespace dhpvm::compiler
