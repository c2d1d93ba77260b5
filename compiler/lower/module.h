// SPDX-License-Identifier: Apache-2.0
// The state that the lowering of all functions shares: the module under construction, and the indices in it.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "bytecode/builder.h"
#include "compiler/hir/hir.h"
#include "compiler/lower/inline.h"
#include "compiler/lower/lowering.h"
#include "compiler/lower/types.h"

namespace dhpvm::compiler {

class ModuleLowering {
 public:
  ModuleLowering(const hir::Program& program, LinesOf lines);

  // Call once. The error is kUnsupported for a program beyond the limits of the module format, kInternal for a mistake
  // of the compiler.
  Result<bytecode::Module> run() &&;

  bytecode::ModuleBuilder& builder() { return builder_; }
  TypeLowering& types() { return types_; }
  InlineDecisions& inlines() { return inlines_; }

  // The index of a function; its body is lowered later.
  std::uint32_t function(const hir::Function& function);
  std::uint32_t native(const hir::Native& native);
  // The class of the closure's objects, which implements its function type.
  std::uint32_t closure_class(const hir::Function& function);
  // The class that implements the function type `type` by a top-level function.
  std::uint32_t function_value_class(const hir::Function& function, const Type* type);

  LinesOf lines() const { return lines_; }
  // String index of each source file, for line tables.
  const std::vector<std::uint32_t>& files() const { return files_; }

  // Keeps the first error.
  void fail(Error error);

 private:
  void name_structs(const hir::Function& function);
  void declare_closure(const hir::Function& function);
  void forward_invoke(std::uint32_t forwarder, std::uint32_t target, const bytecode::Signature& signature);
  void add_implementations();
  void check_limits();

  const hir::Program& program_;
  const LinesOf lines_;
  bytecode::ModuleBuilder builder_;
  TypeLowering types_;
  InlineDecisions inlines_;
  std::vector<std::uint32_t> files_;
  std::unordered_map<const hir::Function*, std::uint32_t> functions_;
  std::unordered_map<const hir::Function*, std::uint32_t> closure_classes_;
  std::unordered_map<const hir::Function*, std::uint32_t> function_values_;
  std::vector<const hir::Function*> waiting_;  // declared, body not lowered yet
  Status status_;
};

}  // namespace dhpvm::compiler
