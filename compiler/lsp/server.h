// SPDX-License-Identifier: Apache-2.0
// A session with one client: which messages come when, and who answers them.
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

// Serves the language server protocol over two file descriptors until the client ends the session, or its end of them.
// True: it was ended as the protocol has it. kIo where nothing more can be read or written. One thread.
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
  // Tells the client what the compiler says about documents that have changed, until the client says something.
  Status publish();
  Status publish(const std::string& path, const std::string& uri, Json list);

  Connection connection_;
  Workspace workspace_;
  State state_ = State::kNew;
  bool was_shut_down_ = false;
  std::map<std::string, std::weak_ptr<const Snapshot>> published_;  // by path: what the client was told last
  std::optional<std::chrono::steady_clock::time_point> waits_since_;  // that it is to be told something
};

}  // namespace dhpvm::compiler::lsp
