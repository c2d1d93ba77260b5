// SPDX-License-Identifier: Apache-2.0
// The names in one file, and their declarations. A declaration is identified by the place of its name; a module by the
// start of its file.
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

// A variable and its scope: from the end of its name to `end`, unless an inner one shadows it.
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
  // Sorts the names and removes duplicates; call it once all are added.
  void finish();

  // The name that contains `offset` or ends there; null if there is none.
  const Occurrence* at(std::uint32_t offset) const;
  const std::vector<Occurrence>& all() const { return occurrences_; }
  std::vector<SourceRange> ranges_of(SourceRange declaration) const;
  const std::vector<LocalVariable>& locals() const { return locals_; }
  // The variables in scope at `offset`, without shadowed ones.
  std::vector<LocalVariable> locals_at(std::uint32_t offset) const;
  const LocalVariable* local(SourceRange declaration) const;

 private:
  std::vector<Occurrence> occurrences_;
  std::vector<LocalVariable> locals_;
};

}  // namespace dhpvm::compiler::lsp
