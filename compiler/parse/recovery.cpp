// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/recovery.h"

namespace dhpvm::compiler {

void Recovery::skip_balanced() {
  if (const std::uint32_t partner = layout_.partner(cursor_.position()); partner != 0)
    cursor_.jump_to(partner);
  cursor_.advance();
}

void Recovery::skip_to_statement() {
  while (!cursor_.at(TokenKind::kEnd)) {
    // Panic mode continues: every enclosing block ends here too, and one message is enough.
    if (at_margin_declaration()) return;
    if (cursor_.after_broken_string()) break;
    if (cursor_.accept(TokenKind::kSemicolon) || cursor_.at(TokenKind::kRightBrace)) break;
    if (cursor_.token().first_on_line && begins_statement(cursor_.kind())) break;
    const bool braces = cursor_.at(TokenKind::kLeftBrace);
    skip_balanced();
    if (braces && cursor_.token().first_on_line) break;
  }
  if (!cursor_.at(TokenKind::kEnd)) errors_.end_panic();
}

void Recovery::skip_to_declaration() {
  while (!cursor_.at(TokenKind::kEnd)) {
    const bool word = begins_declaration(cursor_.kind()) || cursor_.at(TokenKind::kConst);
    if (cursor_.token().first_on_line && (word || cursor_.at_alias())) break;
    skip_balanced();
  }
  errors_.end_panic();
}

bool Recovery::skip_to_brace() {
  while (!cursor_.at(TokenKind::kLeftBrace)) {
    const bool over = cursor_.at(TokenKind::kEnd) || cursor_.at(TokenKind::kSemicolon) ||
                      cursor_.at(TokenKind::kRightBrace) || cursor_.token().first_on_line;
    if (over) return false;
    skip_balanced();
  }
  errors_.end_panic();
  return true;
}

}  // namespace dhpvm::compiler
