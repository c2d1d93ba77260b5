// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "bytecode/module.h"

namespace dhpvm::bytecode {
namespace {

constexpr std::uint32_t kHeaderBytes = 8;

std::uint32_t round_up(std::uint32_t value, std::uint32_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace

void layout(Type& type) {
  const bool is_class = type.kind == TypeKind::kClass;
  if (!is_class && type.kind != TypeKind::kStruct) return;
  std::uint32_t at = is_class ? kHeaderBytes : 0;
  // References first, so that the collector traces one contiguous range; then decreasing sizes, so that no
  // padding is ever needed between fields.
  for (Field& field : type.fields) {
    if (!field.type.is_ref()) continue;
    field.offset = at;
    at += size_of(Kind::kRef);
  }
  std::uint32_t alignment = is_class ? kHeaderBytes : 1;
  for (const Field& field : type.fields) alignment = std::max(alignment, size_of(field.type.kind));
  for (std::uint32_t size = 8; size != 0; size /= 2) {
    for (Field& field : type.fields) {
      if (field.type.is_ref() || size_of(field.type.kind) != size) continue;
      field.offset = at;
      at += size;
    }
  }
  // An empty struct takes one byte, so that the length of an array always follows from its bytes.
  type.size = std::max(round_up(at, alignment), 1u);
}

}  // namespace dhpvm::bytecode
