// SPDX-License-Identifier: Apache-2.0
// Converts records to bytes and back: shared by the protocols of sessions (protocol.h) and of operators
// (operator_protocol.h).
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "bytecode/bytes.h"
#include "offload/remote/fabric/protocol.h"

namespace dhpvm::offload::wire {

// Writing and reading visit the fields of a structure in the same order, with the same function: `visit` below defines
// the format. A Codec has the functions of these two classes.
class Writer {
 public:
  static constexpr bool kReads = false;
  explicit Writer(std::vector<std::byte>& out) : out_(out) {}

  void number(const std::uint64_t& value) { out_.varint(value); }
  void number_below(const std::uint64_t& value, std::uint64_t) { out_.varint(value); }
  void integer(const std::int64_t& value) { out_.signed_varint(value); }
  void word(const std::uint64_t& value) { out_.fixed(value); }
  void flag(const bool& value) { out_.u8(value ? 1 : 0); }
  void text(const std::string& value) { out_.text(std::string_view(value).substr(0, kMaxText)); }
  template <std::size_t N>
  void bytes(const std::array<std::byte, N>& value) {
    for (const std::byte byte : value) out_.u8(std::to_integer<std::uint8_t>(byte));
  }
  void bytes(const std::vector<std::byte>& value, std::size_t) {
    out_.varint(value.size());
    out_.bytes(value);
  }
  template <typename T, typename Visit>
  void list(const std::vector<T>& value, std::size_t, std::size_t, Visit visit_entry) {
    out_.varint(value.size());
    for (const T& entry : value) visit_entry(entry);
  }
  template <typename T, typename Visit>
  void optional(const std::optional<T>& value, Visit visit_value) {
    flag(value.has_value());
    if (value) visit_value(*value);
  }

 private:
  bytecode::ByteWriter out_;
};

class Reader {
 public:
  static constexpr bool kReads = true;
  explicit Reader(bytecode::ByteReader& in) : in_(in) {}

  void number(std::uint64_t& value) { value = in_.varint64(); }
  void number_below(std::uint64_t& value, std::uint64_t limit) {
    value = in_.varint64();
    if (value >= limit)
      in_.fail(std::to_string(value) + " where less than " + std::to_string(limit) + " is allowed");
  }
  void integer(std::int64_t& value) { value = in_.signed_varint(); }
  void word(std::uint64_t& value) { value = in_.fixed<std::uint64_t>(); }
  void flag(bool& value) {
    const std::uint8_t byte = in_.u8();
    if (byte > 1) in_.fail("a flag that is neither 0 nor 1");
    value = byte == 1;
  }
  void text(std::string& value) {
    value = in_.text();
    if (value.size() > kMaxText) in_.fail("a text of more than " + std::to_string(kMaxText) + " bytes");
  }
  template <std::size_t N>
  void bytes(std::array<std::byte, N>& value) {
    for (std::byte& byte : value) byte = std::byte{in_.u8()};
  }
  void bytes(std::vector<std::byte>& value, std::size_t limit) {
    value.resize(in_.count(static_cast<std::uint32_t>(limit), 1, "bytes"));
    in_.bytes(value);
  }
  // An entry takes at least `least` bytes.
  template <typename T, typename Visit>
  void list(std::vector<T>& value, std::size_t limit, std::size_t least, Visit visit_entry) {
    value.resize(in_.count(static_cast<std::uint32_t>(limit), least, "entries"));
    for (T& entry : value) visit_entry(entry);
  }
  template <typename T, typename Visit>
  void optional(std::optional<T>& value, Visit visit_value) {
    bool present = false;
    flag(present);
    if (present) visit_value(value.emplace());
  }

 private:
  bytecode::ByteReader& in_;
};

template <typename T, typename U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

template <typename Codec>
void visit(Codec& codec, Is<Failure> auto& value) {
  codec.list(value.levels, 8, 2, [&](auto& level) {
    codec.number(level.code);
    codec.text(level.message);
  });
}
template <typename Codec>
void visit(Codec& codec, Is<Device> auto& value) {
  codec.text(value.name);
  codec.text(value.description);
  codec.number(value.memory_bytes);
  codec.number(value.largest_allocation);
  codec.number(value.compute_units);
  codec.flag(value.is_gpu);
  codec.flag(value.is_simulated);
}

// The number of a record on the wire is its index in the variant. `fields` visits the fields of each record with a
// codec.
template <typename Record, typename Fields>
void write_record(std::vector<std::byte>& frame, const Record& record, Fields fields) {
  Writer writer(frame);
  writer.number(record.index());
  std::visit([&](const auto& value) { fields(writer, value); }, record);
}

template <typename Record, std::size_t... I>
Record make_record(std::uint64_t kind, std::index_sequence<I...>) {
  Record record;
  static_cast<void>(((kind == I ? (record.template emplace<I>(), true) : false) || ...));
  return record;
}

template <typename Record, typename Fields>
Result<std::vector<Record>> read_records(ConstBytes frame, Fields fields) {
  // About the bytes of a launch.
  constexpr std::size_t kUsual = 32;
  std::vector<Record> records;
  records.reserve(std::min(kMaxRecords, 1 + frame.size() / kUsual));
  bytecode::ByteReader in(frame, 0);
  Reader reader(in);
  while (in.ok() && in.remaining() != 0) {
    if (records.size() == kMaxRecords) {
      in.fail("more than " + std::to_string(kMaxRecords) + " records");
      break;
    }
    const std::uint64_t kind = in.varint64();
    if (kind >= std::variant_size_v<Record>) in.fail("a record of the unknown kind " + std::to_string(kind));
    if (!in.ok()) break;
    Record& record = records.emplace_back(
        make_record<Record>(kind, std::make_index_sequence<std::variant_size_v<Record>>()));
    std::visit([&](auto& value) { fields(reader, value); }, record);
  }
  if (!in.ok()) {
    return error(ErrorCode::kProtocol, "the other side breaks the protocol: byte {} of a frame of {}: {}",
                 in.failed_at(), frame.size(), in.failure());
  }
  return records;
}

}  // namespace dhpvm::offload::wire
