// SPDX-License-Identifier: Apache-2.0
// The checked program: what the checker hands to lowering. Every name is resolved, every expression
// typed, every generic instantiated, every implicit conversion explicit. Narrowing, `match`, `?.`, `??`,
// named and default arguments, for-in loops, f-strings and implicit `this` are gone: they are expressed
// in the nodes below.
//
// Nodes belong to the Program's arena and live as long as it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "bytecode/module.h"
#include "compiler/hir/types.h"

namespace dhpvm::compiler::hir {

struct Position {
  std::uint32_t file = 0;  // index into Program::files
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

struct Local {
  std::string name;
  const Type* type = nullptr;
  bool boxed = false;  // a `var` captured by a closure: lives in a heap cell from its declaration on
};

enum class ExprKind : std::uint8_t {
  kInt,     // integer: value of `type` (any integer type or bool), two's complement in `integer`
  kFloat,   // number: value of `type` f32 or f64
  kString,  // text
  kNull,    // null of the nullable type `type`
  kZero,    // the zero value of `type`: numbers 0, bool false, references null, structs of these
  kLocal,   // local
  kUnary,   // unary, operands[0]; the type of the operand
  kBinary,  // binary, operands[0..1], both of the operand type; comparisons give bool, shifts keep the left
            // type and take a right operand of any integer type. On str: kAdd is not used (see
            // kStringConcat). kEq, kNe work on every type: str by content, structs by field, references by
            // identity, nullables of primitives and structs by value.
  kAnd,
  kOr,            // short circuit, operands[0..1]
  kConditional,   // operands[0] ? operands[1] : operands[2]; type may be void
  kBlock,         // statements, then the value operands[0] (absent when void); locals are scoped to it
  kConvert,       // operands[0] to the number type `type` (from number or bool)
  kBitCast,       // operands[0], a number, as the number type `type` of the same size with the same bits
  kWrap,          // operands[0] of type T to T? (nothing to do for references)
  kUnwrap,        // operands[0] of type T? known to be non-null (narrowed) to T: no check
  kCheckNonNull,  // `x!`: T? to T, traps kNullReference
  kIsNull,        // operands[0] of nullable type: bool
  kUpcast,        // operands[0] of class type (maybe nullable) to the interface `type` (nullable likewise); a
                  // function type is no interface here
  kCast,          // checked downcast of operands[0] to class or interface `type`; traps kBadCast (null too)
  kCastOrNull,    // the same, giving null: type is nullable
  kIsType,        // operands[0] is of class or interface `tested`: bool; null is not
  kField,         // operands[0] (struct value or class reference), field number `index`
  kIndex,         // operands[0] array, operands[1..rank] i64 indices
  kFixedIndex,    // local (a fixed array), operands[0] i64 index
  kArrayLength,   // operands[0] array: i64
  kArrayDim,      // operands[0] array, `index` the dimension: i64
  kStringLength,
  kStringByte,     // operands[0] str (, operands[1] i64): i64, u8
  kStringConcat,   // operands, one or more str
  kStringCompare,  // operands[0..1] str: i32 -1, 0, 1
  kCall,           // function(operands); a method's receiver comes first
  kCallNative,     // native(operands)
  kCallInterface,  // operands[0] of interface type, method number `index`, operands[1..] arguments
  kCallClosure,    // operands[0] of function type, operands[1..] arguments
  kIntrinsic,      // op(operands): one instruction on primitives, all operand registers in order (math, bits)
  kAtomic,  // op on operands[0], an element (kIndex) or a field of one, then 1 value (2 for compare-exchange), which
            // for an element that is a float may be its bits; gives the old value
  kNew,         // class instance: operands are all fields in order; when `function` is set, it is the `init`,
                // called with the new object and `arguments`, after the fields were set to operands
  kMakeStruct,  // operands are all fields in order
  kNewArray,    // operands[0..rank) i64 sizes, and one more operand: the fill value, when has_fill
  kArrayLiteral,   // operands are the elements (rank 1)
  kClosure,        // function with captures: a new closure object
  kFunctionValue,  // a top-level function as a value of function type
  kNewWeak,
  kGetWeak,     // operands[0]
  kArrayCopy,   // void: operands dst, dst_pos, src, src_pos, count
  kArrayClose,  // void: operands[0]
};

enum class Unary : std::uint8_t { kNegate, kNot /* bool */, kComplement };
enum class Binary : std::uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kRem,
  kBitAnd,
  kBitOr,
  kBitXor,
  kShl,
  kShr,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kMin,
  kMax
};

struct Stmt;
struct Function;
struct Native;

struct Expr {
  ExprKind kind = ExprKind::kZero;
  const Type* type = nullptr;
  Position position;
  std::vector<Expr*> operands;

  std::uint64_t integer = 0;
  double number = 0;
  std::string text;
  Local* local = nullptr;
  Unary unary = Unary::kNegate;
  Binary binary = Binary::kAdd;
  std::uint32_t index = 0;
  const Type* tested = nullptr;
  Function* function = nullptr;
  Native* native = nullptr;
  bytecode::Op op = bytecode::Op::kNop;
  bool has_fill = false;
  std::vector<Expr*> arguments;   // kNew with init
  std::vector<Stmt*> statements;  // kBlock
};

enum class StmtKind : std::uint8_t {
  kLet,       // local = value (absent: a fixed array, zeroed here)
  kAssign,    // place = value; place is kLocal, kField (of a class, or nested in a struct place), kIndex,
              // kFixedIndex
  kUpdate,    // place = place op value, the place's parts evaluated once
  kExpr,      // value, result dropped
  kBlock,     // body
  kIf,        // condition value, body, otherwise
  kWhile,     // condition value, body
  kForRange,  // local from value to limit, step; see Stmt::step
  kBreak,     // of the innermost loop, or of the one `outwards` levels out
  kContinue,  // likewise
  kReturn,    // value, absent when void
  kTrap,      // trap kUserTrap with the str `value`, or `plain`
  kUse,  // local = value; body; then, however body is left, by a trap too, the expression `close` (a call on local)
  kParallelFor,  // loop
  kTry,          // body; if it traps, local (an i64) becomes the trap's code, and otherwise runs
  kLeaveTry,     // leaves the innermost kTry, which contains it
};

struct ParallelLoop {
  struct Dimension {
    Local* local = nullptr;  // i64, or another integer type converted from it
    Expr* low = nullptr;     // of local's type
    Expr* high = nullptr;    // half open
    // `high` is one more than the program's inclusive bound, in 64 bits: lowering checks for overflow (kTrap "a
    // parallel loop cannot include the largest index").
    bool may_wrap = false;
  };
  // A variable that the body reads from outside: `inner` is used in the body only, `value` is evaluated once before
  // the loop. Primitives, structs of primitives, arrays.
  struct Capture {
    Local* inner = nullptr;
    Expr* value = nullptr;
  };
  struct ReductionVariable {
    bytecode::ReductionOp op = bytecode::ReductionOp::kAdd;
    Local* outer = nullptr;  // may be boxed
    Local* inner = nullptr;  // the accumulator inside the body
  };
  std::vector<Dimension> dimensions;
  // If the dimension counts blocks: the variables that count the iterations in the body, and the arrays of which each
  // block has its own part.
  std::vector<Local*> iterated;
  std::vector<Local*> copies;
  Local* block_rows = nullptr;  // a capture, followed by those of the outermost range's bounds
  std::vector<Capture> captures;
  std::vector<ReductionVariable> reductions;
  std::vector<Stmt*> body;
  std::string device_hint;
  std::uint64_t batch_hint = 0;
  bool fast_math = false;
  bool is_search = false;  // iterations after the first hit need not run
};

struct Stmt {
  StmtKind kind = StmtKind::kBlock;
  Position position;
  Local* local = nullptr;
  Expr* place = nullptr;
  Expr* value = nullptr;
  Binary binary = Binary::kAdd;  // kUpdate
  Expr* limit = nullptr;         // kForRange: exclusive, or inclusive
  unsigned outwards = 0;         // kBreak, kContinue: how many enclosing loops to skip
  bool inclusive = false;        // kForRange: must not overflow at the type's maximum
  Expr* step = nullptr;  // kForRange: absent is 1; a negative step is a kInt constant; otherwise lowering
                         // checks that it is positive (trap "step must be positive")
  std::vector<Stmt*> body;
  std::vector<Stmt*> otherwise;
  Expr* close = nullptr;  // kUse
  // kTrap: the message where no text can be made, in parallel loops and their callees; may be empty.
  std::string plain;
  std::unique_ptr<ParallelLoop> loop;
};

// A variable of the enclosing function inside a closure.
struct Capture {
  Local* outer = nullptr;  // in the enclosing function
  Local* inner = nullptr;  // in the closure; boxed exactly when outer is, and then they share the cell
};

struct Function {
  std::string name;                // "main", "List<i64>.push", "main.closure#1"; for stack traces and exports
  std::vector<Local*> parameters;  // a method's `this` first (class reference, or struct by value)
  const Type* result = nullptr;
  std::vector<Stmt*> body;
  std::vector<Capture> captures;       // closures only
  const Type* closure_type = nullptr;  // closures only: the function type
  bool exported = false;
  bool in_loops = false;     // called by a parallel loop, directly or not
  bool is_template = false;  // a parallel loop calls a parameter of it: only specialised copies are lowered
  Position position;
};

// Whether the function has fixed arrays as parameters. These are arrays of its callers, held in registers, so the
// function is always inlined and has no bytecode of its own.
inline bool is_part_of_callers(const Function& function) {
  return std::ranges::any_of(function.parameters,
                             [](const Local* local) { return local->type->is(TypeKind::kFixedArray); });
}

struct Native {
  std::string name;  // import name, "io.write"
  std::vector<const Type*> parameters;
  // Native functions may give back several values: a struct result is flattened into one result per field.
  const Type* result = nullptr;
};

struct Program {
  std::vector<std::string> files;  // source file names, for lines
  std::vector<Function*> functions;
  std::vector<Native*> natives;
  Function* entry = nullptr;  // main, or null

  TypeTable types;
  std::deque<Function> function_arena;
  std::deque<Expr> expr_arena;
  std::deque<Stmt> stmt_arena;
  std::deque<Local> local_arena;
  std::deque<Native> native_arena;
};

}  // namespace dhpvm::compiler::hir
