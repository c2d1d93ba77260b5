// SPDX-License-Identifier: Apache-2.0
// textDocument/publishDiagnostics.
#include <map>
#include <set>

#include "compiler/lsp/features.h"
#include "compiler/lsp/positions.h"
#include "compiler/lsp/uri.h"

namespace dhpvm::compiler::lsp {

namespace {

constexpr int kError = 1;
constexpr int kWarning = 2;
constexpr int kUnnecessary = 1;  // a tag: shown faded

// The message, the label, and the help, as the command line shows them.
std::string text_of(const Diagnostic& diagnostic) {
  std::string text = diagnostic.message;
  if (!diagnostic.label.empty()) text += ": " + diagnostic.label;
  for (const Diagnostic::Note& note : diagnostic.notes) {
    if (!note.has_range) text += "\nnote: " + note.message;
  }
  for (const std::string& help : diagnostic.helps) text += "\nhelp: " + help;
  return text;
}

bool is_about_what_is_not_needed(const Diagnostic& diagnostic) {
  if (diagnostic.severity != Severity::kWarning) return false;
  return diagnostic.message.find("never used") != std::string::npos ||
         diagnostic.message.find("never reached") != std::string::npos;
}

Json diagnostic_of(Workspace& workspace, const Snapshot& snapshot, const Diagnostic& diagnostic) {
  Json made{{"range", range_of(snapshot.file(), diagnostic.range)},
            {"severity", diagnostic.severity == Severity::kError ? kError : kWarning},
            {"source", "dhpvmc"},
            {"message", text_of(diagnostic)}};
  if (is_about_what_is_not_needed(diagnostic)) made["tags"] = Json::array({kUnnecessary});
  for (const Diagnostic::Note& note : diagnostic.notes) {
    if (!note.has_range) continue;
    const std::string uri = workspace.uri_of(snapshot, note.range);
    if (uri.empty()) continue;
    Json place{{"uri", uri}, {"range", range_of(snapshot.file(note.range), note.range)}};
    made["relatedInformation"].push_back({{"location", std::move(place)}, {"message", note.message}});
  }
  return made;
}

// Reports modules with errors at their imports; their own documents have the details.
void add_wrong_imports(const Snapshot& snapshot, Json& out) {
  std::map<std::uint32_t, const Diagnostic*> first;
  for (const Diagnostic& diagnostic : snapshot.diagnostics().all()) {
    if (diagnostic.severity == Severity::kError && diagnostic.has_range)
      first.try_emplace(diagnostic.range.file, &diagnostic);
  }
  for (const ast::Import& import : snapshot.module().imports) {
    const auto wrong = import.module == nullptr ? first.end() : first.find(import.module->file);
    if (wrong == first.end()) continue;
    const SourceFile& file = snapshot.file(wrong->second->range);
    const LineColumn place = file.position(wrong->second->range.begin);
    out.push_back({{"range", range_of(snapshot.file(), import.range)},
                   {"severity", kError},
                   {"source", "dhpvmc"},
                   {"message", "this module has errors: " + file.name() + ":" + std::to_string(place.line) +
                                   ": " + wrong->second->message}});
  }
}

}  // namespace

Json diagnostics_of(Workspace& workspace, const std::string& path) {
  Json list = Json::array();
  const std::shared_ptr<const Snapshot> snapshot = workspace.latest(path);
  if (snapshot == nullptr || snapshot->module().is_stdlib) return list;
  std::set<std::pair<std::uint32_t, std::string>> said;
  for (const Diagnostic& diagnostic : snapshot->diagnostics().all()) {
    if (diagnostic.has_range && diagnostic.range.file != snapshot->module().file) continue;
    if (!said.emplace(diagnostic.range.begin, diagnostic.message).second) continue;
    list.push_back(diagnostic_of(workspace, *snapshot, diagnostic));
  }
  add_wrong_imports(*snapshot, list);
  return list;
}

}  // namespace dhpvm::compiler::lsp
