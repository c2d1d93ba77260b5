// SPDX-License-Identifier: Apache-2.0
// Completes a declared type: resolves its fields or methods, and finds the functions that implement its interfaces.
#pragma once

#include <cstdint>

#include "compiler/check/symbols.h"

namespace dhpvm::compiler {

class Analysis;

// Created where it is needed; Analysis::complete() calls it once for each type.
class TypeCompletion {
 public:
  TypeCompletion(Analysis& analysis, Nominal& nominal) : analysis_(analysis), nominal_(nominal) {}

  // Resolves the interfaces, and the fields, cases or methods; checks the bounds of the type arguments.
  void run();
  // Adds a field to the type while it is being completed.
  void add_field(FieldInfo field, SourceRange range);
  // Fills in the implementations of a class, which is complete.
  void implement_interfaces();

 private:
  void add_fields();
  void add_methods();
  void check_embedding(const Type* field, SourceRange range);
  std::uint32_t values_in(const Type* type);
  void implement(const Type* interface, SourceRange range);
  void check_defaults();

  Analysis& analysis_;
  Nominal& nominal_;
};

}  // namespace dhpvm::compiler
