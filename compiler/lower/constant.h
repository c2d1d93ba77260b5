// SPDX-License-Identifier: Apache-2.0
// Constants: the expressions whose value is known at compile time, and the registers of such values.
//
// Constants are folded with the compiling machine's arithmetic, which is that of the language: integers wrap, floating
// point is IEEE 754, one rounding per operation.
#pragma once

#include <unordered_map>

#include "compiler/lower/lowering_part.h"

namespace dhpvm::compiler {

// Whether the value is the default that New and NewArray store.
bool is_zero(const hir::Expr& e);

class ConstantLowering : public LoweringPart {
 public:
  using LoweringPart::LoweringPart;

  // The constant's register content.
  std::optional<std::int64_t> constant_of(const Expr& e) const;
  std::optional<std::int16_t> immediate_of(const Expr& e) const;
  // A register with the value; to be read only.
  Register constant(std::int64_t value);
  // Parameters of inlined functions whose arguments are constants.
  void remember(const hir::Local& local, std::int64_t value) { known_[&local] = value; }
  void forget(const hir::Local& local) { known_.erase(&local); }

 private:
  std::unordered_map<const hir::Local*, std::int64_t> known_;
};

}  // namespace dhpvm::compiler
