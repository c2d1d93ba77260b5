// SPDX-License-Identifier: Apache-2.0
#include "compiler/lsp/facts.h"

#include <algorithm>
#include <utility>

namespace dhpvm::compiler::lsp {

namespace {

template <typename Map, typename Key>
typename Map::mapped_type value_or_null(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : found->second;
}

}  // namespace

Facts::Facts(std::uint32_t file, std::size_t bytes, const std::vector<const ast::Function*>* only,
             std::function<bool()> interrupt)
    : file_(file), only_(only), interrupt_(std::move(interrupt)) {
  constexpr std::size_t kBytesForEach = 3;  // measured: bytes of source for each expression
  if (only == nullptr) expressions_.reserve(bytes / kBytesForEach);
}

bool Facts::are_about(const ast::Function& function) const {
  return only_ == nullptr || std::ranges::binary_search(*only_, &function);
}

bool Facts::wants(const ast::Function& function) const {
  // The number of functions between two checks for messages of the client, which are system calls.
  constexpr unsigned kAtOnce = 16;
  if (interrupt_ && ++asked_ % kAtOnce == 0 && !was_interrupted_) was_interrupted_ = interrupt_();
  return !was_interrupted_ && are_about(function);
}

void Facts::on_expression(SourceRange range, const Type* type) {
  if (range.file != file_ || type == nullptr || type->is(TypeKind::kError)) return;
  expressions_.try_emplace(key(range), type);
}

void Facts::on_variable(SourceRange name, const Type* type) {
  if (name.file != file_ || type == nullptr || type->is(TypeKind::kError)) return;
  variables_.try_emplace(key(name), type);
}

void Facts::on_type(const Type* type, const ast::TypeDecl& declaration) {
  declarations_[type] = &declaration;
}

const Type* Facts::type_of(SourceRange expression) const {
  return expression.file == file_ ? value_or_null(expressions_, key(expression)) : nullptr;
}

const Type* Facts::type_of_variable(SourceRange name) const {
  return name.file == file_ ? value_or_null(variables_, key(name)) : nullptr;
}

// Linear search: requests need one such type, while a table would have to be rebuilt with every change.
const Type* Facts::type_ending_at(std::uint32_t offset) const {
  const Type* found = nullptr;
  std::uint32_t begin = offset;
  for (const auto& [range, type] : expressions_) {
    const auto from = static_cast<std::uint32_t>(range);
    if (range >> 32 != offset || from >= begin) continue;
    begin = from;
    found = type;
  }
  return found;
}

const ast::TypeDecl* Facts::declaration_of(const Type* type) const {
  return value_or_null(declarations_, type);
}

}  // namespace dhpvm::compiler::lsp
