// SPDX-License-Identifier: Apache-2.0
// The base of the parts that lower one function together: their shared state and common helpers.
//
// An expression is lowered either into registers that the caller chose (into), so that `let x = a + b` computes in x's
// register, or into registers of its own choice (scalar, values), so that a local is used in place. Temporaries are
// taken from the top of the register stacks and given back.
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

// The destination of a value. Fresh registers are not read by the value's expression, which may write them before it is
// complete.
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
  bool in_kernel = false;       // in a kernel or a function that kernels call: no text is available
  bool keeps_position = false;  // a library function is inlined: its traps belong to the call
  bool is_failing = false;      // the message of a trap is lowered: calls are not inlined
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

  // Gives back, at its end, all registers taken since its start.
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

  // Sets the position of the instructions emitted during its lifetime, except inside nested ones.
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
