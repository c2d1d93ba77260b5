// SPDX-License-Identifier: Apache-2.0
// Where the names of one file stand, and what they mean. A declaration is known by the place of its name; a module by
// the start of its file.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/text/source.h"

namespace dhpvm::compiler::lsp {

struct Occurrence {
  SourceRange range;
  SourceRange declaration;
  bool is_declaration() const { return range == declaration; }
};

// A variable, and where it can be seen: from the end of its name to `end`, unless an inner one hides it.
struct LocalVariable {
  std::string_view name;
  SourceRange range;
  std::uint32_t end = 0;
  bool is_parameter = false;
  bool is_changeable = false;
};

class Index {
 public:
  void add(SourceRange range, SourceRange declaration);
  void add_local(LocalVariable local) { locals_.push_back(local); }
  // To be called once all are added: orders them, and keeps one of each range.
  void finish();

  // The name at `offset`, or one that ends there; null if there is none.
  const Occurrence* at(std::uint32_t offset) const;
  const std::vector<Occurrence>& all() const { return occurrences_; }
  std::vector<SourceRange> ranges_of(SourceRange declaration) const;
  const std::vector<LocalVariable>& locals() const { return locals_; }
  // Those that can be seen at `offset`, without the hidden ones.
  std::vector<LocalVariable> locals_at(std::uint32_t offset) const;
  const LocalVariable* local(SourceRange declaration) const;

 private:
  std::vector<Occurrence> occurrences_;
  std::vector<LocalVariable> locals_;
};

}  // namespace dhpvm::compiler::lsp
