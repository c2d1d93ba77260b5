// SPDX-License-Identifier: Apache-2.0
// The top level of a file: imports, constants, and dispatch to functions and types.
#pragma once

#include "compiler/parse/grammar_part.h"

namespace dhpvm::compiler {

class DeclarationParser : public GrammarPart {
 public:
  using GrammarPart::GrammarPart;

  void declaration();
  void skip_modifiers();

 private:
  void skip_attributes();
  void foreign_top_level();
  void import();
  void constant();
};

}  // namespace dhpvm::compiler
