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

  // The latest state of a document or file. Null where there is none.
  std::shared_ptr<const Snapshot> latest(const std::string& path);
  // The same, of which no more than one place needs to be known.
  std::shared_ptr<const Snapshot> latest_at(const std::string& path, const Json& position);
  // The same if it is there already; null otherwise.
  std::shared_ptr<const Snapshot> known(const std::string& path) const;
  // Frees states that have been replaced, which takes time, and is done while no request waits.
  void tidy() { retired_.clear(); }
  // The document of a request's parameters: its latest state. Where that cannot be read as a whole, the last that
  // could, if the position is in what has not changed since.
  std::optional<View> view(const Json& params);
  // The same for requests about their position alone, which it answers sooner.
  std::optional<View> view_at_position(const Json& params);
  // The state that the document would have with another text; with a place, as much of it as is to be known there. It
  // is freed by tidy().
  std::shared_ptr<const Snapshot> imagine(const std::string& path, std::string text,
                                          std::optional<std::uint32_t> place = std::nullopt);

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
  using Stamp = std::pair<std::uint64_t, std::int64_t>;
  // A state, and the texts that it was made from.
  struct State {
    std::shared_ptr<const Snapshot> snapshot;
    std::vector<std::pair<std::string, Stamp>> sources;
  };
  struct Entry {
    State latest;
    State at_place;                            // the last that knows one place alone
    std::shared_ptr<const Snapshot> complete;  // the last that was, of one place if there was no other
  };

  // Differs when the text of the document or file does.
  Stamp stamp_of(const std::string& path) const;
  bool is_fresh(const State& state) const;
  State state_of(const std::string& path, std::string text, std::optional<std::uint32_t> place) const;
  void retire(std::shared_ptr<const Snapshot> snapshot);
  void keep_complete(Entry& entry, const std::shared_ptr<const Snapshot>& snapshot);  // if it is
  // A view of the complete state, which may be null, where the latest one is not complete and the position stands in
  // both.
  static View view_of(const std::shared_ptr<const Snapshot>& now,
                      const std::shared_ptr<const Snapshot>& complete, const Json& params);
  ImportOptions imports_of(const std::string& path) const;
  const BuiltinModule* library_module(std::string_view path) const;
  std::string library_path(std::string_view name) const;
  void evict();

  WorkspaceOptions options_;
  std::vector<std::string> folders_;
  Documents documents_;
  std::map<std::string, Entry> entries_;
  std::vector<std::shared_ptr<const Snapshot>> retired_;
  std::deque<std::string> closed_;  // entries of files that are not open, the oldest first
};

}  // namespace dhpvm::compiler::lsp
