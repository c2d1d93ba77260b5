// SPDX-License-Identifier: Apache-2.0
#include "compiler/lsp/workspace.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "compiler/lsp/positions.h"
#include "compiler/lsp/uri.h"

namespace dhpvm::compiler::lsp {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".dhp";
// The snapshot of even a small program takes megabytes, because it includes the library.
constexpr std::size_t kMaxClosed = 16;
constexpr std::size_t kMaxRetired = 8;

std::string folder_of(const std::string& path) { return fs::path(path).parent_path().string(); }

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

}  // namespace

Stamp Workspace::stamp_of(const std::string& path) const {
  if (const Document* document = documents_.find(path); document != nullptr) return {document->change, -1};
  std::error_code problem;
  const auto time = fs::last_write_time(path, problem);
  if (problem) return {0, 0};
  const std::uintmax_t size = fs::file_size(path, problem);
  return {problem ? 0 : size, time.time_since_epoch().count()};
}

bool Workspace::is_fresh(const Version& version) const {
  return std::ranges::all_of(version.sources(),
                             [&](const auto& source) { return stamp_of(source.first) == source.second; });
}

void Workspace::forget() {
  for (auto& [path, entry] : entries_) entry.latest = nullptr;
}

void Workspace::retire(std::shared_ptr<const void> state) {
  if (state == nullptr) return;
  retired_.push_back(std::move(state));
  if (retired_.size() > kMaxRetired) retired_.erase(retired_.begin());
}

ImportOptions Workspace::imports_of(const std::string& path) const {
  ImportOptions imports;
  imports.builtin_modules = options_.builtin_modules;
  imports.import_paths.push_back(folder_of(path));
  const auto add = [&](const std::vector<std::string>& list) {
    imports.import_paths.insert(imports.import_paths.end(), list.begin(), list.end());
  };
  add(options_.import_paths);
  add(folders_);
  imports.read = [this](const std::string& name) -> Result<std::string> {
    if (std::optional<std::string> text = text_of(name); text.has_value()) return std::move(*text);
    return error(ErrorCode::kNotFound, "there is no file '{}'", name);
  };
  return imports;
}

std::optional<std::string> Workspace::text_of(const std::string& path) const {
  if (const Document* document = documents_.find(path); document != nullptr)
    return std::string(document->file.text());
  std::error_code problem;
  if (!fs::is_regular_file(path, problem) || fs::file_size(path, problem) >= SourceManager::kMaxFileBytes)
    return std::nullopt;
  Result<std::string> text = read_text_file(path);
  return text.ok() ? std::optional(std::move(*text)) : std::nullopt;
}

const BuiltinModule* Workspace::library_module(std::string_view path) const {
  const fs::path name(path);
  if (options_.library_folder.empty() || name.parent_path() != options_.library_folder) return nullptr;
  const auto found = std::ranges::find_if(options_.builtin_modules, [&](const BuiltinModule& module) {
    return module.name == name.stem().string();
  });
  return found == options_.builtin_modules.end() ? nullptr : &*found;
}

std::shared_ptr<Version> Workspace::read(const std::string& path) const {
  if (const BuiltinModule* module = library_module(path); module != nullptr)
    return std::make_shared<Version>(std::make_shared<const Parsed>(*module, imports_of(path)), Stamps());
  Stamps sources{{path, stamp_of(path)}};
  std::optional<std::string> text = text_of(path);
  if (!text.has_value()) return nullptr;
  auto parsed = std::make_shared<const Parsed>(path, std::move(*text), imports_of(path));
  for (const std::string& imported : parsed->imported()) sources.emplace_back(imported, stamp_of(imported));
  return std::make_shared<Version>(std::move(parsed), std::move(sources));
}

std::shared_ptr<Version> Workspace::version(const std::string& path) {
  Entry& entry = entries_[path];
  if (entry.latest != nullptr && is_fresh(*entry.latest)) return entry.latest;
  retire(std::exchange(entry.latest, read(path)));
  if (entry.latest == nullptr) {
    entries_.erase(path);
    return nullptr;
  }
  std::shared_ptr<Version> made = entry.latest;
  if (made->parsed().is_complete()) retire(std::exchange(entry.complete, made));
  if (documents_.find(path) == nullptr) {
    std::erase(closed_, path);
    closed_.push_back(path);
    evict();
  }
  return made;
}

std::shared_ptr<const Snapshot> Workspace::latest(const std::string& path, const Part& part,
                                                  const Interrupt& interrupt) {
  const std::shared_ptr<Version> now = version(path);
  return now == nullptr ? nullptr : now->snapshot(part, interrupt);
}

std::shared_ptr<const Snapshot> Workspace::known(const std::string& path, const Part& part) const {
  const auto entry = entries_.find(path);
  const bool is_known =
      entry != entries_.end() && entry->second.latest != nullptr && is_fresh(*entry->second.latest);
  return is_known ? entry->second.latest->known(part) : nullptr;
}

std::shared_ptr<const Parsed> Workspace::parsed(const std::string& path) {
  const std::shared_ptr<Version> now = version(path);
  return now == nullptr ? nullptr : now->parsed_state();
}

std::shared_ptr<const Snapshot> Workspace::imagine(const std::string& path, std::string text,
                                                   const Part& part) {
  Version imagined(std::make_shared<const Parsed>(path, std::move(text), imports_of(path)), Stamps());
  std::shared_ptr<const Snapshot> made = imagined.snapshot(part);
  retire(made);
  return made;
}

void Workspace::evict() {
  while (closed_.size() > kMaxClosed) {
    if (documents_.find(closed_.front()) == nullptr) entries_.erase(closed_.front());
    closed_.pop_front();
  }
}

std::optional<View> Workspace::view(const Json& params, const Part& part) {
  const std::shared_ptr<const Snapshot> now =
      latest(path_of(params.at("textDocument").at("uri").get<std::string>()), part);
  return now == nullptr ? std::nullopt : std::optional(View(now, now));
}

std::optional<View> Workspace::view_at_position(const Json& params) {
  const std::string path = path_of(params.at("textDocument").at("uri").get<std::string>());
  const std::shared_ptr<Version> now = version(path);
  if (now == nullptr) return std::nullopt;
  const SourceFile& file = now->parsed().file();
  const std::uint32_t place = offset_of(file, params.at("position"));
  std::shared_ptr<const Snapshot> shown = now->snapshot(Part::at(place));
  const std::shared_ptr<Version> complete = entries_.at(path).complete;
  if (complete != nullptr && complete != now && !now->parsed().is_complete()) {
    // Declarations are missing, so names would be unresolved everywhere.
    const Shift shift(complete->parsed().file().text(), file.text());
    if (shift.keeps(place)) return View(shown, complete->snapshot(Part::at(shift.to_old(place))));
  }
  return View(shown, shown);
}

View Workspace::other_part(const View& view, const Part& part) {
  for (const auto& [path, entry] : entries_) {
    for (const std::shared_ptr<Version>& version : {entry.latest, entry.complete}) {
      if (version != nullptr && &version->parsed() == &view->parsed())
        return View(view.latest_state(), version->snapshot(part));
    }
  }
  return view;
}

std::vector<std::string> Workspace::files() const {
  std::set<std::string> found;
  std::set<std::string> folders(folders_.begin(), folders_.end());
  std::size_t looked_at = 0;
  constexpr std::size_t kMaxLooks = 50'000;  // directory entries, sources or not
  for (const auto& [path, document] : documents_.all()) {
    found.insert(path);
    std::error_code problem;
    for (fs::directory_iterator entry(folder_of(path), problem), end; !problem && entry != end;
         entry.increment(problem)) {
      if (++looked_at > kMaxLooks || found.size() >= kMaxFiles) break;
      if (entry->path().extension() == kSuffix) found.insert(entry->path().string());
    }
  }
  for (const std::string& folder : folders) {
    std::error_code problem;
    for (fs::recursive_directory_iterator entry(folder, problem), end; !problem && entry != end;
         entry.increment(problem)) {
      if (++looked_at > kMaxLooks || found.size() >= kMaxFiles) break;
      std::error_code unknown;
      if (is_hidden(entry->path()) && entry->is_directory(unknown)) entry.disable_recursion_pending();
      if (entry->path().extension() == kSuffix && !is_hidden(entry->path()))
        found.insert(entry->path().string());
    }
  }
  return {found.begin(), found.end()};
}

std::string Workspace::library_path(std::string_view name) const {
  return (fs::path(options_.library_folder) / (std::string(name) + std::string(kSuffix))).string();
}

std::string Workspace::uri_of(const Snapshot& snapshot, SourceRange range) {
  const ast::Module& module = snapshot.module_of(range);
  const SourceFile& file = snapshot.file(range);
  if (!module.is_stdlib) {
    const Document* const document = documents_.find(file.name());
    return document != nullptr ? document->uri : lsp::uri_of(file.name());
  }
  if (options_.library_folder.empty()) return {};
  const std::string path = library_path(module.path);
  if (const Result<std::string> text = read_text_file(path); !text.ok() || *text != file.text()) {
    std::error_code problem;
    fs::create_directories(options_.library_folder, problem);
    if (!write_file(path, std::as_bytes(std::span(file.text()))).ok()) return {};
    // Changes to it would have no effect.
    fs::permissions(path, fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read, problem);
  }
  return lsp::uri_of(path);
}

Json Workspace::location(const View& view, SourceRange range) {
  const std::string uri = uri_of(*view, range);
  if (uri.empty()) return nullptr;
  const bool own = range.file == view->module().file;
  return {{"uri", uri}, {"range", own ? view.range_of(range) : range_of(view->file(range), range)}};
}

}  // namespace dhpvm::compiler::lsp
