// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/parser.h"

#include <utility>

#include "compiler/parse/grammar_parts.h"

namespace dhpvm::compiler {

std::unique_ptr<ast::Module> parse(const SourceManager& sources, std::uint32_t file,
                                   const ParseOptions& options, Diagnostics& diagnostics) {
  GrammarParts grammar(sources, file, diagnostics);
  ParserState& state = grammar.state;
  state.module->path = options.module_path;
  state.module->file = file;
  state.module->is_stdlib = options.is_stdlib;
  while (!state.cursor.at(TokenKind::kEnd)) {
    const std::uint32_t before = state.cursor.position();
    grammar.declarations.declaration();
    if (state.errors.in_panic()) state.recovery.skip_to_declaration();
    if (state.cursor.position() == before) state.cursor.advance();
  }
  return std::move(state.module);
}

}  // namespace dhpvm::compiler
