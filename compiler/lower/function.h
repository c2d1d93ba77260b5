// SPDX-License-Identifier: Apache-2.0
// Lowers one function. The state of that work, and its parts by file:
//   function.cpp    parameters, registers of locals, moves, results
//   expr.cpp        expressions: dispatch, conditionals, strings
//   constant.cpp    values known now
//   inline.cpp      small functions in place of calls
//   arithmetic.cpp  arithmetic, comparisons to bool, conversions
//   condition.cpp   conditions as branches
//   place.cpp       locals, fields and elements: reading and writing
//   call.cpp        calls and their argument windows
//   object.cpp      objects, arrays, closures, casts, weak references
//   stmt.cpp        statements        loop.cpp  loops
//   parallel.cpp    parallel loops
//
// How code is generated: an expression is lowered either into registers that the caller chose (into), so
// that `let x = a + b` computes in x's register, or to a register of its own choice (scalar, values), so
// that a local is used where it stands. What it needs in between it takes from the top of the register
// stacks and gives back.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/hir/hir.h"
#include "compiler/lower/analysis.h"
#include "compiler/lower/code_buffer.h"
#include "compiler/lower/module.h"
#include "compiler/lower/registers.h"
#include "compiler/lower/types.h"

namespace dhpvm::compiler {

// One register per leaf of a value.
using Values = std::vector<Register>;

class FunctionLowering {
 public:
  FunctionLowering(ModuleLowering& module, std::uint32_t function, std::string name);

  // Both once, one of them; errors go to the module.
  void lower(const hir::Function& function);
  void lower_kernel(const hir::ParallelLoop& loop);

 private:
  using Op = bytecode::Op;
  using Kind = bytecode::Kind;
  using LabelId = CodeBuffer::LabelId;
  using Expr = hir::Expr;
  using Stmt = hir::Stmt;

  // Where a value goes. Fresh registers hold nothing that evaluating the value could read: it may use them as
  // it goes along.
  struct Target {
    std::span<const Register> registers;
    bool fresh = true;
  };

  // Where a local lives.
  struct LocalSlot {
    enum class Kind : std::uint8_t { kRegisters, kCell, kFixedArray };
    Kind kind = Kind::kRegisters;
    Values registers;  // kCell: one, the cell; kFixedArray: the local array of each leaf
  };

  // Something that can be assigned, its parts evaluated.
  struct Place {
    enum class Kind : std::uint8_t { kRegisters, kField, kElement, kFixedArray };
    Kind kind = Kind::kRegisters;
    const Type* type = nullptr;
    Values registers;              // kRegisters; kFixedArray: local arrays
    Register base = 0;             // kField: the object; kElement: the array
    Register index = 0;            // kElement, kFixedArray
    std::uint32_t container = 0;   // kField: the class; kElement: the element's struct or kNoIndex
    std::uint32_t first_leaf = 0;  // kField, kElement: of the container
  };

  // What lies between a statement and the end of the function: `break` and `return` have to get through it.
  struct Enclosing {
    enum class Kind : std::uint8_t { kLoop, kUse };
    Kind kind = Kind::kLoop;
    LabelId break_label = 0;
    LabelId continue_label = 0;
    const Expr* close = nullptr;  // kUse
  };

  // A function whose body stands in place of a call: where `return` leaves its value, and goes.
  struct Inlined {
    Target target;
    LabelId end = 0;
  };
  static constexpr unsigned kMostInlineDepth = 4;

  // Gives back, when it ends, all registers taken meanwhile.
  class Scope {
   public:
    explicit Scope(FunctionLowering& lowering) : registers_(lowering.registers_), mark_(registers_.mark()) {}
    ~Scope() { registers_.release(mark_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Registers& registers_;
    RegisterMark mark_;
  };

  // Instructions emitted meanwhile belong to this position, except those of inner ones.
  class At {
   public:
    At(FunctionLowering& lowering, const hir::Position& position)
        : code_(lowering.code_), outer_(code_.position()) {
      if (position.line != 0 && !lowering.keeps_position_) code_.set_position(position);
    }
    ~At() { code_.set_position(outer_); }
    At(const At&) = delete;
    At& operator=(const At&) = delete;

   private:
    CodeBuffer& code_;
    hir::Position outer_;
  };

  // ---- function.cpp
  void reserve_signature();
  void bind_parameter(const hir::Local& local, Register& primitive, Register& reference);
  void load_captures(const hir::Function& function, Register object);
  void finish();
  Register allocate(const bytecode::ValueType& leaf);
  Values allocate(const Type* type);
  const Leaves& leaves(const Type* type) { return module_.types().leaves(type); }
  // A local begins: takes its registers, or makes its cell, and gets its value.
  void declare(const hir::Local& local, const Expr* value);
  void declare_boxed(const hir::Local& local, Register cell, const Values& initial);
  void declare_fixed_array(const hir::Local& local);
  void move(const bytecode::ValueType& leaf, Register to, Register from);
  void move(const Leaves& types, std::span<const Register> to, std::span<const Register> from);
  void return_values(const Leaves& types, const Values& values);
  void return_values(const std::vector<std::pair<Register, Register>>& moves, bool references);
  LocalSlot& slot(const hir::Local& local) { return locals_[&local]; }

  // ---- expr.cpp
  Register scalar(const Expr& e);           // a value of one leaf
  Values values(const Expr& e);             // a value of any number of leaves
  void into(const Expr& e, Target target);  // likewise
  void into(const Expr& e, Register to, bool fresh = true) { into(e, Target{{&to, 1}, fresh}); }
  void effect(const Expr& e);  // the value is not wanted
  // Where a value stands already, if reading it takes no code.
  std::optional<std::span<const Register>> in_place(const Expr& e);
  void zero(const Leaves& types, std::span<const Register> to);
  void conditional(const Expr& e, Target target);
  void block(const Expr& e, Target target);
  void truth(const Expr& e, Target target);
  void string_concat(std::span<hir::Expr* const> operands, Register to, bool fresh);
  void intrinsic(const Expr& e, Target target);
  void nullable(const Expr& e, Target target);

  // ---- constant.cpp
  // What the register of a constant holds.
  std::optional<std::int64_t> constant_of(const Expr& e) const;
  std::optional<std::int16_t> immediate_of(const Expr& e) const;
  Register constant(std::int64_t value);

  // ---- arithmetic.cpp
  void unary(const Expr& e, Register to);
  void binary(const Expr& e, Register to);
  void arithmetic(hir::Binary op, const Type* type, Register to, Register left, const Expr& right);
  bool immediate_arithmetic(hir::Binary op, const Type* type, Register to, Register left, const Expr& right);
  void shift(hir::Binary op, const Type* type, Register to, Register left, const Expr& right);
  void compare(const Expr& e, Register to);
  void wrap_to(const Type* type, Register at);
  void convert(const Type* to_type, const Type* from_type, Register to, Register from);
  void clamp(Register at, std::int32_t low, std::int32_t high);

  // ---- condition.cpp
  // Goes to `target` if `e` is `when`, and falls through otherwise.
  void branch_if(const Expr& e, bool when, LabelId target);
  void branch_if_compare(const Expr& e, bool when, LabelId target);
  bool branch_if_immediate(hir::Binary op, const Expr& left, const Expr& right, LabelId target);
  bool branch_if_masked(const Expr& e, bool when, LabelId target);
  void branch_if_equal(const Leaves& types, const Values& left, const Values& right, bool when,
                       LabelId target);
  void branch_if_leaf_equal(const bytecode::ValueType& leaf, Register left, Register right, bool when,
                            LabelId target);

  // ---- place.cpp
  Place place_of(const hir::Local& local);
  Place resolve(const Expr& e);
  Place resolve_field(const Expr& e);
  Place resolve_index(const Expr& e);
  void narrow(Place& place, const Type* type, LeafRange leaves);
  Register element_index(const Expr& e, Register array);
  void load(const Place& place, std::span<const Register> to);
  void store(const Place& place, std::span<const Register> from);
  void get_field(const bytecode::ValueType& leaf, Register to, Register object, std::uint32_t type,
                 std::uint32_t index);
  void put_field(const bytecode::ValueType& leaf, Register object, Register from, std::uint32_t type,
                 std::uint32_t index);

  // ---- call.cpp
  struct Window {
    Register primitive = 0;
    Register reference = 0;
  };
  Window open_window(const Leaves& results, const Target& target);
  void argument(const Expr& e);
  void finish_call(const Window& window, const Leaves& results, const Target& target);
  void call(const Expr& e, Target target);
  void emit_call(const Expr& e, const Window& window);

  // ---- inline.cpp
  bool inline_call(const Expr& e, Target target);

  // ---- object.cpp
  void new_object(const Expr& e, Target target);
  void new_array(const Expr& e, Target target);
  void fill_array(Register array, const Type* type, const Values& fill);
  void array_literal(const Expr& e, Target target);
  void make_closure(const Expr& e, Target target);
  void cast(const Expr& e, Target target);
  void atomic(const Expr& e, Target target);
  void array_copy(const Expr& e);

  // ---- stmt.cpp
  void statements(const std::vector<Stmt*>& list);
  void scoped(const std::vector<Stmt*>& list);
  void statement(const Stmt& s);
  void assign(const Stmt& s);
  void update(const Stmt& s);
  void if_statement(const Stmt& s);
  void return_statement(const Stmt& s);
  void return_value(const Expr& e);
  bool is_jump(const std::vector<Stmt*>& body) const;
  void use_statement(const Stmt& s);
  void trap_statement(const Stmt& s);
  void trap(const char* message, const hir::Position& at);
  void leave_loop(bool is_continue);
  void close_down_to(std::size_t depth);

  // ---- loop.cpp
  void while_loop(const Stmt& s);
  void for_range(const Stmt& s);
  void for_unit(const Stmt& s, Register index, Op op);
  void for_counted(const Stmt& s, Register index);
  void loop_body(const Stmt& s, Register index, LabelId exit, LabelId next);
  Register bound(const Expr& e);
  Register widened(const Type* type, Register from);
  void convert_in_place(const Type* type, Register at);
  void divide_by_step(Register at, std::optional<std::int64_t> step, Register step_register,
                      const Type* type);
  void advance(Register index, std::optional<std::int64_t> step, Register step_register, const Type* type);
  void check_step(const Expr& step, Register at);

  // ---- parallel.cpp
  void parallel_for(const Stmt& s);
  std::uint32_t outline(const hir::ParallelLoop& loop);
  void check_wrapped(Register high, const hir::Position& at);

  void fail(Error error) { module_.fail(std::move(error)); }

  ModuleLowering& module_;
  std::uint32_t function_;
  std::string name_;
  Registers registers_;
  CodeBuffer code_;
  FunctionFacts facts_;
  std::unordered_map<const hir::Local*, LocalSlot> locals_;
  std::vector<bytecode::LocalArray> local_arrays_;
  std::vector<Enclosing> enclosing_;
  std::unordered_map<const hir::Local*, std::int64_t> constant_locals_;  // parameters of inlined functions
  std::optional<Inlined> inlined_;                                       // the innermost one under way
  unsigned inline_depth_ = 0;
  bool keeps_position_ = false;       // a library function is inlined: its traps belong to the call
  std::uint32_t parameters_ = 0;      // primitive registers of the parameters
  std::uint32_t parallel_loops_ = 0;  // for the names of their functions
};

}  // namespace dhpvm::compiler
