// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/ast_dump.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "compiler/parse/ast_children.h"

namespace dhpvm::compiler {
namespace {

using ast::ExprKind;
using ast::PatternKind;
using ast::StmtKind;

// Builds "(head a b c)". Absent parts are written `_` if their position matters.
class Form {
 public:
  explicit Form(std::string_view head) : text_("(" + std::string(head)) {}

  Form& add(std::string_view part) {
    text_ += ' ';
    text_ += part;
    return *this;
  }
  template <typename Node>
  Form& node(const Node* node) {
    return add(node == nullptr ? "_" : dump(*node));
  }
  template <typename Node>
  Form& nodes(const std::vector<Node*>& list) {
    for (const Node* n : list) node(n);
    return *this;
  }
  std::string end() { return text_ + ")"; }

 private:
  std::string text_;
};

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20 || byte >= 0x7F) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string arguments(const std::vector<ast::Argument>& list) {
  std::string text;
  for (const ast::Argument& argument : list) {
    if (!text.empty()) text += ' ';
    if (!argument.name.empty()) text += fmt::format("{}: ", argument.name.text);
    text += dump(*argument.value);
  }
  return text;
}

std::string format(const std::vector<ast::FormatPart>& parts) {
  Form form("format");
  for (const ast::FormatPart& part : parts) {
    if (part.value == nullptr) {
      form.add(in_quotes(part.text));
    } else if (part.spec.text.empty()) {
      form.node(part.value);
    } else {
      form.add(fmt::format("{{{}:{}}}", dump(*part.value), part.spec.text));
    }
  }
  return form.end();
}

std::string pattern(const ast::Pattern& p) {
  if (p.present) {
    ast::Pattern inner = p;
    inner.present = false;
    return Form("present").add(pattern(inner)).end();
  }
  switch (p.kind) {
    case PatternKind::kError: return "error";
    case PatternKind::kValue: return dump(*p.value);
    case PatternKind::kName: return fmt::format("(name {})", dump(*p.type));
    case PatternKind::kRange: return Form(p.inclusive ? "..=" : "..").node(p.value).node(p.high).end();
    case PatternKind::kType:
      return Form("type").node(p.type).add(p.binding.empty() ? "_" : p.binding.text).end();
    case PatternKind::kCase: {
      Form form("case");
      form.node(p.value);
      for (const ast::Pattern& part : p.parts) {
        const std::string label = part.label.empty() ? "" : std::string(part.label.text) + ": ";
        form.add(label + pattern(part));
      }
      return form.end();
    }
    case PatternKind::kEither:
    case PatternKind::kTuple: {
      Form form(p.kind == PatternKind::kTuple ? "tuple" : "either");
      for (const ast::Pattern& part : p.parts) form.add(pattern(part));
      return form.end();
    }
    case PatternKind::kNull: return "null";
    case PatternKind::kElse: return "else";
  }
  return "?";
}

std::string arm(const ast::Arm& a) {
  Form form("arm");
  for (const ast::Pattern& p : a.patterns) form.add(pattern(p));
  if (a.guard != nullptr) form.add("if").node(a.guard);
  form.add("=>");
  return a.value != nullptr ? form.node(a.value).end() : form.node(a.body).end();
}

std::string type_parameters(const std::vector<ast::TypeParameter>& list) {
  std::string text;
  for (const ast::TypeParameter& parameter : list) {
    text += text.empty() ? "" : " ";
    text += parameter.name.text;
    if (parameter.bound != nullptr) text += ": " + dump(*parameter.bound);
  }
  return text.empty() ? text : "<" + text + ">";
}

std::string function(const ast::Function& f) {
  Form form("fn");
  if (f.linkage == ast::Linkage::kExtern) form.add("extern");
  if (f.linkage == ast::Linkage::kIntrinsic) form.add("intrinsic");
  if (f.has_import_name) form.add(in_quotes(f.import_name));
  if (!f.name.empty()) form.add(std::string(f.name.text) + type_parameters(f.type_parameters));
  Form parameters("params");
  for (const ast::Parameter& p : f.parameters) {
    Form parameter(p.patterns.empty() ? std::string(p.name.text) : pattern(p.patterns[0]));
    parameter.node(p.type);
    if (p.fallback != nullptr) parameter.node(p.fallback);
    parameters.add(parameter.end());
  }
  form.add(parameters.end());
  form.node(f.result);
  if (f.body != nullptr) form.node(f.body);
  if (f.expression != nullptr) form.add("=>").node(f.expression);
  return form.end();
}

std::string field(const ast::Field& f) {
  Form form(f.immutable ? "let" : "field");
  form.add(f.name.text).node(f.type);
  if (f.fallback != nullptr) form.node(f.fallback);
  return form.end();
}

std::string declaration(const ast::TypeDecl& decl) {
  constexpr std::string_view kWords[] = {"struct", "class", "interface", "enum", "type"};
  Form form(kWords[static_cast<unsigned>(decl.kind)]);
  form.add(std::string(decl.name.text) + type_parameters(decl.type_parameters));
  if (!decl.interfaces.empty()) form.add(":").nodes(decl.interfaces);
  if (decl.aliased != nullptr) form.node(decl.aliased);
  for (const ast::Field& member : decl.fields) form.add(field(member));
  for (const ast::EnumCase& option : decl.cases) {
    Form part("case");
    part.add(option.name.text);
    for (const ast::Field& value : option.values) part.add(field(value));
    form.add(part.end());
  }
  if (decl.init != nullptr) form.add(function(*decl.init));
  for (const ast::Function* method : decl.methods) form.add(function(*method));
  return form.end();
}

std::string variable(const ast::Stmt& s) {
  return s.patterns.empty() ? std::string(s.name.text) : pattern(s.patterns[0]);
}

std::string parallel(const ast::Stmt& stmt) {
  Form form("parallel");
  for (const ast::Hint& hint : stmt.parallel->hints) {
    constexpr std::string_view kNames[] = {"@device", "@batch", "@fastmath"};
    form.add(kNames[static_cast<unsigned>(hint.kind)]);
    if (hint.argument != nullptr) form.node(hint.argument);
  }
  for (const ast::Dimension& d : stmt.parallel->dimensions) {
    Form range(d.name.text);
    range.add(d.inclusive ? "..=" : "..").node(d.low).node(d.high);
    if (d.step != nullptr) range.add("step").node(d.step);
    form.add(range.end());
  }
  for (const ast::Reduction& r : stmt.parallel->reductions) {
    Form reduction("reduce");
    reduction.add(to_string(r.op));
    if (r.function != nullptr) reduction.node(r.function);
    reduction.add(r.variable.text);
    if (r.of_elements) reduction.add("[]");
    form.add(reduction.end());
  }
  return form.nodes(stmt.body).end();
}

}  // namespace

std::string dump(const ast::Type& type) {
  switch (type.kind) {
    case ast::TypeKind::kError: return "error";
    case ast::TypeKind::kNamed: {
      std::string text = type.qualifier.empty() ? "" : std::string(type.qualifier.text) + ".";
      text += type.name.text;
      if (type.arguments.empty()) return text;
      std::string list;
      for (const ast::Type* argument : type.arguments) list += (list.empty() ? "" : " ") + dump(*argument);
      return text + "<" + list + ">";
    }
    case ast::TypeKind::kArray: return Form("array").node(type.element).add(std::to_string(type.rank)).end();
    case ast::TypeKind::kFixedArray: {
      Form form = Form("fixed").node(type.element).node(type.count);
      return type.columns == nullptr ? form.end() : form.node(type.columns).end();
    }
    case ast::TypeKind::kNullable: return dump(*type.element) + "?";
    case ast::TypeKind::kResult: return dump(*type.element) + "!";
    case ast::TypeKind::kTuple: return Form("tuple").nodes(type.arguments).end();
    case ast::TypeKind::kFunction: return Form("fn").nodes(type.arguments).add("->").node(type.element).end();
  }
  return "?";
}

std::string dump(const ast::Expr& e) {
  switch (e.kind) {
    case ExprKind::kError: return "error";
    case ExprKind::kInt:
      return e.is_byte ? fmt::format("'{}'", e.integer) : fmt::format("{}{}", e.integer, e.suffix);
    case ExprKind::kFloat: return fmt::format("{:#}{}", e.number, e.suffix);
    case ExprKind::kBool: return e.integer != 0 ? "true" : "false";
    case ExprKind::kNull: return "null";
    case ExprKind::kString: return in_quotes(e.text);
    case ExprKind::kFormat: return format(e.parts);
    case ExprKind::kName: return std::string(e.name.text);
    case ExprKind::kThis: return "this";
    case ExprKind::kMember: return Form(e.safe ? "?." : ".").nodes(e.operands).add(e.name.text).end();
    case ExprKind::kIndex: return Form("index").nodes(e.operands).end();
    case ExprKind::kSlice: return Form(e.inclusive ? "slice=" : "slice").nodes(e.operands).end();
    case ExprKind::kCall: {
      Form form("call");
      form.nodes(e.operands);
      for (const ast::Type* type : e.type_arguments) form.add("<" + dump(*type) + ">");
      return e.arguments.empty() ? form.end() : form.add(arguments(e.arguments)).end();
    }
    case ExprKind::kNewArray: return Form("new").node(e.type).add(arguments(e.arguments)).end();
    case ExprKind::kArrayLiteral: return Form("list").nodes(e.operands).end();
    case ExprKind::kMapLiteral: return Form("map").nodes(e.operands).end();
    case ExprKind::kTuple: return Form("tuple").nodes(e.operands).end();
    case ExprKind::kUnary: return Form(to_string(e.unary)).nodes(e.operands).end();
    case ExprKind::kBinary: return Form(to_string(e.binary)).nodes(e.operands).end();
    case ExprKind::kCast: return Form("as").nodes(e.operands).node(e.type).end();
    case ExprKind::kCastOrNull: return Form("as?").nodes(e.operands).node(e.type).end();
    case ExprKind::kIs: return Form("is").nodes(e.operands).node(e.type).end();
    case ExprKind::kUnwrap: return Form("!!").nodes(e.operands).end();
    case ExprKind::kClosure: return function(*e.closure);
    case ExprKind::kJump: return dump(*e.statement);
    case ExprKind::kTry: return Form("try").nodes(e.operands).end();
    case ExprKind::kTryBlock: return Form("try-block").node(e.statement).end();
    case ExprKind::kCatch:
      return Form("catch").nodes(e.operands).add(e.name.empty() ? "_" : e.name.text).node(e.statement).end();
    case ExprKind::kBlock: return dump(*e.statement);
    case ExprKind::kIf: return Form("if").nodes(e.operands).end();
    case ExprKind::kMatch: {
      Form form("match");
      form.nodes(e.operands);
      for (const ast::Arm& a : e.arms) form.add(arm(a));
      return form.end();
    }
  }
  return "?";
}

namespace {

// The head, the name and the children in their order, which suffices for most statements.
std::string in_order(const ast::Stmt& s) {
  const ast::Name& name = ast::is_jump(s.kind) ? s.label : s.name;
  std::vector<std::string> parts;
  if (!name.empty()) parts.emplace_back(name.text);
  const auto add = [&](const auto& part) { parts.push_back(dump(part)); };
  ast::for_each_child(
      s, ast::Overloaded{[&](const ast::Expr& part) { add(part); }, [&](const ast::Stmt& part) { add(part); },
                         [&](const ast::Type& part) { add(part); },
                         [&](const ast::Arm& part) { parts.push_back(arm(part)); },
                         [&](const ast::Function& part) { parts.push_back(function(part)); }});
  if (parts.empty()) return std::string(ast::head_of(s.kind));
  Form form(ast::head_of(s.kind));
  for (const std::string& part : parts) form.add(part);
  return form.end();
}

std::string unlabelled(const ast::Stmt& s) {
  switch (s.kind) {
    case StmtKind::kBlock: return Form("block").nodes(s.body).end();
    case StmtKind::kLet:
    case StmtKind::kVar: return Form(ast::head_of(s.kind)).add(variable(s)).node(s.type).node(s.value).end();
    case StmtKind::kUpdate:
      return Form(std::string(to_string(s.binary)) + "=").node(s.place).node(s.value).end();
    case StmtKind::kExpr: return s.gives_value ? Form("value").node(s.value).end() : dump(*s.value);
    case StmtKind::kForRange:
      return Form("for")
          .add(s.name.text)
          .add(s.inclusive ? "..=" : "..")
          .node(s.value)
          .node(s.limit)
          .node(s.step)
          .nodes(s.body)
          .end();
    case StmtKind::kForEach:
      return Form("each")
          .add(!s.index_patterns.empty() ? pattern(s.index_patterns[0])
               : s.index_name.empty()    ? "_"
                                         : std::string(s.index_name.text))
          .add(variable(s))
          .node(s.value)
          .nodes(s.body)
          .end();
    case StmtKind::kParallelFor: return parallel(s);
    default: return in_order(s);
  }
}

}  // namespace

std::string dump(const ast::Stmt& s) {
  if (s.label.empty() || ast::is_jump(s.kind)) return unlabelled(s);
  return Form("label").add(s.label.text).add(unlabelled(s)).end();
}

std::string dump(const ast::Module& module) {
  std::string text;
  for (const ast::Import& import : module.imports) {
    std::string path;
    for (const ast::Name& part : import.path) path += (path.empty() ? "" : ".") + std::string(part.text);
    text += Form("import").add(path).add(import.name.text).end() + "\n";
  }
  for (const ast::Constant* constant : module.constants) {
    text += Form("const").add(constant->name.text).node(constant->type).node(constant->value).end() + "\n";
  }
  for (const ast::TypeDecl* decl : module.types) text += declaration(*decl) + "\n";
  for (const ast::Function* f : module.functions) text += function(*f) + "\n";
  return text;
}

}  // namespace dhpvm::compiler
