// SPDX-License-Identifier: Apache-2.0
// All parts of the lowering of one function. Expressions, statements and places contain each other, so each part can
// call each.
#pragma once

#include "compiler/lower/arithmetic.h"
#include "compiler/lower/array.h"
#include "compiler/lower/call.h"
#include "compiler/lower/condition.h"
#include "compiler/lower/constant.h"
#include "compiler/lower/counted_loop.h"
#include "compiler/lower/exit.h"
#include "compiler/lower/expr.h"
#include "compiler/lower/function_body.h"
#include "compiler/lower/inline_call.h"
#include "compiler/lower/local.h"
#include "compiler/lower/loop.h"
#include "compiler/lower/object.h"
#include "compiler/lower/parallel.h"
#include "compiler/lower/place.h"
#include "compiler/lower/stmt.h"
#include "compiler/lower/text.h"

namespace dhpvm::compiler {

struct FunctionParts {
  FunctionParts(ModuleLowering& module, std::uint32_t function, std::string name)
      : state{module, function, std::move(name), {}, {}, {}} {}

  FunctionState state;
  BodyLowering bodies{*this};
  LocalLowering locals{*this};
  ConstantLowering constants{*this};
  ExpressionLowering expressions{*this};
  ArithmeticLowering arithmetics{*this};
  ConditionLowering conditions{*this};
  PlaceLowering places{*this};
  ObjectLowering objects{*this};
  ArrayLowering arrays{*this};
  TextLowering texts{*this};
  CallLowering calls{*this};
  InlineLowering inlining{*this};
  StatementLowering statements{*this};
  ExitLowering exits{*this};
  LoopLowering loops{*this};
  CountedLoopLowering counted_loops{*this};
  ParallelLoopLowering parallel_loops{*this};
};

}  // namespace dhpvm::compiler
