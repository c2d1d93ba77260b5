// SPDX-License-Identifier: Apache-2.0
// The language server, with the standard library.
#include "dhpvm/language.h"

#include "compiler/lsp/server.h"
#include "stdlib/modules.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {

Result<bool> serve_language(int input, int output, const LanguageServerOptions& options) {
  return compiler::lsp::serve(input, output,
                              {stdlib::modules(), options.import_paths, options.library_folder});
}

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
