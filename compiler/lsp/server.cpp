// SPDX-License-Identifier: Apache-2.0
#include "compiler/lsp/server.h"

#include <chrono>
#include <utility>

#include "base/error.h"
#include "compiler/lsp/features.h"
#include "compiler/lsp/uri.h"
#include "dhpvm/version.h"

namespace dhpvm::compiler::lsp {

namespace {

// Codes of errors of the protocol.
constexpr int kParseError = -32700;
constexpr int kInvalidRequest = -32600;
constexpr int kMethodNotFound = -32601;
constexpr int kInvalidParams = -32602;
constexpr int kNotInitialized = -32002;
constexpr int kRequestCancelled = -32800;
constexpr int kRequestFailed = -32803;

constexpr int kIncrementalSync = 2;

// Editors send requests right after a change: answers take precedence over diagnostics.
constexpr std::chrono::milliseconds kBeforeMessages{30};
constexpr std::chrono::milliseconds kBeforeTidying{300};
// New messages of the client delay diagnostics at most this long.
constexpr std::chrono::milliseconds kMostWaiting{2000};

struct Request {
  std::string_view method;
  Result<Json> (*answer)(Workspace&, const Json&);
  const char* capability;  // the server capability to announce, or null
};

constexpr Request kRequests[] = {
    {"textDocument/completion", complete, nullptr},
    {"textDocument/hover", hover, "hoverProvider"},
    {"textDocument/signatureHelp", signature_help, nullptr},
    {"textDocument/definition", definition, "definitionProvider"},
    {"textDocument/typeDefinition", type_definition, "typeDefinitionProvider"},
    {"textDocument/references", references, "referencesProvider"},
    {"textDocument/documentHighlight", highlights, "documentHighlightProvider"},
    {"textDocument/prepareRename", prepare_rename, nullptr},
    {"textDocument/rename", rename, nullptr},
    {"textDocument/documentSymbol", document_symbols, "documentSymbolProvider"},
    {"workspace/symbol", workspace_symbols, "workspaceSymbolProvider"},
    {"textDocument/formatting", format_document, "documentFormattingProvider"},
    {"textDocument/inlayHint", inlay_hints, "inlayHintProvider"},
    {"textDocument/codeAction", quick_fixes, nullptr},
};

Json capabilities() {
  Json made{{"textDocumentSync", {{"openClose", true}, {"change", kIncrementalSync}, {"save", true}}},
            {"completionProvider", {{"triggerCharacters", {"."}}}},
            {"signatureHelpProvider", {{"triggerCharacters", {"(", ","}}}},
            {"renameProvider", {{"prepareProvider", true}}},
            {"codeActionProvider", {{"codeActionKinds", {"quickfix"}}}}};
  for (const Request& request : kRequests) {
    if (request.capability != nullptr) made[request.capability] = true;
  }
  return made;
}

}  // namespace

Result<bool> serve(int input, int output, WorkspaceOptions options) {
  return Server(input, output, std::move(options)).run();
}

Result<bool> Server::run() {
  while (state_ != State::kEnded) {
    // While the client is typing, its next message takes precedence over diagnostics.
    if (!connection_.has_more(kBeforeMessages)) DHPVM_TRY(publish());
    if (!connection_.has_more(kBeforeTidying)) workspace_.tidy();
    DHPVM_ASSIGN(const std::optional<std::string> content, connection_.receive());
    if (!content.has_value()) break;
    DHPVM_TRY(handle(*content));
  }
  return was_shut_down_;
}

Status Server::handle(const std::string& content) {
  const Json message = Json::parse(content, nullptr, false);
  if (message.is_discarded()) return fail(nullptr, kParseError, "this is not JSON");
  const auto method = message.is_object() ? message.find("method") : message.end();
  const bool has_id = message.is_object() && message.contains("id");
  if (method == message.end() || !method->is_string()) {
    // A response to a request that was never sent.
    const bool is_answer = has_id && (message.contains("result") || message.contains("error"));
    return is_answer ? Status()
                     : fail(has_id ? message["id"] : Json(), kInvalidRequest, "this is no request");
  }
  const auto given = message.find("params");
  const Json params = given == message.end() ? Json::object() : *given;
  if (has_id) return handle_request(message["id"], *method, params);
  try {
    handle_notification(*method, params);
  } catch (const Json::exception&) {
    return {};  // A notification has no answer, not even this one.
  }
  return {};
}

Status Server::handle_request(const Json& id, const std::string& method, const Json& params) {
  if (state_ == State::kNew && method != "initialize")
    return fail(id, kNotInitialized, "the first request is `initialize`");
  if (state_ == State::kShutDown) return fail(id, kInvalidRequest, "the server is shutting down");
  if (connection_.has_cancelled(id)) return fail(id, kRequestCancelled, "the client has cancelled it");
  try {
    Result<Json> result = answer(method, params);
    if (result.ok())
      return connection_.send({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(*result)}});
    const bool unknown = result.error().code() == ErrorCode::kUnsupported && result.error().message().empty();
    return fail(id, unknown ? kMethodNotFound : kRequestFailed,
                unknown ? "'" + method + "' is not known" : result.error().message());
  } catch (const Json::exception& problem) {
    return fail(id, kInvalidParams, problem.what());
  }
}

Result<Json> Server::answer(const std::string& method, const Json& params) {
  if (method == "initialize") return initialize(params);
  if (method == "shutdown") {
    state_ = State::kShutDown;
    was_shut_down_ = true;
    return Json();
  }
  for (const Request& request : kRequests) {
    if (request.method == method) return request.answer(workspace_, params);
  }
  return Error(ErrorCode::kUnsupported, "");
}

Json Server::initialize(const Json& params) {
  std::vector<std::string> folders;
  if (const auto given = params.find("workspaceFolders"); given != params.end() && given->is_array()) {
    for (const Json& folder : *given) folders.push_back(path_of(folder.at("uri").get<std::string>()));
  } else if (const auto root = params.find("rootUri"); root != params.end() && root->is_string()) {
    folders.push_back(path_of(root->get<std::string>()));
  }
  workspace_.set_folders(std::move(folders));
  state_ = State::kRunning;
  return {{"capabilities", capabilities()},
          {"serverInfo", {{"name", "dhpvmc lsp"}, {"version", DHPVM_VERSION}}}};
}

void Server::handle_notification(const std::string& method, const Json& params) {
  if (method == "exit") state_ = State::kEnded;
  if (state_ != State::kRunning) return;
  if (method == "textDocument/didOpen") workspace_.documents().open(params);
  if (method == "textDocument/didChange") workspace_.documents().change(params);
  if (method == "textDocument/didClose")
    workspace_.documents().close(path_of(params.at("textDocument").at("uri").get<std::string>()));
  // A missing module may exist now.
  if (method == "textDocument/didSave" || method == "workspace/didChangeWatchedFiles") workspace_.forget();
}

Status Server::fail(const Json& id, int code, std::string_view message) {
  return connection_.send(
      {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", message}}}});
}

Status Server::publish() {
  for (auto entry = published_.begin(); entry != published_.end();) {
    if (workspace_.documents().find(entry->first) != nullptr) {
      ++entry;
      continue;
    }
    DHPVM_TRY(publish(entry->first, uri_of(entry->first), Json::array()));
    entry = published_.erase(entry);
  }
  for (const auto& [path, document] : workspace_.documents().all()) {
    const auto now = std::chrono::steady_clock::now();
    if (!waits_since_.has_value()) waits_since_ = now;
    const bool is_patient = now - *waits_since_ < kMostWaiting;
    const std::shared_ptr<const Snapshot> latest =
        workspace_.latest(path, [&] { return is_patient && connection_.has_more(); });
    if (latest == nullptr && is_patient && connection_.has_more()) return {};
    std::weak_ptr<const Snapshot>& told = published_[path];
    if (told.lock() == latest) continue;
    told = latest;
    DHPVM_TRY(publish(path, document.uri, diagnostics_of(workspace_, path)));
    if (connection_.has_more()) return {};
  }
  waits_since_ = std::nullopt;
  return {};
}

Status Server::publish(const std::string& path, const std::string& uri, Json list) {
  Json params{{"uri", uri}, {"diagnostics", std::move(list)}};
  if (const Document* document = workspace_.documents().find(path); document != nullptr)
    params["version"] = document->version;
  return connection_.send(
      {{"jsonrpc", "2.0"}, {"method", "textDocument/publishDiagnostics"}, {"params", std::move(params)}});
}

}  // namespace dhpvm::compiler::lsp
