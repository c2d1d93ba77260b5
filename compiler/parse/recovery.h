// SPDX-License-Identifier: Apache-2.0
// Recovery after a syntax error: parsing functions return error nodes up to the loop over statements, declarations or
// members, which skips to the probable start of the next one.
#pragma once

#include "compiler/parse/layout.h"
#include "compiler/parse/syntax_errors.h"
#include "compiler/parse/token_cursor.h"

namespace dhpvm::compiler {

class Recovery {
 public:
  Recovery(TokenCursor& cursor, const Layout& layout, SyntaxErrors& errors)
      : cursor_(cursor), layout_(layout), errors_(errors) {}

  // Whether a declaration at the left margin is next: open brackets were not closed.
  bool at_margin_declaration() const { return layout_.declaration_at_margin(cursor_.position()); }
  void skip_to_statement();
  void skip_to_declaration();
  bool skip_to_brace();  // to a `{` on this line; true ends the panic

 private:
  void skip_balanced();  // one token, or a bracketed group

  TokenCursor& cursor_;
  const Layout& layout_;
  SyntaxErrors& errors_;
};

}  // namespace dhpvm::compiler
