// SPDX-License-Identifier: Apache-2.0
// Names of documents: `file:` URIs, and the paths that they stand for.
#pragma once

#include <string>
#include <string_view>

namespace dhpvm::compiler::lsp {

// The path of a `file:` URI; any other URI as it is, so that documents that were never saved have a name too.
std::string path_of(std::string_view uri);
// The URI of a path; what is no absolute path is a URI already.
std::string uri_of(std::string_view path);

}  // namespace dhpvm::compiler::lsp
