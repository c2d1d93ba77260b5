// SPDX-License-Identifier: Apache-2.0
// `parallel for` with its hints and reductions.
#pragma once

#include "compiler/parse/grammar_part.h"

namespace dhpvm::compiler {

class ParallelLoopParser : public GrammarPart {
 public:
  using GrammarPart::GrammarPart;

  ast::Stmt* parallel();

 private:
  std::vector<ast::Hint> hints();
  ast::Stmt* parallel_for(SourceRange begin, std::vector<ast::Hint> hints);
  void dimensions(ast::ParallelFor& loop);
  void reductions(ast::ParallelFor& loop);
  bool reduction_op(ast::ReductionOp& op);
};

}  // namespace dhpvm::compiler
