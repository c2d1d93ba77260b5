// SPDX-License-Identifier: Apache-2.0
// The types that the checker finds in one file, or in some functions of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "compiler/check/part_observer.h"

namespace dhpvm::compiler::lsp {

// For generic code it keeps the facts of the first instance. The types belong to the checked program.
class Facts final : public PartObserver {
 public:
  // The facts of a whole file, or of some functions in it, which are sorted. `bytes` is the size of the file, which
  // determines the initial size of the tables. `interrupt` is called now and then and stops the check if it returns
  // true; it may be empty.
  Facts(std::uint32_t file, std::size_t bytes, const std::vector<const ast::Function*>* only,
        std::function<bool()> interrupt);

  bool wants(const ast::Function& function) const override;
  // Whether they cover the function.
  bool are_about(const ast::Function& function) const;
  bool was_interrupted() const { return was_interrupted_; }
  void on_expression(SourceRange range, const Type* type) override;
  void on_variable(SourceRange name, const Type* type) override;
  void on_type(const Type* type, const ast::TypeDecl& declaration) override;

  // Each is null if the type is unknown; never the error type.
  const Type* type_of(SourceRange expression) const;
  const Type* type_of_variable(SourceRange name) const;
  // The type of the longest expression that ends at `offset` and has a known type.
  const Type* type_ending_at(std::uint32_t offset) const;
  const ast::TypeDecl* declaration_of(const Type* type) const;

 private:
  static std::uint64_t key(SourceRange range) { return std::uint64_t{range.end} << 32 | range.begin; }

  std::uint32_t file_;
  const std::vector<const ast::Function*>* only_;  // null: all
  std::function<bool()> interrupt_;
  mutable unsigned asked_ = 0;
  mutable bool was_interrupted_ = false;
  std::unordered_map<std::uint64_t, const Type*> expressions_;
  std::unordered_map<std::uint64_t, const Type*> variables_;
  std::unordered_map<const Type*, const ast::TypeDecl*> declarations_;
};

}  // namespace dhpvm::compiler::lsp
