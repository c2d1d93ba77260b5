// SPDX-License-Identifier: Apache-2.0
// Where reading goes on after a mistake: parsing functions return error nodes until the loop over statements,
// declarations or members is reached, which skips to where the next one seems to begin.
#pragma once

#include "compiler/parse/layout.h"
#include "compiler/parse/syntax_errors.h"
#include "compiler/parse/token_cursor.h"

namespace dhpvm::compiler {

class Recovery {
 public:
  Recovery(TokenCursor& cursor, const Layout& layout, SyntaxErrors& errors)
      : cursor_(cursor), layout_(layout), errors_(errors) {}

  // Whether a declaration at the margin is next: open groups were not closed.
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
