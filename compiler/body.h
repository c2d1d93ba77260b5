// SPDX-License-Identifier: Apache-2.0
// Checks one function body (with the closures and parallel loops inside it) and builds its HIR.
//
// The class is one, because names, flow and expressions all lean on each other; its parts stand in files of
// their own, and each group of declarations below says where.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/analysis.h"
#include "compiler/ast_scan.h"

namespace dhpvm::compiler {

// Checks the body of `instance` and completes its result and its hir::Function.
void check_body(Analysis& analysis, FunctionInstance& instance);
// Checks an expression that stands outside of every function.
const hir::Expr* check_expression(Analysis& analysis, const ast::Expr& expr, const TypeContext& context,
                                  const Type* expected);

struct Frame;

enum class VariableKind : std::uint8_t { kLet, kVar, kParameter, kLoop, kThis, kReduction };

struct Variable {
  std::string_view name;
  hir::Local* local = nullptr;
  const Type* type = nullptr;
  VariableKind kind = VariableKind::kLet;
  SourceRange range;
  Frame* frame = nullptr;
  Variable* source = nullptr;  // the captured variable behind this one
  bool assignable() const { return kind == VariableKind::kVar || kind == VariableKind::kReduction; }
};

// A function, closure or parallel loop on the way: what its body can see without capturing.
struct Frame {
  enum class Kind : std::uint8_t { kFunction, kClosure, kKernel };
  Kind kind = Kind::kFunction;
  Frame* outer = nullptr;
  hir::Function* function = nullptr;   // null for kernels and outside of functions
  hir::ParallelLoop* loop = nullptr;   // kernels
  const Type* result = nullptr;        // null while it is inferred
  std::vector<std::vector<Variable*>> scopes;
  unsigned loops = 0;  // loops around the current statement, inside this frame
  std::map<const Variable*, Variable*> captures;
  std::map<std::string, Variable*> paths;  // kernels: captured field paths
};

// What is known at a point of the program.
struct Flow {
  bool reachable = true;
  std::map<const Variable*, const Type*> narrowed;
  std::set<std::uint32_t> unassigned;  // in `init`: fields without a value yet
};

// What a condition says about a variable.
struct Fact {
  Variable* variable = nullptr;
  const Type* type = nullptr;
};

struct Condition {
  hir::Expr* value = nullptr;
  std::vector<Fact> when_true;
  std::vector<Fact> when_false;
};

// Something that is called: the part that functions, methods, constructors and closures have in common.
struct Callee {
  std::string name;  // for messages: "area", "List<i64>.push"
  struct Parameter {
    std::string_view name;  // empty for closures
    const Type* type = nullptr;
    const ast::Expr* fallback = nullptr;
    bool optional = false;  // has a value without being given one
    SourceRange range;
  };
  std::vector<Parameter> parameters;
  TypeContext fallback_context;
  SourceRange declared;
  bool has_declaration = false;
};

class BodyChecker {
 public:
  BodyChecker(Analysis& analysis, TypeContext context);

  void check_function(FunctionInstance& instance);
  hir::Expr* check_constant(const ast::Expr& expr, const Type* expected);

 private:
  using E = hir::Expr*;
  using Range = SourceRange;

  // --- building (build.cpp)
  E make(hir::ExprKind kind, const Type* type, Range range) { return analysis_.make(kind, type, range); }
  E make(hir::ExprKind kind, const Type* type, Range range, std::vector<E> operands);
  E wrong(Range range) { return make(hir::ExprKind::kZero, error_type(), range); }
  E integer(std::uint64_t value, const Type* type, Range range);
  E boolean(bool value, Range range);
  E string(std::string text, Range range);
  E read(hir::Local* local, Range range);
  E binary(hir::Binary op, E left, E right, Range range);
  E negate_bool(E operand);
  E call_native(const std::string& name, std::vector<E> operands, const Type* result, Range range);
  hir::Stmt* let(hir::Local* local, E value);
  hir::Stmt* assign(E place, E value, Range range);
  hir::Stmt* evaluate(E value);
  hir::Local* temporary(const Type* type);
  // `value` if evaluating it twice is free of effects and cost; otherwise a temporary, whose declaration is
  // added to `statements`.
  E stable(E value, std::vector<hir::Stmt*>& statements);
  E in_block(std::vector<hir::Stmt*> statements, E value, Range range);
  const Type* basic(TypeKind kind) const { return analysis_.basic(kind); }
  const Type* error_type() const { return basic(TypeKind::kError); }
  TypeTable& types() { return analysis_.types(); }
  template <typename... Args>
  Diagnostic& error(Range range, fmt::format_string<Args...> format, Args&&... args) {
    return analysis_.error(range, format, std::forward<Args>(args)...);
  }

  // --- names (names.cpp)
  void open_scope() { frame_->scopes.emplace_back(); }
  void close_scope() { frame_->scopes.pop_back(); }
  Variable* declare(const ast::Name& name, const Type* type, VariableKind kind);
  Variable* declare_hidden(std::string_view name, const Type* type, VariableKind kind, Range range);
  Variable* find_variable(std::string_view name);  // as it is seen in the frame that declares it
  Variable* see(Variable* variable, Range range);  // as it is seen here: captured where needed
  E read_variable(Variable* variable, Range range);
  E this_value(Range range);
  bool this_has_field(std::string_view name);
  FunctionSymbol* this_method(std::string_view name);
  E name_expr(const ast::Expr& expr, const Type* expected);
  E function_value(FunctionSymbol& symbol, const ast::Expr& expr, const Type* expected);
  E constant_value(ConstantSymbol& symbol, Range range);
  std::vector<std::string> visible_names();
  void report_unknown(std::string_view name, Range range, bool called);
  ModuleSymbols* module_named(const ast::Expr& expr);

  // --- conversions (convert.cpp)
  E value(const ast::Expr& expr, const Type* expected = nullptr);  // not void
  E value_as(const ast::Expr& expr, const Type* target);           // of type `target`
  E coerce(E expr, const Type* target, Range range);
  bool can_coerce(const Type* from, const Type* to);
  E cast(const ast::Expr& expr);
  E is_type(const ast::Expr& expr, Condition* facts);

  // --- expressions (expr.cpp)
  E expr(const ast::Expr& expr, const Type* expected = nullptr);
  E dispatch(const ast::Expr& expr, const Type* expected);
  E int_literal(const ast::Expr& expr, bool negative, const Type* expected);
  E float_literal(const ast::Expr& expr, const Type* expected);
  const Type* suffix_type(std::string_view suffix);
  E if_expr(const ast::Expr& expr, const Type* expected);
  // One type for both branches of a conditional; null after a diagnostic.
  const Type* common_type(E& left, Range left_range, E& right, Range right_range);
  E array_literal(const ast::Expr& expr, const Type* expected);
  E new_array(const ast::Expr& expr);
  E index_expr(const ast::Expr& expr);
  E index_of(E array, const ast::Expr& expr);
  E index_value(const ast::Expr& expr);
  E checked_member(const ast::Expr& expr, const Type* expected);
  E unwrap_expr(const ast::Expr& expr);
  static bool is_flexible(const ast::Expr& expr);
  static bool has_float_literal(const ast::Expr& expr);

  // --- operators (operators.cpp)
  E unary_expr(const ast::Expr& expr, const Type* expected);
  E binary_expr(const ast::Expr& expr, const Type* expected);
  bool operands_of(const ast::Expr& expr, const Type* expected, E& left, E& right);
  E arithmetic(hir::Binary op, E left, E right, const ast::Expr& expr);
  E comparison(hir::Binary op, const ast::Expr& expr, Condition* facts);
  E shift(hir::Binary op, const ast::Expr& expr, const Type* expected);
  E coalesce(const ast::Expr& expr, const Type* expected);
  E arithmetic_on(hir::Binary op, E left, E right, Range range, Range operator_range);

  // --- narrowing (narrowing.cpp)
  Condition condition(const ast::Expr& expr);
  E condition_value(const ast::Expr& expr);
  void null_test(const ast::Expr& tested, bool equal, Condition& condition);
  Variable* narrowable(const ast::Expr& expr);
  const Type* narrowed_type(const Variable* variable) const;
  E refine(E value, const Type* narrowed, Range range);
  void learn(const std::vector<Fact>& facts);
  void forget(const Variable* variable);
  void forget_assigned_in(const NameSet& names);
  void assigned(Variable* variable, const Type* value_type);
  static Flow merge(const Flow& a, const Flow& b);

  // --- members (members.cpp)
  E member(const ast::Expr& expr, const Type* expected);
  E member_of(E object, const ast::Expr& expr);
  E safe_member(const ast::Expr& expr, const ast::Expr* call, const Type* expected);
  E type_constant(const Type* type, const ast::Expr& expr);
  E field(E object, std::uint32_t index, Range range);
  E array_member(E object, const ast::Expr& expr);
  E not_null(E object, const ast::Expr& object_expr, std::string_view member);
  void report_missing_member(const Type* type, const ast::Name& name, bool called);
  const Type* primitive_named(const ast::Expr& expr);
  E hoisted(const ast::Expr& expr);
  bool path_of(const ast::Expr& expr, std::string& path, Variable*& root);

  // --- calls (calls.cpp)
  E call_expr(const ast::Expr& expr, const Type* expected);
  E call_name(const ast::Expr& expr, const Type* expected);
  E call_member(const ast::Expr& expr, const Type* expected);
  E call_method(E object, const ast::Expr& member, const ast::Expr& call, const Type* expected);
  E call_method_of(E object, FunctionSymbol& symbol, const ast::Expr& call, const Type* expected, Range range);
  E call_interface(E object, const ast::Expr& member, const ast::Expr& call);
  E call_function(FunctionSymbol& symbol, const ast::Expr& call, const Type* expected);
  E call_instance(FunctionInstance& instance, std::vector<E> arguments, Range range);
  E call_value(E function, const ast::Expr& call);
  E construct(NominalSymbol& symbol, const ast::Expr& call, const Type* expected);
  E construct_type(const Type* type, const ast::Expr& call, const std::vector<E>* ready);
  E construct_weak(const ast::Expr& call, const Type* expected);
  std::vector<E> required_fields(Nominal& nominal, const ast::Expr& call);
  E call_module(ModuleSymbols& module, const ast::Expr& member, const ast::Expr& call, const Type* expected);

  // --- arguments (arguments.cpp)
  // For each parameter the argument's expression, null where its default serves. False after a diagnostic.
  bool match_arguments(const Callee& callee, const ast::Expr& call, std::vector<const ast::Expr*>& matched);
  // `ready` holds arguments that inference has checked already. `statements` receives what must be evaluated
  // first when named arguments stand in another order than the parameters.
  std::vector<E> arguments(const Callee& callee, const ast::Expr& call, const std::vector<E>* ready,
                           std::vector<hir::Stmt*>& statements);
  E fallback_value(const ast::Expr& expr, const Type* type, const TypeContext& context);
  void check_all(const ast::Expr& call);  // of a wrong call: finds mistakes inside the arguments
  Callee callee_of(FunctionInstance& instance);

  // --- inference (inference.cpp)
  struct Inference {
    const std::vector<ast::TypeParameter>* parameters = nullptr;
    std::vector<const Type*> arguments;  // null while unknown
    TypeContext context;                 // of the declaration, with the bindings known so far
  };
  bool infer(Inference& inference, const std::string& name, Range declared,
             const std::vector<const ast::Type*>& parameter_types, const ast::Type* result,
             const Callee& callee, const ast::Expr& call, const Type* expected, std::vector<E>& ready);
  bool unify(const ast::Type* pattern, const Type* type, Inference& inference);
  bool mentions_unknown(const ast::Type* pattern, const Inference& inference);
  void bind(Inference& inference, std::size_t index, const Type* type);
  std::vector<const Type*> resolve_all(const std::vector<ast::Type*>& written);

  // --- closures (closures.cpp)
  // `parameters`: the types of parameters that are not written, null where unknown; `result`: likewise.
  E closure(const ast::Expr& expr, const std::vector<const Type*>& parameters, const Type* result);
  E closure_expr(const ast::Expr& expr, const Type* expected);

  // --- built-in functions and methods (builtins.cpp, array_methods.cpp, text.cpp, intrinsics.cpp)
  bool is_builtin(std::string_view name) const;
  E call_builtin(std::string_view name, const ast::Expr& call);
  E print_call(const ast::Expr& call);
  E assert_call(const ast::Expr& call);
  E trap_call(const ast::Expr& call);
  E hash_of(E value, Range range);
  bool expect_arguments(const ast::Expr& call, std::size_t least, std::size_t most, std::string_view usage);
  E array_method(E array, const ast::Expr& member, const ast::Expr& call);
  E array_slice(E array, E low, E high, Range range);
  E array_fill(E array, E value, Range range);
  E array_copy(E array, Range range);
  E for_each_index(E array, Range range, const std::function<hir::Stmt*(E index)>& body);
  E text_of(E value, Range range);
  E join_text(std::vector<E> parts, Range range);
  E struct_text(E value, Range range);
  E array_text(E value, Range range);
  E format_expr(const ast::Expr& expr);
  E formatted(E value, const ast::FormatPart& part);
  E intrinsic(FunctionInstance& instance, const ast::Expr& call, const std::vector<E>& arguments);
  E array_intrinsic(std::string_view name, const std::vector<E>& arguments, FunctionInstance& instance,
                    Range range);
  E bit_count(std::string_view name, E argument, Range range);
  E atomic_call(FunctionSymbol& symbol, const ast::Expr& call);
  E method_text(E value, std::string_view method, const Type* result, Range range);

  // --- statements (statements.cpp, assign.cpp, loops.cpp, match.cpp, parallel.cpp)
  using Body = std::vector<hir::Stmt*>;
  void statements(const std::vector<ast::Stmt*>& list, Body& out);
  void statement(const ast::Stmt& stmt, Body& out);
  void block(const ast::Stmt& stmt, Body& out);
  void variable(const ast::Stmt& stmt, Body& out);
  void if_stmt(const ast::Stmt& stmt, Body& out);
  void return_stmt(const ast::Stmt& stmt, Body& out);
  void jump(const ast::Stmt& stmt, Body& out);
  void use_stmt(const ast::Stmt& stmt, const std::vector<ast::Stmt*>& list, std::size_t next, Body& out);
  void assign_stmt(const ast::Stmt& stmt, Body& out);
  void update_stmt(const ast::Stmt& stmt, Body& out);
  struct Place {
    E expr = nullptr;             // null when it is wrong
    Variable* variable = nullptr;  // assigned whole
    std::int64_t init_field = -1;  // field of `this` that `init` sets
  };
  Place place(const ast::Expr& expr, bool updated);
  Place field_place(const ast::Expr& expr, E object, const ast::Expr* object_expr, std::string_view name,
                    bool updated);
  bool check_assignable(Variable* variable, Range range);
  bool mutable_root(const hir::Expr& place, const ast::Expr& syntax);
  void while_stmt(const ast::Stmt& stmt, Body& out);
  void for_range(const ast::Stmt& stmt, Body& out);
  void for_each(const ast::Stmt& stmt, Body& out);
  void loop_body(const ast::Stmt& body, Body& out);
  void each_in_array(const ast::Stmt& stmt, E collection, Body& out);
  void each_in_class(const ast::Stmt& stmt, E collection, Body& out);
  bool range_bounds(const ast::Expr& low, const ast::Expr& high, E& low_value, E& high_value);
  void match_stmt(const ast::Stmt& stmt, Body& out);
  E match_expr(const ast::Expr& expr, const Type* expected);
  struct Subject {
    E value = nullptr;             // read again and again
    Variable* variable = nullptr;  // when it is a variable that can be narrowed
    const Type* type = nullptr;
  };
  struct Test {
    E condition = nullptr;  // null: always true
    std::vector<Fact> facts;
    const Type* bound_type = nullptr;
    const ast::Name* binding = nullptr;
  };
  Subject subject_of(const ast::Expr& expr, Body& out);
  Test test_pattern(const ast::Pattern& pattern, const Subject& subject);
  Test test_arm(const ast::Arm& arm, const Subject& subject);
  void bind_pattern(const Test& test, const Subject& subject, Body& out);
  const ast::Type* type_pattern(const ast::Pattern& pattern);
  void check_exhaustive(const std::vector<ast::Arm>& arms, const Subject& subject, Range range);
  void parallel_for(const ast::Stmt& stmt, Body& out);
  void parallel_hints(const ast::Stmt& stmt, hir::ParallelLoop& loop);
  void parallel_reductions(const ast::Stmt& stmt, hir::ParallelLoop& loop, Frame& frame);
  bool reduction_assign(const ast::Stmt& stmt, Body& out);
  Variable* capture_in_kernel(Frame& kernel, Variable* variable, E value, Range range);
  bool in_kernel() const { return frame_ != nullptr && frame_->kind == Frame::Kind::kKernel; }
  static bool is_plain(const Type* type);  // primitives, structs and nullables of them
  static bool is_kernel_array(const Type* type);

  // --- initialisation (init.cpp)
  void begin_init(FunctionInstance& instance);
  void end_init(Range range);
  void require_initialised(Range range, std::string_view use);
  bool in_init_frame() const { return init_ != nullptr && frame_ != nullptr && frame_->outer == nullptr; }

  Analysis& analysis_;
  TypeContext context_;
  Frame* frame_ = nullptr;  // null outside of functions
  Nominal* self_ = nullptr;
  Nominal* init_ = nullptr;  // when the body is the `init` of this class
  Flow flow_;
  std::vector<Flow*> breaks_;  // where `break` merges the flow into, for each loop
  NameSet assigned_in_closures_;
  std::deque<Variable> variables_;
  std::deque<Frame> frames_;
  std::string function_name_;
  unsigned closures_ = 0;
  const Type* return_hint_ = nullptr;
};

}  // namespace dhpvm::compiler
