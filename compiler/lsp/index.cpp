// SPDX-License-Identifier: Apache-2.0
#include "compiler/lsp/index.h"

#include <algorithm>
#include <map>

namespace dhpvm::compiler::lsp {

void Index::add(SourceRange range, SourceRange declaration) {
  if (range.begin < range.end) occurrences_.push_back({range, declaration});
}

void Index::finish() {
  std::ranges::stable_sort(occurrences_, {}, [](const Occurrence& entry) { return entry.range.begin; });
  const auto rest =
      std::ranges::unique(occurrences_, {}, [](const Occurrence& entry) { return entry.range.begin; });
  occurrences_.erase(rest.begin(), rest.end());
  std::ranges::sort(locals_, {}, [](const LocalVariable& local) { return local.range.begin; });
}

const Occurrence* Index::at(std::uint32_t offset) const {
  const auto behind = std::ranges::upper_bound(occurrences_, offset, {},
                                               [](const Occurrence& entry) { return entry.range.begin; });
  if (behind == occurrences_.begin()) return nullptr;
  const Occurrence& entry = *std::prev(behind);
  if (offset <= entry.range.end) return &entry;
  return nullptr;
}

std::vector<SourceRange> Index::ranges_of(SourceRange declaration) const {
  std::vector<SourceRange> ranges;
  for (const Occurrence& entry : occurrences_) {
    if (entry.declaration == declaration) ranges.push_back(entry.range);
  }
  return ranges;
}

std::vector<LocalVariable> Index::locals_at(std::uint32_t offset) const {
  std::map<std::string_view, LocalVariable> seen;  // by name: the innermost, which starts last
  for (const LocalVariable& local : locals_) {
    if (local.range.end <= offset && offset <= local.end) seen[local.name] = local;
  }
  std::vector<LocalVariable> found;
  found.reserve(seen.size());
  for (const auto& [name, local] : seen) found.push_back(local);
  return found;
}

const LocalVariable* Index::local(SourceRange declaration) const {
  const auto found = std::ranges::lower_bound(locals_, declaration.begin, {},
                                              [](const LocalVariable& local) { return local.range.begin; });
  return found != locals_.end() && found->range == declaration ? &*found : nullptr;
}

}  // namespace dhpvm::compiler::lsp
