// SPDX-License-Identifier: Apache-2.0
// The sources that a client works on: open documents, the files around them, the modules of the library. Caches results
// while their sources are unchanged.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/lsp/documents.h"
#include "compiler/lsp/json.h"
#include "compiler/lsp/snapshot.h"
#include "compiler/lsp/version.h"
#include "compiler/lsp/view.h"
#include "compiler/text/builtin_module.h"

namespace dhpvm::compiler::lsp {

struct WorkspaceOptions {
  std::span<const BuiltinModule> builtin_modules;  // must outlive the workspace
  // Folders searched for imports, after the document's folder and before those of the client.
  std::vector<std::string> import_paths;
  // Where the sources of the library's modules are written for the client to open. Empty: they cannot be opened.
  std::string library_folder;
};

class Workspace {
 public:
  explicit Workspace(WorkspaceOptions options) : options_(std::move(options)) {}

  Documents& documents() { return documents_; }
  // The folders that the client has open.
  void set_folders(std::vector<std::string> folders) { folders_ = std::move(folders); }
  const WorkspaceOptions& options() const { return options_; }
  // Drops all caches of files, because any of them may have changed.
  void forget();

  // A snapshot of a document or file as it is now. Null if it does not exist, or if the work was interrupted.
  std::shared_ptr<const Snapshot> latest(const std::string& path, const Interrupt& interrupt = {}) {
    return latest(path, Part(), interrupt);
  }
  // The same for a part of it.
  std::shared_ptr<const Snapshot> latest(const std::string& path, const Part& part,
                                         const Interrupt& interrupt = {});
  // The same if it exists already; null otherwise.
  std::shared_ptr<const Snapshot> known(const std::string& path, const Part& part) const;
  // The syntax trees of the document. Null if it does not exist.
  std::shared_ptr<const Parsed> parsed(const std::string& path);
  // Frees replaced states. This takes time, so call it while no request waits.
  void tidy() { retired_.clear(); }
  // The current view of a part of the document that the request's parameters name.
  std::optional<View> view(const Json& params, const Part& part);
  // The part around the position of the parameters. If the document is not complete (Parsed::is_complete), it comes
  // from the last state that was, provided that the position is in the text that has not changed since.
  std::optional<View> view_at_position(const Json& params);
  // Another part of the text of a view.
  View other_part(const View& view, const Part& part);
  // A part of the document with another text. tidy() frees it.
  std::shared_ptr<const Snapshot> imagine(const std::string& path, std::string text, const Part& part);

  // All sources in the folders of the client and next to open documents, by path. At most kMaxFiles.
  std::vector<std::string> files() const;
  // Its text: the client's if it is open.
  std::optional<std::string> text_of(const std::string& path) const;

  // A URI for a file of a snapshot. Empty: it cannot be opened.
  std::string uri_of(const Snapshot& snapshot, SourceRange range);
  // The protocol's location; null if the file cannot be opened. `view` has the snapshot of the range.
  Json location(const View& view, SourceRange range);

  static constexpr std::size_t kMaxFiles = 2000;

 private:
  struct Entry {
    std::shared_ptr<Version> latest;
    std::shared_ptr<Version> complete;  // the last that was complete, see Parsed
  };

  Stamp stamp_of(const std::string& path) const;
  bool is_fresh(const Version& version) const;
  // Null if the document does not exist.
  std::shared_ptr<Version> version(const std::string& path);
  std::shared_ptr<Version> read(const std::string& path) const;
  void retire(std::shared_ptr<const void> state);
  ImportOptions imports_of(const std::string& path) const;
  const BuiltinModule* library_module(std::string_view path) const;
  std::string library_path(std::string_view name) const;
  void evict();

  WorkspaceOptions options_;
  std::vector<std::string> folders_;
  Documents documents_;
  std::map<std::string, Entry> entries_;
  std::vector<std::shared_ptr<const void>> retired_;
  std::deque<std::string> closed_;  // cached files that are not open, oldest first
};

}  // namespace dhpvm::compiler::lsp
