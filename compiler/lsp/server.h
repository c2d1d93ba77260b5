// SPDX-License-Identifier: Apache-2.0
// A session with one client: dispatches messages to the features.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/lsp/connection.h"
#include "compiler/lsp/json.h"
#include "compiler/lsp/workspace.h"
#include "dhpvm/result.h"

namespace dhpvm::compiler::lsp {

// Serves the language server protocol over two file descriptors until the client ends the session or closes its end.
// Returns true if the session ended by the protocol; kIo if reading or writing fails. Runs in the calling thread.
Result<bool> serve(int input, int output, WorkspaceOptions options);

class Server {
 public:
  Server(int input, int output, WorkspaceOptions options)
      : connection_(input, output), workspace_(std::move(options)) {}

  Result<bool> run();

 private:
  enum class State { kNew, kRunning, kShutDown, kEnded };

  Status handle(const std::string& content);
  Status handle_request(const Json& id, const std::string& method, const Json& params);
  void handle_notification(const std::string& method, const Json& params);
  Result<Json> answer(const std::string& method, const Json& params);
  Json initialize(const Json& params);
  Status fail(const Json& id, int code, std::string_view message);
  // Publishes diagnostics of changed documents until the next message arrives.
  Status publish();
  Status publish(const std::string& path, const std::string& uri, Json list);

  Connection connection_;
  Workspace workspace_;
  State state_ = State::kNew;
  bool was_shut_down_ = false;
  // By path: the snapshot that was published last.
  std::map<std::string, std::weak_ptr<const Snapshot>> published_;
  // Set while diagnostics are to be published: the time of the first try.
  std::optional<std::chrono::steady_clock::time_point> waits_since_;
};

}  // namespace dhpvm::compiler::lsp
