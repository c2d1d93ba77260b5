// SPDX-License-Identifier: Apache-2.0
#include "compiler/text/snippet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "compiler/text/utf8.h"

namespace dhpvm::compiler {
namespace {

constexpr std::uint32_t kTabWidth = 4;
constexpr std::size_t kMaxColumns = 160;     // of source shown on one line
constexpr std::size_t kContextColumns = 40;  // kept before the range when a line is cut

// The displayed form of one code point of the source.
struct Cell {
  std::string text;
  std::uint32_t width = 1;
  std::uint32_t offset = 0;  // in the source line
};

Cell make_cell(std::string_view rest, std::uint32_t offset, std::size_t column, std::uint32_t* consumed) {
  const CodePoint point = decode_utf8(rest);
  *consumed = point.bytes;
  Cell cell;
  cell.offset = offset;
  if (point.value == '\t') {
    cell.width = kTabWidth - static_cast<std::uint32_t>(column % kTabWidth);
    cell.text.assign(cell.width, ' ');
  } else if (!point.valid) {
    cell.text = "\xEF\xBF\xBD";
  } else if (point.value < 0x20 || (point.value >= 0x7F && point.value < 0xA0)) {
    cell.text = "?";
  } else if (display_width(point.value) == 0 && point.value >= 0x200B) {
    // Direction overrides and similar could disguise the line; combining marks are kept.
    cell.text = "?";
  } else {
    cell.text = std::string(rest.substr(0, point.bytes));
    cell.width = display_width(point.value);
  }
  return cell;
}

// The part of the line that can be shown around `first_offset`, so that very long lines are cheap.
std::vector<Cell> make_cells(std::string_view line, std::uint32_t first_offset) {
  std::vector<Cell> cells;
  std::size_t column = 0;
  // Starts near the range if the line is very long; tab stops are then relative, which is hardly visible.
  std::size_t at = 0;
  if (first_offset > 4 * kMaxColumns) {
    at = first_offset - 4 * kMaxColumns;
    while (at < first_offset && (static_cast<unsigned char>(line[at]) & 0xC0) == 0x80) ++at;
  }
  const std::size_t stop = std::min(line.size(), first_offset + 4 * kMaxColumns);
  while (at < stop) {
    std::uint32_t consumed = 1;
    cells.push_back(make_cell(line.substr(at), static_cast<std::uint32_t>(at), column, &consumed));
    column += cells.back().width;
    at += consumed;
  }
  return cells;
}

}  // namespace

std::string render_snippet(const SourceFile& file, SourceRange range, std::string_view label,
                           const SnippetStyle& style) {
  const LineColumn position = file.position(range.begin);
  const std::string_view line = file.line(position.line);
  const auto line_length = static_cast<std::uint32_t>(line.size());
  const std::uint32_t line_begin = file.line_start(position.line);
  const std::uint32_t begin = std::min(range.begin - line_begin, line_length);
  const std::uint32_t end =
      std::clamp(range.end < line_begin ? 0 : range.end - line_begin, begin, line_length);

  const std::vector<Cell> cells = make_cells(line, begin);
  std::size_t before = 0;  // columns before the range
  std::size_t total = 0;
  for (const Cell& cell : cells) {
    if (cell.offset < begin) before += cell.width;
    total += cell.width;
  }
  const bool starts_late = !cells.empty() && cells.front().offset > 0;
  const std::size_t first_column =
      (starts_late || total > kMaxColumns) && before > kContextColumns ? before - kContextColumns : 0;

  std::string source;
  std::string blanks;
  std::string marks;
  std::size_t column = 0;
  bool cut_end = false;
  for (const Cell& cell : cells) {
    const std::size_t cell_column = column;
    column += cell.width;
    if (cell_column < first_column) continue;
    if (column - first_column > kMaxColumns) {
      cut_end = true;
      break;
    }
    source += cell.text;
    if (cell.offset < begin) {
      blanks.append(cell.width, ' ');
    } else if (cell.offset < end) {
      marks.append(cell.width, '~');
    }
  }
  if (first_column > 0 || starts_late) {
    source.insert(0, "...");
    blanks.insert(0, "   ");
  }
  if (cut_end || (!cells.empty() && cells.back().offset + 4 < line_length && column > kMaxColumns)) {
    source += "...";
  }
  while (!source.empty() && source.back() == ' ') source.pop_back();
  if (marks.empty()) marks = "~";
  marks.front() = '^';

  std::string text = source.empty() ? fmt::format("{:>5} |\n", position.line)
                                    : fmt::format("{:>5} | {}\n", position.line, source);
  text += fmt::format("      | {}{}{}{}", blanks, style.underline_begin, marks, style.underline_end);
  if (!label.empty()) text += fmt::format(" {}{}{}", style.underline_begin, label, style.underline_end);
  text += '\n';
  return text;
}

}  // namespace dhpvm::compiler
