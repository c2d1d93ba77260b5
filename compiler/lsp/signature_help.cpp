// SPDX-License-Identifier: Apache-2.0
// textDocument/signatureHelp: the parameters of the call being typed.
#include <algorithm>

#include "compiler/lsp/features.h"
#include "compiler/lsp/positions.h"
#include "compiler/parse/lexer.h"

namespace dhpvm::compiler::lsp {

namespace {

// The call around a place, found in the tokens: an incomplete call is not in the tree.
struct OpenCall {
  std::uint32_t name = 0;   // start of the callee's name
  std::string_view object;  // the name before the dot, if there is one
  bool has_object = false;
  std::size_t argument = 0;        // the index of the argument at the place
  std::string_view argument_name;  // its name, if it has one
};

class CallFinder {
 public:
  CallFinder(std::string_view text, const std::vector<Token>& tokens, std::uint32_t offset)
      : text_(text), tokens_(tokens) {
    end_ = std::ranges::partition_point(tokens, [&](const Token& token) { return token.begin < offset; }) -
           tokens.begin();
  }

  std::optional<OpenCall> find() const {
    OpenCall call;
    std::ptrdiff_t first = end_;  // of the argument
    int depth = 0;
    for (std::ptrdiff_t i = end_ - 1; i >= 0; --i) {
      switch (tokens_[static_cast<std::size_t>(i)].kind) {
        case TokenKind::kRightParen:
        case TokenKind::kRightBracket:
        case TokenKind::kRightBrace:
        case TokenKind::kFormatClose: ++depth; break;
        case TokenKind::kLeftBracket:
        case TokenKind::kLeftBrace:
        case TokenKind::kFormatOpen:
          if (depth-- == 0) return std::nullopt;
          break;
        case TokenKind::kSemicolon:
          if (depth == 0) return std::nullopt;
          break;
        case TokenKind::kComma:
          if (depth == 0 && call.argument++ == 0) first = i + 1;
          break;
        case TokenKind::kLeftParen:
          if (depth-- != 0) break;
          if (call.argument == 0) first = i + 1;
          if (first + 1 < end_ && kind(first) == TokenKind::kIdentifier &&
              kind(first + 1) == TokenKind::kColon)
            call.argument_name = word(first);
          return named(i - 1, call);
        default: break;
      }
    }
    return std::nullopt;
  }

 private:
  TokenKind kind(std::ptrdiff_t i) const {
    return i < 0 ? TokenKind::kEnd : tokens_[static_cast<std::size_t>(i)].kind;
  }
  std::string_view word(std::ptrdiff_t i) const {
    const Token& token = tokens_[static_cast<std::size_t>(i)];
    return text_.substr(token.begin, token.end - token.begin);
  }

  // The call whose callee is the name at token `i`, or the name before type arguments that end there.
  std::optional<OpenCall> named(std::ptrdiff_t i, OpenCall call) const {
    if (kind(i) == TokenKind::kGreater) {
      while (i >= 0 && kind(i) != TokenKind::kLess && kind(i) != TokenKind::kSemicolon) --i;
      --i;
    }
    if (kind(i) != TokenKind::kIdentifier || kind(i - 1) == TokenKind::kFn) return std::nullopt;
    call.name = tokens_[static_cast<std::size_t>(i)].begin;
    call.has_object = kind(i - 1) == TokenKind::kDot || kind(i - 1) == TokenKind::kQuestionDot;
    if (call.has_object && kind(i - 2) == TokenKind::kIdentifier) call.object = word(i - 2);
    return call;
  }

  std::string_view text_;
  const std::vector<Token>& tokens_;
  std::ptrdiff_t end_ = 0;  // the first token behind the place
};

Parameters taken_by(const Declaration& declaration) {
  if (declaration.function != nullptr) return parameters_of(*declaration.function);
  if (declaration.type != nullptr) return parameters_of(*declaration.type);
  if (declaration.option != nullptr) return parameters_of(*declaration.option);
  return {};
}

}  // namespace

Result<Json> signature_help(Workspace& workspace, const Json& params) {
  const std::optional<View> view = workspace.view_at_position(params);
  if (!view.has_value()) return Json();
  const SourceFile& text = view->latest().file();
  SourceManager sources;
  Diagnostics unsaid(sources);
  const TokenStream stream = lex(sources, sources.add(text.name(), std::string(text.text())), unsaid);
  const std::optional<OpenCall> call =
      CallFinder(text.text(), stream.tokens, offset_of(text, params.at("position"))).find();
  if (!call.has_value()) return Json();
  const Snapshot& snapshot = **view;
  const Occurrence* const occurrence = snapshot.index().at(view->offset_of(position_of(text, call->name)));
  if (occurrence == nullptr) return Json();
  const std::optional<Declaration> declared = declaration_at(snapshot, occurrence->declaration);
  if (!declared.has_value()) return Json();
  Parameters parameters = taken_by(*declared);
  const SourceFile& file = snapshot.file(declared->range);
  // If a library function is called as a method, the object is its first argument.
  const bool is_method = declared->kind == DeclarationKind::kFunction && call->has_object &&
                         snapshot.scope().import(call->object) == nullptr;
  if (is_method && !parameters.names.empty()) {
    parameters.names.erase(parameters.names.begin());
    parameters.ranges.erase(parameters.ranges.begin());
  }
  std::string label(declared->name.text);
  label += '(';
  std::size_t active = call->argument;
  Json list = Json::array();
  for (std::size_t i = 0; i < parameters.ranges.size(); ++i) {
    if (i != 0) label += ", ";
    const SourceRange range = parameters.ranges[i];
    std::string_view written = file.text().substr(range.begin, range.end - range.begin);
    while (written.ends_with(';')) written.remove_suffix(1);
    list.push_back({{"label", written}});
    label += written;
    if (!call->argument_name.empty() && parameters.names[i]->text == call->argument_name) active = i;
  }
  label += ')';
  const ast::Function* const function = declared->function;
  if (function != nullptr && function->result != nullptr) {
    const SourceRange range = function->result->range;
    label += " -> " + std::string(file.text().substr(range.begin, range.end - range.begin));
  }
  Json signature{{"label", std::move(label)}, {"parameters", std::move(list)}};
  if (std::string comment = comment_at(file, declared->range.begin); !comment.empty())
    signature["documentation"] = {{"kind", "markdown"}, {"value", std::move(comment)}};
  return Json{{"signatures", Json::array({std::move(signature)})},
              {"activeSignature", 0},
              {"activeParameter", active}};
}

}  // namespace dhpvm::compiler::lsp
