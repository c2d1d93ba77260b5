// SPDX-License-Identifier: Apache-2.0
// The syntax tree: what the parser hands to the checker. It says what was written, and resolves nothing:
// names are text, types are syntax, `a.b` may be a field or a module's function.
//
// Nodes are plain tagged structs; each kind's row says which fields it uses, the others are empty. Nodes
// belong to the arena of their Module and are linked by raw pointers that are never null unless the row says
// so. A wrong piece of source becomes a kError node, about which a diagnostic has been reported already; the
// checker treats it as an expression of the error type. `name`s and other string_views point into the
// SourceManager's text (or the Module's arena), which must outlive the tree.
//
// The tree is at most kMaxDepth nodes deep, so that recursive passes need no guard of their own.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/parse/statement_kinds.h"
#include "compiler/text/source.h"

namespace dhpvm::compiler::ast {

constexpr std::uint32_t kMaxDepth = 500;

struct Expr;
struct Stmt;
struct Function;
struct Module;

// An identifier as written. Empty text: absent (where the field is optional), or lost to a syntax error.
struct Name {
  std::string_view text;
  SourceRange range;

  bool empty() const { return text.empty(); }
};

// ------------------------------------------------------------------------------------------------- types

enum class TypeKind : std::uint8_t {
  kError,
  kNamed,       // [qualifier.]name[<arguments>]: primitives, str, resource, Weak, type parameters, declared
                // types
  kArray,       // [element], [element, 2], [element, 3]: rank 1 to 3
  kFixedArray,  // [element; count], [element; count, columns]: expressions that the checker evaluates
  kNullable,    // element?
  kResult,      // element!: the value, or the Error that prevented it; `void!` has no value
  kFunction,    // fn(arguments...) -> element; element is null when the function gives nothing
  kTuple,       // (arguments...), at least two
};

struct Type {
  TypeKind kind = TypeKind::kError;
  std::uint32_t rank = 1;
  std::uint32_t height = 1;  // the height of the subtree, in nodes
  SourceRange range;
  Name qualifier;  // the module's name in `list.List<i64>`; empty when unqualified
  Name name;
  std::vector<Type*> arguments;
  Type* element = nullptr;
  Expr* count = nullptr;    // of rank 2: the number of rows
  Expr* columns = nullptr;  // null for rank 1
};

// ------------------------------------------------------------------------------------------ expressions

enum class ExprKind : std::uint8_t {
  kError,
  kInt,       // integer, with `suffix` ("u8", or empty) if written; 'a' is one with is_byte set. A literal
              // above 2^64 - 1 is an error already; whether it fits its type is the checker's question. The
              // minus of `-1` is a kUnary.
  kFloat,     // number, with `suffix` ("f32", or empty)
  kBool,      // integer is 0 or 1
  kNull,      //
  kString,    // text, with escapes resolved: any bytes
  kFormat,    // f"...": parts
  kName,      // name: a variable, member without `this.`, function, type, module, built-in
  kThis,      //
  kMember,    // operands[0].name, or operands[0]?.name when `safe`; also module.name, f32.max and Enum.case;
              // a kName or kMember with type_arguments is the enum in `Option<i64>.none`
  kIndex,     // operands[0][operands[1..]]: 1 to 3 indices
  kSlice,     // operands[0][operands[1]..operands[2]], ..= when `inclusive`; without operands[2] to the end
  kCall,      // operands[0]<type_arguments>(arguments); construction, `str(x)`, `Weak<T>(x)` and method calls
              // look alike: a method call's operands[0] is a kMember
  kNewArray,  // type(arguments): [f32, 2](rows, cols), [str](n, fill: ""); type is a kArray
  kArrayLiteral,  // [operands...]
  kMapLiteral,    // [operands[0]: operands[1], ...], keys and values in turn; [:]
  kTuple,         // (operands...), at least two
  kUnary,         // unary operands[0]
  kBinary,        // operands[0] binary operands[1], `&&`, `||` and `??` included
  kCast,          // operands[0] as type
  kCastOrNull,    // operands[0] as? type
  kIs,            // operands[0] is type
  kUnwrap,        // operands[0]!
  kClosure,       // fn(...) { } or fn(...) => e: closure; its parameters' types may be null
  kIf,            // if operands[0] { operands[1] } else { operands[2] }; `else if` is a kIf in operands[2]
  kMatch,         // match operands[0] { arms }, each arm with a `value`
  kJump,          // `return`, `break` or `continue` in place of a value: statement
  kTry,           // try operands[0]
  kCatch,         // operands[0] catch name { ... }: statement is the block; name may be empty
  kBlock,         // { statement }, whose last statement gives the value, or leaves
  kTryBlock,      // try { statement }: its value, or the error that it was left with
};

enum class UnaryOp : std::uint8_t { kNegate, kNot, kComplement };

enum class BinaryOp : std::uint8_t {
  kMul,
  kDiv,
  kRem,
  kAdd,
  kSub,
  kShl,
  kShr,
  kBitAnd,
  kBitXor,
  kBitOr,
  kCoalesce,  // ??
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kAnd,
  kOr,
};

// "+", "&&": as written.
std::string_view to_string(UnaryOp op);
std::string_view to_string(BinaryOp op);

struct Argument {
  Name name;  // empty for a positional argument
  Expr* value = nullptr;
};

// The part after the colon in f"{x:>8.3f}"; syntax checked, whether it suits the value's type is not.
struct FormatSpec {
  std::string_view text;    // as written, without the colon; empty when there is none
  std::string fill = " ";   // one code point in UTF-8
  char align = 0;           // '<' '>' '^' '=', 0 when absent
  char sign = 0;            // '+' '-' ' ', 0 when absent
  bool alternate = false;   // #
  bool zero = false;        // 0 before the width
  std::uint32_t width = 0;  // at most 10,000
  bool grouping = false;    // ,
  bool has_precision = false;
  std::uint32_t precision = 0;  // at most 10,000
  char type = 0;                // one of "bcdeEfFgGosxX%", 0 when absent
};

// A piece of an f-string: text when `value` is null.
struct FormatPart {
  std::string text;  // escapes and doubled braces resolved
  Expr* value = nullptr;
  FormatSpec spec;
  // In {x:>{width}.{digits}f}: the width and the precision, and the texts in front of, between and behind them.
  std::vector<Expr*> spec_numbers;
  std::vector<std::string_view> spec_texts;
  SourceRange range;
};

enum class PatternKind : std::uint8_t {
  kError,
  kValue,   // value: a literal or another constant expression
  kName,    // a bare name, qualified or not: a constant or a type, as the checker finds; `value` and `type`
            // both hold it
  kRange,   // value .. high, or value ..= high when `inclusive`
  kType,    // type, bound to `binding` unless that is empty
  kTuple,   // (parts...), at least two
  kEither,  // parts[0] | parts[1] | ..., inside of another pattern; an Arm has alternatives of its own
  kCase,    // value(parts...): a case of an enum, by its name or `Enum.name`, and patterns for its values
  kNull,
  kElse,  // `else` and `_`
};

struct Pattern {
  PatternKind kind = PatternKind::kError;
  SourceRange range;
  Name label;         // of a part: `name: pattern`; empty where the position says which value it is for
  bool part = false;  // a bare kName that resolves to nothing declares a variable
  // The outermost pattern of an arm: a name here that resolves to nothing is a misspelt case or type.
  bool whole = false;
  bool present = false;  // `if let pattern = value`: takes no null
  Expr* value = nullptr;
  Expr* high = nullptr;
  bool inclusive = false;
  Type* type = nullptr;
  Name binding;
  std::vector<Pattern> parts;
};

struct Arm {
  std::vector<Pattern> patterns;  // alternatives, at least one
  Expr* guard = nullptr;          // the condition after `if`, or null
  Expr* value = nullptr;          // in a match expression
  Stmt* body = nullptr;           // in a match statement
  SourceRange range;
};

struct Expr {
  ExprKind kind = ExprKind::kError;
  UnaryOp unary = UnaryOp::kNegate;
  BinaryOp binary = BinaryOp::kAdd;
  bool safe = false;           // kMember: `?.`
  bool inclusive = false;      // kSlice: ..=
  bool is_byte = false;        // kInt: 'a'
  bool parenthesised = false;  // any kind: written in parentheses
  std::uint32_t height = 1;    // the height of the subtree, in nodes
  SourceRange range;           // the whole expression
  SourceRange
      operator_range;  // kUnary, kBinary, kCast, kCastOrNull, kIs, kUnwrap, kTry, kTryBlock, kCatch: the operator
  std::vector<Expr*> operands;

  Name name;
  std::string_view suffix;
  std::uint64_t integer = 0;
  double number = 0;
  std::string text;
  Type* type = nullptr;
  std::vector<Argument> arguments;
  std::vector<Type*> type_arguments;
  std::vector<FormatPart> parts;
  std::vector<Arm> arms;
  Function* closure = nullptr;
  Stmt* statement = nullptr;
};

// ------------------------------------------------------------------------------------------- statements

// One range of a parallel loop.
struct Dimension {
  Name name;
  Expr* low = nullptr;
  Expr* high = nullptr;
  bool inclusive = false;  // ..=
  Expr* step = nullptr;    // null where none is given
};

enum class ReductionOp : std::uint8_t { kAdd, kMul, kMin, kMax, kAnd, kOr, kXor, kFirst, kAny, kFunction };
// "+", "min", "function": what stands before the colon.
std::string_view to_string(ReductionOp op);

struct Reduction {
  ReductionOp op = ReductionOp::kAdd;
  SourceRange op_range;
  Expr* function = nullptr;  // kFunction
  Name variable;
  bool of_elements = false;  // `counts[]`: every element of the array is a reduction of its own
};

enum class HintKind : std::uint8_t { kDevice, kBatch, kFastMath };

// @device("gpu"), @batch(expression), @fastmath. The argument is null exactly for @fastmath; the checker checks its
// type and value.
struct Hint {
  HintKind kind = HintKind::kDevice;
  SourceRange range;
  Expr* argument = nullptr;
};

struct ParallelFor {
  std::vector<Hint> hints;            // in the order written, each kind at most once
  std::vector<Dimension> dimensions;  // 1 to 3, outermost first
  std::vector<Reduction> reductions;
};

// statement_kinds.h says which fields each kind has.
struct Stmt {
  StmtKind kind = StmtKind::kError;
  BinaryOp binary = BinaryOp::kAdd;
  bool inclusive = false;    // kForRange: ..=
  bool gives_value = false;  // kExpr: the last statement of a block that gives a value
  std::uint32_t height = 1;  // the height of the subtree, in nodes
  SourceRange range;
  Name name;
  Name index_name;
  Name label;                           // of loops, and of the loop that is left; may be empty
  std::vector<Pattern> patterns;        // at most one
  std::vector<Pattern> index_patterns;  // kForEach: at most one, in place of index_name
  Type* type = nullptr;
  Expr* place = nullptr;
  Expr* value = nullptr;
  Expr* limit = nullptr;
  Expr* step = nullptr;
  std::vector<Stmt*> body;
  Stmt* otherwise = nullptr;
  std::vector<Arm> arms;
  std::unique_ptr<ParallelFor> parallel;  // kParallelFor

  // kForEach: whether there are two variables, or patterns.
  bool has_index() const { return !index_name.empty() || !index_patterns.empty(); }
};

// ----------------------------------------------------------------------------------------- declarations

struct TypeParameter {
  Name name;
  Type* bound = nullptr;  // the interface in <T: Shape>, or null
};

struct Parameter {
  Name name;
  std::vector<Pattern> patterns;  // of closures: at most one, in place of the name, which takes a tuple apart
  Type* type = nullptr;           // null only in closures
  Expr* fallback = nullptr;       // the default, or null
  SourceRange range;
};

enum class Linkage : std::uint8_t {
  kSource,     // has a body (block or expression); an interface's method may have none
  kExtern,     // extern ["name"] fn ...;  a native function; without a name it is "host.<name>"
  kIntrinsic,  // intrinsic ["name"] fn ...;  one instruction of the machine; stdlib only
};

// A function, method, `init` or closure.
struct Function {
  Linkage linkage = Linkage::kSource;
  std::string import_name;  // text of the string after extern or intrinsic; empty when there is none
  bool has_import_name = false;
  SourceRange range;  // the whole declaration
  Name name;          // empty for closures; "init" for a class's init
  std::vector<TypeParameter> type_parameters;
  std::vector<Parameter> parameters;
  Type* result = nullptr;      // null: gives nothing, or (with `expression`, or a closure) inferred
  Stmt* body = nullptr;        // a kBlock, or null
  Expr* expression = nullptr;  // `=> e`, or null; never both
  bool has_body() const { return body != nullptr || expression != nullptr; }
};

struct Field {
  Name name;
  Type* type = nullptr;
  Expr* fallback = nullptr;  // the default, or null
  bool immutable = false;    // `let`
  SourceRange range;
};

// A case of an enum. Its values have names, or are identified by position.
struct EnumCase {
  Name name;
  std::vector<Field> values;
  SourceRange range;
};

enum class TypeDeclKind : std::uint8_t { kStruct, kClass, kInterface, kEnum, kAlias };

struct TypeDecl {
  TypeDeclKind kind = TypeDeclKind::kStruct;
  SourceRange range;
  Name name;
  std::vector<TypeParameter> type_parameters;
  std::vector<Type*> interfaces;  // kClass: after the colon
  std::vector<Field> fields;      // kStruct, kClass
  std::vector<EnumCase> cases;    // kEnum
  std::vector<Function*> methods;
  Function* init = nullptr;  // kClass, or null
  Type* aliased = nullptr;   // kAlias: the type that the name stands for
};

struct Constant {
  SourceRange range;
  Name name;
  Type* type = nullptr;  // or null
  Expr* value = nullptr;
};

struct Import {
  SourceRange range;
  std::vector<Name> path;  // geometry, shapes
  Name name;               // under which the module is known in this file: the alias, or the path's last part
  Module* module = nullptr;  // filled in by the import loader; null when it was not found (and reported)
};

// One file. Declarations are in the order of the source within each list.
struct Module {
  std::string path;  // "geometry.shapes"; empty for the root file
  std::uint32_t file = 0;
  bool is_stdlib = false;
  // False when syntax errors have swallowed declarations or parts of them, so that checking the rest would report false
  // errors. Errors inside function bodies leave it true.
  bool is_complete = true;
  bool has_map_literals = false;
  bool is_of_host = false;  // treated like the library, but declares classes of the host
  std::vector<Import> imports;
  std::vector<Constant*> constants;
  std::vector<Function*> functions;
  std::vector<TypeDecl*> types;

  // The arena. Deques, because nodes must not move.
  std::deque<Expr> exprs;
  std::deque<Stmt> stmts;
  std::deque<Type> type_nodes;
  std::deque<Function> function_nodes;
  std::deque<TypeDecl> type_decls;
  std::deque<Constant> constant_nodes;
};

// The root file and everything it imports, directly or not. modules[0] is the root.
struct Program {
  std::vector<std::unique_ptr<Module>> modules;
};

}  // namespace dhpvm::compiler::ast
