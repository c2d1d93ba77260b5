// SPDX-License-Identifier: Apache-2.0
// The kinds of statements, one row each; no other code lists them. Keywords, syntax nodes, their dump, and the passes'
// questions about jumps and loops are generated from it. CONTRIBUTING.md says what else a new statement needs.
#pragma once

#include <cstdint>
#include <string_view>

// X(enumerator, word, role, flow, fields): statements with a keyword of their own, whose token has the same enumerator.
// role: KeywordRole. flow: StmtFlow. fields: those of ast::Stmt that it uses; the others are empty.
#define DHPVM_WORD_STATEMENTS(X)                                                                            \
  X(kBreak, "break", kStatement, kJump, "of the loop `label`, or of the innermost")                         \
  X(kContinue, "continue", kStatement, kJump, "likewise")                                                   \
  X(kIf, "if", kStatement, kPlain,                                                                          \
    "if value body[0] else otherwise; body[0] is a kBlock; otherwise null, a kBlock or a kIf")              \
  X(kLet, "let", kStatement, kPlain,                                                                        \
    "let name: type = value; type and value may be null (a `let` without value is a syntax error, and has " \
    "a kError as its value); patterns[0] stands for the name where a tuple is taken apart")                 \
  X(kMatch, "match", kStatement, kPlain, "match value { arms }, each arm with a `body`")                    \
  X(kReturn, "return", kStatement, kJump, "return value; value may be null")                                \
  X(kUse, "use", kStatement, kPlain, "use name = value; closed at the end of the enclosing block")          \
  X(kVar, "var", kStatement, kPlain, "var name: type = value; as kLet, at least one of the two present")    \
  X(kWhile, "while", kStatement, kLoop, "while value body[0]")

// X(enumerator, head, flow, fields): the other statements. head: in dumps of trees.
#define DHPVM_OTHER_STATEMENTS(X)                                                                          \
  X(kError, "error", kPlain, "")                                                                           \
  X(kBlock, "block", kPlain, "{ body }")                                                                   \
  X(kAssign, "=", kPlain, "place = value;")                                                                \
  X(kUpdate, "update", kPlain, "place binary= value;")                                                     \
  X(kExpr, "value", kPlain, "value; without the `;` it is the value of the block around it (gives_value)") \
  X(kForRange, "for", kLoop, "for name in value..limit step step body[0]; step may be null")               \
  X(kForEach, "each", kLoop,                                                                               \
    "for index_name, name in value body[0]; a pattern may stand for each, index_name may be empty")        \
  X(kParallelFor, "parallel", kLoop, "hints, dimensions, reductions, body[0]")

namespace dhpvm::compiler::ast {

enum class StmtKind : std::uint8_t {
#define X(name, ...) name,
  DHPVM_OTHER_STATEMENTS(X) DHPVM_WORD_STATEMENTS(X)
#undef X
};

// Control flow after a statement, for passes that do not examine its body.
enum class StmtFlow : std::uint8_t {
  kPlain,
  kJump,  // control never reaches the next statement
  kLoop,  // repeats its body; unlabelled `break` and `continue` in it refer to it
};

constexpr StmtFlow flow_of(StmtKind kind) {
  switch (kind) {
#define X(name, head, flow, fields) \
  case StmtKind::name: return StmtFlow::flow;
    DHPVM_OTHER_STATEMENTS(X)
#undef X
#define X(name, word, role, flow, fields) \
  case StmtKind::name: return StmtFlow::flow;
    DHPVM_WORD_STATEMENTS(X)
#undef X
  }
  return StmtFlow::kPlain;
}
constexpr bool is_jump(StmtKind kind) { return flow_of(kind) == StmtFlow::kJump; }
constexpr bool is_loop(StmtKind kind) { return flow_of(kind) == StmtFlow::kLoop; }

// "while": its keyword, or another short name.
constexpr std::string_view head_of(StmtKind kind) {
  switch (kind) {
#define X(name, head, ...) \
  case StmtKind::name: return head;
    DHPVM_OTHER_STATEMENTS(X) DHPVM_WORD_STATEMENTS(X)
#undef X
  }
  return "";
}

}  // namespace dhpvm::compiler::ast
