// SPDX-License-Identifier: Apache-2.0
// Natives of module str: numbers to text and back; and of module csv, which reads numbers inside
// a larger text.
#include <charconv>
#include <optional>

#include "stdlib/native/call.h"
#include "stdlib/native/natives.h"
#include "stdlib/native/number_format.h"
#include "stdlib/native/number_parse.h"

namespace dhpvm::stdlib {
namespace {

using Digits = char[24];

// Those of an integer, in `buffer`.
template <typename Integer>
std::string_view decimal(Integer value, Digits& buffer) {
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, static_cast<std::size_t>(end - buffer)};
}

Status return_formatted(vm::NativeCall& call, Result<std::string> formatted) {
  if (!formatted.ok()) return std::move(formatted).error();
  return return_text(call, *formatted);
}

template <typename T>
void return_parsed(vm::NativeCall& call, const std::optional<T>& parsed) {
  return_bool(call, 0, parsed.has_value());
  call.p[1] = std::bit_cast<std::uint64_t>(parsed.value_or(T{}));
}

std::string_view without_blanks(std::string_view all) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = all.find_first_not_of(kBlanks);
  if (first == all.npos) return {};
  return all.substr(first, all.find_last_not_of(kBlanks) + 1 - first);
}

// The text between the positions P[0] and P[1], without white space around it.
Result<std::string_view> cell(const vm::NativeCall& call) {
  const std::string_view all = text(call, 0);
  const std::int64_t from = integer(call, 0), to = integer(call, 1);
  DHPVM_TRY(check_part(from, to, static_cast<std::int64_t>(all.size())));
  return without_blanks(all.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)));
}

// The same for fast paths: nothing where they do not look.
std::optional<std::string_view> short_cell(const vm::NativeCall& call) {
  if (call.r[0] == nullptr) return std::nullopt;
  const std::string_view all = text(call, 0);
  const std::uint64_t from = call.p[0], to = call.p[1];
  if (from > to || to > all.size() || to - from > kShortText) return std::nullopt;
  return without_blanks(all.substr(from, to - from));
}

// The first byte of `all` that ends a field of a file, in which `separator` stands between them; or the size.
std::size_t field_size(std::string_view all, char separator) {
  for (std::size_t at = 0; at < all.size(); ++at) {
    const char c = all[at];
    if (c == separator || c == '"' || c == '\r' || c == '\n') return at;
  }
  return all.size();
}

}  // namespace

Status str_from_i64(vm::NativeCall& call) {
  Digits buffer;
  return return_text(call, decimal(integer(call, 0), buffer));
}
bool str_from_i64_fast(vm::NativeCall& call) {
  Digits buffer;
  return return_short_text(call, decimal(integer(call, 0), buffer));
}

Status str_from_u64(vm::NativeCall& call) {
  Digits buffer;
  return return_text(call, decimal(call.p[0], buffer));
}
bool str_from_u64_fast(vm::NativeCall& call) {
  Digits buffer;
  return return_short_text(call, decimal(call.p[0], buffer));
}

Status str_from_f64(vm::NativeCall& call) {
  char buffer[kShortestSize];
  return return_text(call, shortest(number(call, 0), buffer));
}
bool str_from_f64_fast(vm::NativeCall& call) {
  char buffer[kShortestSize];
  return return_short_text(call, shortest(number(call, 0), buffer));
}

Status str_from_f32(vm::NativeCall& call) {
  char buffer[kShortestSize];
  return return_text(call, shortest(std::bit_cast<float>(static_cast<std::uint32_t>(call.p[0])), buffer));
}

Status str_format_i64(vm::NativeCall& call) {
  const std::int64_t value = integer(call, 0);
  // The magnitude of the most negative value exists only without a sign.
  const std::uint64_t magnitude =
      value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  return return_formatted(call, format_integer(magnitude, value < 0, text(call, 0)));
}

Status str_format_u64(vm::NativeCall& call) {
  return return_formatted(call, format_integer(call.p[0], false, text(call, 0)));
}

Status str_format_f64(vm::NativeCall& call) {
  return return_formatted(call, format_float(number(call, 0), text(call, 0)));
}

Status str_format_str(vm::NativeCall& call) {
  // A long text needs no filling, and all of it that a precision can leave stands near its front.
  constexpr std::size_t kLong = std::size_t{1} << 20;
  if (text(call, 0).size() > kLong) {
    const std::string_view front = text(call, 0).substr(0, kLong);
    auto cut = format_text(front, text(call, 1));
    DHPVM_ASSIGN(const FormatSpec spec, parse_format_spec(text(call, 1)));
    if (cut.ok() && spec.precision < 0) return {};  // the argument is the result
    return return_formatted(call, std::move(cut));
  }
  return return_formatted(call, format_text(text(call, 0), text(call, 1)));
}

Status str_parse_i64(vm::NativeCall& call) {
  return_parsed(call, parse_integer(text(call, 0)));
  return {};
}

Status str_parse_f64(vm::NativeCall& call) {
  return_parsed(call, parse_float(text(call, 0)));
  return {};
}

bool str_parse_i64_fast(vm::NativeCall& call) {
  if (call.r[0] == nullptr || text(call, 0).size() > kShortText) return false;
  return_parsed(call, parse_integer(text(call, 0)));
  return true;
}

bool str_parse_f64_fast(vm::NativeCall& call) {
  if (call.r[0] == nullptr || text(call, 0).size() > kShortText) return false;
  return_parsed(call, parse_float(text(call, 0)));
  return true;
}

Status csv_parse_i64(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string_view part, cell(call));
  return_parsed(call, parse_integer(part));
  return {};
}

Status csv_parse_f64(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string_view part, cell(call));
  return_parsed(call, parse_float(part));
  return {};
}

bool csv_parse_i64_fast(vm::NativeCall& call) {
  const auto part = short_cell(call);
  if (part) return_parsed(call, parse_integer(*part));
  return part.has_value();
}

bool csv_parse_f64_fast(vm::NativeCall& call) {
  const auto part = short_cell(call);
  if (part) return_parsed(call, parse_float(*part));
  return part.has_value();
}

Status csv_field_end(vm::NativeCall& call) {
  const std::string_view all = text(call, 0);
  const std::int64_t from = integer(call, 0);
  DHPVM_TRY(check_part(from, static_cast<std::int64_t>(all.size()), static_cast<std::int64_t>(all.size())));
  const std::string_view rest = all.substr(static_cast<std::size_t>(from));
  std::size_t size = 0;
  DHPVM_TRY(in_parts(rest.size(), stop_check(call), [&](std::size_t begin, std::size_t end) -> Status {
    // It is shorter where it was found in an earlier part.
    if (size == begin)
      size += field_size(rest.substr(begin, end - begin), static_cast<char>(integer(call, 1)));
    return {};
  }));
  return_integer(call, 0, from + static_cast<std::int64_t>(size));
  return {};
}

bool csv_field_end_fast(vm::NativeCall& call) {
  if (call.r[0] == nullptr) return false;
  const std::string_view all = text(call, 0);
  const std::uint64_t from = call.p[0];
  if (from > all.size()) return false;
  const std::string_view near = all.substr(from, kShortText);
  const std::size_t size = field_size(near, static_cast<char>(integer(call, 1)));
  if (size == near.size() && near.size() != all.size() - from) return false;
  return_integer(call, 0, static_cast<std::int64_t>(from + size));
  return true;
}

}  // namespace dhpvm::stdlib
