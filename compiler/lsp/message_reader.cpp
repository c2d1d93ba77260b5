// SPDX-License-Identifier: Apache-2.0
#include "compiler/lsp/message_reader.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "base/error.h"

namespace dhpvm::compiler::lsp {

namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeaderEnd = "\r\n\r\n";

bool is_same_word(std::string_view left, std::string_view right) {
  return std::ranges::equal(
      left, right, {}, [](unsigned char c) { return std::tolower(c); },
      [](unsigned char c) { return std::tolower(c); });
}

}  // namespace

Result<std::optional<std::string>> MessageReader::next() {
  if (!length_.has_value()) DHPVM_TRY(read_header());
  if (!length_.has_value() || waiting_.size() < *length_) return std::optional<std::string>();
  std::string content = waiting_.substr(0, *length_);
  waiting_.erase(0, *length_);
  length_.reset();
  return std::optional<std::string>(std::move(content));
}

Status MessageReader::read_header() {
  const std::size_t end = waiting_.find(kHeaderEnd);
  if (end == std::string::npos) {
    if (waiting_.size() <= kMaxHeader) return {};
    return error(ErrorCode::kIo, "a header of a message has more than {} bytes", kMaxHeader);
  }
  std::string_view rest = std::string_view(waiting_).substr(0, end);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find(kLineEnd));
    rest.remove_prefix(std::min(rest.size(), line.size() + kLineEnd.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return error(ErrorCode::kIo, "a line of a header has no `:`");
    if (!is_same_word(line.substr(0, colon), "Content-Length")) continue;
    std::string_view digits = line.substr(colon + 1);
    digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
    std::size_t length = 0;
    const auto [parsed, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
    if (problem != std::errc() || parsed != digits.data() + digits.size() || length > kMaxContent)
      return error(ErrorCode::kIo, "the length of a message is none: '{}'", digits.substr(0, 40));
    length_ = length;
  }
  if (!length_.has_value()) return error(ErrorCode::kIo, "a header of a message gives no Content-Length");
  waiting_.erase(0, end + kHeaderEnd.size());
  return {};
}

std::string framed(std::string_view content) {
  return "Content-Length: " + std::to_string(content.size()) + std::string(kHeaderEnd) + std::string(content);
}

}  // namespace dhpvm::compiler::lsp
