// SPDX-License-Identifier: Apache-2.0
// Source files and places in them. A SourceManager owns the text of every file of one compilation; the
// string_views in tokens and syntax nodes point into it, so it must outlive them.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace dhpvm::compiler {

// The bytes [begin, end) of a file. `file` indexes the SourceManager.
struct SourceRange {
  std::uint32_t file = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  bool operator==(const SourceRange&) const = default;
};

// From the start of `first` to the end of `last`, both of one file.
constexpr SourceRange join(SourceRange first, SourceRange last) {
  return {first.file, first.begin, last.end < first.begin ? first.end : last.end};
}

struct LineColumn {
  std::uint32_t line = 1;    // 1-based
  std::uint32_t column = 1;  // 1-based, counted in Unicode code points
};

class SourceFile {
 public:
  SourceFile(std::string name, std::string text);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }

  // An offset past the end counts as the end.
  LineColumn position(std::uint32_t offset) const;
  std::uint32_t line_count() const { return static_cast<std::uint32_t>(line_starts_.size()); }
  // The text of a 1-based line without its line end; empty for a line that does not exist.
  std::string_view line(std::uint32_t number) const;
  // The offset at which a 1-based line starts.
  std::uint32_t line_start(std::uint32_t number) const;

 private:
  // The number of bytes before `offset` that continue a code point.
  std::uint32_t continuations(std::uint32_t offset) const;

  std::string name_;
  std::string text_;
  std::vector<std::uint32_t> line_starts_;
  // continuations() of every kBlock-th offset: every expression asks for its column, and in a file whose one
  // line is a long table, counting from the start of the line would take most of the compilation.
  static constexpr std::uint32_t kBlock = 64;
  std::vector<std::uint32_t> block_continuations_;
};

class SourceManager {
 public:
  SourceManager() = default;
  SourceManager(const SourceManager&) = delete;
  SourceManager& operator=(const SourceManager&) = delete;

  // Offsets are 32-bit: `text` must be shorter than kMaxFileBytes, which the loader checks.
  std::uint32_t add(std::string name, std::string text);

  const SourceFile& file(std::uint32_t index) const { return files_[index]; }
  std::uint32_t file_count() const { return static_cast<std::uint32_t>(files_.size()); }
  LineColumn position(SourceRange range) const { return files_[range.file].position(range.begin); }
  std::string_view text(SourceRange range) const {
    return files_[range.file].text().substr(range.begin, range.end - range.begin);
  }

  // No source that a person or a sane generator writes comes near; beyond it the tree would not
  // fit in memory.
  static constexpr std::uint32_t kMaxFileBytes = 16u << 20;

 private:
  std::deque<SourceFile> files_;  // a deque, because views of the texts must stay valid
};

}  // namespace dhpvm::compiler
