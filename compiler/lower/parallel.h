// SPDX-License-Identifier: Apache-2.0
// `parallel for`: the body becomes a function, described by a kernel record; bytecode/module.h defines the registers of
// both.
#pragma once

#include "compiler/lower/lowering_part.h"

namespace dhpvm::compiler {

class ParallelLoopLowering : public LoweringPart {
 public:
  using LoweringPart::LoweringPart;

  void parallel_for(const Stmt& s);

 private:
  std::uint32_t outline(const hir::ParallelLoop& loop);
  void check_wrapped(Register high, const hir::Position& at);

  std::uint32_t loops_ = 0;  // for the names of the functions
};

}  // namespace dhpvm::compiler
