// SPDX-License-Identifier: Apache-2.0
// The types that the checker finds in one file, or in one function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "compiler/check/part_observer.h"

namespace dhpvm::compiler::lsp {

// For generic code it keeps the facts of the first instance. The types live as long as the checked program.
class Facts final : public PartObserver {
 public:
  // The facts of a whole file, or of one function in it. `bytes` is the size of that text; from it the size of the
  // tables is guessed.
  Facts(std::uint32_t file, std::size_t bytes, const ast::Function* only = nullptr);

  bool wants(const ast::Function& function) const override { return only_ == nullptr || only_ == &function; }
  void on_expression(SourceRange range, const Type* type) override;
  void on_variable(SourceRange name, const Type* type) override;
  void on_type(const Type* type, const ast::TypeDecl& declaration) override;

  // Each is null where nothing is known; never the error type.
  const Type* type_of(SourceRange expression) const;
  const Type* type_of_variable(SourceRange name) const;
  // The longest expression that ends at `offset`, as far as a type is known.
  const Type* type_ending_at(std::uint32_t offset) const;
  const ast::TypeDecl* declaration_of(const Type* type) const;

 private:
  static std::uint64_t key(SourceRange range) { return std::uint64_t{range.end} << 32 | range.begin; }

  std::uint32_t file_;
  const ast::Function* only_;
  std::unordered_map<std::uint64_t, const Type*> expressions_;
  std::unordered_map<std::uint64_t, const Type*> variables_;
  std::unordered_map<const Type*, const ast::TypeDecl*> declarations_;
};

}  // namespace dhpvm::compiler::lsp
