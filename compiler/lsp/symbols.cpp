// SPDX-License-Identifier: Apache-2.0
// The declarations of a document, and of all sources of the client.
#include <cctype>
#include <memory>
#include <utility>

#include "compiler/lsp/features.h"
#include "compiler/lsp/positions.h"
#include "compiler/lsp/uri.h"
#include "compiler/parse/parser.h"

namespace dhpvm::compiler::lsp {

namespace {

constexpr std::size_t kMaxFound = 1000;

Json symbol_of(const SourceFile& file, const Declaration& declaration) {
  Json made{{"name", declaration.name.text},
            {"kind", symbol_kind(declaration.kind)},
            {"detail", head_text(file, declaration)},
            {"range", range_of(file, declaration.range)},
            {"selectionRange", range_of(file, declaration.name.range)}};
  for (const Declaration& part : declaration.parts) {
    if (!part.name.empty()) made["children"].push_back(symbol_of(file, part));
  }
  return made;
}

// Whether `query` is a subsequence of `name`, ignoring case.
bool fits(std::string_view name, std::string_view query) {
  std::size_t next = 0;
  for (const char c : name) {
    if (next < query.size() &&
        std::tolower(static_cast<unsigned char>(c)) == std::tolower(static_cast<unsigned char>(query[next])))
      ++next;
  }
  return next == query.size();
}

void add_fitting(const SourceFile& file, const std::string& uri, const std::vector<Declaration>& list,
                 std::string_view query, Json& out) {
  for (const Declaration& declaration : list) {
    if (out.size() >= kMaxFound) return;
    if (!declaration.name.empty() && fits(declaration.name.text, query)) {
      Json place{{"uri", uri}, {"range", range_of(file, declaration.name.range)}};
      out.push_back({{"name", declaration.name.text},
                     {"kind", symbol_kind(declaration.kind)},
                     {"containerName", declaration.owner},
                     {"location", std::move(place)}});
    }
    add_fitting(file, uri, declaration.parts, query, out);
  }
}

// A source that is parsed and not checked, since only names are needed.
struct ParsedFile {
  SourceManager sources;
  std::unique_ptr<ast::Module> module;

  ParsedFile(const std::string& path, std::string text) {
    Diagnostics unsaid(sources);
    module = parse(sources, sources.add(path, std::move(text)), {}, unsaid);
  }
  const SourceFile& file() const { return sources.file(module->file); }
};

}  // namespace

Result<Json> document_symbols(Workspace& workspace, const Json& params) {
  const std::shared_ptr<const Parsed> parsed =
      workspace.parsed(path_of(params.at("textDocument").at("uri").get<std::string>()));
  if (parsed == nullptr) return Json();
  Json found = Json::array();
  for (const Declaration& declaration : declarations_of(parsed->module())) {
    if (!declaration.name.empty()) found.push_back(symbol_of(parsed->file(), declaration));
  }
  return found;
}

Result<Json> workspace_symbols(Workspace& workspace, const Json& params) {
  const auto query = params.at("query").get<std::string>();
  Json found = Json::array();
  for (const std::string& path : workspace.files()) {
    std::optional<std::string> text = workspace.text_of(path);
    if (!text.has_value()) continue;
    const ParsedFile parsed(path, std::move(*text));
    const Document* const document = workspace.documents().find(path);
    const std::string uri = document != nullptr ? document->uri : uri_of(path);
    add_fitting(parsed.file(), uri, declarations_of(*parsed.module), query, found);
  }
  return found;
}

}  // namespace dhpvm::compiler::lsp
