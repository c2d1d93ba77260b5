// SPDX-License-Identifier: Apache-2.0
// The beginning of every random program: imports, functions and types that its statements use.
#pragma once

namespace dhpvm::compiler::testing {

// The modules whose types programs know without an import; some programs import them nevertheless.
extern const char* const kImports;
extern const char* const kPrelude;

}  // namespace dhpvm::compiler::testing
