// SPDX-License-Identifier: Apache-2.0
#include "compiler/testing/source_world.h"

#include <algorithm>
#include <utility>

namespace dhpvm::compiler::testing {

bool SourceType::is_plain() const {
  if (shape != Shape::kStruct) return is_primitive();
  return std::ranges::all_of(fields, [](const Field& field) { return field.type->is_plain(); });
}

bool SourceType::is_plain_enum() const {
  return shape == Shape::kEnum && std::ranges::all_of(cases, [](const Case& option) {
           return std::ranges::all_of(option.values, [](const SourceType* part) { return part->is_plain(); });
         });
}

SourceTypes::SourceTypes() {
  const auto add = [this](Shape shape, const char* name, unsigned bits, bool is_signed) -> const SourceType* {
    SourceType& type = all_.emplace_back();
    type.shape = shape;
    type.name = name;
    type.bits = bits;
    type.is_signed = is_signed;
    return &type;
  };
  primitives_.push_back(add(Shape::kBool, "bool", 1, false));
  for (const char* name : {"i8", "i16", "i32", "i64"})
    integers_.push_back(add(Shape::kInteger, name, 8u << integers_.size(), true));
  i64_ = integers_.back();
  for (const char* name : {"u8", "u16", "u32", "u64"})
    integers_.push_back(add(Shape::kInteger, name, 8u << (integers_.size() - 4), false));
  numbers_ = integers_;
  numbers_.push_back(add(Shape::kFloat, "f32", 32, true));
  f64_ = add(Shape::kFloat, "f64", 64, true);
  numbers_.push_back(f64_);
  primitives_.insert(primitives_.end(), numbers_.begin(), numbers_.end());
  plain_ = primitives_;
  text_ = add(Shape::kText, "str", 0, false);
}

const SourceType& SourceTypes::derived(Shape shape, std::string name, const SourceType& element,
                                       unsigned rank) {
  for (const SourceType& type : all_)
    if (type.name == name) return type;
  SourceType& type = all_.emplace_back();
  type.shape = shape;
  type.name = std::move(name);
  type.element = &element;
  type.rank = rank;
  return type;
}

const SourceType& SourceTypes::array(const SourceType& element, unsigned rank) {
  const std::string dimensions = rank == 1 ? "" : ", " + std::to_string(rank);
  return derived(Shape::kArray, "[" + element.name + dimensions + "]", element, rank);
}

const SourceType& SourceTypes::list(const SourceType& element) {
  return derived(Shape::kList, "List<" + element.name + ">", element, 0);
}

const SourceType& SourceTypes::map(const SourceType& value) {
  return derived(Shape::kMap, "Map<i64, " + value.name + ">", value, 0);
}

const SourceType& SourceTypes::tuple(const SourceType& first, const SourceType& second) {
  std::string name = "(" + first.name + ", " + second.name + ")";
  for (const SourceType& type : all_)
    if (type.name == name) return type;
  SourceType& type = declare(Shape::kStruct, std::move(name));
  type.fields = {{"0", &first}, {"1", &second}};
  return type;
}

const SourceType& SourceTypes::nullable(const SourceType& element) {
  return derived(Shape::kNullable, element.name + "?", element, 0);
}

const SourceType& SourceTypes::function(const SourceType& result) {
  return derived(Shape::kFunction, "fn(i64) -> " + result.name, result, 0);
}

SourceType& SourceTypes::declare(Shape shape, std::string name) {
  SourceType& type = all_.emplace_back();
  type.shape = shape;
  type.name = std::move(name);
  return type;
}

void SourceTypes::finish(const SourceType& declared) {
  if (declared.shape == Shape::kClass) return classes_.push_back(&declared);
  if (declared.shape == Shape::kEnum) return enums_.push_back(&declared);
  structs_.push_back(&declared);
  if (declared.is_plain()) plain_.push_back(&declared);
}

const SourceType& SourceTypes::any(Decisions& decisions) {
  // The first class has no other class to refer to.
  const SourceType& object = classes_.empty() ? text() : *decisions.pick(classes_);
  switch (decisions.below(22)) {
    case 0: return text();
    case 1: return *decisions.pick(structs_);
    case 2: return object;
    case 3: return array(*decisions.pick(plain_), 1);
    case 4: return array(*decisions.pick(primitives_), 2 + decisions.below(2));
    case 5: return array(text(), 1);
    case 6: return nullable(*decisions.pick(primitives_));
    case 7: return nullable(object);
    case 8: return function(*decisions.pick(numbers_));
    case 9: return nullable(*decisions.pick(structs_));
    case 10: return list(decisions.one_in(3) ? text() : *decisions.pick(plain_));
    case 11: return map(decisions.one_in(3) ? text() : *decisions.pick(plain_));
    case 12: return *decisions.pick(enums_);
    case 13:
      return tuple(*decisions.pick(primitives_), decisions.one_in(3) ? text() : *decisions.pick(plain_));
    case 14: return list(tuple(*decisions.pick(primitives_), *decisions.pick(primitives_)));
    default: return *decisions.pick(primitives_);
  }
}

}  // namespace dhpvm::compiler::testing
