// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/function.h"

#include <algorithm>

#include "base/error.h"
#include "bytecode/format.h"

namespace dhpvm::compiler {

namespace bc = bytecode;

FunctionLowering::FunctionLowering(ModuleLowering& module, std::uint32_t function, std::string name)
    : module_(module), function_(function), name_(std::move(name)) {}

void FunctionLowering::lower(const hir::Function& function) {
  facts_.add(function.body);
  At at(*this, function.position);
  const bool is_closure = function.closure_type != nullptr;
  Register primitive = 0;
  Register reference = is_closure ? 1 : 0;  // a closure gets its object first
  reserve_signature();
  for (const hir::Local* parameter : function.parameters) bind_parameter(*parameter, primitive, reference);
  if (is_closure) load_captures(function, 0);
  statements(function.body);
  if (code_.reachable()) {
    if (function.result == nullptr || leaves(function.result).empty()) {
      code_.emit(Op::kReturn);
    } else {
      // The checker saw that this end is never reached, by reasoning that lowering does not repeat.
      code_.emit(Op::kTrap, static_cast<std::uint32_t>(ErrorCode::kUserTrap));
    }
  }
  finish();
}

// The first registers belong to the parameters and, where several results have to be put there, to those.
void FunctionLowering::reserve_signature() {
  const bc::Signature signature = module_.builder().module().functions[function_].signature;
  for (const bc::ValueType& leaf : signature.parameters) allocate(leaf);
  const RegisterMark parameters = registers_.mark();
  RegisterMark results;
  for (const bc::ValueType& leaf : signature.results)
    ++(leaf.is_ref() ? results.references : results.primitives);
  if (signature.results.size() > 1)
    registers_.release({std::max(parameters.primitives, results.primitives),
                        std::max(parameters.references, results.references)});
  parameters_ = registers_.next_primitive();
}

void FunctionLowering::bind_parameter(const hir::Local& local, Register& primitive, Register& reference) {
  Values values;
  for (const bc::ValueType& leaf : leaves(local.type))
    values.push_back(leaf.is_ref() ? reference++ : primitive++);
  if (local.boxed) return declare_boxed(local, registers_.reference(), values);
  slot(local) = {LocalSlot::Kind::kRegisters, std::move(values)};
}

void FunctionLowering::load_captures(const hir::Function& function, Register object) {
  const std::uint32_t type = module_.closure_class(function);
  std::uint32_t field = 0;
  for (const hir::Capture& capture : function.captures) {
    const hir::Local& local = *capture.inner;
    LocalSlot loaded{local.boxed ? LocalSlot::Kind::kCell : LocalSlot::Kind::kRegisters, {}};
    const auto load_leaf = [&](const bc::ValueType& leaf) {
      const Register to = allocate(leaf);
      get_field(leaf, to, object, type, field++);
      loaded.registers.push_back(to);
    };
    if (local.boxed) {
      load_leaf({Kind::kRef, module_.types().cell(local.type)});
    } else {
      for (const bc::ValueType& leaf : leaves(local.type)) load_leaf(leaf);
    }
    slot(local) = std::move(loaded);
  }
}

void FunctionLowering::finish() {
  if (registers_.exhausted())
    fail(error(ErrorCode::kUnsupported, "the function '{}' needs too many registers: split it", name_));
  std::uint64_t local_bytes = 0;
  for (const bc::LocalArray& array : local_arrays_)
    local_bytes += (std::uint64_t{array.count} * bc::size_of(array.kind) + 7) / 8 * 8;
  if (local_bytes > bc::kMaxLocalBytes) {
    fail(error(ErrorCode::kUnsupported,
               "the fixed arrays of the function '{}' take {} bytes, and at most {} are allowed: use arrays",
               name_, local_bytes, bc::kMaxLocalBytes));
  }
  bc::FunctionBuilder out(module_.builder(), function_);
  for (const bc::LocalArray& array : local_arrays_) out.add_local(array.kind, array.count);
  code_.finish(out, parameters_, module_.files());
  if (Status status = out.finish(); !status.ok()) fail(std::move(status).error());
}

Register FunctionLowering::allocate(const bc::ValueType& leaf) {
  return leaf.is_ref() ? registers_.reference() : registers_.primitive();
}

Values FunctionLowering::allocate(const Type* type) {
  Values values;
  for (const bc::ValueType& leaf : leaves(type)) values.push_back(allocate(leaf));
  return values;
}

void FunctionLowering::declare(const hir::Local& local, const Expr* value) {
  if (local.boxed) {
    const Register cell = registers_.reference();
    Scope scope(*this);
    return declare_boxed(local, cell, values(*value));
  }
  Values registers = allocate(local.type);
  into(*value, Target{registers});
  slot(local) = {LocalSlot::Kind::kRegisters, std::move(registers)};
}

void FunctionLowering::declare_boxed(const hir::Local& local, Register cell, const Values& initial) {
  const std::uint32_t type = module_.types().cell(local.type);
  const Leaves& types = leaves(local.type);
  code_.emit(Op::kNew, cell, 0, 0, type);
  for (std::uint32_t i = 0; i < types.size(); ++i) put_field(types[i], cell, initial[i], type, i);
  slot(local) = {LocalSlot::Kind::kCell, {cell}};
}

void FunctionLowering::declare_fixed_array(const hir::Local& local) {
  const LocalSlot* known = locals_.contains(&local) ? &slot(local) : nullptr;
  Values arrays;
  if (known != nullptr) {
    arrays = known->registers;
  } else {
    for (const bc::ValueType& leaf : leaves(local.type)) {
      arrays.push_back(static_cast<Register>(local_arrays_.size()));
      local_arrays_.push_back({leaf.kind, static_cast<std::uint32_t>(local.type->count)});
    }
  }
  // They are zero when the function is entered; only what runs again needs more.
  if (known != nullptr || code_.in_loop()) {
    for (const Register array : arrays) code_.emit(Op::kLocalZero, array);
  }
  slot(local) = {LocalSlot::Kind::kFixedArray, std::move(arrays)};
}

void FunctionLowering::move(const bc::ValueType& leaf, Register to, Register from) {
  if (leaf.is_ref()) {
    code_.move_reference(to, from);
  } else {
    code_.move_primitive(to, from);
  }
}

void FunctionLowering::move(const Leaves& types, std::span<const Register> to,
                            std::span<const Register> from) {
  for (std::size_t i = 0; i < types.size(); ++i) move(types[i], to[i], from[i]);
}

void FunctionLowering::return_values(const Leaves& types, const Values& values) {
  if (types.size() == 1) {
    code_.emit(types[0].is_ref() ? Op::kReturnR : Op::kReturnP, values[0]);
    return;
  }
  std::vector<std::pair<Register, Register>> primitives;
  std::vector<std::pair<Register, Register>> references;
  for (std::size_t i = 0; i < types.size(); ++i) {
    auto& bank = types[i].is_ref() ? references : primitives;
    bank.emplace_back(static_cast<Register>(bank.size()), values[i]);
  }
  return_values(primitives, false);
  return_values(references, true);
  code_.emit(Op::kReturn);
}

// Moves that happen at once, as results may stand in the registers of other results.
void FunctionLowering::return_values(const std::vector<std::pair<Register, Register>>& moves,
                                     bool references) {
  const bc::ValueType leaf{references ? Kind::kRef : Kind::kI64};
  Scope scope(*this);
  std::vector<std::pair<Register, Register>> left;
  for (const auto& one : moves) {
    if (one.first != one.second) left.push_back(one);
  }
  while (!left.empty()) {
    const auto ready = std::find_if(left.begin(), left.end(), [&](const auto& one) {
      return std::none_of(left.begin(), left.end(),
                          [&](const auto& other) { return other.second == one.first; });
    });
    if (ready != left.end()) {
      move(leaf, ready->first, ready->second);
      left.erase(ready);
      continue;
    }
    // Only cycles are left: a copy of one register opens one.
    const Register saved = left.front().second;
    const Register copy = allocate(leaf);
    move(leaf, copy, saved);
    for (auto& one : left) {
      if (one.second == saved) one.second = copy;
    }
  }
}

}  // namespace dhpvm::compiler
