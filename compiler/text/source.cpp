// SPDX-License-Identifier: Apache-2.0
#include "compiler/text/source.h"

#include <algorithm>
#include <utility>

namespace dhpvm::compiler {

SourceFile::SourceFile(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  line_starts_.push_back(0);
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(static_cast<std::uint32_t>(i + 1));
  }
}

LineColumn SourceFile::position(std::uint32_t offset) const {
  offset = std::min(offset, static_cast<std::uint32_t>(text_.size()));
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const auto line = static_cast<std::uint32_t>(after - line_starts_.begin());
  std::uint32_t column = 1;
  for (std::uint32_t i = line_starts_[line - 1]; i < offset; ++i) {
    // Continuation bytes belong to the code point before them.
    const bool continuation = (static_cast<unsigned char>(text_[i]) & 0xC0) == 0x80;
    if (!continuation) ++column;
  }
  return {line, column};
}

std::uint32_t SourceFile::line_start(std::uint32_t number) const {
  if (number == 0 || number > line_starts_.size()) return static_cast<std::uint32_t>(text_.size());
  return line_starts_[number - 1];
}

std::string_view SourceFile::line(std::uint32_t number) const {
  if (number == 0 || number > line_starts_.size()) return {};
  const std::uint32_t begin = line_starts_[number - 1];
  std::string_view rest = std::string_view(text_).substr(begin);
  rest = rest.substr(0, rest.find('\n'));
  if (!rest.empty() && rest.back() == '\r') rest.remove_suffix(1);
  return rest;
}

std::uint32_t SourceManager::add(std::string name, std::string text) {
  files_.emplace_back(std::move(name), std::move(text));
  return static_cast<std::uint32_t>(files_.size() - 1);
}

}  // namespace dhpvm::compiler
