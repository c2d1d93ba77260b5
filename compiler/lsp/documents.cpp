// SPDX-License-Identifier: Apache-2.0
#include "compiler/lsp/documents.h"

#include <utility>

#include "compiler/lsp/positions.h"
#include "compiler/lsp/uri.h"

namespace dhpvm::compiler::lsp {

namespace {

SourceFile file_of(const std::string& path, std::string text) {
  if (text.size() >= SourceManager::kMaxFileBytes) text.resize(SourceManager::kMaxFileBytes - 1);
  return SourceFile(path, std::move(text));
}

// The text after one change, which replaces all of it or a range.
std::string changed(const SourceFile& file, const Json& change) {
  auto text = change.at("text").get<std::string>();
  const auto range = change.find("range");
  if (range == change.end()) return text;
  const std::uint32_t begin = offset_of(file, range->at("start"));
  const std::uint32_t end = std::max(begin, offset_of(file, range->at("end")));
  std::string whole(file.text());
  whole.replace(begin, end - begin, text);
  return whole;
}

}  // namespace

Document& Documents::open(const Json& params) {
  const Json& given = params.at("textDocument");
  const auto uri = given.at("uri").get<std::string>();
  const std::string path = path_of(uri);
  Document document{uri, given.at("version").get<std::int64_t>(), ++changes_,
                    file_of(path, given.at("text").get<std::string>())};
  return documents_.insert_or_assign(path, std::move(document)).first->second;
}

Document* Documents::change(const Json& params) {
  const Json& given = params.at("textDocument");
  const std::string path = path_of(given.at("uri").get<std::string>());
  const auto found = documents_.find(path);
  if (found == documents_.end()) return nullptr;
  Document& document = found->second;
  for (const Json& change : params.at("contentChanges")) {
    document.file = file_of(path, changed(document.file, change));
    document.change = ++changes_;
  }
  if (const auto version = given.find("version"); version != given.end() && version->is_number())
    document.version = version->get<std::int64_t>();
  return &document;
}

void Documents::close(std::string_view path) {
  if (const auto found = documents_.find(path); found != documents_.end()) documents_.erase(found);
  ++changes_;
}

const Document* Documents::find(std::string_view path) const {
  const auto found = documents_.find(path);
  return found == documents_.end() ? nullptr : &found->second;
}

}  // namespace dhpvm::compiler::lsp
