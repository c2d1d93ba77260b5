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
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/check/analysis.h"
#include "compiler/check/assignments.h"

namespace dhpvm::compiler {

// Checks the body of `instance` and completes its result and its hir::Function.
void check_body(Analysis& analysis, FunctionInstance& instance);
// Checks an expression that stands outside of every function, where a constant is demanded: `what`.
const hir::Expr* check_expression(Analysis& analysis, const ast::Expr& expr, const TypeContext& context,
                                  const Type* expected, std::string_view what);

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
  hir::Function* function = nullptr;  // null for kernels and outside of functions
  hir::ParallelLoop* loop = nullptr;  // kernels
  const Type* result = nullptr;       // null while it is inferred
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

// The operation behind `a op b` and `a op= b`; not for `&&`, `||` and `??`, which are control flow.
hir::Binary binary_of(ast::BinaryOp op);

class BodyChecker {
 public:
  BodyChecker(Analysis& analysis, TypeContext context);

  void check_function(FunctionInstance& instance);
  hir::Expr* check_constant(const ast::Expr& expr, const Type* expected, std::string_view what);

 private:
  using E = hir::Expr*;
  using Range = SourceRange;
  using Body = std::vector<hir::Stmt*>;

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
  // added to `before`.
  E stable(E value, Body& before);
  E in_block(Body statements, E value, Range range);
  // for i in 0..high { body(i) }
  hir::Stmt* count_loop(E high, Range range, const std::function<Body(E index)>& body);
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
  Variable* find_variable(std::string_view name);  // as the frame that declares it sees it
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
  E operand_value(const ast::Expr& expr, const Type* expected = nullptr);  // not void
  E value(const ast::Expr& expr, const Type* expected = nullptr);          // nor a fixed array
  E value_as(const ast::Expr& expr, const Type* target);                   // of type `target`
  E coerce(E expr, const Type* target, Range range);
  bool can_coerce(const Type* from, const Type* to);
  bool may_be(const Type* from, const Type* to);
  E cast(const ast::Expr& expr);
  E is_type(const ast::Expr& expr, Condition* facts);

  // --- expressions (expr.cpp)
  // `expected` is a hint: literals and closures adapt to it, but the result may have another type.
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
  bool has_zero(const Type* type);
  E index_expr(const ast::Expr& expr);
  E index_of(E array, const ast::Expr& expr);
  E index_value(const ast::Expr& expr);
  E unwrap_expr(const ast::Expr& expr);
  static bool is_flexible(const ast::Expr& expr);
  static bool has_float_literal(const ast::Expr& expr);

  // --- operators (operators.cpp)
  E unary_expr(const ast::Expr& expr, const Type* expected);
  E binary_expr(const ast::Expr& expr, const Type* expected);
  bool operands_of(const ast::Expr& expr, const Type* expected, E& left, E& right);
  E arithmetic_on(hir::Binary op, E left, E right, Range range, Range operator_range);
  E comparison(hir::Binary op, const ast::Expr& expr, Condition* facts);
  E shift(hir::Binary op, const ast::Expr& expr, const Type* expected);
  E coalesce(const ast::Expr& expr, const Type* expected);

  // --- narrowing (narrowing.cpp)
  Condition condition(const ast::Expr& expr);
  void null_test(const ast::Expr& tested, bool equal, Condition& condition);
  void explain_null(Diagnostic& diagnostic, Range object, std::string_view otherwise);
  Variable* narrowable(const ast::Expr& expr);
  const Type* narrowed_type(const Variable* variable) const;
  E refine(E value, const Type* narrowed, Range range);
  void learn(const std::vector<Fact>& facts);
  void forget(const Variable* variable);
  void forget_assigned_in(Range loop);
  void assigned(Variable* variable, const Type* value_type);
  static Flow merge(const Flow& a, const Flow& b);

  // --- members (members.cpp)
  E member(const ast::Expr& expr, const Type* expected);
  E member_of(E object, const ast::Expr& expr);
  E module_member(ModuleSymbols& module, const ast::Expr& expr, const Type* expected);
  E safe_member(const ast::Expr& expr, const ast::Expr* call);
  E receiver(const ast::Expr& expr);
  E type_constant(const Type* type, const ast::Expr& expr);
  E field(E object, std::uint32_t index, Range range);
  E array_member(E object, const ast::Expr& expr);
  bool report_hidden_module(const ast::Expr& object, const ast::Name& name);
  void report_missing_member(const Type* type, const ast::Name& name, bool called);
  void report_missing_in_module(ModuleSymbols& module, std::string_view as, const ast::Name& name);
  const Type* primitive_named(const ast::Expr& expr);
  E hoisted(const ast::Expr& expr);
  bool path_of(const ast::Expr& expr, std::string& path, Variable*& root);

  // --- calls (calls.cpp)
  E call_expr(const ast::Expr& expr, const Type* expected);
  E call_name(const ast::Expr& expr, const Type* expected);
  E call_member(const ast::Expr& expr, const Type* expected);
  E call_module(ModuleSymbols& module, const ast::Expr& member, const ast::Expr& call, const Type* expected);
  E call_method(E object, const ast::Expr& member, const ast::Expr& call, const Type* expected);
  E call_method_of(E object, FunctionSymbol& symbol, const ast::Expr& call, const Type* expected);
  E call_interface(E object, const ast::Expr& member, const ast::Expr& call);
  E call_function(FunctionSymbol& symbol, const ast::Expr& call, const Type* expected);
  E call_instance(FunctionInstance& instance, std::vector<E> arguments, Range range);
  E call_value(E function, const ast::Expr& call);
  E invoke(E object, std::string_view method, std::vector<E> arguments, Range range);
  FunctionInstance* instance_for(FunctionSymbol& symbol, Nominal* owner, const ast::Expr& call,
                                 const Type* expected, std::vector<E>& ready);
  static Callee callee_of(const FunctionInstance& instance);

  // --- arguments (arguments.cpp)
  // For each parameter the argument's expression, null where its default serves. False after a diagnostic.
  bool match_arguments(const Callee& callee, const ast::Expr& call, std::vector<const ast::Expr*>& matched);
  // One value per parameter. `ready` holds arguments that inference has checked already. `before` receives
  // what must be evaluated first when named arguments stand in another order than the parameters.
  bool arguments(const Callee& callee, const ast::Expr& call, const std::vector<E>* ready, Body& before,
                 std::vector<E>& values);
  E fallback_value(const ast::Expr& expr, const Type* type, const TypeContext& context);
  void check_all(const ast::Expr& call);  // finds mistakes inside the arguments of a wrong call
  bool expect_arguments(const ast::Expr& call, std::size_t least, std::size_t most, std::string_view usage);

  // --- construction (construct.cpp)
  E construct(NominalSymbol& symbol, const ast::Expr& call, const Type* expected);
  E construct_type(const Type* type, const ast::Expr& call, const std::vector<E>* ready);
  E construct_weak(const ast::Expr& call, const Type* expected);
  void begin_init(FunctionInstance& instance);
  void end_init(Range range);
  void require_initialised(Range range, std::string_view use);
  std::string unassigned_names() const;
  bool in_init_frame() const { return init_ != nullptr && frame_->outer == nullptr; }

  // --- inference (inference.cpp)
  struct Inference {
    const std::vector<ast::TypeParameter>* parameters = nullptr;
    std::vector<const Type*> arguments;  // null while unknown
    TypeContext context;                 // of the declaration, with the bindings known so far
  };
  bool infer(Inference& inference, const Callee& callee, const std::vector<const ast::Type*>& patterns,
             const ast::Type* result, const ast::Expr& call, const Type* expected, std::vector<E>& ready);
  void unify(const ast::Type* pattern, const Type* type, Inference& inference);
  bool mentions_unknown(const ast::Type* pattern, const Inference& inference);
  void bind(Inference& inference, std::size_t index, const Type* type);
  bool resolve_all(const std::vector<ast::Type*>& written, std::vector<const Type*>& types);

  // --- closures (closures.cpp)
  // `hints`: types for parameters without one, null where unknown; `result_hint`: likewise.
  E closure(const ast::Expr& expr, const std::vector<const Type*>& hints, const Type* result_hint);
  E closure_expr(const ast::Expr& expr, const Type* expected);
  bool closure_result(const ast::Expr& result, hir::Function& function);

  // --- built-in functions and methods (builtins.cpp, array_methods.cpp, text.cpp, intrinsics.cpp)
  static bool is_builtin(std::string_view name);
  E call_builtin(std::string_view name, const ast::Expr& call);
  E print_call(const ast::Expr& call);
  E assert_call(const ast::Expr& call);
  E message_of(const ast::Expr& expr);
  E failed_assertion(const ast::Expr& asserted, E& test, Body& before);
  E trap_call(const ast::Expr& call);
  E trap_expr(E message, Range range);
  E hash_of(E value, Range range);
  E array_method(E array, const ast::Expr& member, const ast::Expr& call);
  E array_slice(E array, E low, E high, Range range);
  E array_fill(E array, E filler, Range range);
  E array_copy(E array, Range range);
  E dim_of(E array, std::uint32_t dimension, Range range);
  E text_of(E value, Range range);
  E join_text(const std::vector<E>& parts, Range range);
  E struct_text(E value, Range range);
  E array_text(E array, Range range);
  E format_expr(const ast::Expr& expr);
  E formatted(E value, const ast::FormatPart& part);
  E intrinsic(const FunctionInstance& instance, const std::vector<E>& arguments, Range range);
  E machine_op(bytecode::Op op, const Type* type, const std::vector<E>& arguments, Range range);
  E integer_abs(E value, Range range);
  E array_intrinsic(std::string_view name, const std::vector<E>& arguments, const FunctionInstance& instance,
                    Range range);
  E atomic_call(const FunctionSymbol& symbol, const ast::Expr& call);

  // --- statements (statements.cpp, loops.cpp)
  void statements(const std::vector<ast::Stmt*>& list, Body& out);
  void statement(const ast::Stmt& stmt, Body& out);
  void block(const ast::Stmt& stmt, Body& out);
  void variable(const ast::Stmt& stmt, Body& out);
  void if_stmt(const ast::Stmt& stmt, Body& out);
  void return_stmt(const ast::Stmt& stmt, Body& out);
  void jump(const ast::Stmt& stmt, Body& out);
  void use_stmt(const ast::Stmt& stmt, const std::vector<ast::Stmt*>& list, std::size_t next, Body& out);
  void while_stmt(const ast::Stmt& stmt, Body& out);
  void for_range(const ast::Stmt& stmt, Body& out);
  void for_each(const ast::Stmt& stmt, Body& out);
  void loop_body(const ast::Stmt& body, Flow& left, Body& out);
  bool range_bounds(const ast::Expr& low, const ast::Expr& high, E& low_value, E& high_value);
  bool is_assigned_in(const ast::Expr& name, Range loop);
  E iterated(E collection, const ast::Stmt& loop);
  void report_not_iterable(const Type* type, Range range);
  E count_of(E collection, Range range);
  E element_of(E collection, E index, Range range);

  // --- assignment (assign.cpp)
  struct Place {
    E expr = nullptr;              // null when it is wrong
    Variable* variable = nullptr;  // assigned whole
    std::int64_t init_field = -1;  // field of `this` that `init` sets
  };
  void assign_stmt(const ast::Stmt& stmt, Body& out);
  void update_stmt(const ast::Stmt& stmt, Body& out);
  Place place(const ast::Expr& expr, bool updated);
  Place field_place(E object, const ast::Name& name, Range range, bool updated);
  E stable_place(E place, Body& before);
  bool check_assignable(const Variable& variable, Range range);
  bool check_field(const Type* type, std::uint32_t index, Range range);
  bool mutable_root(const hir::Expr& place, Range range);

  // --- match (match.cpp)
  struct Subject {
    E value = nullptr;             // may be evaluated again and again
    Variable* variable = nullptr;  // when it is a variable that can be narrowed
    const Type* type = nullptr;
  };
  struct Test {
    E condition = nullptr;  // null: always true
    std::vector<Fact> facts;
    const Type* bound_type = nullptr;
    const ast::Name* binding = nullptr;
  };
  void match_stmt(const ast::Stmt& stmt, Body& out);
  E match_expr(const ast::Expr& expr, const Type* expected);
  Subject subject_of(const ast::Expr& expr, Body& out);
  Test test_pattern(const ast::Pattern& pattern, const Subject& subject);
  Test test_arm(const ast::Arm& arm, const Subject& subject);
  E test_value(const ast::Pattern& pattern, E subject);
  void bind_pattern(const Test& test, const Subject& subject, Body& out);
  const Type* pattern_type(const ast::Pattern& pattern);
  bool covers_all(const std::vector<ast::Arm>& arms, const Subject& subject);
  bool too_many_arms(const std::vector<ast::Arm>& arms, Range range);
  void exclude_null(const ast::Arm& arm, const Subject& subject);

  // --- parallel loops (parallel.cpp)
  void parallel_for(const ast::Stmt& stmt, Body& out);
  void parallel_hints(const ast::Stmt& stmt, hir::ParallelLoop& loop);
  void parallel_reductions(const ast::Stmt& stmt, hir::ParallelLoop& loop, Frame& kernel);
  bool reduction_assign(const ast::Stmt& stmt, Body& out);
  const ast::Expr* min_max_argument(const ast::Expr& call, std::string_view variable,
                                    bytecode::ReductionOp op);
  Variable* capture_in_kernel(Frame& kernel, std::string_view name, E value, Range range);
  bool in_kernel() const { return frame_->kind == Frame::Kind::kKernel; }
  bool is_kernel_array(const Type* type);

  Analysis& analysis_;
  TypeContext context_;
  Frame* frame_ = nullptr;
  Nominal* self_ = nullptr;
  Nominal* init_ = nullptr;  // when the body is the `init` of this class
  Flow flow_;
  std::vector<Flow*> breaks_;  // where `break` merges the flow into, for each loop
  Assignments assignments_;
  std::set<std::string_view> tested_in_vain_;  // the text of what was compared with null, but is not narrowed
  bool in_trap_message_ = false;
  std::deque<Variable> variables_;
  std::deque<Frame> frames_;
  std::string function_name_;
  unsigned closures_ = 0;
  std::string_view constant_;  // not empty: what must be constant here, such as "the size of a fixed array"
};

}  // namespace dhpvm::compiler
