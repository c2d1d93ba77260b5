// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/reference_facts.h"

#include <algorithm>

namespace dhpvm::codegen {

using bytecode::CodeBlock;
using bytecode::Family;
using bytecode::kNoIndex;

namespace {

// Above this number of pairs of a block and a register, the analysis gives up: a limit of 16 MiB.
constexpr std::size_t kMaximumPairs = std::size_t{1} << 24;

ReferenceFact meet_of(ReferenceFact left, ReferenceFact right) { return std::max(left, right); }

}  // namespace

ReferenceFacts::ReferenceFacts(const bytecode::Module& module, const bytecode::Function& function,
                               const std::vector<CodeBlock>& blocks)
    : module_(module), function_(function) {
  const std::size_t registers = function.reference_registers;
  if (blocks.size() * registers > kMaximumPairs) {
    on_entry_.assign(blocks.size(), {});
    return;
  }
  on_entry_.assign(blocks.size(), Facts(registers, ReferenceFact::kUnset));
  std::uint32_t reg = 0;
  for (const bytecode::ValueType& parameter : function.signature.parameters) {
    if (!parameter.is_ref()) continue;
    on_entry_[0][reg++] = is_error(parameter.type) ? ReferenceFact::kErrorOrNull : ReferenceFact::kAny;
  }
  std::vector<bool> dirty(blocks.size(), true);
  while (std::ranges::find(dirty, true) != dirty.end()) {
    for (std::uint32_t block = 0; block < blocks.size(); ++block) {
      if (!dirty[block]) continue;
      dirty[block] = false;
      flow_from(blocks, block, dirty);
    }
  }
}

bool ReferenceFacts::is_error(std::uint32_t type) const {
  const bytecode::Type& row = module_.types[type];
  return row.kind == bytecode::TypeKind::kClass && row.name == "Error";
}

void ReferenceFacts::step(const Instruction& i, Facts& facts) const {
  if (facts.empty()) return;
  switch (i.row->family) {
    case Family::kNull: facts[i.a] = ReferenceFact::kNull; return;
    case Family::kMoveR:
    case Family::kUpcast: facts[i.a] = facts[i.b]; return;
    case Family::kNew:
      facts[i.a] = is_error(i.type()) ? ReferenceFact::kErrorOrNull : ReferenceFact::kAny;
      return;
    case Family::kCall:
    case Family::kCallNative:
    case Family::kCallInterface: {
      std::uint32_t reg = i.b;
      for (const bytecode::ValueType& result : called_signature(module_, i).results) {
        if (!result.is_ref()) continue;
        facts[reg++] = is_error(result.type) ? ReferenceFact::kErrorOrNull : ReferenceFact::kAny;
      }
      return;
    }
    default:
      for_each_reference_write(module_, i, [&](std::uint32_t reg) { facts[reg] = ReferenceFact::kAny; });
  }
}

void ReferenceFacts::flow_from(const std::vector<CodeBlock>& blocks, std::uint32_t block,
                               std::vector<bool>& dirty) {
  const CodeBlock& from = blocks[block];
  const auto flow_to = [&](std::uint32_t successor, const Facts& facts) {
    if (meet(successor, facts)) dirty[successor] = true;
  };
  // A trap of the block's first instruction leaves the registers unchanged.
  if (from.handler != kNoIndex) flow_to(from.handler, Facts(on_entry_[block]));
  Facts facts = on_entry_[block];
  Instruction last = decode(module_, function_, from.begin);
  for (std::uint32_t pc = from.begin; pc < from.end; pc = last.next()) {
    last = decode(module_, function_, pc);
    step(last, facts);
  }
  if (last.row->family != Family::kJumpNull || from.successors.size() != 2) {
    for (const std::uint32_t successor : from.successors) flow_to(successor, facts);
    return;
  }
  const bool goes_on_if_null = last.row->operation == bytecode::Operation::kNe;
  flow_to(goes_on_if_null ? from.successors.back() : from.successors.front(), facts);
  if (!facts.empty()) facts[last.a] = ReferenceFact::kNull;
  flow_to(goes_on_if_null ? from.successors.front() : from.successors.back(), facts);
}

bool ReferenceFacts::meet(std::uint32_t block, const Facts& facts) {
  Facts& entry = on_entry_[block];
  bool changed = false;
  for (std::size_t reg = 0; reg < facts.size(); ++reg) {
    const ReferenceFact met = meet_of(entry[reg], facts[reg]);
    changed = changed || met != entry[reg];
    entry[reg] = met;
  }
  return changed;
}

}  // namespace dhpvm::codegen
