// SPDX-License-Identifier: Apache-2.0
#include "compiler/lsp/positions.h"

#include <algorithm>
#include <string_view>

#include "compiler/text/utf8.h"

namespace dhpvm::compiler::lsp {

namespace {

// Units of UTF-16 that a character takes.
std::uint64_t units_of(const CodePoint& point) { return point.value > 0xFFFF ? 2 : 1; }

}  // namespace

Json position_of(const SourceFile& file, std::uint32_t offset) {
  offset = std::min(offset, static_cast<std::uint32_t>(file.text().size()));
  const std::uint32_t line = file.position(offset).line;
  const std::uint32_t start = file.line_start(line);
  std::string_view before = file.text().substr(start, offset - start);
  const auto other =
      std::ranges::find_if(before, [](char byte) { return static_cast<unsigned char>(byte) > 0x7f; });
  auto column = static_cast<std::uint64_t>(other - before.begin());
  before.remove_prefix(column);
  while (!before.empty()) {
    const CodePoint point = decode_utf8(before);
    column += units_of(point);
    before.remove_prefix(point.bytes);
  }
  return {{"line", line - 1}, {"character", column}};
}

std::uint32_t offset_of(const SourceFile& file, const Json& position) {
  const auto line = position.at("line").get<std::uint64_t>();
  auto column = position.at("character").get<std::uint64_t>();
  if (line >= file.line_count()) return static_cast<std::uint32_t>(file.text().size());
  const auto number = static_cast<std::uint32_t>(line) + 1;
  std::string_view rest = file.line(number);
  std::uint32_t offset = file.line_start(number);
  while (!rest.empty() && column > 0) {
    const CodePoint point = decode_utf8(rest);
    if (units_of(point) > column) break;
    column -= units_of(point);
    offset += point.bytes;
    rest.remove_prefix(point.bytes);
  }
  return offset;
}

Json range_of(const SourceFile& file, std::uint32_t begin, std::uint32_t end) {
  return {{"start", position_of(file, begin)}, {"end", position_of(file, end)}};
}

}  // namespace dhpvm::compiler::lsp
