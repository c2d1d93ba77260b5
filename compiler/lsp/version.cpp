// SPDX-License-Identifier: Apache-2.0
#include "compiler/lsp/version.h"

namespace dhpvm::compiler::lsp {

namespace {

// Each snapshot has its own checked program; a search for names makes one per name in files that are not open.
constexpr std::size_t kMostSnapshots = 8;

std::shared_ptr<const Snapshot> among(const std::vector<std::shared_ptr<const Snapshot>>& list,
                                      const std::optional<FunctionList>& functions, bool with_messages) {
  for (const std::shared_ptr<const Snapshot>& snapshot : list) {
    if (snapshot->knows(functions, with_messages)) return snapshot;
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<const Snapshot> Version::known(const Part& part) const {
  return snapshots_.empty() ? nullptr : among(snapshots_, functions_of(*parsed_, part), part.with_messages);
}

std::shared_ptr<const Snapshot> Version::snapshot(const Part& part, const Interrupt& interrupt) {
  std::optional<FunctionList> functions = functions_of(*parsed_, part);
  if (std::shared_ptr<const Snapshot> known = among(snapshots_, functions, part.with_messages)) return known;
  auto made = std::make_shared<const Snapshot>(parsed_, std::move(functions), part.with_messages, interrupt);
  if (!made->is_finished()) return nullptr;
  // A snapshot of the whole document is always the last: no others are made after it.
  if (snapshots_.size() == kMostSnapshots) snapshots_.erase(snapshots_.begin());
  snapshots_.push_back(made);
  return made;
}

}  // namespace dhpvm::compiler::lsp
