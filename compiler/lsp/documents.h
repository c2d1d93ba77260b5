// SPDX-License-Identifier: Apache-2.0
// The documents that the client has open: their text is the client's, whatever the files hold.
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
  std::uint64_t change;  // grows with every change of any document, so that answers can be kept
  SourceFile file;       // named by its path
};

class Documents {
 public:
  // The parameters are those of the notifications. A document that grows beyond what the compiler takes is cut there.
  Document& open(const Json& params);
  // Null where the document is not open.
  Document* change(const Json& params);
  void close(std::string_view path);

  // Null where none of this path is open.
  const Document* find(std::string_view path) const;
  const std::map<std::string, Document, std::less<>>& all() const { return documents_; }
  // Differs after every change.
  std::uint64_t changes() const { return changes_; }

 private:
  std::map<std::string, Document, std::less<>> documents_;  // by path
  std::uint64_t changes_ = 0;
};

}  // namespace dhpvm::compiler::lsp
