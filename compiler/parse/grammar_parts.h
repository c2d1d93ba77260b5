// SPDX-License-Identifier: Apache-2.0
// All parts of the grammar. Rules contain each other, so each part can call each.
#pragma once

#include "compiler/parse/assignments.h"
#include "compiler/parse/declarations.h"
#include "compiler/parse/expressions.h"
#include "compiler/parse/foreign_statements.h"
#include "compiler/parse/format_strings.h"
#include "compiler/parse/functions.h"
#include "compiler/parse/loops.h"
#include "compiler/parse/match.h"
#include "compiler/parse/operands.h"
#include "compiler/parse/parallel_loops.h"
#include "compiler/parse/primary.h"
#include "compiler/parse/results.h"
#include "compiler/parse/statements.h"
#include "compiler/parse/type_declarations.h"
#include "compiler/parse/types.h"
#include "compiler/parse/value_blocks.h"
#include "compiler/parse/variables.h"

namespace dhpvm::compiler {

struct GrammarParts {
  GrammarParts(const SourceManager& sources, std::uint32_t file, Diagnostics& diagnostics)
      : state(sources, file, diagnostics) {}

  ParserState state;
  DeclarationParser declarations{*this};
  FunctionParser functions{*this};
  TypeDeclarationParser type_declarations{*this};
  TypeParser types{*this};
  StatementParser statements{*this};
  VariableParser variables{*this};
  AssignmentParser assignments{*this};
  ForeignStatements foreign_statements{*this};
  LoopParser loops{*this};
  ParallelLoopParser parallel_loops{*this};
  MatchParser matches{*this};
  ExpressionParser expressions{*this};
  OperandParser operands{*this};
  PrimaryParser primary{*this};
  ResultParser results{*this};
  ValueBlockParser value_blocks{*this};
  FormatStringParser format_strings{*this};
};

}  // namespace dhpvm::compiler
