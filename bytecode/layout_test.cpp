// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "bytecode/module.h"

namespace dhpvm::bytecode {
namespace {

Type with_fields(TypeKind kind, std::initializer_list<Kind> kinds) {
  Type type;
  type.kind = kind;
  for (const Kind k : kinds) type.fields.push_back({"f", {k, k == Kind::kRef ? kStringType : kNoIndex}, 0});
  layout(type);
  return type;
}

std::vector<std::uint32_t> offsets(const Type& type) {
  std::vector<std::uint32_t> all;
  all.reserve(type.fields.size());
  for (const Field& field : type.fields) all.push_back(field.offset);
  return all;
}

using Offsets = std::vector<std::uint32_t>;

TEST(Layout, ClassPutsReferencesFirstThenDecreasingSizes) {
  const Type type = with_fields(TypeKind::kClass, {Kind::kBool, Kind::kI64, Kind::kRef, Kind::kI16,
                                                   Kind::kF32, Kind::kRef, Kind::kU8, Kind::kF64});
  EXPECT_EQ(offsets(type), (Offsets{46, 24, 8, 44, 40, 16, 47, 32}));
  EXPECT_EQ(type.size, 48u);
}

TEST(Layout, ClassWithoutFieldsIsAHeader) { EXPECT_EQ(with_fields(TypeKind::kClass, {}).size, 8u); }

TEST(Layout, ClassSizeIsRoundedToEight) { EXPECT_EQ(with_fields(TypeKind::kClass, {Kind::kU8}).size, 16u); }

TEST(Layout, StructHasNoHeaderAndItsOwnAlignment) {
  const Type vector = with_fields(TypeKind::kStruct, {Kind::kF32, Kind::kF32, Kind::kF32});
  EXPECT_EQ(offsets(vector), (Offsets{0, 4, 8}));
  EXPECT_EQ(vector.size, 12u);
  const Type mixed = with_fields(TypeKind::kStruct, {Kind::kU8, Kind::kF64, Kind::kRef});
  EXPECT_EQ(offsets(mixed), (Offsets{16, 8, 0}));
  EXPECT_EQ(mixed.size, 24u);
}

TEST(Layout, EmptyStructTakesOneByte) { EXPECT_EQ(with_fields(TypeKind::kStruct, {}).size, 1u); }

}  // namespace
}  // namespace dhpvm::bytecode
