// SPDX-License-Identifier: Apache-2.0
#include "vm/memory_text.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

namespace dhpvm::vm {

using bytecode::Kind;
using bytecode::TypeKind;

void MemoryText::add_value(std::uint64_t bits, Kind kind) {
  if (kind == Kind::kF32 && std::isnan(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))) {
    text_ += " nan";
  } else if (kind == Kind::kF64 && std::isnan(std::bit_cast<double>(bits))) {
    text_ += " nan";
  } else {
    const unsigned unused = 64 - 8 * bytecode::size_of(kind);
    text_ += fmt::format(" {:x}", bits << unused >> unused);
  }
}

void MemoryText::add_reference(gc::Ref reference) {
  if (reference == nullptr) {
    text_ += " null";
    return;
  }
  const auto [place, is_new] = numbers_.emplace(reference, found_.size());
  if (is_new) found_.push_back(reference);
  text_ += fmt::format(" #{}", place->second);
}

void MemoryText::add_field(const std::byte* address, const bytecode::ValueType& type) {
  if (type.is_ref()) {
    gc::Ref reference = nullptr;
    std::memcpy(&reference, address, sizeof(reference));
    add_reference(reference);
  } else {
    std::uint64_t bits = 0;
    std::memcpy(&bits, address, bytecode::size_of(type.kind));
    add_value(bits, type.kind);
  }
}

void MemoryText::add_fields(const std::byte* base, const bytecode::Type& type) {
  for (const bytecode::Field& field : type.fields) add_field(base + field.offset, field.type);
}

void MemoryText::describe_array(const gc::Array& array, const bytecode::Type& type) {
  text_ += fmt::format(" readable {} of {}:", array.readable, array.length);
  const bool is_struct =
      type.element.is_ref() && isolate_.module().types[type.element.type].kind == TypeKind::kStruct;
  const bytecode::Type* const element = is_struct ? &isolate_.module().types[type.element.type] : nullptr;
  const std::size_t size = is_struct               ? element->size
                           : type.element.is_ref() ? sizeof(gc::Ref)
                                                   : bytecode::size_of(type.element.kind);
  for (std::int64_t n = 0; n < array.readable; ++n) {
    const std::byte* const address = array.data + static_cast<std::size_t>(n) * size;
    if (is_struct) {
      add_fields(address, *element);
    } else {
      add_field(address, type.element);
    }
  }
}

void MemoryText::describe(const gc::Object& object) {
  const bytecode::Type& type = isolate_.module().types[object.header.type];
  text_ += fmt::format("\n  type {}", type.name);
  switch (type.kind) {
    case TypeKind::kClass: add_fields(reinterpret_cast<const std::byte*>(&object), type); break;
    case TypeKind::kArray: describe_array(reinterpret_cast<const gc::Array&>(object), type); break;
    case TypeKind::kString:
      text_ += fmt::format(" '{}'", reinterpret_cast<const gc::String&>(object).view());
      break;
    default: break;
  }
}

std::string MemoryText::finish() && {
  for (std::size_t next = 0; next < found_.size(); ++next) describe(*found_[next]);
  return std::move(text_);
}

}  // namespace dhpvm::vm
