// SPDX-License-Identifier: Apache-2.0
// Little-endian encoding and decoding of module sections, independent of the host's byte order.
//
// Integers in tables are LEB128: seven bits per byte, the lowest first, the top bit set on all but the last.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dhpvm::bytecode {

class ByteWriter {
 public:
  explicit ByteWriter(std::vector<std::byte>& out) : out_(out) {}

  template <typename T>
  void fixed(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) out_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  void u8(std::uint8_t value) { out_.push_back(std::byte{value}); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) u8(static_cast<std::uint8_t>(value | 0x80));
    u8(static_cast<std::uint8_t>(value));
  }
  void signed_varint(std::int64_t value) {  // zigzag: small magnitudes are short
    varint(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
  }
  void text(std::string_view value) {
    varint(value.size());
    const auto* bytes = reinterpret_cast<const std::byte*>(value.data());
    out_.insert(out_.end(), bytes, bytes + value.size());
  }
  void bytes(std::span<const std::byte> value) { out_.insert(out_.end(), value.begin(), value.end()); }

 private:
  std::vector<std::byte>& out_;
};

// Reads each byte once. The first failure sticks: from then on every read gives 0, and no read ever leaves
// the span. Check ok() before using the values.
class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, std::size_t file_offset)
      : bytes_(bytes), file_offset_(file_offset) {}

  bool ok() const { return failure_.empty(); }
  const std::string& failure() const { return failure_; }
  std::size_t remaining() const { return bytes_.size() - at_; }
  std::size_t file_offset() const { return file_offset_ + at_; }
  void fail(std::string what) {
    if (!failure_.empty()) return;
    failure_ = std::move(what);
    failed_at_ = file_offset();
    at_ = bytes_.size();
  }
  std::size_t failed_at() const { return failed_at_; }

  template <typename T>
  T fixed() {
    if (remaining() < sizeof(T)) return fail("cut off"), T{0};
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      value = static_cast<T>(value | static_cast<T>(static_cast<T>(bytes_[at_ + i]) << (8 * i)));
    at_ += sizeof(T);
    return value;
  }
  std::uint8_t u8() {
    if (at_ == bytes_.size()) return fail("cut off"), std::uint8_t{0};
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  std::uint64_t varint64() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t byte = u8();
      if (shift == 63 && byte > 1) break;
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    return fail("an integer of more than 64 bits"), 0;
  }
  std::uint32_t varint() {
    const std::uint64_t value = varint64();
    if (value > 0xffffffff) return fail("an integer of more than 32 bits"), 0;
    return static_cast<std::uint32_t>(value);
  }
  std::int64_t signed_varint() {
    const std::uint64_t value = varint64();
    return static_cast<std::int64_t>(value >> 1 ^ (~(value & 1) + 1));
  }
  // A number of entries of at least `least_bytes` each: nothing is allocated for entries that the rest of
  // the section cannot hold.
  std::uint32_t count(std::uint32_t limit, std::size_t least_bytes, std::string_view what) {
    const std::uint32_t value = varint();
    if (value > limit)
      fail("more than " + std::to_string(limit) + " " + std::string(what));
    else if (value > remaining() / least_bytes)
      fail(std::to_string(value) + " " + std::string(what) + " in the last " + std::to_string(remaining()) +
           " bytes");
    return ok() ? value : 0;
  }
  std::string text() {
    const std::uint32_t size = varint();
    if (size > remaining())
      return fail("a text of " + std::to_string(size) + " bytes is cut off"), std::string();
    std::string value(reinterpret_cast<const char*>(bytes_.data()) + at_, size);
    at_ += size;
    return value;
  }
  void bytes(std::span<std::byte> out) {
    if (remaining() < out.size()) return fail("cut off");
    std::ranges::copy(bytes_.subspan(at_, out.size()), out.begin());
    at_ += out.size();
  }
  void words(std::span<std::uint64_t> out) {
    if (remaining() / sizeof(std::uint64_t) < out.size()) return fail("cut off");
    if constexpr (std::endian::native == std::endian::little) {
      if (!out.empty()) std::memcpy(out.data(), bytes_.data() + at_, out.size_bytes());
      at_ += out.size_bytes();
    } else {
      for (std::uint64_t& word : out) word = fixed<std::uint64_t>();
    }
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t file_offset_;
  std::size_t at_ = 0;
  std::size_t failed_at_ = 0;
  std::string failure_;
};

}  // namespace dhpvm::bytecode
