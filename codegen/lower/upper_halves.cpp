// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/upper_halves.h"

#include <algorithm>
#include <optional>

#include "bytecode/isa_table.h"
#include "codegen/lower/instruction.h"

namespace dhpvm::codegen {
namespace {

using bytecode::Family;
using bytecode::Kind;
using bytecode::Operand;
using bytecode::Operation;
using bytecode::RegisterSet;
using bytecode::ValueType;

bool is_wide(Kind kind) { return bytecode::size_of(kind) == 8; }

// Each bit of the result depends only on the same bits of the operands, so upper halves are live only for upper halves.
bool keeps_halves_apart(const Instruction& i) {
  if (i.row->family == Family::kMoveP) return true;
  if (i.row->family != Family::kInteger) return false;
  const Operation operation = i.row->operation;
  return operation == Operation::kAnd || operation == Operation::kOr || operation == Operation::kXor;
}

// The kind as which the instruction reads the register in this position; nothing for an index or size, which has 64
// bits.
std::optional<Kind> kind_read(const bytecode::Function& function, const Instruction& i, unsigned position) {
  switch (i.row->family) {
    case Family::kJumpIf:
    case Family::kJumpCompare:
    case Family::kFor:
    case Family::kInteger:
    case Family::kDivide:
    case Family::kFloat:
    case Family::kCompare:
    case Family::kConvert: return i.row->kind;
    case Family::kShift: return position == bytecode::kInC ? Kind::kI32 : i.row->kind;
    case Family::kStore:
    case Family::kStoreField:
    case Family::kLocalStore:
    case Family::kPutField: return position == bytecode::kInC ? i.row->kind : std::nullopt;
    case Family::kAtomic: return position == bytecode::kInC ? std::nullopt : i.row->kind;
    case Family::kReturnP: return function.signature.results.front().kind;
    default: return std::nullopt;
  }
}

// Calls read(reg) for every register of which the instruction reads all bits, copies aside.
template <typename Read>
void for_each_wide_read(const bytecode::Module& module, const bytecode::Function& function,
                        const Instruction& i, Read&& read) {
  for_each_operand(i, [&](unsigned position, std::uint32_t reg) {
    if (is_wide(kind_read(function, i, position).value_or(Kind::kI64))) read(reg);
  });
  const auto range = [&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t n = 0; n < count; ++n) read(first + n);
  };
  const auto values = [&](std::uint32_t first, const std::vector<ValueType>& types) {
    for (const ValueType& type : types) {
      if (type.is_ref()) continue;
      if (is_wide(type.kind)) read(first);
      ++first;
    }
  };
  switch (i.row->family) {
    case Family::kReturn: return values(0, function.signature.results);
    case Family::kCall:
    case Family::kCallNative:
    case Family::kCallInterface: return values(i.a, called_signature(module, i).parameters);
    case Family::kParallelFor: {
      // The window has both bounds of each dimension of the kernel.
      const bytecode::KernelRecord& kernel = module.kernels[i.c];
      range(i.a, kernel.dimensions);
      return values(i.a + kernel.dimensions, module.functions[kernel.function].signature.parameters);
    }
    case Family::kNewArray: return range(i.b, module.types[i.type()].rank);
    case Family::kArrayCopy: return range(i.c, 3);
    default: return;
  }
}

// Whether the function above handles the instruction's window, if it has one.
constexpr bool is_window_known(const bytecode::OpInfo& op) {
  switch (op.family) {
    case Family::kCall:
    case Family::kCallNative:
    case Family::kCallInterface:
    case Family::kParallelFor:
    case Family::kArrayCopy: return true;
    default: return op.a != Operand::kPWin && op.b != Operand::kPWin && op.c != Operand::kPWin;
  }
}
static_assert(std::ranges::all_of(bytecode::kInfo, is_window_known));

void step_back(const bytecode::Module& module, const bytecode::Function& function, const Instruction& i,
               RegisterSet& needed) {
  bool is_result_needed = false;
  if (i.row->writes != 0) {
    is_result_needed = bytecode::contains(needed, i.a);
    bytecode::remove(needed, i.a);
  }
  // The callee's frame overlaps the window: of the registers from there on, only results survive.
  if (i.has(bytecode::kCall)) {
    for (std::uint32_t reg = i.a; reg < function.primitive_registers; ++reg) bytecode::remove(needed, reg);
  }
  if (keeps_halves_apart(i)) {
    if (!is_result_needed) return;
    bytecode::insert(needed, i.b);
    if ((i.row->reads & bytecode::kInC) != 0) bytecode::insert(needed, i.c);
    return;
  }
  for_each_wide_read(module, function, i, [&](std::uint32_t reg) { bytecode::insert(needed, reg); });
}

}  // namespace

UpperHalves::UpperHalves(const bytecode::Module& module, const bytecode::Function& function,
                         const std::vector<bytecode::CodeBlock>& blocks) {
  live_ = flow_backwards(blocks, function.primitive_registers, [&](std::uint32_t block, RegisterSet& needed) {
    std::vector<Instruction> instructions;
    for (std::uint32_t pc = blocks[block].begin; pc < blocks[block].end;) {
      instructions.push_back(decode(module, function, pc));
      pc = instructions.back().next();
    }
    for (std::size_t at = instructions.size(); at-- > 0;)
      step_back(module, function, instructions[at], needed);
  });
}

}  // namespace dhpvm::codegen
