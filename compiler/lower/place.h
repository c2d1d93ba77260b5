// SPDX-License-Identifier: Apache-2.0
// Places: locals, fields and elements, whole or in part; reading and writing them.
#pragma once

#include "compiler/lower/lowering_part.h"

namespace dhpvm::compiler {

// An assignable place, whose operands have been evaluated.
struct Place {
  enum class Kind : std::uint8_t { kRegisters, kField, kElement, kFixedArray };
  Kind kind = Kind::kRegisters;
  const Type* type = nullptr;
  Values registers;              // kRegisters; kFixedArray: local arrays
  Register base = 0;             // kField: the object; kElement: the array
  Register index = 0;            // kElement, kFixedArray
  std::uint32_t container = 0;   // kField: the class; kElement: the element's struct or kNoIndex
  std::uint32_t first_leaf = 0;  // kField, kElement: of the container
};

class PlaceLowering : public LoweringPart {
 public:
  using LoweringPart::LoweringPart;

  Place place_of(const hir::Local& local);
  Place element(const Type* type, Register array, Register index);
  Place resolve(const Expr& e);
  // The register with the linear index of the element that operands[1..rank] of `e` select.
  Register element_index(const Expr& e, Register array);
  void load(const Place& place, std::span<const Register> to);
  void store(const Place& place, std::span<const Register> from);
  void get_field(const bytecode::ValueType& leaf, Register to, Register object, std::uint32_t type,
                 std::uint32_t index);
  void put_field(const bytecode::ValueType& leaf, Register object, Register from, std::uint32_t type,
                 std::uint32_t index);

 private:
  Place resolve_field(const Expr& e);
  Place resolve_index(const Expr& e);
  Place resolve_fixed(const Expr& e);
  Register fixed_position(const Expr& e);
  void check_fixed_index(const Expr& e, Register index, std::uint64_t size);
  void narrow(Place& place, const Type* type, LeafRange leaves);
};

}  // namespace dhpvm::compiler
