// SPDX-License-Identifier: Apache-2.0
// One text of a document: parsed once, and checked part by part on request.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/lsp/parsed.h"
#include "compiler/lsp/part.h"
#include "compiler/lsp/snapshot.h"

namespace dhpvm::compiler::lsp {

// Changes with the text of a document or file.
using Stamp = std::pair<std::uint64_t, std::int64_t>;
// The stamps of texts, by path.
using Stamps = std::vector<std::pair<std::string, Stamp>>;

class Version {
 public:
  // `sources`: the texts that it was made from.
  Version(std::shared_ptr<const Parsed> parsed, Stamps sources)
      : parsed_(std::move(parsed)), sources_(std::move(sources)) {}

  const Parsed& parsed() const { return *parsed_; }
  const std::shared_ptr<const Parsed>& parsed_state() const { return parsed_; }
  const Stamps& sources() const { return sources_; }
  // A snapshot that covers the part, and perhaps more. Null if it was interrupted.
  std::shared_ptr<const Snapshot> snapshot(const Part& part, const Interrupt& interrupt = {});
  // The same if it exists already; null otherwise.
  std::shared_ptr<const Snapshot> known(const Part& part) const;

 private:
  std::shared_ptr<const Parsed> parsed_;
  Stamps sources_;
  std::vector<std::shared_ptr<const Snapshot>> snapshots_;  // the most recent ones, oldest first
};

}  // namespace dhpvm::compiler::lsp
