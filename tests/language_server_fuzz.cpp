// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: what a client may send to the language server. Input that begins like a message is the client's
// whole stream of bytes; any other is the text of a document, about which everything is asked, at places that the text
// itself chooses. Must not crash or hang. It stands here because the server's room cannot name the library.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "compiler/lsp/json.h"
#include "compiler/lsp/message_reader.h"
#include "compiler/lsp/server.h"
#include "stdlib/modules.h"

namespace dhpvm {
namespace {

using compiler::lsp::Json;

constexpr std::string_view kUri = "untitled:fuzz";

std::string message(Json content) {
  content["jsonrpc"] = "2.0";
  return compiler::lsp::framed(content.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string notification(std::string_view method, Json params) {
  return message({{"method", method}, {"params", std::move(params)}});
}

std::string request(std::string_view method, Json params) {
  return message({{"id", 1}, {"method", method}, {"params", std::move(params)}});
}

// A session about a document with this text.
std::string session_about(std::string_view text) {
  std::string stream = request("initialize", Json::object());
  stream += notification("textDocument/didOpen",
                         {{"textDocument", {{"uri", kUri}, {"version", 1}, {"text", text}}}});
  const std::uint64_t lines = 1 + static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
  for (std::size_t round = 0; round < 4; ++round) {
    const auto byte =
        text.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(text[round * 7 % text.size()]);
    const Json place{{"line", (byte + round) % lines}, {"character", (byte >> 2) % 40}};
    const Json range{{"start", place}, {"end", {{"line", (byte + round + 1) % lines}, {"character", 3}}}};
    const Json params{{"textDocument", {{"uri", kUri}}},
                      {"position", place},
                      {"range", range},
                      {"newName", "other"},
                      {"context", {{"includeDeclaration", true}}}};
    for (const std::string_view method :
         {"completion", "hover", "signatureHelp", "definition", "typeDefinition", "references",
          "documentHighlight", "prepareRename", "rename", "documentSymbol", "formatting", "inlayHint",
          "codeAction"}) {
      stream += request("textDocument/" + std::string(method), params);
    }
    const Json change{{"range", range}, {"text", round % 2 == 0 ? "." : "x("}};
    stream +=
        notification("textDocument/didChange", {{"textDocument", {{"uri", kUri}, {"version", round + 2}}},
                                                {"contentChanges", Json::array({change})}});
  }
  return stream;
}

void serve(std::string_view stream) {
  const int input = ::memfd_create("client", MFD_CLOEXEC);
  const int output = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const ssize_t written = ::write(input, stream.data(), stream.size());
  if (written == static_cast<ssize_t>(stream.size()) && ::lseek(input, 0, SEEK_SET) == 0) {
    // The client decides how the session ends, so its outcome is ignored.
    static_cast<void>(compiler::lsp::serve(input, output, {stdlib::modules(), {}, {}}));
  }
  ::close(input);
  ::close(output);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  serve(bytes.starts_with("Content-") ? std::string(bytes) : session_about(bytes));
  return 0;
}

}  // namespace dhpvm
