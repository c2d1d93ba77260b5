// SPDX-License-Identifier: Apache-2.0
// The base of the parts that lower one function together: what they share, and what each of them says all the time.
//
// Code is generated like this: an expression is lowered either into registers that the caller chose (into), so that
// `let x = a + b` computes in x's register, or to a register of its own choice (scalar, values), so that a local is
// used where it stands. It takes temporary registers from the top of the stacks and gives them back.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/hir/hir.h"
#include "compiler/lower/analysis.h"
#include "compiler/lower/code_buffer.h"
#include "compiler/lower/module.h"
#include "compiler/lower/registers.h"
#include "compiler/lower/types.h"

namespace dhpvm::compiler {

struct FunctionParts;

// One register per leaf of a value.
using Values = std::vector<Register>;

// Where a value goes. Fresh registers hold nothing that evaluating the value could read: it may use them as
// it goes along.
struct Target {
  std::span<const Register> registers;
  bool fresh = true;
};

// Shared by the parts of one function.
struct FunctionState {
  ModuleLowering& module;
  std::uint32_t function = 0;
  std::string name;
  Registers registers;
  CodeBuffer code;
  FunctionFacts facts;
  bool in_kernel = false;       // or in what kernels call: there is no text
  bool keeps_position = false;  // a library function is inlined: its traps belong to the call
  bool is_failing = false;      // the message of a trap is lowered: calls stay calls
};

class LoweringPart {
 public:
  explicit LoweringPart(FunctionParts& parts);

 protected:
  using Op = bytecode::Op;
  using Kind = bytecode::Kind;
  using LabelId = CodeBuffer::LabelId;
  using Expr = hir::Expr;
  using Stmt = hir::Stmt;

  // Gives back, when it ends, all registers taken meanwhile.
  class Scope {
   public:
    explicit Scope(LoweringPart& part) : registers_(part.registers_), mark_(registers_.mark()) {}
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
    At(LoweringPart& part, const hir::Position& position) : code_(part.code_), outer_(code_.position()) {
      if (position.line != 0 && !part.state_.keeps_position) code_.set_position(position);
    }
    ~At() { code_.set_position(outer_); }
    At(const At&) = delete;
    At& operator=(const At&) = delete;

   private:
    CodeBuffer& code_;
    hir::Position outer_;
  };

  const Leaves& leaves(const Type* type) { return types_.leaves(type); }
  Register allocate(const bytecode::ValueType& leaf);
  Values allocate(const Type* type);
  void move(const bytecode::ValueType& leaf, Register to, Register from);
  void move(const Leaves& types, std::span<const Register> to, std::span<const Register> from);

  // See ExpressionLowering.
  Register scalar(const Expr& e);           // a value of one leaf
  Values values(const Expr& e);             // a value of any number of leaves
  void into(const Expr& e, Target target);  // likewise
  void into(const Expr& e, Register to) { into(e, Target{{&to, 1}}); }
  // See ConstantLowering.
  std::optional<std::int64_t> constant_of(const Expr& e) const;
  Register constant(std::int64_t value);

  FunctionParts& parts_;
  FunctionState& state_;
  ModuleLowering& module_;
  TypeLowering& types_;
  Registers& registers_;
  CodeBuffer& code_;
};

}  // namespace dhpvm::compiler
