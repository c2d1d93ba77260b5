// SPDX-License-Identifier: Apache-2.0
// textDocument/hover: the declaration and type of a name, and the comment of its declaration.
#include "compiler/lsp/features.h"

namespace dhpvm::compiler::lsp {

namespace {

std::string code(std::string_view text) { return "```dhp\n" + std::string(text) + "\n```"; }

std::string with_comment(std::string text, const std::string& comment) {
  if (!comment.empty()) text += "\n\n" + comment;
  return text;
}

std::string of_variable(const Snapshot& snapshot, const LocalVariable& local) {
  std::string text = local.is_parameter ? "" : local.is_changeable ? "var " : "let ";
  text += local.name;
  if (const Type* type = snapshot.facts().type_of_variable(local.range); type != nullptr)
    text += ": " + type->name;
  return code(text);
}

std::string of_declaration(const Snapshot& snapshot, const Declaration& declaration,
                           const Occurrence& occurrence) {
  const SourceFile& file = snapshot.file(declaration.range);
  std::string text = head_text(file, declaration);
  const bool is_inferred = declaration.function != nullptr && declaration.function->result == nullptr &&
                           declaration.function->expression != nullptr;
  if (is_inferred) {
    const Type* const result = snapshot.facts().type_of(declaration.function->expression->range);
    if (result != nullptr) text += " -> " + result->name;
  }
  if (!declaration.owner.empty()) text += "  // of " + std::string(declaration.owner);
  // The type of this use, if the declaration has type parameters.
  const Type* const here = snapshot.facts().type_ending_at(occurrence.range.end);
  const bool has_type = here != nullptr && declaration.function == nullptr && declaration.type == nullptr &&
                        !occurrence.is_declaration();
  if (has_type && text.find(": " + here->name) == std::string::npos) text += "\n// here: " + here->name;
  return with_comment(code(text), comment_at(file, declaration.range.begin));
}

}  // namespace

Result<Json> hover(Workspace& workspace, const Json& params) {
  const std::optional<View> view = workspace.view_at_position(params);
  if (!view.has_value()) return Json();
  const Snapshot& snapshot = **view;
  const Occurrence* const occurrence = snapshot.index().at(view->offset_of(params.at("position")));
  if (occurrence == nullptr) return Json();
  const SourceRange target = occurrence->declaration;
  std::string text;
  if (const LocalVariable* local =
          target.file == snapshot.module().file ? snapshot.index().local(target) : nullptr;
      local != nullptr) {
    text = of_variable(snapshot, *local);
  } else if (target.begin == target.end) {
    const ast::Module& module = snapshot.module_of(target);
    text = with_comment(code("import " + module.path), comment_of_module(snapshot.file(target)));
  } else if (const std::optional<Declaration> declared = declaration_at(snapshot, target);
             declared.has_value()) {
    text = of_declaration(snapshot, *declared, *occurrence);
  } else {
    return Json();
  }
  return Json{{"contents", {{"kind", "markdown"}, {"value", std::move(text)}}},
              {"range", view->range_of(occurrence->range)}};
}

}  // namespace dhpvm::compiler::lsp
