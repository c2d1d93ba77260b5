// SPDX-License-Identifier: Apache-2.0
// Encodes numbers and texts in entries and keys of the cache of compiled code, in the byte order of the machine, which
// is part of the key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/codegen.h"

namespace dhpvm::codegen {

class CacheWriter {
 public:
  void number(std::uint64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value)); }
  void text(std::string_view text) {
    number(text.size());
    bytes_ += text;
  }
  std::string take() { return std::move(bytes_); }
  std::vector<std::byte> take_bytes() {
    const auto bytes = std::as_bytes(std::span(bytes_));
    return {bytes.begin(), bytes.end()};
  }

 private:
  std::string bytes_;
};

class CacheReader {
 public:
  explicit CacheReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t number() {
    std::uint64_t value = 0;
    if (bytes_.size() < sizeof(value)) {
      failed_ = true;
      return 0;
    }
    std::memcpy(&value, bytes_.data(), sizeof(value));
    bytes_ = bytes_.subspan(sizeof(value));
    return value;
  }
  std::string text() {
    const std::uint64_t size = number();
    if (size > bytes_.size()) {
      failed_ = true;
      return {};
    }
    std::string text(reinterpret_cast<const char*>(bytes_.data()), size);
    bytes_ = bytes_.subspan(size);
    return text;
  }
  // The number of elements that follow, each of at least one number.
  std::uint64_t count() {
    const std::uint64_t value = number();
    if (value > bytes_.size() / sizeof(value)) failed_ = true;
    return failed_ ? 0 : value;
  }
  bool done() const { return !failed_ && bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
  bool failed_ = false;
};

inline void write_sites(CacheWriter& writer, const std::vector<KernelSite>& sites) {
  writer.number(sites.size());
  for (const KernelSite& site : sites) {
    writer.number(static_cast<std::uint64_t>(site.kind));
    writer.number(static_cast<std::uint64_t>(site.trap));
    writer.number(site.calls.size());
    for (const CodePosition& call : site.calls) {
      writer.number(call.function);
      writer.number(call.pc);
    }
  }
}

inline std::vector<KernelSite> read_sites(CacheReader& reader) {
  std::vector<KernelSite> sites(reader.count());
  for (KernelSite& site : sites) {
    site.kind = static_cast<KernelSite::Kind>(reader.number());
    site.trap = static_cast<TrapKind>(reader.number());
    site.calls.resize(reader.count());
    for (CodePosition& call : site.calls) {
      call.function = static_cast<std::uint32_t>(reader.number());
      call.pc = static_cast<std::uint32_t>(reader.number());
    }
  }
  return sites;
}

}  // namespace dhpvm::codegen
