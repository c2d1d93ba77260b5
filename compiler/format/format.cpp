// SPDX-License-Identifier: Apache-2.0
#include "compiler/format/format.h"

#include <algorithm>

#include "base/error.h"
#include "compiler/format/layout.h"
#include "compiler/format/pieces.h"
#include "compiler/parse/lexer.h"
#include "compiler/parse/parser.h"
#include "compiler/text/diagnostics.h"
#include "compiler/text/source.h"

namespace dhpvm::compiler {
namespace {

bool same_words(const std::vector<Piece>& before, const std::vector<Piece>& after) {
  return std::ranges::equal(before, after, {}, &Piece::text, &Piece::text);
}

std::vector<Piece> lex_pieces(const SourceManager& sources, std::uint32_t file) {
  Diagnostics diagnostics(sources);
  return pieces_of(sources.file(file).text(), lex(sources, file, diagnostics));
}

}  // namespace

Result<std::string> format(std::string_view source, const std::string& name, bool colour) {
  if (source.size() >= SourceManager::kMaxFileBytes) {
    return error(ErrorCode::kCompile, "{}: error: the file has {} bytes; at most {} are allowed", name,
                 source.size(), SourceManager::kMaxFileBytes - 1);
  }
  SourceManager sources;
  Diagnostics diagnostics(sources);
  const std::uint32_t file = sources.add(name, std::string(source));
  parse(sources, file, {}, diagnostics);
  if (diagnostics.has_errors()) {
    std::string text = diagnostics.render(colour);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return Error(ErrorCode::kCompile, std::move(text));
  }
  const std::vector<Piece> pieces = lex_pieces(sources, file);
  std::string formatted = lay_out(pieces);
  const std::uint32_t again = sources.add(name, formatted);
  if (!same_words(pieces, lex_pieces(sources, again)))
    return error(ErrorCode::kInternal, "formatting would change the tokens of {}: it is left as it is", name);
  return formatted;
}

}  // namespace dhpvm::compiler
