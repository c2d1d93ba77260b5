// SPDX-License-Identifier: Apache-2.0
// The sources that a client works on: open documents, the files around them, the modules of the library. Keeps what was
// found out about them for as long as nothing that it came from has changed.
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
  // Where `import name;` is looked for, after the folder of the document and before those of the client.
  std::vector<std::string> import_paths;
  // Where the sources of the library's modules are written for the client to show. Empty: they cannot be shown.
  std::string library_folder;
};

class Workspace {
 public:
  explicit Workspace(WorkspaceOptions options) : options_(std::move(options)) {}

  Documents& documents() { return documents_; }
  // The folders that the client has open.
  void set_folders(std::vector<std::string> folders) { folders_ = std::move(folders); }
  const WorkspaceOptions& options() const { return options_; }
  // Unknown files have changed.
  void forget();

  // All that is known of a document or file as it is now. Null where there is none, or where it was interrupted.
  std::shared_ptr<const Snapshot> latest(const std::string& path, const Interrupt& interrupt = {}) {
    return latest(path, Part(), interrupt);
  }
  // The same of a part of it.
  std::shared_ptr<const Snapshot> latest(const std::string& path, const Part& part,
                                         const Interrupt& interrupt = {});
  // The same if it is there already; null otherwise.
  std::shared_ptr<const Snapshot> known(const std::string& path, const Part& part) const;
  // The document as the parser reads it. Null where there is none.
  std::shared_ptr<const Parsed> parsed(const std::string& path);
  // Frees states that have been replaced, which takes time, and is done while no request waits.
  void tidy() { retired_.clear(); }
  // The document of a request's parameters, a part of it as it is now.
  std::optional<View> view(const Json& params, const Part& part);
  // The surroundings of the position of the parameters. Where the document cannot be read as a whole, it is the last
  // state that could, if the position is in what has not changed since.
  std::optional<View> view_at_position(const Json& params);
  // Another part of what a view shows.
  View other_part(const View& view, const Part& part);
  // A part of the document as it would be with another text. It is freed by tidy().
  std::shared_ptr<const Snapshot> imagine(const std::string& path, std::string text, const Part& part);

  // All sources in the folders of the client and next to open documents, by path. At most kMaxFiles.
  std::vector<std::string> files() const;
  // Their text, as the client has it where it is open.
  std::optional<std::string> text_of(const std::string& path) const;

  // Where a file of a snapshot can be opened. Empty: nowhere.
  std::string uri_of(const Snapshot& snapshot, SourceRange range);
  // As the protocol has it; null where the file cannot be opened. `view` is of the snapshot that knows the range.
  Json location(const View& view, SourceRange range);

  static constexpr std::size_t kMaxFiles = 2000;

 private:
  struct Entry {
    std::shared_ptr<Version> latest;
    std::shared_ptr<Version> complete;  // the last that could be read as a whole
  };

  Stamp stamp_of(const std::string& path) const;
  bool is_fresh(const Version& version) const;
  // Null where there is no such document.
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
  std::deque<std::string> closed_;  // entries of files that are not open, the oldest first
};

}  // namespace dhpvm::compiler::lsp
