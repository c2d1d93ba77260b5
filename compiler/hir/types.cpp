// SPDX-License-Identifier: Apache-2.0
#include "compiler/hir/types.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace dhpvm::compiler {

namespace {

constexpr const char* kBasicNames[] = {"<error>", "void", "never", "bool", "i8",      "u8",
                                       "i16",     "u16",  "i32",   "u32",  "i64",     "u64",
                                       "f32",     "f64",  "null",  "str",  "resource"};
constexpr unsigned kBasicCount = sizeof(kBasicNames) / sizeof(kBasicNames[0]);
static_assert(kBasicCount == static_cast<unsigned>(TypeKind::kResource) + 1);

}  // namespace

bytecode::Kind kind_of(const Type* type) {
  using bytecode::Kind;
  switch (type->kind) {
    case TypeKind::kBool: return Kind::kBool;
    case TypeKind::kI8: return Kind::kI8;
    case TypeKind::kU8: return Kind::kU8;
    case TypeKind::kI16: return Kind::kI16;
    case TypeKind::kU16: return Kind::kU16;
    case TypeKind::kI32: return Kind::kI32;
    case TypeKind::kU32: return Kind::kU32;
    case TypeKind::kI64: return Kind::kI64;
    case TypeKind::kU64: return Kind::kU64;
    case TypeKind::kF32: return Kind::kF32;
    case TypeKind::kF64: return Kind::kF64;
    default: return Kind::kRef;
  }
}

namespace {

std::string address(const Type* type) { return std::to_string(reinterpret_cast<std::uintptr_t>(type)); }

// Structural identity: the kind and the components' identities. Not used for nominal types.
std::string key_of(const Type& type) {
  std::string key = std::to_string(static_cast<unsigned>(type.kind)) + ":" + std::to_string(type.rank) + ":" +
                    std::to_string(type.count) + ":" + std::to_string(type.columns);
  if (type.element != nullptr) key += ":" + address(type.element);
  for (const Type* parameter : type.parameters) key += "," + address(parameter);
  if (type.result != nullptr) key += ">" + address(type.result);
  return key;
}

}  // namespace

bool takes_fixed_arrays(const std::vector<const Type*>& parameters) {
  return std::ranges::any_of(parameters, [](const Type* type) { return type->is(TypeKind::kFixedArray); });
}

TypeTable::TypeTable() {
  for (unsigned kind = 0; kind < kBasicCount; ++kind) {
    Type& type = types_.emplace_back();
    type.kind = static_cast<TypeKind>(kind);
    type.name = kBasicNames[kind];
    basic_.push_back(&type);
  }
}

const Type* TypeTable::intern(Type type) {
  auto [entry, fresh] = interned_.try_emplace(key_of(type), nullptr);
  if (fresh) entry->second = &types_.emplace_back(std::move(type));
  return entry->second;
}

const Type* TypeTable::array(const Type* element, std::uint32_t rank) {
  Type type;
  type.kind = TypeKind::kArray;
  type.name = "[" + element->name + (rank == 1 ? "]" : ", " + std::to_string(rank) + "]");
  type.element = element;
  type.rank = rank;
  return intern(std::move(type));
}

const Type* TypeTable::fixed_array(const Type* element, std::uint64_t count) {
  Type type;
  type.kind = TypeKind::kFixedArray;
  type.name = "[" + element->name + "; " + std::to_string(count) + "]";
  type.element = element;
  type.count = count;
  return intern(std::move(type));
}

const Type* TypeTable::fixed_array(const Type* element, std::uint64_t rows, std::uint64_t columns) {
  Type type;
  type.kind = TypeKind::kFixedArray;
  type.name = "[" + element->name + "; " + std::to_string(rows) + ", " + std::to_string(columns) + "]";
  type.element = element;
  type.rank = 2;
  type.count = rows * columns;
  type.columns = columns;
  return intern(std::move(type));
}

const Type* TypeTable::nullable(const Type* element) {
  switch (element->kind) {
    case TypeKind::kError:
    case TypeKind::kNull:
    case TypeKind::kNullable: return element;
    default: break;
  }
  Type type;
  type.kind = TypeKind::kNullable;
  type.name = element->is(TypeKind::kFunction) ? "(" + element->name + ")?" : element->name + "?";
  type.element = element;
  return intern(std::move(type));
}

const Type* TypeTable::weak(const Type* element) {
  Type type;
  type.kind = TypeKind::kWeak;
  type.name = "Weak<" + element->name + ">";
  type.element = element;
  return intern(std::move(type));
}

const Type* TypeTable::function(std::vector<const Type*> parameters, const Type* result) {
  Type type;
  type.kind = TypeKind::kFunction;
  type.name = "fn(";
  for (const Type* parameter : parameters) {
    if (type.name.back() != '(') type.name += ", ";
    type.name += parameter->name;
  }
  type.name += ")";
  if (!result->is(TypeKind::kVoid)) type.name += " -> " + result->name;
  type.parameters = std::move(parameters);
  type.result = result;
  return intern(std::move(type));
}

Type* TypeTable::nominal(TypeKind kind, std::string name) {
  Type& type = types_.emplace_back();
  type.kind = kind;
  type.name = std::move(name);
  return &type;
}

}  // namespace dhpvm::compiler
