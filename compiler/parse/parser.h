// SPDX-License-Identifier: Apache-2.0
// Turns the text of one file into its syntax tree. Accepts any bytes: what is wrong is reported, the parser
// goes on behind it, and the tree holds kError nodes in its place. Never deeper than ast::kMaxDepth.
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
  bool is_stdlib = false;   // noted in the Module
};

std::unique_ptr<ast::Module> parse(const SourceManager& sources, std::uint32_t file,
                                   const ParseOptions& options, Diagnostics& diagnostics);

}  // namespace dhpvm::compiler
