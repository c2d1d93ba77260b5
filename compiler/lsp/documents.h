// SPDX-License-Identifier: Apache-2.0
// The open documents: the client's text takes precedence over the files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "compiler/lsp/json.h"
#include "compiler/text/source.h"

namespace dhpvm::compiler::lsp {

struct Document {
  std::string uri;       // as the client writes it
  std::int64_t version;  // the client's
  std::uint64_t change;  // increases with every change of any document, to validate cached answers
  SourceFile file;       // named by its path
};

class Documents {
 public:
  // The parameters are those of the notifications. A document beyond the compiler's limit is truncated.
  Document& open(const Json& params);
  // Null if the document is not open.
  Document* change(const Json& params);
  void close(std::string_view path);

  // Null if no document with this path is open.
  const Document* find(std::string_view path) const;
  const std::map<std::string, Document, std::less<>>& all() const { return documents_; }
  // Increases with every change.
  std::uint64_t changes() const { return changes_; }

 private:
  std::map<std::string, Document, std::less<>> documents_;  // by path
  std::uint64_t changes_ = 0;
};

}  // namespace dhpvm::compiler::lsp
