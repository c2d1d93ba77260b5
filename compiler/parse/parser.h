// SPDX-License-Identifier: Apache-2.0
// Parses the text of one file. Accepts any bytes: errors are reported, parsing continues after them, and the tree has
// kError nodes in their place. The tree is never deeper than ast::kMaxDepth.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "compiler/parse/ast.h"
#include "compiler/text/diagnostics.h"
#include "compiler/text/source.h"

namespace dhpvm::compiler {

struct ParseOptions {
  std::string module_path;  // "geometry.shapes"; empty for the root file
  bool is_stdlib = false;   // stored in the Module
};

std::unique_ptr<ast::Module> parse(const SourceManager& sources, std::uint32_t file,
                                   const ParseOptions& options, Diagnostics& diagnostics);

}  // namespace dhpvm::compiler
