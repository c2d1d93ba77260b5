// SPDX-License-Identifier: Apache-2.0
// A whole function or kernel: its signature, captures and body, and its end.
#pragma once

#include "compiler/lower/lowering_part.h"

namespace dhpvm::compiler {

class BodyLowering : public LoweringPart {
 public:
  using LoweringPart::LoweringPart;

  // Call one of these, once; errors go to the module.
  void lower(const hir::Function& function);
  // Returns the names and registers for messages about the loop.
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
