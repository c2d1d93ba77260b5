// SPDX-License-Identifier: Apache-2.0
// textDocument/codeAction: help messages of the compiler that contain the exact replacement. Each is tried first, and
// offered if it reduces the number of errors or warnings.
#include <algorithm>
#include <chrono>
#include <vector>

#include "base/thread.h"
#include "compiler/lsp/features.h"
#include "compiler/lsp/positions.h"
#include "compiler/lsp/uri.h"

namespace dhpvm::compiler::lsp {

namespace {

// Each try is a compilation while the client waits: none is started after the request has used this much processor
// time.
constexpr std::chrono::milliseconds kBudget{30};

struct Edit {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::string text;
};

struct Remedy {
  std::string title;
  std::vector<Edit> edits;  // in the order of the text
};

// The text between the first two backticks, and what follows.
struct Quoted {
  std::string_view code;
  std::string_view rest;
};
std::optional<Quoted> quoted_after(std::string_view help, std::string_view words) {
  if (!help.starts_with(words)) return std::nullopt;
  help.remove_prefix(words.size());
  if (!help.starts_with('`')) return std::nullopt;
  help.remove_prefix(1);
  const std::size_t end = help.find('`');
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  return Quoted{help.substr(0, end), help.substr(end + 1)};
}

// `import name;` after the last import, or at the top after the file's comment.
Edit import_of(const Snapshot& snapshot, std::string_view import) {
  const SourceFile& file = snapshot.file();
  const std::string line = std::string(import) + "\n";
  if (!snapshot.module().imports.empty()) {
    const std::uint32_t last = file.position(snapshot.module().imports.back().range.begin).line;
    const std::uint32_t place = file.line_start(last + 1);
    const bool at_end = place == file.text().size() && !file.text().ends_with('\n');
    return {place, place, at_end ? "\n" + line : line};
  }
  std::uint32_t number = 1;
  while (number <= file.line_count() && file.line(number).starts_with("//")) ++number;
  if (number > 1 && number <= file.line_count() && file.line(number).empty())
    return {file.line_start(number), file.line_start(number), "\n" + line};
  // A comment directly before the first declaration belongs to that.
  const std::uint32_t top = file.line(1).starts_with("// SPDX") ? file.line_start(2) : 0;
  return {top, top, line + "\n"};
}

class Remedies {
 public:
  Remedies(const Snapshot& snapshot, const Diagnostic& diagnostic)
      : snapshot_(snapshot), range_(diagnostic.range), text_(snapshot.file().text()) {
    for (const std::string& help : diagnostic.helps) read(help);
  }
  std::vector<Remedy>& found() { return found_; }

 private:
  void add(std::string title, std::vector<Edit> edits) {
    if (!title.empty() && title[0] >= 'a' && title[0] <= 'z')
      title[0] = static_cast<char>(title[0] - 'a' + 'A');
    std::ranges::sort(edits, {}, &Edit::begin);
    found_.push_back({std::move(title), std::move(edits)});
  }

  Edit replaced(std::string_view code) const {
    if (code.starts_with('.') && range_.begin > 0 && text_[range_.begin - 1] == '.') code.remove_prefix(1);
    return {range_.begin, range_.end, std::string(code)};
  }

  void read(const std::string& help) {
    if (help.find("...") != std::string::npos) return;  // a template, not exact text
    if (const auto code = quoted_after(help, "write "); code.has_value()) return write(help, *code);
    if (const auto code = quoted_after(help, "add "); code.has_value() && code->code.starts_with("import "))
      return add(help, {import_of(snapshot_, code->code)});
    if (const auto code = quoted_after(help, "did you mean "); code.has_value()) return mean(*code);
    if (const auto code = quoted_after(help, "remove it, or call it "); code.has_value())
      return add("call it `" + std::string(code->code) + "`", {replaced(code->code)});
    for (const std::string_view words : {"remove ", "remove the "}) {
      if (const auto code = quoted_after(help, words); code.has_value()) return remove(help, code->code);
    }
    if (help == "remove it") add(help, {without_line()});
  }

  void write(const std::string& help, const Quoted& code) {
    constexpr std::string_view kWith = ", with ";
    if (code.rest.starts_with(kWith)) {
      const auto import = quoted_after(code.rest, kWith);
      if (import.has_value() && import->code.starts_with("import "))
        add(help, {import_of(snapshot_, import->code), replaced(code.code)});
      return;
    }
    const bool is_whole = code.rest.empty() || code.rest == " here" || code.rest == " to compare";
    if (is_whole) add(help, {replaced(code.code)});
  }

  // "did you mean `import math;`?", about the name of the module.
  void mean(const Quoted& code) {
    std::string_view name = code.code;
    if (!name.starts_with("import ") || !name.ends_with(';')) return;
    name.remove_prefix(name.find(' ') + 1);
    name.remove_suffix(1);
    add("import `" + std::string(name) + "`", {replaced(name)});
  }

  void remove(const std::string& help, std::string_view code) {
    const std::size_t place = text_.substr(range_.begin, range_.end - range_.begin).rfind(code);
    if (place == std::string_view::npos) return;
    const auto begin = static_cast<std::uint32_t>(range_.begin + place);
    add(help, {{begin, static_cast<std::uint32_t>(begin + code.size()), ""}});
  }

  // The range of the diagnostic, with its line if nothing else is on it.
  Edit without_line() const {
    const SourceFile& file = snapshot_.file();
    const std::uint32_t line = file.position(range_.begin).line;
    const std::string_view whole = file.line(line);
    const std::uint32_t start = file.line_start(line);
    const std::size_t first = std::min(whole.find_first_not_of(" \t"), whole.size());
    const bool alone = start + first == range_.begin && start + whole.size() <= range_.end + 1;
    return alone ? Edit{start, file.line_start(line + 1), ""} : Edit{range_.begin, range_.end, ""};
  }

  const Snapshot& snapshot_;
  SourceRange range_;
  std::string_view text_;
  std::vector<Remedy> found_;
};

// The number of errors and warnings in a part: a snapshot may have more.
struct Complaints {
  std::size_t errors = 0;
  std::size_t all = 0;
};
Complaints complaints(const Snapshot& snapshot, const Part& part) {
  const SourceRange range = range_of(snapshot.parsed(), part);
  Complaints found;
  for (const Diagnostic& diagnostic : snapshot.diagnostics().all()) {
    const bool is_outside = diagnostic.has_range && diagnostic.range.file == range.file &&
                            (diagnostic.range.end < range.begin || diagnostic.range.begin > range.end);
    if (is_outside) continue;
    ++found.all;
    found.errors += diagnostic.severity == Severity::kError ? 1 : 0;
  }
  return found;
}

// The place after the edits, which are at or before it.
std::uint32_t behind(const Remedy& remedy, std::uint32_t place) {
  std::size_t moved = place;
  for (const Edit& edit : remedy.edits) {
    if (edit.begin <= place) moved = moved + edit.text.size() - (std::min(edit.end, place) - edit.begin);
  }
  return static_cast<std::uint32_t>(moved);
}

bool helps(Workspace& workspace, const Snapshot& snapshot, Part part, const Remedy& remedy) {
  std::string text(snapshot.file().text());
  for (auto edit = remedy.edits.rbegin(); edit != remedy.edits.rend(); ++edit)
    text.replace(edit->begin, edit->end - edit->begin, edit->text);
  const Complaints before = complaints(snapshot, part);
  if (!part.is_whole()) {
    part.begin = behind(remedy, part.begin);
    part.end = std::max(part.begin, behind(remedy, part.end));
  }
  const std::shared_ptr<const Snapshot> tried =
      workspace.imagine(snapshot.file().name(), std::move(text), part);
  const Complaints after = complaints(*tried, part);
  // Warnings appear once the last error is fixed.
  return before.errors != 0 ? after.errors < before.errors : after.errors == 0 && after.all < before.all;
}

}  // namespace

Result<Json> quick_fixes(Workspace& workspace, const Json& params) {
  const std::chrono::nanoseconds start = processor_time_of_thread();
  const std::shared_ptr<const Parsed> parsed =
      workspace.parsed(path_of(params.at("textDocument").at("uri").get<std::string>()));
  if (parsed == nullptr) return Json();
  const SourceFile& file = parsed->file();
  const std::uint32_t begin = offset_of(file, params.at("range").at("start"));
  const std::uint32_t end = offset_of(file, params.at("range").at("end"));
  const Part part{begin, end, {}, true};
  const std::optional<View> view = workspace.view(params, part);
  if (!view.has_value()) return Json();
  const Snapshot& snapshot = view->latest();
  const std::string uri = workspace.uri_of(snapshot, {snapshot.module().file, 0, 0});
  Json actions = Json::array();
  for (const Diagnostic& diagnostic : snapshot.diagnostics().all()) {
    const SourceRange range = diagnostic.range;
    if (!diagnostic.has_range || range.file != snapshot.module().file || range.begin > end ||
        range.end < begin)
      continue;
    Remedies remedies(snapshot, diagnostic);
    for (Remedy& remedy : remedies.found()) {
      if (processor_time_of_thread() - start > kBudget) return actions;
      if (!helps(workspace, snapshot, part, remedy)) continue;
      Json edits = Json::array();
      for (Edit& edit : remedy.edits)
        edits.push_back({{"range", range_of(file, edit.begin, edit.end)}, {"newText", std::move(edit.text)}});
      Json changes = Json::object();
      changes[uri] = std::move(edits);
      actions.push_back({{"title", std::move(remedy.title)},
                         {"kind", "quickfix"},
                         {"isPreferred", true},
                         {"edit", {{"changes", std::move(changes)}}}});
    }
  }
  return actions;
}

}  // namespace dhpvm::compiler::lsp
