// SPDX-License-Identifier: Apache-2.0
// The requests of the protocol: each takes the parameters of its request and returns the result, and has its own source
// file. Malformed parameters throw Json::exception.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/lsp/declarations.h"
#include "compiler/lsp/json.h"
#include "compiler/lsp/workspace.h"
#include "dhpvm/result.h"

namespace dhpvm::compiler::lsp {

Result<Json> complete(Workspace& workspace, const Json& params);
Result<Json> hover(Workspace& workspace, const Json& params);
Result<Json> signature_help(Workspace& workspace, const Json& params);
Result<Json> definition(Workspace& workspace, const Json& params);
Result<Json> type_definition(Workspace& workspace, const Json& params);
Result<Json> references(Workspace& workspace, const Json& params);
Result<Json> highlights(Workspace& workspace, const Json& params);
Result<Json> prepare_rename(Workspace& workspace, const Json& params);
Result<Json> rename(Workspace& workspace, const Json& params);
Result<Json> document_symbols(Workspace& workspace, const Json& params);
Result<Json> workspace_symbols(Workspace& workspace, const Json& params);
Result<Json> format_document(Workspace& workspace, const Json& params);
Result<Json> inlay_hints(Workspace& workspace, const Json& params);
Result<Json> quick_fixes(Workspace& workspace, const Json& params);

// The compiler's messages about the document, for textDocument/publishDiagnostics.
Json diagnostics_of(Workspace& workspace, const std::string& path);

// --- shared helpers

// The declaration whose name is at this place, in any module of the snapshot; variables are not declarations here.
std::optional<Declaration> declaration_at(const Snapshot& snapshot, SourceRange name);
// The uses of a declaration's name in the document of a view, and in all sources that may use it: the document and the
// range of each.
struct Use {
  std::string uri;
  Json range;
  bool is_declaration = false;
};
std::vector<Use> uses_in_document(Workspace& workspace, const View& view, SourceRange declaration);
std::vector<Use> uses_of(Workspace& workspace, const View& view, SourceRange declaration);

}  // namespace dhpvm::compiler::lsp
