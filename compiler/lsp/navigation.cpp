// SPDX-License-Identifier: Apache-2.0
// Definitions, references and highlights.
#include <algorithm>

#include "compiler/lsp/features.h"
#include "compiler/lsp/positions.h"
#include "compiler/lsp/uri.h"

namespace dhpvm::compiler::lsp {

namespace {

// The declaration of the name at a position of the client; nothing if there is no name.
std::optional<SourceRange> declaration_of(const View& view, const Json& params) {
  const Occurrence* const occurrence = view->index().at(view.offset_of(params.at("position")));
  return occurrence == nullptr ? std::nullopt : std::optional(occurrence->declaration);
}

}  // namespace

std::optional<Declaration> declaration_at(const Snapshot& snapshot, SourceRange name) {
  return declaration_at(snapshot.module_of(name), name);
}

std::vector<Use> uses_in_document(Workspace& workspace, const View& view, SourceRange declaration) {
  const bool is_own = declaration.file == view->module().file;
  const bool is_variable = is_own && view->index().local(declaration) != nullptr;
  // An import may give a module another name.
  const bool is_module = declaration.begin == declaration.end;
  const Part part = is_module ? Part() : Part::with_word(view->parsed().sources().text(declaration));
  const View shown = is_variable ? view : workspace.other_part(view, part);
  const std::string own = workspace.uri_of(*shown, {shown->module().file, 0, 0});
  std::vector<Use> uses;
  for (const SourceRange range : shown->index().ranges_of(declaration))
    uses.push_back({own, shown.range_of(range), range == declaration});
  return uses;
}

std::vector<Use> uses_of(Workspace& workspace, const View& view, SourceRange declaration) {
  std::vector<Use> uses = uses_in_document(workspace, view, declaration);
  // Variables and type parameters are visible only in their own file.
  const std::optional<Declaration> declared = declaration_at(*view, declaration);
  if (!declared.has_value() || declared->kind == DeclarationKind::kTypeParameter) return uses;
  const ast::Module& module = view->module_of(declaration);
  const std::string& declaring = view->file(declaration).name();
  const std::string_view word = declared->name.text;
  for (const std::string& path : workspace.files()) {
    if (path == view->file().name()) continue;
    // Cheap checks first: most files do not contain the name, others do not import the module; checking is slow.
    const std::optional<std::string> text = workspace.text_of(path);
    if (!text.has_value() || !holds_word(*text, word)) continue;
    const std::shared_ptr<const Parsed> parsed = workspace.parsed(path);
    if (parsed == nullptr) continue;
    if (!module.is_stdlib && path != declaring && std::ranges::count(parsed->imported(), declaring) == 0)
      continue;
    const std::shared_ptr<const Snapshot> other = workspace.latest(path, Part::with_word(word));
    if (other == nullptr) continue;
    for (const Occurrence& occurrence : other->index().all()) {
      const SourceRange target = occurrence.declaration;
      if (target.begin != declaration.begin || target.end != declaration.end) continue;
      const bool same = module.is_stdlib ? other->module_of(target).is_stdlib &&
                                               other->module_of(target).path == module.path
                                         : other->file(target).name() == declaring;
      if (!same) continue;
      uses.push_back({workspace.uri_of(*other, occurrence.range), range_of(other->file(), occurrence.range),
                      occurrence.is_declaration()});
    }
  }
  return uses;
}

Result<Json> definition(Workspace& workspace, const Json& params) {
  const std::optional<View> view = workspace.view_at_position(params);
  if (!view.has_value()) return Json();
  const std::optional<SourceRange> target = declaration_of(*view, params);
  return target.has_value() ? workspace.location(*view, *target) : Json();
}

Result<Json> type_definition(Workspace& workspace, const Json& params) {
  const std::optional<View> view = workspace.view_at_position(params);
  if (!view.has_value()) return Json();
  const Occurrence* const occurrence = (*view)->index().at(view->offset_of(params.at("position")));
  if (occurrence == nullptr) return Json();
  const Facts& facts = (*view)->facts();
  const Type* type = facts.type_of_variable(occurrence->declaration);
  if (type == nullptr) type = facts.type_ending_at(occurrence->range.end);
  const ast::TypeDecl* const declared = (*view)->members().declaration_of(type);
  return declared == nullptr ? Json() : workspace.location(*view, declared->name.range);
}

Result<Json> references(Workspace& workspace, const Json& params) {
  const std::optional<View> view = workspace.view_at_position(params);
  if (!view.has_value()) return Json();
  const std::optional<SourceRange> target = declaration_of(*view, params);
  if (!target.has_value()) return Json();
  const bool with_declaration = params.at("context").at("includeDeclaration").get<bool>();
  Json found = Json::array();
  bool is_declared = false;
  for (Use& use : uses_of(workspace, *view, *target)) {
    is_declared = is_declared || use.is_declaration;
    if (use.is_declaration && !with_declaration) continue;
    found.push_back({{"uri", std::move(use.uri)}, {"range", std::move(use.range)}});
  }
  if (with_declaration && !is_declared) {
    if (Json place = workspace.location(*view, *target); !place.is_null()) found.push_back(std::move(place));
  }
  return found;
}

Result<Json> highlights(Workspace& workspace, const Json& params) {
  const std::optional<View> here = workspace.view_at_position(params);
  if (!here.has_value()) return Json();
  const std::optional<SourceRange> target = declaration_of(*here, params);
  if (!target.has_value()) return Json();
  Json found = Json::array();
  for (Use& use : uses_in_document(workspace, *here, *target))
    found.push_back({{"range", std::move(use.range)}});
  return found;
}

}  // namespace dhpvm::compiler::lsp
