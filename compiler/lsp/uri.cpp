// SPDX-License-Identifier: Apache-2.0
#include "compiler/lsp/uri.h"

#include <cctype>
#include <charconv>
#include <filesystem>

namespace dhpvm::compiler::lsp {

namespace {

constexpr std::string_view kScheme = "file://";

bool stands_for_itself(unsigned char c) {
  return std::isalnum(c) != 0 ||
         std::string_view("/-._~").find(static_cast<char>(c)) != std::string_view::npos;
}

}  // namespace

std::string path_of(std::string_view uri) {
  if (!uri.starts_with(kScheme)) return std::string(uri);
  std::string_view rest = uri.substr(kScheme.size());
  if (const std::size_t slash = rest.find('/'); slash != std::string_view::npos) rest.remove_prefix(slash);
  std::string path;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    unsigned value = 0;
    const char* const digits = rest.data() + i + 1;
    if (rest[i] == '%' && i + 2 < rest.size() &&
        std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      path += static_cast<char>(value);
      i += 2;
    } else {
      path += rest[i];
    }
  }
  return std::filesystem::path(path).lexically_normal().string();
}

std::string uri_of(std::string_view path) {
  if (!path.starts_with('/')) return std::string(path);
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string uri(kScheme);
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (stands_for_itself(byte)) {
      uri += c;
    } else {
      uri += '%';
      uri += kDigits[byte >> 4];
      uri += kDigits[byte & 15];
    }
  }
  return uri;
}

}  // namespace dhpvm::compiler::lsp
