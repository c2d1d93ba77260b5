// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/function_body.h"

#include <algorithm>

#include "base/error.h"
#include "bytecode/format.h"
#include "compiler/lower/function_parts.h"

namespace dhpvm::compiler {

namespace bc = bytecode;

void BodyLowering::lower(const hir::Function& function) {
  state_.facts.add(function.body);
  state_.in_kernel = function.in_loops;
  At at(*this, function.position);
  const bool is_closure = function.closure_type != nullptr;
  Register primitive = 0;
  Register reference = is_closure ? 1 : 0;  // a closure's first parameter is its object
  reserve_signature();
  for (const hir::Local* parameter : function.parameters) bind_parameter(*parameter, primitive, reference);
  if (is_closure) load_captures(function, 0);
  parts_.statements.statements(function.body);
  if (code_.reachable()) {
    if (function.result == nullptr || leaves(function.result).empty()) {
      code_.emit(Op::kReturn);
    } else {
      // The checker proved that this end is unreachable, by reasoning that lowering does not repeat.
      parts_.statements.trap("the end of a function without a result was reached", function.position);
    }
  }
  finish();
}

bytecode::KernelSource BodyLowering::lower_kernel(const hir::ParallelLoop& loop) {
  state_.facts.add(loop.body);
  state_.in_kernel = true;
  reserve_signature();
  Register primitive = static_cast<Register>(loop.dimensions.size());
  Register reference = 0;
  for (const auto& capture : loop.captures) bind_parameter(*capture.inner, primitive, reference);
  Values accumulators;
  for (const auto& reduction : loop.reductions) {
    accumulators.push_back(primitive);
    bind_parameter(*reduction.inner, primitive, reference);
  }
  // Indices are i64. The low part of the register is the value of a narrower one, since the bounds had that type.
  for (std::uint32_t i = 0; i < loop.dimensions.size(); ++i)
    parts_.locals.slot(*loop.dimensions[i].local) = {LocalSlot::Kind::kRegisters, {static_cast<Register>(i)}};

  // `continue` ends the iteration.
  const LabelId end = code_.new_label();
  parts_.exits.enter_loop(end, end);
  parts_.statements.scoped(loop.body);
  parts_.exits.leave_enclosing();
  code_.bind(end);
  if (code_.reachable()) {
    Leaves types;
    for (const auto& reduction : loop.reductions) types.push_back(leaves(reduction.inner->type)[0]);
    parts_.exits.return_values(types, accumulators);
  }
  bc::KernelSource source = source_of(loop);
  finish();
  return source;
}

bytecode::KernelSource BodyLowering::source_of(const hir::ParallelLoop& loop) {
  bc::KernelSource source;
  const auto register_of = [&](const hir::Local& local) {
    return code_.renumber(parts_.locals.slot(local).registers[0], parameters_);
  };
  for (const auto& capture : loop.captures) {
    if (!capture.inner->type->is(TypeKind::kArray)) continue;
    const bool is_parts = std::ranges::find(loop.copies, capture.inner) != loop.copies.end();
    source.arrays.push_back({module_.builder().string(capture.inner->name), is_parts});
  }
  for (const hir::Local* counter : loop.iterated) source.iterated.push_back(register_of(*counter));
  if (loop.block_rows != nullptr) source.block_rows = register_of(*loop.block_rows);
  return source;
}

// The first registers are reserved for the parameters and for the results.
void BodyLowering::reserve_signature() {
  const bc::Signature signature = module_.builder().module().functions[state_.function].signature;
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

void BodyLowering::bind_parameter(const hir::Local& local, Register& primitive, Register& reference) {
  Values values;
  for (const bc::ValueType& leaf : leaves(local.type))
    values.push_back(leaf.is_ref() ? reference++ : primitive++);
  if (local.boxed) return parts_.locals.declare_boxed(local, registers_.reference(), values);
  parts_.locals.slot(local) = {LocalSlot::Kind::kRegisters, std::move(values)};
}

void BodyLowering::load_captures(const hir::Function& function, Register object) {
  const std::uint32_t type = module_.closure_class(function);
  std::uint32_t field = 0;
  for (const hir::Capture& capture : function.captures) {
    const hir::Local& local = *capture.inner;
    LocalSlot loaded{local.boxed ? LocalSlot::Kind::kCell : LocalSlot::Kind::kRegisters, {}};
    const auto load_leaf = [&](const bc::ValueType& leaf) {
      const Register to = allocate(leaf);
      parts_.places.get_field(leaf, to, object, type, field++);
      loaded.registers.push_back(to);
    };
    if (local.boxed) {
      load_leaf({Kind::kRef, types_.cell(local.type)});
    } else {
      for (const bc::ValueType& leaf : leaves(local.type)) load_leaf(leaf);
    }
    parts_.locals.slot(local) = std::move(loaded);
  }
}

void BodyLowering::finish() {
  if (registers_.exhausted())
    module_.fail(
        error(ErrorCode::kUnsupported, "the function '{}' needs too many registers: split it", state_.name));
  std::uint64_t local_bytes = 0;
  for (const bc::LocalArray& array : parts_.locals.arrays())
    local_bytes += (std::uint64_t{array.count} * bc::size_of(array.kind) + 7) / 8 * 8;
  if (local_bytes > bc::kMaxLocalBytes) {
    module_.fail(
        error(ErrorCode::kUnsupported,
              "the fixed arrays of the function '{}' take {} bytes, and at most {} are allowed: use arrays",
              state_.name, local_bytes, bc::kMaxLocalBytes));
  }
  bc::FunctionBuilder out(module_.builder(), state_.function);
  for (const bc::LocalArray& array : parts_.locals.arrays()) out.add_local(array.kind, array.count);
  code_.finish(out, parameters_, module_.files(), module_.lines());
  if (Status status = out.finish(); !status.ok()) module_.fail(std::move(status).error());
}

}  // namespace dhpvm::compiler
