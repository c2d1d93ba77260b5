// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/warnings.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "compiler/check/foreign_formats.h"
#include "compiler/check/lexical_walk.h"
#include "compiler/check/unused_imports.h"
#include "compiler/parse/ast_children.h"
#include "compiler/parse/imports.h"

namespace dhpvm::compiler {

using ast::ExprKind;
using ast::StmtKind;

namespace {

const ast::Function* function_named(const ast::Module& module, std::string_view name) {
  const auto known = std::find_if(module.functions.begin(), module.functions.end(),
                                  [&](const ast::Function* function) { return function->name.text == name; });
  return known == module.functions.end() ? nullptr : *known;
}

class Warnings final : public LexicalWalk {
 public:
  Warnings(const ast::Module& module, const ast::Program& program, Diagnostics& diagnostics)
      : module_(module), diagnostics_(diagnostics) {
    add_names(module);
    for (const auto& known : program.modules) {
      if (!known->is_stdlib || !is_known_module(known->path)) continue;
      for (const ast::TypeDecl* type : known->types) known_names_.insert(type->name.text);
    }
    for (const ast::Constant* constant : module.constants) known_names_.insert(constant->name.text);
    for (const ast::Import& import : module.imports) {
      if (import.module != nullptr) add_names(*import.module);
    }
  }

 private:
  void add_names(const ast::Module& module) {
    for (const ast::TypeDecl* type : module.types) {
      known_names_.insert(type->name.text);
      for (const ast::EnumCase& option : type->cases) known_names_.insert(option.name.text);
    }
  }
  bool is_known_name(std::string_view name) const override { return known_names_.contains(name); }

  // ---- variables
  void on_scope_end(const Local& local) override {
    const bool counts = local.role == Role::kLet || local.role == Role::kVar ||
                        local.role == Role::kPattern || local.role == Role::kPart ||
                        local.role == Role::kCaught;
    const std::string_view name = local.name.text;
    if (!counts || local.is_read || name.starts_with('_')) return;
    Diagnostic& diagnostic = diagnostics_.warning(local.name.range, "'{}' is {} used", name,
                                                  local.is_assigned ? "assigned, and never" : "never");
    if (local.role == Role::kPattern) {
      diagnostic.help("remove the name, and leave the type");
    } else if (local.role == Role::kPart) {
      diagnostic.help("write `_` in its place");
    } else if (local.role == Role::kCaught) {
      diagnostic.help("write `catch {{ ... }}`");
    } else {
      diagnostic.help("remove it, or call it `_{}` if it is meant so", name);
    }
  }

  // ---- unreachable code
  void on_statements(const std::vector<ast::Stmt*>& list) override {
    for (std::size_t i = 0; i + 1 < list.size(); ++i) {
      if (!leaves(*list[i])) continue;
      diagnostics_.warning(list[i + 1]->range, "this is never reached")
          .note(list[i]->range, "nothing goes on behind this");
      return;
    }
  }

  // Whether control never reaches the code after the statement.
  bool leaves(const ast::Stmt& stmt) {
    switch (stmt.kind) {
      case StmtKind::kExpr: return !stmt.gives_value && is_builtin_call(*stmt.value, "trap");
      case StmtKind::kBlock:
        return std::any_of(stmt.body.begin(), stmt.body.end(),
                           [&](const ast::Stmt* s) { return leaves(*s); });
      case StmtKind::kIf:
        return stmt.otherwise != nullptr && leaves(*stmt.body[0]) && leaves(*stmt.otherwise);
      case StmtKind::kWhile:
        return stmt.value->kind == ExprKind::kBool && stmt.value->integer != 0 &&
               !breaks(*stmt.body[0], stmt.label.text, LoopDepth::kInside);
      case StmtKind::kMatch: {
        bool takes_all = false;
        for (const ast::Arm& arm : stmt.arms) {
          if (!leaves(*arm.body)) return false;
          for (const ast::Pattern& pattern : arm.patterns) {
            takes_all = takes_all || pattern.kind == ast::PatternKind::kElse;
          }
        }
        return takes_all;
      }
      default: return ast::is_jump(stmt.kind);
    }
  }

  enum class LoopDepth : std::uint8_t { kInside, kInInnerLoop };

  // Whether the statement leaves the loop with this label by `break`, which must name it in inner loops.
  static bool breaks(const ast::Stmt& stmt, std::string_view label, LoopDepth depth) {
    if (stmt.kind == StmtKind::kBreak)
      return stmt.label.empty() ? depth == LoopDepth::kInside : stmt.label.text == label;
    if (ast::is_loop(stmt.kind)) depth = LoopDepth::kInInnerLoop;
    return breaks_inside(stmt, label, depth);
  }
  // The same for a child: an expression can break, too.
  template <typename Node>
  static bool breaks_inside(const Node& node, std::string_view label, LoopDepth depth) {
    bool found = false;
    const ast::Overloaded visit{
        [&](const auto&) {}, [&](const ast::Stmt& part) { found = found || breaks(part, label, depth); },
        [&](const ast::Expr& part) { found = found || breaks_inside(part, label, depth); },
        [&](const ast::Arm& part) { found = found || breaks_inside(part, label, depth); }};
    ast::for_each_child(node, visit);
    return found;
  }

  // ---- values
  void on_statement(const ast::Stmt& stmt) override {
    if (stmt.kind == StmtKind::kForRange) empty_range(stmt);
    if (stmt.kind != StmtKind::kExpr || stmt.gives_value) return;
    const ast::Expr& value = *stmt.value;
    if (value.kind == ExprKind::kCall) {
      dropped_result(value);
      return;
    }
    if (!is_useless(value)) return;
    Diagnostic& diagnostic = diagnostics_.warning(stmt.range, "this value is not used");
    if (value.kind == ExprKind::kBinary && value.binary == ast::BinaryOp::kEq) {
      diagnostic.help("`==` compares; `=` assigns");
    } else if (value.kind == ExprKind::kName && find(value.name.text) == nullptr &&
               function_named(module_, value.name.text) != nullptr) {
      diagnostic.help("call the function: `{}(...)`", value.name.text);
    } else if (value.kind == ExprKind::kClosure) {
      diagnostic.help("keep the closure in a variable, and call it");
    } else {
      diagnostic.help("remove it, or write `let _ = ...;`");
    }
  }

  // Whether the expression has no effect.
  static bool is_useless(const ast::Expr& expr) {
    switch (expr.kind) {
      case ExprKind::kError:
      case ExprKind::kCall:
      case ExprKind::kUnwrap:  // these test something
      case ExprKind::kCast:
      case ExprKind::kIf:
      case ExprKind::kMatch:
      case ExprKind::kJump:
      case ExprKind::kTry:
      case ExprKind::kTryBlock:
      case ExprKind::kCatch: return false;
      case ExprKind::kBinary: {
        const bool chooses = expr.binary == ast::BinaryOp::kAnd || expr.binary == ast::BinaryOp::kOr ||
                             expr.binary == ast::BinaryOp::kCoalesce;
        return !chooses || is_useless(*expr.operands[1]);
      }
      default: return true;
    }
  }

  // Whether a library function has an effect besides its result: writing to an array.
  static bool writes(const ast::Function& function) {
    return std::any_of(function.parameters.begin(), function.parameters.end(),
                       [](const ast::Parameter& parameter) {
                         return parameter.type != nullptr && parameter.type->kind == ast::TypeKind::kArray;
                       });
  }

  // Functions that only compute their result: `str.upper(s);` changes nothing.
  void dropped_result(const ast::Expr& call) {
    const ast::Expr& callee = *call.operands[0];
    if (is_builtin_call(call, "str") || is_builtin_call(call, "hash")) {
      diagnostics_.warning(call.range, "the result of `{}` is not used", callee.name.text)
          .help("remove the call");
      return;
    }
    if (callee.kind != ExprKind::kMember || callee.operands[0]->kind != ExprKind::kName) return;
    const std::string_view qualifier = callee.operands[0]->name.text;
    if (find(qualifier) != nullptr) return;
    for (const ast::Import& import : module_.imports) {
      if (import.name.text != qualifier || import.module == nullptr || !import.module->is_stdlib) continue;
      const bool pure = import.module->path == "math" || import.module->path == "str";
      const ast::Function* function = function_named(*import.module, callee.name.text);
      if (!pure || function == nullptr || writes(*function)) continue;
      diagnostics_.warning(call.range, "the result of `{}.{}` is not used", qualifier, callee.name.text)
          .help("it changes nothing by itself: write `x = {}.{}(...);`", qualifier, callee.name.text);
    }
  }

  // ---- formats and powers of other languages
  void on_expr(const ast::Expr& expr) override {
    if (expr.kind == ExprKind::kBinary) {
      exclusive_or(expr);
    } else if (is_builtin_call(expr, "print")) {
      for (const ast::Argument& argument : expr.arguments) format(expr, *argument.value);
    }
  }

  void format(const ast::Expr& call, const ast::Expr& text) {
    if (text.kind != ExprKind::kString) return;
    const bool foreign =
        call.arguments.size() > 1 && (has_percent_format(text.text) || has_brace_format(text.text));
    const std::string_view name = name_in_braces(text.text);
    if (foreign) {
      std::vector<std::string_view> values;
      for (std::size_t i = 1; i < call.arguments.size(); ++i)
        values.push_back(source(call.arguments[i].value->range));
      std::string meant;
      if (&text == call.arguments[0].value) meant = formatted_string_for(source(text.range), values);
      Diagnostic& diagnostic = diagnostics_.warning(text.range, "`print` writes a text as it is");
      if (meant.empty()) {
        diagnostic.help("put the values into a formatted string: `f\"{{x}}\"`, `f\"{{x:8.3f}}\"`");
      } else {
        diagnostic.help("put the values into a formatted string: `print({})`", meant);
      }
    } else if (Local* const variable = name.empty() ? nullptr : find(name); variable != nullptr) {
      variable->is_read = true;  // by the formatted string that is meant
      diagnostics_.warning(text.range, "`{{{}}}` is written as it is: this is no formatted string", name)
          .help("write `f\"...\"`{}", text.text.find("${") == std::string::npos ? "" : ", without the `$`");
    }
  }

  // `2 ^ 8`, which is 10 and not 256.
  void exclusive_or(const ast::Expr& expr) {
    const ast::Expr& base = *expr.operands[0];
    const ast::Expr& exponent = *expr.operands[1];
    const auto is_decimal = [&](const ast::Expr& operand) {
      return operand.kind == ExprKind::kInt && !operand.is_byte &&
             source(operand.range).find_first_not_of("0123456789") == std::string_view::npos;
    };
    if (expr.binary != ast::BinaryOp::kBitXor || !is_decimal(base) || !is_decimal(exponent) ||
        (base.integer != 2 && base.integer != 10))
      return;
    diagnostics_.warning(expr.range, "`^` combines bits: this is {}", base.integer ^ exponent.integer)
        .help("for a power, write `{}math.ipow({}, {})`, with `import math;` at the top",
              base.integer == 2 ? fmt::format("1 << {}` or `", exponent.integer) : "", base.integer,
              exponent.integer);
  }

  // `for i in 3..0`, which never runs.
  void empty_range(const ast::Stmt& loop) {
    const bool goes_up = loop.step == nullptr || loop.step->kind == ExprKind::kInt;
    if (!goes_up || loop.value->kind != ExprKind::kInt || loop.limit->kind != ExprKind::kInt ||
        loop.value->integer <= loop.limit->integer)
      return;
    const SourceRange range = join(loop.value->range, loop.limit->range);
    diagnostics_.warning(range, "there are no numbers in this range: it begins above its end")
        .help("to count down, write `{} step -1`", source(range));
  }

  std::string_view source(SourceRange range) const { return diagnostics_.sources().text(range); }

  bool is_builtin_call(const ast::Expr& expr, std::string_view name) {
    return expr.kind == ExprKind::kCall && expr.operands[0]->kind == ExprKind::kName &&
           expr.operands[0]->name.text == name && find(name) == nullptr &&
           function_named(module_, name) == nullptr;
  }

  const ast::Module& module_;
  Diagnostics& diagnostics_;
  std::set<std::string_view> known_names_;  // of cases, constants and types: see is_known_name
};

}  // namespace

void warn(const ast::Module& module, const ast::Program& program, Diagnostics& diagnostics) {
  Warnings(module, program, diagnostics).module(module);
  warn_of_unused_imports(module, diagnostics);
}

void warn(const ast::Program& program, Diagnostics& diagnostics) {
  for (const std::unique_ptr<ast::Module>& module : program.modules) {
    if (!module->is_stdlib) warn(*module, program, diagnostics);
  }
}

}  // namespace dhpvm::compiler
