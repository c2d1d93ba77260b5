// SPDX-License-Identifier: Apache-2.0
// A whole function or kernel: its signature, captures and body, and its end.
#pragma once

#include "compiler/lower/lowering_part.h"

namespace dhpvm::compiler {

class BodyLowering : public LoweringPart {
 public:
  using LoweringPart::LoweringPart;

  // Both once, one of them; errors go to the module.
  void lower(const hir::Function& function);
  // The names and registers that messages about the loop need.
  bytecode::KernelSource lower_kernel(const hir::ParallelLoop& loop);

 private:
  bytecode::KernelSource source_of(const hir::ParallelLoop& loop);
  void reserve_signature();
  void bind_parameter(const hir::Local& local, Register& primitive, Register& reference);
  void load_captures(const hir::Function& function, Register object);
  void finish();

  std::uint32_t parameters_ = 0;  // primitive registers of the parameters
};

}  // namespace dhpvm::compiler
