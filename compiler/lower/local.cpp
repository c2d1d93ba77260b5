// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/local.h"

#include <algorithm>

#include "compiler/lower/function_parts.h"

namespace dhpvm::compiler {

namespace bc = bytecode;

void LocalLowering::declare(const hir::Local& local, const Expr* value) {
  if (local.boxed) {
    const Register cell = registers_.reference();
    Scope scope(*this);
    return declare_boxed(local, cell, values(*value));
  }
  Values registers = allocate(local.type);
  into(*value, Target{registers});
  slot(local) = {LocalSlot::Kind::kRegisters, std::move(registers)};
}

void LocalLowering::declare_boxed(const hir::Local& local, Register cell, const Values& initial) {
  const std::uint32_t type = types_.cell(local.type);
  const Leaves& types = leaves(local.type);
  code_.emit(Op::kNew, cell, 0, 0, type);
  for (std::uint32_t i = 0; i < types.size(); ++i)
    parts_.places.put_field(types[i], cell, initial[i], type, i);
  slot(local) = {LocalSlot::Kind::kCell, {cell}};
}

Register LocalLowering::measure(std::uint64_t size) {
  const bc::LocalArray wanted{Kind::kI8, static_cast<std::uint32_t>(size)};
  const auto known = std::ranges::find(arrays_, wanted);
  const auto number = static_cast<Register>(known - arrays_.begin());
  if (known == arrays_.end()) arrays_.push_back(wanted);
  return number;
}

void LocalLowering::declare_fixed_array(const hir::Local& local) {
  const LocalSlot* known = slots_.contains(&local) ? &slot(local) : nullptr;
  Values arrays;
  if (known != nullptr) {
    arrays = known->registers;
  } else {
    for (const bc::ValueType& leaf : leaves(local.type)) {
      arrays.push_back(static_cast<Register>(arrays_.size()));
      arrays_.push_back({leaf.kind, static_cast<std::uint32_t>(local.type->count)});
    }
  }
  // Local arrays are zero at function entry; only a declaration that runs again must clear them.
  if (known != nullptr || code_.in_loop()) {
    for (const Register array : arrays) code_.emit(Op::kLocalZero, array);
  }
  slot(local) = {LocalSlot::Kind::kFixedArray, std::move(arrays)};
}

}  // namespace dhpvm::compiler
