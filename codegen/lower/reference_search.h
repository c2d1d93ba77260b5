// SPDX-License-Identifier: Apache-2.0
// Finds the references that stay the same in a loop, while its instructions are visited in the order of the code.
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
  // Facts about what the loop writes.
  struct Writes {
    std::set<std::uint32_t> references;  // registers
    std::set<std::uint32_t> primitives;
    std::set<std::uint32_t> fields;  // of references, by offset
    bool elements = false;           // that are or hold references
  };

  // Fills in references, arrays and taken of the loop, which must outlive this.
  ReferenceSearch(InnerLoop& loop, Writes writes) : loop_(loop), writes_(std::move(writes)) {}

  void begin_block() { held_.clear(); }
  void visit(const bytecode::Module& module, const Instruction& i);
  // Behind the last instruction: decides which of them are wanted.
  void finish();

 private:
  using Origin = InvariantReference::Origin;

  std::uint32_t number_of(Origin origin, std::uint32_t place, std::uint32_t parent);
  std::optional<std::uint32_t> held_by(std::uint32_t reg);
  InvariantReference* accessed(const Instruction& i, std::uint32_t reg);
  std::optional<std::uint32_t> element(const Instruction& i);
  std::optional<std::uint32_t> field(const Instruction& i);
  std::optional<std::uint32_t> taken(const Instruction& i, Origin origin);

  InnerLoop& loop_;
  const Writes writes_;
  std::map<std::tuple<Origin, std::uint32_t, std::uint32_t>, std::uint32_t> numbers_;
  std::map<std::uint32_t, std::uint32_t> held_;  // by register: what it holds in the rest of the block
};

}  // namespace dhpvm::codegen
