// SPDX-License-Identifier: Apache-2.0
// textDocument/rename: renames all uses of a declaration.
#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "compiler/lsp/features.h"
#include "compiler/parse/lexer.h"

namespace dhpvm::compiler::lsp {

namespace {

// Whether the lexer reads the text as one name.
bool is_name(const std::string& text) {
  SourceManager sources;
  Diagnostics diagnostics(sources);
  const TokenStream stream = lex(sources, sources.add("name", text), diagnostics);
  return !diagnostics.has_errors() && stream.tokens.size() == 2 &&
         stream.tokens[0].kind == TokenKind::kIdentifier && stream.tokens[0].end == text.size();
}

// Whether a method belongs to an interface, or implements one: then other methods would have to be renamed, too.
bool is_shared(const Snapshot& snapshot, const Declaration& method) {
  const ast::Module& module = snapshot.module_of(method.range);
  for (const ast::TypeDecl* type : module.types) {
    if (find_own_method(*type, method.name.text) != method.function) continue;
    return type->kind == ast::TypeDeclKind::kInterface ||
           std::ranges::any_of(type->interfaces, [&](const ast::Type* written) {
             const ast::TypeDecl* const interface = snapshot.members().declaration_of(written, module);
             return interface != nullptr && find_own_method(*interface, method.name.text) != nullptr;
           });
  }
  return false;
}

struct Target {
  SourceRange use;
  SourceRange declaration;
};

Result<Target> target_of(const View& view, const Json& params) {
  if (&*view != &view.latest())
    return error(ErrorCode::kUnsupported, "names cannot be changed while declarations cannot be read");
  const Occurrence* const occurrence = view->index().at(view.offset_of(params.at("position")));
  if (occurrence == nullptr) return error(ErrorCode::kNotFound, "there is no name that could be changed");
  const SourceRange target = occurrence->declaration;
  if (target.begin == target.end) return error(ErrorCode::kUnsupported, "a module is called as its file");
  if (view->module_of(target).is_stdlib)
    return error(ErrorCode::kUnsupported, "names of the standard library stay as they are");
  const std::optional<Declaration> declared = declaration_at(*view, target);
  if (declared.has_value() && declared->kind == DeclarationKind::kMethod && is_shared(*view, *declared))
    return error(ErrorCode::kUnsupported, "'{}' is a method of an interface: others have to change with it",
                 declared->name.text);
  return Target{occurrence->range, target};
}

}  // namespace

Result<Json> prepare_rename(Workspace& workspace, const Json& params) {
  const std::optional<View> view = workspace.view_at_position(params);
  if (!view.has_value()) return Json();
  const Result<Target> target = target_of(*view, params);
  return target.ok() ? view->range_of(target->use) : Json();
}

Result<Json> rename(Workspace& workspace, const Json& params) {
  const std::optional<View> view = workspace.view_at_position(params);
  if (!view.has_value()) return Json();
  const auto name = params.at("newName").get<std::string>();
  if (!is_name(name)) return error(ErrorCode::kInvalidArgument, "'{}' is no name", name);
  DHPVM_ASSIGN(const Target target, target_of(*view, params));
  Json changes = Json::object();
  std::vector<Use> uses = uses_of(workspace, *view, target.declaration);
  for (Use& use : uses) changes[use.uri].push_back({{"range", std::move(use.range)}, {"newText", name}});
  const bool is_declared = std::ranges::any_of(uses, &Use::is_declaration);
  if (!is_declared) {
    const Json place = workspace.location(*view, target.declaration);
    changes[place.at("uri").get<std::string>()].push_back({{"range", place.at("range")}, {"newText", name}});
  }
  return Json{{"changes", std::move(changes)}};
}

}  // namespace dhpvm::compiler::lsp
