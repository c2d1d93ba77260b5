// SPDX-License-Identifier: Apache-2.0
// Source text in the style of the language.
#include "compiler/format/format.h"

#include <span>

#include "base/error.h"
#include "base/file.h"
#include "dhpvm/module.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {

Result<std::string> format_source(std::string_view source, const CompileOptions& options) {
  return compiler::format(source, options.file_name, options.colour);
}

Result<bool> format_file(const std::string& path, FormatMode mode, bool colour) {
  DHPVM_ASSIGN(const std::string source, read_text_file(path));
  DHPVM_ASSIGN(const std::string formatted, compiler::format(source, path, colour));
  if (formatted == source) return false;
  if (mode == FormatMode::kWrite) DHPVM_TRY(write_file(path, std::as_bytes(std::span(formatted))));
  return true;
}

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
