// SPDX-License-Identifier: Apache-2.0
// Finds the loop-invariant references and fields of a loop, while its instructions are visited in code order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "codegen/lower/flow.h"

namespace dhpvm::codegen {

class ReferenceSearch {
 public:
  // What the loop writes.
  struct Writes {
    std::set<std::uint32_t> references;  // registers
    std::set<std::uint32_t> primitives;
    std::set<std::uint32_t> fields;         // of references, by offset
    std::set<std::uint32_t> number_fields;  // the others, by offset
    bool elements = false;                  // elements that are or contain references
  };

  // Fills in references, arrays, taken and fields of the loop, which must outlive this.
  ReferenceSearch(const Flow& flow, InnerLoop& loop, Writes writes)
      : flow_(flow), loop_(loop), writes_(std::move(writes)) {}

  void begin_block(std::uint32_t number) {
    if (flow_.usually_before(number) != block_) held_.clear();
    block_ = number;
  }
  void visit(const bytecode::Module& module, const Instruction& i);
  // Call it after the last instruction: decides which of them are wanted.
  void finish();

 private:
  using Origin = InvariantReference::Origin;

  // Where a reference is loaded from its parent: the register or the offset; an index as the sum of a constant and of
  // invariant registers, each with its factor.
  using Place = std::map<std::uint32_t, std::int64_t>;
  static constexpr std::uint32_t kConstantPart = bytecode::kNoIndex;

  std::uint32_t number_of(const InvariantReference& reference, Place place);
  std::optional<Place> index_sum(std::uint32_t pc, std::uint32_t reg, unsigned depth) const;
  std::optional<std::uint32_t> held_by(std::uint32_t reg);
  InvariantReference* accessed(const Instruction& i, std::uint32_t reg);
  std::optional<std::uint32_t> element(const Instruction& i);
  std::optional<std::uint32_t> field(const Instruction& i);
  void note_number(const Instruction& i);
  std::optional<std::uint32_t> taken(const Instruction& i, Origin origin, Place place);

  const Flow& flow_;
  InnerLoop& loop_;
  const Writes writes_;
  std::uint32_t block_ = bytecode::kNoIndex;
  std::map<std::tuple<Origin, Place, std::uint32_t>, std::uint32_t> numbers_;
  std::map<std::uint32_t, std::uint32_t> held_;  // by register: its value until control joins from elsewhere
};

}  // namespace dhpvm::codegen
