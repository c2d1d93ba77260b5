// SPDX-License-Identifier: Apache-2.0
#include "compiler/lsp/declarations.h"

#include <algorithm>

namespace dhpvm::compiler::lsp {

namespace {

constexpr std::string_view kBlank = " \t\r";

DeclarationKind kind_of(ast::TypeDeclKind kind) {
  switch (kind) {
    case ast::TypeDeclKind::kStruct: return DeclarationKind::kStruct;
    case ast::TypeDeclKind::kClass: return DeclarationKind::kClass;
    case ast::TypeDeclKind::kInterface: return DeclarationKind::kInterface;
    case ast::TypeDeclKind::kEnum: return DeclarationKind::kEnum;
    case ast::TypeDeclKind::kAlias: break;
  }
  return DeclarationKind::kAlias;
}

Declaration declaration_of(const ast::Field& field, std::string_view owner) {
  Declaration made;
  made.kind = DeclarationKind::kField;
  made.name = field.name;
  made.range = made.head = field.range;
  made.owner = owner;
  return made;
}

// The end of a type's head, before its first member.
std::uint32_t end_of_head(const ast::TypeDecl& type) {
  std::uint32_t end = type.name.range.end;
  for (const ast::TypeParameter& parameter : type.type_parameters)
    end = std::max(end, parameter.bound != nullptr ? parameter.bound->range.end : parameter.name.range.end);
  for (const ast::Type* interface : type.interfaces) end = std::max(end, interface->range.end);
  return end;
}

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  return text.substr(0, text.find_last_not_of(kBlank) + 1);
}

// A line's comment without its slashes; nothing if the line contains anything else.
std::optional<std::string_view> comment_line(std::string_view line) {
  line = trimmed(line);
  if (!line.starts_with("//")) return std::nullopt;
  line.remove_prefix(2);
  if (line.starts_with(' ')) line.remove_prefix(1);
  return line;
}

bool is_licence(std::string_view line) { return line.starts_with("SPDX-License-Identifier"); }

}  // namespace

int symbol_kind(DeclarationKind kind) {
  switch (kind) {
#define X(name, symbol, completion) \
  case DeclarationKind::name: return symbol;
    DHPVM_LSP_DECLARATIONS(X)
#undef X
  }
  return 0;
}

int completion_kind(DeclarationKind kind) {
  switch (kind) {
#define X(name, symbol, completion) \
  case DeclarationKind::name: return completion;
    DHPVM_LSP_DECLARATIONS(X)
#undef X
  }
  return 0;
}

Declaration declaration_of(const ast::Function& function, std::string_view owner) {
  Declaration made;
  made.kind = owner.empty() ? DeclarationKind::kFunction : DeclarationKind::kMethod;
  if (!owner.empty() && function.name.text == "init") made.kind = DeclarationKind::kInit;
  made.name = function.name;
  made.range = made.head = function.range;
  if (function.body != nullptr) made.head.end = function.body->range.begin;
  if (function.expression != nullptr) made.head.end = function.expression->range.begin;
  made.owner = owner;
  made.function = &function;
  return made;
}

Declaration declaration_of(const ast::Constant& constant) {
  Declaration made;
  made.kind = DeclarationKind::kConstant;
  made.name = constant.name;
  made.range = made.head = constant.range;
  return made;
}

Declaration declaration_of(const ast::EnumCase& option, std::string_view owner) {
  Declaration made;
  made.kind = DeclarationKind::kCase;
  made.name = option.name;
  made.range = made.head = option.range;
  made.owner = owner;
  made.option = &option;
  for (const ast::Field& value : option.values) {
    if (!value.name.empty()) made.parts.push_back(declaration_of(value, option.name.text));
  }
  return made;
}

Declaration declaration_of(const ast::TypeDecl& type) {
  Declaration made;
  made.kind = kind_of(type.kind);
  made.name = type.name;
  made.range = made.head = type.range;
  if (type.kind != ast::TypeDeclKind::kAlias) made.head.end = end_of_head(type);
  made.type = &type;
  for (const ast::Field& field : type.fields) made.parts.push_back(declaration_of(field, type.name.text));
  for (const ast::EnumCase& option : type.cases) made.parts.push_back(declaration_of(option, type.name.text));
  if (type.init != nullptr) made.parts.push_back(declaration_of(*type.init, type.name.text));
  for (const ast::Function* method : type.methods)
    made.parts.push_back(declaration_of(*method, type.name.text));
  std::ranges::stable_sort(made.parts, {}, [](const Declaration& part) { return part.range.begin; });
  return made;
}

std::vector<Declaration> declarations_of(const ast::Module& module) {
  std::vector<Declaration> found;
  for (const ast::Constant* constant : module.constants) found.push_back(declaration_of(*constant));
  for (const ast::Function* function : module.functions) found.push_back(declaration_of(*function));
  for (const ast::TypeDecl* type : module.types) found.push_back(declaration_of(*type));
  std::ranges::stable_sort(found, {}, [](const Declaration& entry) { return entry.range.begin; });
  return found;
}

namespace {

std::optional<Declaration> among(const std::vector<Declaration>& list, SourceRange name) {
  for (const Declaration& entry : list) {
    if (entry.name.range == name) return entry;
    if (std::optional<Declaration> part = among(entry.parts, name); part.has_value()) return part;
    const auto* const parameters = entry.type != nullptr       ? &entry.type->type_parameters
                                   : entry.function != nullptr ? &entry.function->type_parameters
                                                               : nullptr;
    if (parameters == nullptr) continue;
    for (const ast::TypeParameter& parameter : *parameters) {
      if (parameter.name.range != name) continue;
      Declaration made;
      made.kind = DeclarationKind::kTypeParameter;
      made.name = parameter.name;
      made.range = made.head = parameter.name.range;
      if (parameter.bound != nullptr) made.head.end = parameter.bound->range.end;
      made.owner = entry.name.text;
      return made;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Declaration> declaration_at(const ast::Module& module, SourceRange name) {
  return among(declarations_of(module), name);
}

std::string head_text(const SourceFile& file, const Declaration& declaration) {
  constexpr std::size_t kMaxHead = 2000;  // a constant may be a table
  const SourceRange head = declaration.head;
  std::string_view text =
      file.text().substr(head.begin, std::min<std::size_t>(head.end - head.begin, kMaxHead));
  std::string line;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!blank) line += c;
    if (blank && !line.empty() && line.back() != ' ') line += ' ';
  }
  std::string_view rest = trimmed(line);
  if (declaration.function != nullptr && rest.ends_with("=>"))
    rest = trimmed(rest.substr(0, rest.size() - 2));
  while (rest.ends_with(';') || rest.ends_with(',')) rest.remove_suffix(1);
  std::string head_line(rest);
  // The range of a type's head may end at its last type parameter, before the closing bracket.
  const bool is_open = std::ranges::count(rest, '<') > std::ranges::count(rest, '>');
  if (declaration.type != nullptr && is_open) head_line += '>';
  return head_line;
}

std::string comment_at(const SourceFile& file, std::uint32_t offset) {
  const std::uint32_t line = file.position(offset).line;
  std::vector<std::string_view> lines;
  for (std::uint32_t number = line - 1; number > 0; --number) {
    const std::optional<std::string_view> text = comment_line(file.line(number));
    if (!text.has_value() || is_licence(*text)) break;
    lines.push_back(*text);
  }
  if (lines.empty()) {
    const std::string_view own = file.line(line);
    const std::size_t comment = own.rfind("//");
    return comment == std::string_view::npos ? std::string() : std::string(trimmed(own.substr(comment + 2)));
  }
  std::string text;
  for (auto entry = lines.rbegin(); entry != lines.rend(); ++entry) {
    if (!text.empty()) text += '\n';
    text += *entry;
  }
  return text;
}

std::string comment_of_module(const SourceFile& file) {
  std::string text;
  for (std::uint32_t number = 1; number <= file.line_count(); ++number) {
    const std::optional<std::string_view> line = comment_line(file.line(number));
    if (!line.has_value()) break;
    if (is_licence(*line)) continue;
    if (!text.empty()) text += '\n';
    text += *line;
  }
  return text;
}

}  // namespace dhpvm::compiler::lsp
