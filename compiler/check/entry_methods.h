// SPDX-License-Identifier: Apache-2.0
// Updates of elements with one search instead of two, for types with these methods: `entry_of(i, otherwise) -> i64`
// finds the entry of an element, or makes one with zero or the empty text, `entry_value(entry)` reads it, and
// `set_entry(entry, x)` writes it.
#pragma once

#include <string_view>

#include "compiler/check/body_part.h"
#include "compiler/check/element_methods.h"

namespace dhpvm::compiler {

// Created where it is needed.
class EntryMethods : public BodyPart {
 public:
  using BodyPart::BodyPart;
  using Element = ElementMethods::Element;

  // The entry of an element of this type; null if the type lacks one of the methods, or if its elements are neither
  // numbers nor text.
  E find(const Element& element, const Type* type);
  E read(const Element& element, hir::Local* entry);
  E write(const Element& element, hir::Local* entry, E value, Range range);
};

}  // namespace dhpvm::compiler
