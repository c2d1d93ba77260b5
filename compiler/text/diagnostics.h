// SPDX-License-Identifier: Apache-2.0
// The compiler's messages about a program: errors and warnings, each with a place, a message, notes and help. Collected
// during compilation, rendered at the end.
//
//   diagnostics.error(range, "no variable '{}' here", name)
//       .note(other, "'{}' is declared here", near)
//       .help("write `{}`", near);
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "compiler/text/source.h"

namespace dhpvm::compiler {

enum class Severity : std::uint8_t { kError, kWarning };

struct Diagnostic {
  struct Note {
    SourceRange range;
    bool has_range = false;
    std::string message;
  };

  Severity severity = Severity::kError;
  SourceRange range;
  bool has_range = true;  // false for a message about no particular place
  std::string message;
  std::string label;  // text at the underline; may be empty
  std::vector<Note> notes;
  std::vector<std::string> helps;

  template <typename... Args>
  Diagnostic& note(SourceRange where, fmt::format_string<Args...> format, Args&&... args) {
    notes.push_back({where, true, fmt::format(format, std::forward<Args>(args)...)});
    return *this;
  }
  template <typename... Args>
  Diagnostic& note(fmt::format_string<Args...> format, Args&&... args) {
    notes.push_back({{}, false, fmt::format(format, std::forward<Args>(args)...)});
    return *this;
  }
  template <typename... Args>
  Diagnostic& help(fmt::format_string<Args...> format, Args&&... args) {
    helps.push_back(fmt::format(format, std::forward<Args>(args)...));
    return *this;
  }
  template <typename... Args>
  Diagnostic& mark(fmt::format_string<Args...> format, Args&&... args) {
    label = fmt::format(format, std::forward<Args>(args)...);
    return *this;
  }
};

class Diagnostics {
 public:
  explicit Diagnostics(const SourceManager& sources) : sources_(sources) {}
  Diagnostics(const Diagnostics&) = delete;
  Diagnostics& operator=(const Diagnostics&) = delete;

  // The returned reference stays valid as long as this object.
  template <typename... Args>
  Diagnostic& error(SourceRange range, fmt::format_string<Args...> format, Args&&... args) {
    return add(Severity::kError, range, fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  Diagnostic& warning(SourceRange range, fmt::format_string<Args...> format, Args&&... args) {
    return add(Severity::kWarning, range, fmt::format(format, std::forward<Args>(args)...));
  }
  Diagnostic& add(Severity severity, SourceRange range, std::string message);

  bool has_errors() const { return error_count_ != 0; }
  std::size_t error_count() const { return error_count_; }
  const std::deque<Diagnostic>& all() const { return diagnostics_; }
  const SourceManager& sources() const { return sources_; }

  // All of them as text, ordered by file and place, duplicates dropped, each in the form
  //
  //   blur.dhp:7:13: error: no variable 'wdith' here
  //      7 |     let w = wdith + 1;
  //        |             ^~~~~
  //   help: write `width`
  //
  // At most kMaxShown, then "N more errors". `colour` adds ANSI escapes for a terminal. Ends with a newline
  // unless there is nothing to say.
  std::string render(bool colour = false) const;

  static constexpr std::size_t kMaxShown = 20;
  // Beyond this many, further diagnostics are counted but not kept: hostile input must not fill the memory.
  static constexpr std::size_t kMaxKept = 1000;

 private:
  const SourceManager& sources_;
  std::deque<Diagnostic> diagnostics_;
  Diagnostic overflow_;  // receives diagnostics beyond the limit
  std::size_t error_count_ = 0;
};

}  // namespace dhpvm::compiler
