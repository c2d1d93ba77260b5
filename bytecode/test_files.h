// SPDX-License-Identifier: Apache-2.0
// Taking module files apart and putting them together again, right or wrong, for tests and fuzzers.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "base/crc32c.h"
#include "bytecode/format.h"

namespace dhpvm::bytecode::testing {

using Bytes = std::vector<std::byte>;

template <typename T>
void put(Bytes& file, std::size_t at, T value) {
  std::memcpy(file.data() + at, &value, sizeof(T));
}
template <typename T>
T get(std::span<const std::byte> file, std::size_t at) {
  T value;
  std::memcpy(&value, file.data() + at, sizeof(T));
  return value;
}

// The number of rows of the section table that lie inside the file.
inline std::size_t rows_in(std::span<const std::byte> file) {
  if (file.size() < kHeaderBytes) return 0;
  const std::size_t fit = (file.size() - kHeaderBytes) / kSectionEntryBytes;
  return std::min<std::size_t>(get<std::uint32_t>(file, 12), fit);
}

// Makes all checksums right, so that a change reaches what lies behind them.
inline void fix_checksums(Bytes& file) {
  const std::size_t rows = rows_in(file);
  if (file.size() < kHeaderBytes) return;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t row = kHeaderBytes + i * kSectionEntryBytes;
    const auto offset = get<std::uint64_t>(file, row + 8);
    const auto size = get<std::uint64_t>(file, row + 16);
    if (offset <= file.size() && size <= file.size() - offset)
      put(file, row + 24, crc32c(std::span(file).subspan(offset, size)));
  }
  const auto table = std::span(file).subspan(kHeaderBytes, rows * kSectionEntryBytes);
  put(file, 16, crc32c(table, crc32c(std::span(file).first(16))));
}

struct RawSection {
  std::uint32_t kind;
  std::uint32_t flags;
  Bytes bytes;
};

// The sections whose rows make sense.
inline std::vector<RawSection> split(std::span<const std::byte> file) {
  std::vector<RawSection> sections;
  for (std::size_t i = 0; i < rows_in(file); ++i) {
    const std::size_t row = kHeaderBytes + i * kSectionEntryBytes;
    const auto offset = get<std::uint64_t>(file, row + 8);
    const auto size = get<std::uint64_t>(file, row + 16);
    if (offset > file.size() || size > file.size() - offset) continue;
    const auto bytes = file.subspan(offset, size);
    sections.push_back(
        {get<std::uint32_t>(file, row), get<std::uint32_t>(file, row + 4), {bytes.begin(), bytes.end()}});
  }
  return sections;
}

// A file of the current version with these sections.
inline Bytes join(const std::vector<RawSection>& sections) {
  const auto aligned = [](std::size_t n) {
    return (n + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment;
  };
  Bytes file(kHeaderBytes + sections.size() * kSectionEntryBytes);
  std::memcpy(file.data(), kMagic.data(), kMagic.size());
  put<std::uint16_t>(file, 4, 1);
  put<std::uint32_t>(file, 12, static_cast<std::uint32_t>(sections.size()));
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const std::size_t row = kHeaderBytes + i * kSectionEntryBytes;
    file.resize(aligned(file.size()));
    put<std::uint32_t>(file, row, sections[i].kind);
    put<std::uint32_t>(file, row + 4, sections[i].flags);
    put<std::uint64_t>(file, row + 8, file.size());
    put<std::uint64_t>(file, row + 16, sections[i].bytes.size());
    file.insert(file.end(), sections[i].bytes.begin(), sections[i].bytes.end());
  }
  fix_checksums(file);
  return file;
}

}  // namespace dhpvm::bytecode::testing
