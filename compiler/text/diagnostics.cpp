// SPDX-License-Identifier: Apache-2.0
#include "compiler/text/diagnostics.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "compiler/text/snippet.h"

namespace dhpvm::compiler {
namespace {

struct Palette {
  std::string_view error;
  std::string_view warning;
  std::string_view note;
  std::string_view help;
  std::string_view bold;
  std::string_view reset;
};

constexpr Palette kPlain{};
constexpr Palette kColoured{"\x1b[1;31m", "\x1b[1;35m", "\x1b[1;36m", "\x1b[1;32m", "\x1b[1m", "\x1b[0m"};

// Messages quote the source, which may contain anything: control characters must not reach the terminal.
std::string printable(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    clean += (byte < 0x20 && c != '\n') || byte == 0x7F ? '?' : c;
  }
  return clean;
}

class Renderer {
 public:
  Renderer(const SourceManager& sources, const Palette& palette) : sources_(sources), palette_(palette) {}

  void diagnostic(const Diagnostic& diagnostic) {
    const bool is_error = diagnostic.severity == Severity::kError;
    const std::string_view colour = is_error ? palette_.error : palette_.warning;
    if (diagnostic.has_range) location(diagnostic.range);
    text_ += fmt::format("{}{}: {}{}{}{}\n", colour, is_error ? "error" : "warning", palette_.reset,
                         palette_.bold, printable(diagnostic.message), palette_.reset);
    if (diagnostic.has_range) snippet(diagnostic.range, diagnostic.label, colour);
    for (const Diagnostic::Note& note : diagnostic.notes) {
      text_ += "  ";
      if (note.has_range) location(note.range);
      text_ += fmt::format("{}note: {}{}\n", palette_.note, palette_.reset, printable(note.message));
      if (note.has_range) snippet(note.range, {}, palette_.note);
    }
    for (const std::string& help : diagnostic.helps) {
      text_ += fmt::format("  {}help: {}{}\n", palette_.help, palette_.reset, printable(help));
    }
  }

  void line(std::string_view line) { text_ += fmt::format("{}\n", line); }

  std::string take() { return std::move(text_); }

 private:
  void location(SourceRange range) {
    const LineColumn position = sources_.position(range);
    text_ += fmt::format("{}{}:{}:{}: {}", palette_.bold, printable(sources_.file(range.file).name()),
                         position.line, position.column, palette_.reset);
  }
  void snippet(SourceRange range, std::string_view label, std::string_view colour) {
    text_ += render_snippet(sources_.file(range.file), range, printable(label), {colour, palette_.reset});
  }

  const SourceManager& sources_;
  const Palette& palette_;
  std::string text_;
};

auto order(const Diagnostic& d) { return std::tuple(d.has_range, d.range.file, d.range.begin, d.severity); }

}  // namespace

Diagnostic& Diagnostics::add(Severity severity, SourceRange range, std::string message) {
  if (severity == Severity::kError) ++error_count_;
  Diagnostic* diagnostic = &overflow_;
  if (diagnostics_.size() < kMaxKept) {
    diagnostic = &diagnostics_.emplace_back();
  } else {
    overflow_ = {};
  }
  diagnostic->severity = severity;
  diagnostic->range = range;
  diagnostic->message = std::move(message);
  return *diagnostic;
}

std::string Diagnostics::render(bool colour) const {
  std::vector<std::size_t> sorted(diagnostics_.size());
  std::iota(sorted.begin(), sorted.end(), std::size_t{0});
  // The index breaks ties: the earlier message comes first.
  std::sort(sorted.begin(), sorted.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple_cat(order(diagnostics_[a]), std::tuple(a)) <
           std::tuple_cat(order(diagnostics_[b]), std::tuple(b));
  });
  // A generic function that is instantiated twice gives the same message twice.
  const auto same = [&](std::size_t a, std::size_t b) {
    return order(diagnostics_[a]) == order(diagnostics_[b]) &&
           diagnostics_[a].message == diagnostics_[b].message;
  };
  const auto unique_end = std::unique(sorted.begin(), sorted.end(), same);
  const auto duplicates = static_cast<std::size_t>(sorted.end() - unique_end);
  sorted.erase(unique_end, sorted.end());

  Renderer renderer(sources_, colour ? kColoured : kPlain);
  std::size_t errors_shown = 0;
  for (std::size_t i = 0; i < sorted.size() && i < kMaxShown; ++i) {
    renderer.diagnostic(diagnostics_[sorted[i]]);
    if (diagnostics_[sorted[i]].severity == Severity::kError) ++errors_shown;
  }
  const std::size_t hidden = error_count_ - std::min(error_count_, errors_shown + duplicates);
  if (hidden == 1) renderer.line("1 more error");
  if (hidden > 1) renderer.line(fmt::format("{} more errors", hidden));
  return renderer.take();
}

}  // namespace dhpvm::compiler
