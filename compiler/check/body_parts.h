// SPDX-License-Identifier: Apache-2.0
// All parts of the checker of one body. Names, flow and expressions depend on each other, so each part can call each.
#pragma once

#include "compiler/check/arguments.h"
#include "compiler/check/array_methods.h"
#include "compiler/check/arrays.h"
#include "compiler/check/assign.h"
#include "compiler/check/blocked_loops.h"
#include "compiler/check/builtins.h"
#include "compiler/check/calls.h"
#include "compiler/check/closures.h"
#include "compiler/check/collection_literals.h"
#include "compiler/check/construct.h"
#include "compiler/check/convert.h"
#include "compiler/check/derived.h"
#include "compiler/check/element_methods.h"
#include "compiler/check/enums.h"
#include "compiler/check/expr.h"
#include "compiler/check/field_narrowing.h"
#include "compiler/check/folded_values.h"
#include "compiler/check/function_body.h"
#include "compiler/check/inference.h"
#include "compiler/check/init_fields.h"
#include "compiler/check/intrinsics.h"
#include "compiler/check/kernel_captures.h"
#include "compiler/check/literals.h"
#include "compiler/check/loops.h"
#include "compiler/check/match.h"
#include "compiler/check/members.h"
#include "compiler/check/names.h"
#include "compiler/check/narrowing.h"
#include "compiler/check/operators.h"
#include "compiler/check/parallel.h"
#include "compiler/check/patterns.h"
#include "compiler/check/reductions.h"
#include "compiler/check/results.h"
#include "compiler/check/scopes.h"
#include "compiler/check/statements.h"
#include "compiler/check/text.h"
#include "compiler/check/try_blocks.h"
#include "compiler/check/tuples.h"

namespace dhpvm::compiler {

struct BodyParts {
  BodyParts(Analysis& analysis, TypeContext context) : state(analysis, std::move(context)) {}

  BodyState state;
  FunctionChecker functions{*this};
  Scopes scopes{*this};
  NameChecker names{*this};
  KernelCaptures kernel_captures{*this};
  Conversions conversions{*this};
  ExpressionChecker expressions{*this};
  LiteralChecker literals{*this};
  ArrayChecker arrays{*this};
  ArrayMethods array_methods{*this};
  ElementMethods elements{*this};
  CollectionLiterals collection_literals{*this};
  OperatorChecker operators{*this};
  Narrowing narrowing{*this};
  FieldNarrowing field_narrowing{*this};
  MemberChecker members{*this};
  CallChecker calls{*this};
  ArgumentMatching argument_matching{*this};
  Construction construction{*this};
  InitFields init_fields{*this};
  TypeInference inference{*this};
  ClosureChecker closures{*this};
  BuiltinCalls builtins{*this};
  TextMaker texts{*this};
  IntrinsicCalls intrinsics{*this};
  ResultChecker results{*this};
  StatementChecker statements{*this};
  LoopChecker loops{*this};
  AssignmentChecker assignment{*this};
  MatchChecker matching{*this};
  PatternChecker patterns{*this};
  EnumChecker enums{*this};
  TupleChecker tuples{*this};
  DerivedFunctions derived{*this};
  ParallelLoopChecker parallel_loops{*this};
  ReductionChecker reductions{*this};
  BlockedLoops blocked_loops{*this};
  FoldedValues folded_values{*this};
  TryBlockChecker try_blocks{*this};
};

}  // namespace dhpvm::compiler
