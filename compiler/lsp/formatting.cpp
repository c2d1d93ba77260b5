// SPDX-License-Identifier: Apache-2.0
// textDocument/formatting: what `dhpvmc fmt` does, as one edit of what differs.
#include "compiler/format/format.h"
#include "compiler/lsp/features.h"
#include "compiler/lsp/positions.h"
#include "compiler/lsp/uri.h"

namespace dhpvm::compiler::lsp {

Result<Json> format_document(Workspace& workspace, const Json& params) {
  const Document* const document =
      workspace.documents().find(path_of(params.at("textDocument").at("uri").get<std::string>()));
  if (document == nullptr) return Json();
  const SourceFile& file = document->file;
  const Result<std::string> formatted = format(file.text(), file.name());
  // The diagnostics report syntax errors.
  if (!formatted.ok() || *formatted == file.text()) return Json::array();
  // The common lines at the start and end are kept, so that the client's cursor stays in place.
  const std::string_view before = file.text();
  const std::string_view after = *formatted;
  std::size_t begin = 0;
  std::size_t same = 0;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()) && before[i] == after[i]; ++i) {
    if (before[i] == '\n') begin = i + 1;
  }
  const std::size_t rest = std::min(before.size(), after.size()) - begin;
  for (std::size_t i = 1; i <= rest && before[before.size() - i] == after[after.size() - i]; ++i) {
    if (before[before.size() - i] == '\n') same = i - 1;
  }
  const auto end = static_cast<std::uint32_t>(before.size() - same);
  return Json::array({{{"range", range_of(file, static_cast<std::uint32_t>(begin), end)},
                       {"newText", after.substr(begin, after.size() - same - begin)}}});
}

}  // namespace dhpvm::compiler::lsp
