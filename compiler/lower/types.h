// SPDX-License-Identifier: Apache-2.0
// From the compiler's types to the module's.
//
// The module has no structs and no nullable primitives as values. Both are flattened into leaves, one register, field
// or parameter each: a struct into those of its fields, `T?` of a T that is not a reference into `has: bool` and the
// leaves of T. The leaves of a null are zero, so that equality of values is equality of their leaves.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "bytecode/builder.h"
#include "compiler/hir/types.h"

namespace dhpvm::compiler {

using Leaves = std::vector<bytecode::ValueType>;

// A range of consecutive leaves.
struct LeafRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

inline bool is_64_bit(const Type* type) { return type->is(TypeKind::kI64) || type->is(TypeKind::kU64); }

class TypeLowering {
 public:
  explicit TypeLowering(bytecode::ModuleBuilder& builder) : builder_(builder) {}

  const Leaves& leaves(const Type* type);
  // The leaves of field `index` of a struct or class.
  LeafRange field(const Type* type, std::uint32_t index);

  // The module type of a reference type.
  std::uint32_t reference(const Type* type);
  // The struct that represents `type` as an array element; kNoIndex if an element is a single leaf.
  std::uint32_t element_struct(const Type* type);
  // The class of a heap cell that holds a variable of `type`.
  std::uint32_t cell(const Type* type);
  // The class of a closure's objects, with its captures as fields.
  std::uint32_t closure_class(const std::string& name, const std::vector<bytecode::ValueType>& fields);
  bytecode::Signature signature(const std::vector<const Type*>& parameters, const Type* result);
  // The groups of leaves in a signature that are one value, `first` being the number of its first parameter. A result
  // that is a tuple is several values.
  std::vector<bytecode::StructValue> structs(const std::vector<const Type*>& parameters, const Type* result,
                                             std::uint32_t first = 0);

  // The byte offset of leaf `leaf` in the class or struct `type`.
  std::uint32_t offset(std::uint32_t type, std::uint32_t leaf) const {
    return builder_.type(type).fields[leaf].offset;
  }

  // Classes added since the last call, whose implementations are still missing.
  std::vector<const Type*> take_new_classes() { return std::move(new_classes_); }

 private:
  void append_fields(const std::string& name, const Type* type, std::vector<bytecode::Field>& out);
  std::uint32_t declare(const Type* type);
  void define_methods(const Type* type, std::uint32_t id);

  bytecode::ModuleBuilder& builder_;
  std::unordered_map<const Type*, Leaves> leaves_;
  std::unordered_map<const Type*, std::vector<LeafRange>> fields_;
  std::unordered_map<const Type*, std::uint32_t> references_;
  std::unordered_map<const Type*, std::uint32_t> element_structs_;
  std::unordered_map<const Type*, std::uint32_t> cells_;
  std::vector<const Type*> new_classes_;
};

}  // namespace dhpvm::compiler
