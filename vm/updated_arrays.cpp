// SPDX-License-Identifier: Apache-2.0
#include "vm/updated_arrays.h"

#include <algorithm>
#include <optional>

#include "bytecode/isa.h"
#include "offload/loops/footprint.h"

namespace dhpvm::vm {
namespace {

bool is_update(const offload::Access& access) { return access.kind == offload::AccessKind::kAtomic; }

// The reduction that combines what copies of the array have been updated by; none if there is no such reduction.
std::optional<bytecode::Reduction> update_of(const bytecode::Module& module, const offload::Access& access) {
  const bytecode::OpInfo& row =
      bytecode::info(static_cast<bytecode::Op>(bytecode::op_of(module.code[access.pc])));
  using bytecode::Operation;
  using bytecode::ReductionOp;
  switch (row.operation) {
    case Operation::kAdd: return bytecode::Reduction{ReductionOp::kAdd, *row.kind};
    case Operation::kMin: return bytecode::Reduction{ReductionOp::kMin, *row.kind};
    case Operation::kMax: return bytecode::Reduction{ReductionOp::kMax, *row.kind};
    case Operation::kAnd: return bytecode::Reduction{ReductionOp::kAnd, *row.kind};
    case Operation::kOr: return bytecode::Reduction{ReductionOp::kOr, *row.kind};
    case Operation::kXor: return bytecode::Reduction{ReductionOp::kXor, *row.kind};
    default: return std::nullopt;
  }
}

}  // namespace

std::vector<offload::UpdatedArray> updated_arrays(const bytecode::Module& module, const offload::Loop& loop) {
  std::vector<offload::UpdatedArray> updated;
  if (!loop.footprint->complete) return updated;
  for (const offload::Access& access : loop.footprint->accesses) {
    if (!is_update(access)) continue;
    // One that may be any of several arrays is of no such class.
    if (access.array >= loop.arrays.size()) return {};
    const offload::ArrayUse& use = loop.footprint->arrays[access.array];
    if (use.kind != offload::ArrayClass::kReduced || use.fields != 1) return {};
    const auto known = std::ranges::find(updated, access.array, &offload::UpdatedArray::array);
    if (known != updated.end()) continue;
    const std::optional<bytecode::Reduction> update = update_of(module, access);
    if (!update) return {};
    for (std::uint32_t other = 0; other < loop.arrays.size(); ++other) {
      if (other != access.array && loop.array(access.array).overlaps(loop.array(other))) return {};
    }
    updated.push_back({access.array, *update});
  }
  return updated;
}

}  // namespace dhpvm::vm
