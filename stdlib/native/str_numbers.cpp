// SPDX-License-Identifier: Apache-2.0
// Natives of module str: numbers to text and back; and of module csv, which reads numbers inside
// a larger text.
#include <array>
#include <bit>
#include <charconv>
#include <optional>

#include "stdlib/native/call.h"
#include "stdlib/native/natives.h"
#include "stdlib/native/number_format.h"
#include "stdlib/native/number_parse.h"

namespace dhpvm::stdlib {
namespace {

// The text of an integer, written where it is wanted: its size is known before.
template <typename Integer>
class Decimal {
 public:
  explicit Decimal(Integer value) : value_(value), size_(size_of(value)) {}
  std::size_t size() const { return size_; }
  void write(char* to) const { std::to_chars(to, to + size_, value_); }

 private:
  static constexpr auto kPowers = [] {
    std::array<std::uint64_t, 20> powers = {1};
    for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
    return powers;
  }();

  static std::size_t size_of(Integer value) {
    const bool negative = value < 0;
    const std::uint64_t magnitude =
        negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    // The logarithm to base 10, from that to base 2: 1233 / 4096 is a little more than their ratio, and 0 has a digit.
    const std::size_t most = static_cast<std::size_t>(std::bit_width(magnitude | 1)) * 1233 >> 12;
    return most + ((magnitude | 1) >= kPowers[most] ? 1 : 0) + (negative ? 1 : 0);
  }

  Integer value_;
  std::size_t size_;
};

// The shortest text of a float.
class Shortest {
 public:
  template <typename Float>
  explicit Shortest(Float value) {
    text_ = shortest(value, buffer_.data());
  }
  Shortest(const Shortest&) = delete;
  Shortest& operator=(const Shortest&) = delete;
  std::size_t size() const { return text_.size(); }
  void write(char* to) const { copy_short(to, text_.data(), text_.size()); }

 private:
  std::array<char, kShortestSize> buffer_;
  std::string_view text_;  // in the buffer, or a constant
};

// The number between two texts, as the first reference result. Texts of arguments stay valid: objects do not move, and
// the window keeps them alive.
template <typename Number>
Status return_between(vm::NativeCall& call, std::string_view before, const Number& number,
                      std::string_view after) {
  DHPVM_ASSIGN(gc::String* const made,
               call.isolate.new_string_of(before.size() + number.size() + after.size()));
  char* const out = made->bytes();
  DHPVM_TRY(copy_text(call, out, before));
  number.write(out + before.size());
  DHPVM_TRY(copy_text(call, out + before.size() + number.size(), after));
  call.r[0] = reinterpret_cast<gc::Ref>(made);
  return {};
}

// The same in a fast path: false if there is no open memory for the text.
template <typename Number>
bool return_between_fast(vm::NativeCall& call, std::string_view before, const Number& number,
                         std::string_view after) {
  gc::String* const made = call.isolate.heap().allocate_short_string(
      bytecode::kStringType, before.size() + number.size() + after.size());
  if (made == nullptr) return false;
  char* const out = made->bytes();
  copy_short(out, before.data(), before.size());
  number.write(out + before.size());
  copy_short(out + before.size() + number.size(), after.data(), after.size());
  call.r[0] = reinterpret_cast<gc::Ref>(made);
  return true;
}

// The number between the texts of the arguments.
template <typename Number>
Status return_with(vm::NativeCall& call, const Number& number) {
  if (call.r[0] == nullptr || call.r[1] == nullptr)
    return Error(ErrorCode::kNullReference, "null was used as a string");
  return return_between(call, text(call, 0), number, text(call, 1));
}
template <typename Number>
bool return_with_fast(vm::NativeCall& call, const Number& number) {
  if (call.r[0] == nullptr || call.r[1] == nullptr) return false;
  return return_between_fast(call, text(call, 0), number, text(call, 1));
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

Status str_from_i64(vm::NativeCall& call) { return return_between(call, {}, Decimal(integer(call, 0)), {}); }
bool str_from_i64_fast(vm::NativeCall& call) {
  return return_between_fast(call, {}, Decimal(integer(call, 0)), {});
}

Status str_from_u64(vm::NativeCall& call) { return return_between(call, {}, Decimal(call.p[0]), {}); }
bool str_from_u64_fast(vm::NativeCall& call) { return return_between_fast(call, {}, Decimal(call.p[0]), {}); }

Status str_from_f64(vm::NativeCall& call) { return return_between(call, {}, Shortest(number(call, 0)), {}); }
bool str_from_f64_fast(vm::NativeCall& call) {
  return return_between_fast(call, {}, Shortest(number(call, 0)), {});
}

Status str_from_f32(vm::NativeCall& call) {
  const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(call.p[0]));
  return return_between(call, {}, Shortest(value), {});
}

Status str_with_i64(vm::NativeCall& call) { return return_with(call, Decimal(integer(call, 0))); }
bool str_with_i64_fast(vm::NativeCall& call) { return return_with_fast(call, Decimal(integer(call, 0))); }

Status str_with_u64(vm::NativeCall& call) { return return_with(call, Decimal(call.p[0])); }
bool str_with_u64_fast(vm::NativeCall& call) { return return_with_fast(call, Decimal(call.p[0])); }

Status str_with_f64(vm::NativeCall& call) { return return_with(call, Shortest(number(call, 0))); }
bool str_with_f64_fast(vm::NativeCall& call) { return return_with_fast(call, Shortest(number(call, 0))); }

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
