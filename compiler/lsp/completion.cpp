// SPDX-License-Identifier: Apache-2.0
// textDocument/completion: members after a dot, modules after `import`, and the names in scope.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "compiler/lsp/features.h"
#include "compiler/lsp/positions.h"
#include "compiler/lsp/uri.h"
#include "compiler/parse/imports.h"
#include "compiler/parse/token.h"

namespace dhpvm::compiler::lsp {

namespace {

constexpr int kKeyword = 14;
constexpr int kTypeName = 7;
constexpr int kBuiltinFunction = 3;
constexpr int kProperty = 10;
constexpr int kMethodOfArrays = 2;
constexpr int kModule = 9;

constexpr std::string_view kKeywords[] = {
#define X(name, text, ...) text,
    DHPVM_KEYWORDS(X)
#undef X
};
constexpr std::string_view kBuiltins[] = {"print", "trap", "assert", "str", "hash", "equal"};
constexpr std::string_view kTypes[] = {"bool", "i8",  "u8",  "i16", "u16", "i32",     "u32",
                                       "i64",  "u64", "f32", "f64", "str", "resource"};

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The text before the cursor.
struct Cursor {
  std::uint32_t offset = 0;
  std::uint32_t word = 0;        // start of the name being typed
  std::uint32_t object_end = 0;  // end of the expression before the dot; 0: there is no dot
};

Cursor cursor_at(std::string_view text, std::uint32_t offset) {
  Cursor cursor{offset, offset, 0};
  while (cursor.word > 0 && is_letter(text[cursor.word - 1])) --cursor.word;
  if (cursor.word < 2 || text[cursor.word - 1] != '.' || text[cursor.word - 2] == '.') return cursor;
  cursor.object_end = cursor.word - 1;
  if (text[cursor.object_end - 1] == '?') --cursor.object_end;
  return cursor;
}

std::string_view word_before(std::string_view text, std::uint32_t end) {
  std::uint32_t begin = end;
  while (begin > 0 && is_letter(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

class Completion {
 public:
  Completion(Workspace& workspace, const Document& document, const Json& params)
      : workspace_(workspace),
        file_(document.file),
        text_(file_.text()),
        cursor_(cursor_at(text_, offset_of(file_, params.at("position")))) {}

  Json run(const Json& params) {
    const std::string_view line = text_.substr(file_.line_start(file_.position(cursor_.offset).line));
    if (line.starts_with("import ")) {
      modules();
    } else if (cursor_.object_end != 0) {
      members();
    } else if (const std::optional<View> view = workspace_.view_at_position(params); view.has_value()) {
      names(*view);
    }
    return Json{{"isIncomplete", false}, {"items", std::move(items_)}};
  }

 private:
  void add(std::string_view label, int kind, std::string detail, std::string comment = {}) {
    if (label.empty() || !labels_.insert(std::string(label)).second) return;
    Json item{{"label", label}, {"kind", kind}};
    if (!detail.empty()) item["detail"] = std::move(detail);
    if (!comment.empty()) item["documentation"] = {{"kind", "markdown"}, {"value", std::move(comment)}};
    items_.push_back(std::move(item));
  }
  void add(const Snapshot& snapshot, const Declaration& declaration) {
    const SourceFile& file = snapshot.file(declaration.range);
    add(declaration.name.text, completion_kind(declaration.kind), head_text(file, declaration),
        comment_at(file, declaration.range.begin));
  }
  void add_all(const Snapshot& snapshot, const ast::Module& module) {
    for (const Declaration& declaration : declarations_of(module)) add(snapshot, declaration);
  }

  void modules();
  void names(const View& view);
  void members();
  bool members_in(const Snapshot& snapshot);
  bool members_of_name(const Snapshot& snapshot);
  void members_of_type(const Snapshot& snapshot, const Type& type);

  Workspace& workspace_;
  const SourceFile& file_;
  std::string_view text_;
  Cursor cursor_;
  std::set<std::string> labels_;
  Json items_ = Json::array();
};

void Completion::modules() {
  for (const BuiltinModule& module : workspace_.options().builtin_modules) {
    // Such names are those of internal modules.
    if (module.name.find('_') == std::string_view::npos) add(module.name, kModule, "standard library");
  }
  const std::filesystem::path own(file_.name());
  for (const std::string& file : workspace_.files()) {
    const std::filesystem::path path(file);
    if (path.parent_path() == own.parent_path() && path != own) add(path.stem().string(), kModule, file);
  }
}

void Completion::names(const View& view) {
  const Snapshot& shown = *view;
  for (const LocalVariable& local : view.latest().index().locals_at(cursor_.word)) {
    const Type* const type = view.latest().facts().type_of_variable(local.range);
    add(local.name, completion_kind(DeclarationKind::kVariable), type != nullptr ? type->name : "");
  }
  for (const Declaration& declaration : declarations_of(shown.module())) {
    if (declaration.type == nullptr) continue;
    // Members of the enclosing type need no `this`.
    const std::uint32_t place = std::min(cursor_.word, declaration.range.end);
    if (declaration.range.begin > place || cursor_.word > declaration.range.end) continue;
    for (const Declaration& part : declaration.parts) {
      if (part.kind != DeclarationKind::kCase && part.kind != DeclarationKind::kInit) add(shown, part);
    }
  }
  add_all(shown, shown.module());
  for (const ast::Import& import : shown.module().imports) {
    add(import.name.text, kModule, "");
    if (import.module == nullptr) continue;
    for (const ast::TypeDecl* type : import.module->types) add(shown, declaration_of(*type));
  }
  for (const std::string_view name : kKnownModules) {
    const ast::Module* const known = shown.scope().library(name);
    if (known == nullptr) continue;
    for (const ast::TypeDecl* type : known->types) add(shown, declaration_of(*type));
  }
  for (const std::string_view name : kBuiltins) add(name, kBuiltinFunction, "built in");
  for (const std::string_view name : kTypes) add(name, kTypeName, "built in");
  for (const std::string_view name : kKeywords) add(name, kKeyword, "");
}

// After the name of a module or of an enum.
bool Completion::members_of_name(const Snapshot& snapshot) {
  const std::string_view name = word_before(text_, cursor_.object_end);
  if (name.empty()) return false;
  for (const LocalVariable& local : snapshot.index().locals_at(cursor_.word)) {
    if (local.name == name) return false;
  }
  const auto begin = static_cast<std::uint32_t>(cursor_.object_end - name.size());
  const bool is_member = begin > 0 && text_[begin - 1] == '.';
  const std::string_view qualifier = is_member ? word_before(text_, begin - 1) : std::string_view();
  if (is_member && qualifier.empty()) return false;
  if (const ast::Module* module = snapshot.scope().import(name); !is_member && module != nullptr) {
    add_all(snapshot, *module);
    return true;
  }
  const ast::TypeDecl* const type = snapshot.scope().type(qualifier, name);
  if (type == nullptr || type->kind != ast::TypeDeclKind::kEnum) return false;
  for (const ast::EnumCase& option : type->cases) add(snapshot, declaration_of(option, type->name.text));
  return true;
}

bool Completion::members_in(const Snapshot& snapshot) {
  if (members_of_name(snapshot)) return true;
  const Type* const type = snapshot.facts().type_ending_at(cursor_.object_end);
  if (type != nullptr) members_of_type(snapshot, *type);
  return type != nullptr;
}

void Completion::members() {
  const std::shared_ptr<const Snapshot> known = workspace_.known(file_.name(), Part::at(cursor_.offset));
  if (known != nullptr && members_in(*known)) return;
  // The parser skips the incomplete statement; completing it lets the parser read more.
  std::string whole(text_);
  const std::size_t line_end = std::min(whole.find('\n', cursor_.offset), whole.size());
  const std::string_view rest = text_.substr(cursor_.offset, line_end - cursor_.offset);
  const bool is_last = rest.find_first_not_of(" \t\r") == std::string_view::npos;
  whole.insert(cursor_.offset, is_last ? "completed;" : "completed");
  members_in(*workspace_.imagine(file_.name(), std::move(whole), Part::at(cursor_.offset)));
}

void Completion::members_of_type(const Snapshot& snapshot, const Type& type) {
  const Type& value = type.is(TypeKind::kNullable) ? *type.element : type;
  if (value.is(TypeKind::kArray) || value.is(TypeKind::kFixedArray) || value.is(TypeKind::kStr))
    add("len", kProperty, "i64");
  if (value.is(TypeKind::kWeak)) add("get", kMethodOfArrays, value.element->name + "?");
  if (value.is(TypeKind::kArray)) {
    for (const std::string_view name : {"rows", "cols"}) {
      if (value.rank >= 2) add(name, kProperty, "i64");
    }
    if (value.rank == 3) add("depth", kProperty, "i64");
    for (const std::string_view name : {"dim", "slice", "copy", "fill", "close"})
      add(name, kMethodOfArrays, "built in");
  }
  if (const std::string_view methods = library_methods_of(value); !methods.empty()) {
    for (const ast::Function* function : snapshot.scope().library_methods(methods))
      add(snapshot, declaration_of(*function));
    return;
  }
  const ast::TypeDecl* const declared = snapshot.members().declaration_of(&value);
  if (declared == nullptr) return;
  if (!value.is_enum) {
    for (const FieldInfo& field : value.fields)
      add(field.name, completion_kind(DeclarationKind::kField), field.type->name);
  }
  for (const ast::Function* method : snapshot.members().methods(*declared))
    add(snapshot, declaration_of(*method, declared->name.text));
}

}  // namespace

Result<Json> complete(Workspace& workspace, const Json& params) {
  const Document* const document =
      workspace.documents().find(path_of(params.at("textDocument").at("uri").get<std::string>()));
  if (document == nullptr) return Json();
  return Completion(workspace, *document, params).run(params);
}

}  // namespace dhpvm::compiler::lsp
