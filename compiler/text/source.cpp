// SPDX-License-Identifier: Apache-2.0
#include "compiler/text/source.h"

#include <algorithm>
#include <utility>

namespace dhpvm::compiler {
namespace {

// Continuation bytes of UTF-8 belong to the code point before them.
bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

SourceFile::SourceFile(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  line_starts_.push_back(0);
  for (std::size_t at = 0; (at = text_.find('\n', at)) != text_.npos;)
    line_starts_.push_back(static_cast<std::uint32_t>(++at));
  std::uint32_t continuations = 0;
  block_continuations_.reserve(text_.size() / kBlock + 2);
  for (std::size_t at = 0; at < text_.size(); at += kBlock) {
    block_continuations_.push_back(continuations);
    const std::string_view block = std::string_view(text_).substr(at, kBlock);
    continuations += static_cast<std::uint32_t>(std::ranges::count_if(block, is_continuation));
  }
  block_continuations_.push_back(continuations);  // for offsets at the end
}

LineColumn SourceFile::position(std::uint32_t offset) const {
  offset = std::min(offset, static_cast<std::uint32_t>(text_.size()));
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const auto line = static_cast<std::uint32_t>(after - line_starts_.begin());
  const std::uint32_t start = line_starts_[line - 1];
  return {line, 1 + (offset - start) - (continuations(offset) - continuations(start))};
}

std::uint32_t SourceFile::continuations(std::uint32_t offset) const {
  const std::uint32_t block = offset / kBlock;
  std::uint32_t count = block_continuations_[block];
  // Most blocks have no continuation bytes.
  if (block + 1 < block_continuations_.size() && block_continuations_[block + 1] == count) return count;
  for (std::uint32_t i = block * kBlock; i < offset; ++i) count += is_continuation(text_[i]) ? 1 : 0;
  return count;
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
