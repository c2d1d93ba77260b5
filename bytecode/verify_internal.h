// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of the verifier: indexed facts about the module, and the work budget.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bytecode/decode.h"
#include "bytecode/module.h"
#include "dhpvm/result.h"

namespace dhpvm::bytecode::verification {

// The static type of a reference register at one point of a function. Below kNullRef: a type id. The order
// matters: merging two states that differ, one being kConflict or kUnset, gives the larger one.
using RefState = std::uint32_t;
constexpr RefState kNullRef = 0xfffffffd;   // null on every path
constexpr RefState kConflict = 0xfffffffe;  // different types on different paths
constexpr RefState kUnset = 0xffffffff;     // not assigned on some path

// The values of a parameter or result list by bank.
struct Banks {
  std::uint32_t primitives = 0;
  std::vector<std::uint32_t> references;  // their types
};

// A signature as the registers see it.
struct Shape {
  Banks in;
  Banks out;
};

struct FieldSlot {
  std::uint32_t offset;
  ValueType type;
};

// Read-only facts about a module whose types and signatures have been checked.
class Facts {
 public:
  explicit Facts(const Module& module);

  const Module& module;
  std::vector<Shape> functions;
  std::vector<Shape> imports;
  std::vector<std::vector<Shape>> methods;  // by type; the receiver is the first of in.references

  // The field at `offset` of a class or struct, or null.
  const FieldSlot* field_at(std::uint32_t type, std::uint32_t offset) const;
  // Whether an object in state `from` (not kConflict, not kUnset) may stand where `to` is wanted.
  bool assignable(RefState from, std::uint32_t to) const;
  // A type's name for messages, short enough for one line and free of control characters.
  std::string type_name(RefState state) const;

 private:
  std::vector<FieldSlot> slots_;           // of all types, each type's sorted by offset
  std::vector<std::uint32_t> first_slot_;  // by type; one more entry at the end
};

// Bounds the verifier's time. Spending is counted in register cells and instructions looked at.
struct Budget {
  explicit Budget(std::uint64_t code_words) : left((std::uint64_t{1} << 26) + 256 * code_words) {}
  std::uint64_t left;
  [[nodiscard]] bool spend(std::uint64_t amount) {
    if (amount > left) return false;
    left -= amount;
    return true;
  }
};

bool implements(const Module& module, std::uint32_t type, std::uint32_t interface);
std::string printable(std::string_view text);  // at most 60 characters, others than printable ASCII escaped

// "function 3 (main)"; the names of the functions have been checked.
std::string function_label(const Module& module, std::uint32_t function);

// The steps of verify(), in this order; each relies on the ones before.
Status verify_types(const Module& module);                         // types, signatures, names, entry
Status verify_kernel_records(const Facts& facts, Budget& budget);  // signatures of the kernels' functions
Status verify_functions(const Facts& facts, Budget& budget);       // code
Status verify_kernel_bodies(const Facts& facts, Budget& budget);   // purity

}  // namespace dhpvm::bytecode::verification
