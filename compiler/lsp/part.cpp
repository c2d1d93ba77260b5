// SPDX-License-Identifier: Apache-2.0
#include "compiler/lsp/part.h"

#include <algorithm>

namespace dhpvm::compiler::lsp {

namespace {

bool is_in_names(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

bool holds_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_in_names(text[at - 1])) && (end == text.size() || !is_in_names(text[end])))
      return true;
  }
  return false;
}

std::optional<FunctionList> functions_of(const Parsed& parsed, const Part& part) {
  if (part.is_whole()) return std::nullopt;
  FunctionList found;
  const auto meets = [&](SourceRange range) {
    return range.begin <= part.end && part.begin <= range.end &&
           (part.word.empty() || holds_word(parsed.sources().text(range), part.word));
  };
  // False if the part needs all functions.
  const auto take = [&](const ast::Function* function, bool is_generic) {
    if (function == nullptr || !meets(function->range)) return true;
    found.push_back(function);
    return !is_generic && function->type_parameters.empty();
  };
  for (const ast::Function* function : parsed.module().functions) {
    if (!take(function, false)) return std::nullopt;
  }
  for (const ast::TypeDecl* type : parsed.module().types) {
    if (!meets(type->range)) continue;
    const bool is_generic = !type->type_parameters.empty();
    const std::size_t before = found.size();
    bool good = take(type->init, is_generic);
    for (const ast::Function* method : type->methods) good = good && take(method, is_generic);
    // A place among the fields.
    if (!good || (part.word.empty() && found.size() == before)) return std::nullopt;
  }
  std::ranges::sort(found);
  return found;
}

SourceRange range_of(const Parsed& parsed, const Part& part) {
  SourceRange range{parsed.module().file, part.begin, part.end};
  const std::optional<FunctionList> functions = functions_of(parsed, part);
  if (!functions.has_value()) return {range.file, Part().begin, Part().end};
  for (const ast::Function* function : *functions) {
    range.begin = std::min(range.begin, function->range.begin);
    range.end = std::max(range.end, function->range.end);
  }
  return range;
}

}  // namespace dhpvm::compiler::lsp
