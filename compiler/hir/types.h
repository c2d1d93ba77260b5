// SPDX-License-Identifier: Apache-2.0
// The compiler's types: interned, so that equal types are equal pointers.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "bytecode/kind.h"

namespace dhpvm::compiler {

namespace hir {
struct Function;
struct Expr;
}  // namespace hir

enum class TypeKind : std::uint8_t {
  kError,  // the type of a wrong expression; compatible with everything so that one mistake gives one message
  kVoid,
  kNever,  // of an expression that never has a value: `trap(..)`, `return`; converts to any type
  kBool,
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kF32,
  kF64,
  kNull,  // of the literal `null` without context
  kStr,
  kResource,
  kArray,       // element, rank
  kFixedArray,  // element, count
  kStruct,
  kClass,
  kInterface,
  kFunction,  // parameters, result
  kNullable,  // element
  kWeak,      // element
};

struct Type;

struct FieldInfo {
  std::string name;
  const Type* type = nullptr;
  bool immutable = false;  // `let` field
};

struct MethodInfo {
  std::string name;
  std::vector<const Type*> parameters;
  const Type* result = nullptr;
};

// How a class implements one interface: its function for each method, in the interface's order.
struct ImplementationInfo {
  const Type* interface = nullptr;
  std::vector<hir::Function*> functions;
};

struct Type {
  TypeKind kind = TypeKind::kError;
  std::string name;  // as in the source: "[f32, 2]", "List<i64>?"

  const Type* element = nullptr;        // kArray, kFixedArray, kNullable, kWeak
  std::uint32_t rank = 1;               // kArray; kFixedArray: 1 or 2
  std::uint64_t count = 0;              // kFixedArray: of all elements
  std::uint64_t columns = 0;            // kFixedArray of rank 2: of the elements in a row
  std::vector<const Type*> parameters;  // kFunction
  const Type* result = nullptr;         // kFunction

  // An enum: a kStruct, or a kClass if it contains itself. Its first field is the number of the case, the others
  // hold the values of the cases, which share them.
  bool is_enum = false;

  // kStruct, kClass, kInterface: filled in by the checker after the type is created,
  // complete before lowering.
  std::vector<FieldInfo> fields;                    // kStruct, kClass
  std::vector<MethodInfo> methods;                  // kInterface
  std::vector<ImplementationInfo> implementations;  // kClass

  bool is(TypeKind k) const { return kind == k; }
  bool is_signed_integer() const {
    return kind == TypeKind::kI8 || kind == TypeKind::kI16 || kind == TypeKind::kI32 ||
           kind == TypeKind::kI64;
  }
  bool is_unsigned_integer() const {
    return kind == TypeKind::kU8 || kind == TypeKind::kU16 || kind == TypeKind::kU32 ||
           kind == TypeKind::kU64;
  }
  bool is_integer() const { return is_signed_integer() || is_unsigned_integer(); }
  bool is_float() const { return kind == TypeKind::kF32 || kind == TypeKind::kF64; }
  bool is_number() const { return is_integer() || is_float(); }
  bool is_primitive() const { return is_number() || kind == TypeKind::kBool; }
  // Held in one reference register. A nullable of a reference is the same register; a nullable of a primitive
  // or struct is a pair of `has: bool` and the value.
  bool is_reference() const {
    switch (kind) {
      case TypeKind::kStr:
      case TypeKind::kResource:
      case TypeKind::kArray:
      case TypeKind::kClass:
      case TypeKind::kInterface:
      case TypeKind::kFunction:
      case TypeKind::kWeak:
      case TypeKind::kNull: return true;
      case TypeKind::kNullable: return element->is_reference();
      default: return false;
    }
  }
};

// How a primitive is stored; kRef for all other types.
bytecode::Kind kind_of(const Type* type);

bool takes_fixed_arrays(const std::vector<const Type*>& parameters);

// Creates and interns types; owns them.
class TypeTable {
 public:
  TypeTable();
  TypeTable(const TypeTable&) = delete;
  TypeTable& operator=(const TypeTable&) = delete;

  const Type* basic(TypeKind kind) const { return basic_[static_cast<unsigned>(kind)]; }
  const Type* array(const Type* element, std::uint32_t rank);
  const Type* fixed_array(const Type* element, std::uint64_t count);
  const Type* fixed_array(const Type* element, std::uint64_t rows, std::uint64_t columns);
  const Type* nullable(const Type* element);  // a nullable of a nullable is that nullable
  const Type* weak(const Type* element);
  const Type* function(std::vector<const Type*> parameters, const Type* result);
  // A new struct, class or interface instance; the caller interns by declaration and arguments.
  Type* nominal(TypeKind kind, std::string name);

 private:
  const Type* intern(Type type);
  std::deque<Type> types_;
  std::map<std::string, const Type*> interned_;  // structural types by kind and component addresses
  std::vector<const Type*> basic_;
};

}  // namespace dhpvm::compiler
