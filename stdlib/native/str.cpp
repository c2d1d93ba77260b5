// SPDX-License-Identifier: Apache-2.0
// Natives of module str: text.
#include <algorithm>
#include <cstring>

#include "base/short_bytes.h"
#include "stdlib/native/call.h"
#include "stdlib/native/natives.h"
#include "stdlib/native/search.h"
#include "stdlib/native/utf8.h"

namespace dhpvm::stdlib {
namespace {

constexpr std::string_view kWhiteSpace = " \t\n\r\v\f";

// A new str of `size` bytes, to be filled in before anything else happens. Texts of arguments stay valid:
// objects do not move, and the window keeps them alive.
Result<char*> result_of_size(vm::NativeCall& call, std::size_t size, gc::String*& string) {
  DHPVM_ASSIGN(string, call.isolate.new_string_of(size));
  return string->bytes();
}

void return_string(vm::NativeCall& call, gc::String* string) {
  call.r[0] = reinterpret_cast<gc::Ref>(string);
}

// Takes eight bytes at a time: a product for each byte would wait for the one before it. Each step maps the words
// one to one, so that texts of one length that differ in a single word never collide before the final mix, which is
// one to one itself and lets the low bits depend on every byte.
class Hash {
 public:
  explicit Hash(std::size_t size) : hash_(size * kFactor) {}
  // Whole words.
  void take(std::string_view words) {
    for (std::size_t done = 0; done < words.size(); done += 8)
      take(word_at<std::uint64_t>(words.data() + done));
  }
  // The last one to eight bytes, or none of an empty text; some of them twice: the length has been taken, so that no
  // two texts look alike.
  std::uint64_t finish(std::string_view last) {
    const std::size_t size = last.size();
    if (size >= 4) {
      take(word_at<std::uint32_t>(&last[0]) | std::uint64_t{word_at<std::uint32_t>(last.data() + size - 4)}
                                                  << 32);
    } else if (size > 0) {
      const auto byte = [&](std::size_t n) { return std::uint64_t{static_cast<unsigned char>(last[n])}; };
      take(byte(0) | byte(size / 2) << 8 | byte(size - 1) << 16);
    }
    hash_ *= kFactor;
    return hash_ ^ (hash_ >> 29);
  }

 private:
  static constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15u;
  void take(std::uint64_t word) {
    hash_ = (hash_ ^ word) * kFactor;
    hash_ ^= hash_ >> 32;
  }

  std::uint64_t hash_;
};

// The bytes of whole words in front of the last one to eight.
std::size_t whole_words(std::string_view text) { return text.empty() ? 0 : (text.size() - 1) / 8 * 8; }

std::uint64_t hash_at_once(std::string_view text) {
  Hash hash(text.size());
  const std::size_t whole = whole_words(text);
  hash.take(text.substr(0, whole));
  return hash.finish(text.substr(whole));
}

Result<std::uint64_t> hash_of(const vm::NativeCall& call, std::string_view text) {
  Hash hash(text.size());
  const std::size_t whole = whole_words(text);
  DHPVM_TRY(in_parts(whole, stop_check(call), [&](std::size_t begin, std::size_t end) -> Status {
    hash.take(text.substr(begin, end - begin));
    return {};
  }));
  return hash.finish(text.substr(whole));
}

// A template, so that the loop holds the mapping itself and becomes vector code.
template <typename Map>
Status map_bytes(vm::NativeCall& call, Map map) {
  const std::string_view from = text(call, 0);
  gc::String* result;
  DHPVM_ASSIGN(char* const out, result_of_size(call, from.size(), result));
  DHPVM_TRY(in_parts(from.size(), stop_check(call), [&](std::size_t begin, std::size_t end) -> Status {
    std::transform(from.begin() + begin, from.begin() + end, out + begin, map);
    return {};
  }));
  return_string(call, result);
  return {};
}

constexpr auto to_upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; };
constexpr auto to_lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };

// The same in a fast path.
template <typename Map>
bool map_short(vm::NativeCall& call, Map map) {
  if (call.r[0] == nullptr || text(call, 0).size() > kShortText) return false;
  const std::string_view from = text(call, 0);
  gc::String* const result = call.isolate.heap().allocate_short_string(bytecode::kStringType, from.size());
  if (result == nullptr) return false;
  std::transform(from.begin(), from.end(), result->bytes(), map);
  return_string(call, result);
  return true;
}

Result<std::size_t> find_last_in(const vm::NativeCall& call, std::string_view all, std::string_view what) {
  if (what.size() > all.size()) return all.npos;
  const std::size_t step = searched_at_once(what);
  for (std::size_t end = all.size() - what.size() + 1; end > 0;) {
    const std::size_t begin = end > step ? end - step : 0;
    // All matches that begin in [begin, end).
    const std::size_t at =
        all.substr(begin, end - begin + what.size() - std::min<std::size_t>(what.size(), 1)).rfind(what);
    if (at != all.npos && begin + at < end) return begin + at;
    end = begin;
    DHPVM_TRY(call.isolate.poll());
  }
  return all.npos;
}

// The number of leading characters of at(0), at(1), ... that are white space.
template <typename At>
Result<std::size_t> count_blanks(const vm::NativeCall& call, std::size_t size, At at) {
  Poller poller(call);
  std::size_t count = 0;
  for (; count < size && kWhiteSpace.find(at(count)) != kWhiteSpace.npos; ++count)
    DHPVM_TRY(poller.advance(8));
  return count;
}

// Calls visit(from, to, true) for what stands before each `what`, and visit(from, to, false) for what stands
// behind the last.
template <typename Visit>
Status for_each_piece(const vm::NativeCall& call, std::string_view all, std::string_view what,
                      Visit&& visit) {
  Poller poller(call);
  for (std::size_t from = 0;;) {
    DHPVM_ASSIGN(const std::size_t at, find_in(call, all, what, from));
    visit(from, std::min(at, all.size()), at != all.npos);
    if (at == all.npos) return {};
    DHPVM_TRY(poller.advance(at - from + what.size() + 16));
    from = at + what.size();
  }
}

}  // namespace

Status str_slice(vm::NativeCall& call) {
  const std::string_view all = text(call, 0);
  const std::int64_t from = integer(call, 0), to = integer(call, 1);
  DHPVM_TRY(check_part(from, to, static_cast<std::int64_t>(all.size())));
  if (static_cast<std::size_t>(to - from) == all.size())
    return {};  // strings are immutable: the argument is the result
  return return_text(call, all.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)));
}

bool str_slice_fast(vm::NativeCall& call) {
  if (call.r[0] == nullptr) return false;
  const std::string_view all = text(call, 0);
  const std::uint64_t from = call.p[0], to = call.p[1];
  if (from > to || to > all.size()) return false;
  if (to - from == all.size()) return true;
  return return_short_part(call, all, from, to);
}

Status str_find(vm::NativeCall& call) {
  const std::string_view all = text(call, 0);
  const std::int64_t from = integer(call, 0);
  if (from < 0 || from > static_cast<std::int64_t>(all.size())) {
    return error(ErrorCode::kIndexOutOfRange,
                 "the search begins at {}, which is not inside the {} bytes of the text", from, all.size());
  }
  DHPVM_ASSIGN(const std::size_t at, find_in(call, all, text(call, 1), static_cast<std::size_t>(from)));
  return_integer(call, 0, at == all.npos ? -1 : static_cast<std::int64_t>(at));
  return {};
}

bool str_find_fast(vm::NativeCall& call) {
  if (call.r[0] == nullptr || call.r[1] == nullptr) return false;
  const std::string_view all = text(call, 0), what = text(call, 1);
  const std::uint64_t from = call.p[0];
  if (from > all.size() || what.size() > kShortText) return false;
  const std::string_view near = all.substr(from, kShortText);
  const std::size_t at = find_near(near, what);
  const bool to_the_end = near.size() == all.size() - from;
  if (at == near.npos && !to_the_end) return false;
  return_integer(call, 0, at == near.npos ? -1 : static_cast<std::int64_t>(from + at));
  return true;
}

Status str_has_at(vm::NativeCall& call) {
  const std::string_view all = text(call, 0), what = text(call, 1);
  const std::int64_t at = integer(call, 0);
  const bool fits = at >= 0 && at <= static_cast<std::int64_t>(all.size()) &&
                    what.size() <= all.size() - static_cast<std::size_t>(at);
  bool has = fits;
  if (fits) {
    const std::string_view part = all.substr(static_cast<std::size_t>(at), what.size());
    DHPVM_TRY(in_parts(what.size(), stop_check(call), [&](std::size_t begin, std::size_t end) -> Status {
      has = has && part.substr(begin, end - begin) == what.substr(begin, end - begin);
      return {};
    }));
  }
  return_bool(call, 0, has);
  return {};
}

bool str_has_at_fast(vm::NativeCall& call) {
  if (call.r[0] == nullptr || call.r[1] == nullptr) return false;
  const std::string_view all = text(call, 0), what = text(call, 1);
  if (what.size() > kShortText) return false;
  const std::uint64_t at = call.p[0];
  const bool fits = at <= all.size() && what.size() <= all.size() - at;
  return_bool(call, 0, fits && equal_short(all.substr(at, what.size()), what));
  return true;
}

Status str_find_last(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::size_t at, find_last_in(call, text(call, 0), text(call, 1)));
  return_integer(call, 0, at == std::string_view::npos ? -1 : static_cast<std::int64_t>(at));
  return {};
}

Status str_upper(vm::NativeCall& call) { return map_bytes(call, to_upper); }
bool str_upper_fast(vm::NativeCall& call) { return map_short(call, to_upper); }

Status str_lower(vm::NativeCall& call) { return map_bytes(call, to_lower); }
bool str_lower_fast(vm::NativeCall& call) { return map_short(call, to_lower); }

Status str_trim(vm::NativeCall& call) {
  const std::string_view all = text(call, 0);
  DHPVM_ASSIGN(const std::size_t from, count_blanks(call, all.size(), [&](std::size_t n) { return all[n]; }));
  const std::string_view rest = all.substr(from);
  DHPVM_ASSIGN(const std::size_t behind,
               count_blanks(call, rest.size(), [&](std::size_t n) { return rest[rest.size() - 1 - n]; }));
  if (from == 0 && behind == 0) return {};
  return return_text(call, rest.substr(0, rest.size() - behind));
}

bool str_trim_fast(vm::NativeCall& call) {
  if (call.r[0] == nullptr || text(call, 0).size() > kShortText) return false;
  const std::string_view all = text(call, 0);
  const auto is_blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  std::size_t from = 0, to = all.size();
  while (from < to && is_blank(all[from])) ++from;
  while (from < to && is_blank(all[to - 1])) --to;
  return to - from == all.size() || return_short_part(call, all, from, to);
}

Status str_replace(vm::NativeCall& call) {
  const std::string_view all = text(call, 0), what = text(call, 1), with = text(call, 2);
  if (what.empty()) return {};
  DHPVM_ASSIGN(const std::size_t first, find_in(call, all, what, 0));
  if (first == all.npos) return {};
  // Short results are built at once; longer ones are measured before their memory is allocated.
  constexpr std::size_t kShort = std::size_t{64} << 10;
  if (all.size() < kShort && with.size() <= what.size()) {
    std::string out;
    out.reserve(all.size());
    DHPVM_TRY(for_each_piece(call, all, what, [&](std::size_t from, std::size_t to, bool is_followed) {
      out.append(all, from, to - from).append(is_followed ? with : std::string_view());
    }));
    return return_text(call, out);
  }
  std::size_t count = 0;
  DHPVM_TRY(for_each_piece(call, all, what,
                           [&](std::size_t, std::size_t, bool is_followed) { count += is_followed; }));
  const std::size_t kept = all.size() - count * what.size();
  if (!with.empty() && count > (kMaxTextSize - kept) / with.size()) return too_long();
  gc::String* result;
  DHPVM_ASSIGN(char* out, result_of_size(call, kept + count * with.size(), result));
  Poller poller(call);
  Status stopped;
  DHPVM_TRY(for_each_piece(call, all, what, [&](std::size_t from, std::size_t to, bool is_followed) {
    if (!stopped.ok()) return;
    const std::string_view next = is_followed ? with : std::string_view();
    out = std::copy_n(all.data() + from, to - from, out);
    out = std::copy_n(next.data(), next.size(), out);
    stopped = poller.advance(next.size());
  }));
  DHPVM_TRY(stopped);
  return_string(call, result);
  return {};
}

Status str_repeat(vm::NativeCall& call) {
  const std::string_view all = text(call, 0);
  const std::int64_t count = integer(call, 0);
  if (count < 0) return error(ErrorCode::kNegativeLength, "cannot repeat a text {} times", count);
  const auto copies = static_cast<std::size_t>(count);
  if (!all.empty() && copies > kMaxTextSize / all.size()) return too_long();
  const std::size_t size = all.size() * copies;
  gc::String* result;
  DHPVM_ASSIGN(char* const out, result_of_size(call, size, result));
  if (size != 0) DHPVM_TRY(copy_text(call, out, all));
  // Each step copies the texts that are there behind themselves: twice as many each time, while they fit the cache.
  constexpr std::size_t kBlock = std::size_t{64} << 10;
  const std::size_t most =
      std::max<std::size_t>(kBlock / std::max<std::size_t>(all.size(), 1), 1) * all.size();
  Poller poller(call);
  for (std::size_t done = all.size(); done < size;) {
    const std::size_t next = std::min({done, most, size - done});
    DHPVM_TRY(copy_text(call, out + done, {out, next}));
    done += next;
    DHPVM_TRY(poller.advance(next));
  }
  return_string(call, result);
  return {};
}

Status str_join(vm::NativeCall& call) {
  gc::Array& parts = *array(call, 0);
  const std::int64_t count = integer(call, 0);
  DHPVM_TRY(check_elements(call, parts, 0, count, Access::kRead));
  const std::string_view separator = text(call, 1);
  const auto* strings = reinterpret_cast<gc::String* const*>(parts.data);
  // Texts lie all over the heap, and are read in a known order.
  constexpr std::int64_t kAhead = 16;
  const auto fetch_ahead = [&](std::int64_t i) {
    if (i + kAhead < count) __builtin_prefetch(strings[i + kAhead]);
  };
  // The cost of a cache miss for a text's size, in bytes copied.
  constexpr std::size_t kFetch = 64;
  Poller poller(call);
  std::size_t size = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    fetch_ahead(i);
    DHPVM_TRY(poller.advance(kFetch));
    if (strings[i] == nullptr)
      return error(ErrorCode::kNullReference, "element {} of the texts to join is null", i);
    size += strings[i]->size + (i > 0 ? separator.size() : 0);
    if (size > kMaxTextSize) return too_long();
  }
  gc::String* result;
  DHPVM_ASSIGN(char* out, result_of_size(call, size, result));
  for (std::int64_t i = 0; i < count; ++i) {
    fetch_ahead(i);
    const std::string_view between = i > 0 ? separator : std::string_view();
    copy_short(out, between.data(), between.size());
    out += between.size();
    const std::string_view part = strings[i]->view();
    if (part.size() <= kShortText) [[likely]] {
      copy_short(out, part.data(), part.size());
    } else {
      DHPVM_TRY(copy_text(call, out, part));
    }
    out += part.size();
    DHPVM_TRY(poller.advance(between.size() + part.size() + kFetch));
  }
  return_string(call, result);
  return {};
}

bool str_join_fast(vm::NativeCall& call) {
  if (call.r[0] == nullptr || call.r[1] == nullptr) return false;
  const gc::Array& parts = *array(call, 0);
  const std::string_view separator = text(call, 1);
  constexpr std::uint64_t kFew = 64;
  const std::uint64_t count = call.p[0];
  if (count == 0 || count > kFew || count > static_cast<std::uint64_t>(parts.readable)) return false;
  const std::span strings(reinterpret_cast<gc::String* const*>(parts.data), count);
  std::size_t size = (count - 1) * separator.size();
  for (const gc::String* const part : strings) {
    if (part == nullptr) return false;
    size += part->size;
  }
  // Each operand has at most 2^32 bytes, so that the sum did not overflow.
  constexpr std::size_t kLittle = std::size_t{4} << 10;
  if (size > kLittle) return false;
  gc::String* const result = call.isolate.heap().allocate_short_string(bytecode::kStringType, size);
  if (result == nullptr) return false;
  char* out = result->bytes();
  const auto append = [&](std::string_view part) {
    copy_short(out, part.data(), part.size());
    out += part.size();
  };
  append(strings[0]->view());
  for (const gc::String* const part : strings.subspan(1)) {
    append(separator);
    append(part->view());
  }
  return_string(call, result);
  return true;
}

Status str_hash(vm::NativeCall& call) {
  DHPVM_ASSIGN(call.p[0], hash_of(call, text(call, 0)));
  return {};
}

bool str_hash_fast(vm::NativeCall& call) {
  if (call.r[0] == nullptr || text(call, 0).size() > kShortText) return false;
  call.p[0] = hash_at_once(text(call, 0));
  return true;
}

Status str_is_utf8(vm::NativeCall& call) {
  std::string_view left = text(call, 0);
  Poller poller(call);
  constexpr std::size_t kPart = std::size_t{1} << 20;
  while (left.size() > kPart) {
    // A part ends before a byte that begins a code point, if there is one near: there are at most three
    // others in a row.
    std::size_t part = kPart;
    for (int back = 0; back < 3 && (static_cast<unsigned char>(left[part]) & 0xc0) == 0x80; ++back) --part;
    if (!is_utf8(left.substr(0, part))) break;
    left.remove_prefix(part);
    DHPVM_TRY(poller.advance(part));
  }
  return_bool(call, 0, left.size() <= kPart && is_utf8(left));
  return {};
}

Status str_from_code_point(vm::NativeCall& call) {
  const std::int64_t value = integer(call, 0);
  if (value < 0 || value > kMaxCodePoint || is_surrogate(value)) {
    return error(ErrorCode::kUserTrap, "{} is not a Unicode code point", value);
  }
  char buffer[4];
  return return_text(call, {buffer, encode_utf8(static_cast<std::uint32_t>(value), buffer)});
}

Status str_code_point(vm::NativeCall& call) {
  const std::string_view all = text(call, 0);
  const std::int64_t at = integer(call, 0);
  if (at < 0 || at >= static_cast<std::int64_t>(all.size())) {
    return error(ErrorCode::kIndexOutOfRange, "position {} is not inside the {} bytes of the text", at,
                 all.size());
  }
  const CodePoint point = decode_utf8(all.substr(static_cast<std::size_t>(at)));
  return_integer(call, 0, point.size == 0 ? 0xfffd : point.value);
  return_integer(call, 1, point.size == 0 ? 1 : point.size);
  return {};
}

Status str_from_bytes(vm::NativeCall& call) {
  const std::int64_t from = integer(call, 0), to = integer(call, 1);
  if (to < from) return error(ErrorCode::kIndexOutOfRange, "the part {}..{} ends before it starts", from, to);
  // A negative `from` is refused by bytes(), so the difference cannot overflow where it counts.
  DHPVM_ASSIGN(const std::span<char> part, bytes(call, 0, from,
                                                 static_cast<std::int64_t>(static_cast<std::uint64_t>(to) -
                                                                           static_cast<std::uint64_t>(from)),
                                                 Access::kRead));
  if (part.size() > kMaxTextSize) return too_long();
  return return_text(call, {part.data(), part.size()});
}

bool str_from_bytes_fast(vm::NativeCall& call) {
  if (call.r[0] == nullptr) return false;
  const gc::Array& all = *array(call, 0);
  const std::uint64_t from = call.p[0], to = call.p[1];
  if (from > to || to > static_cast<std::uint64_t>(all.readable) || to - from > kShortText) return false;
  return return_short_text(call, {reinterpret_cast<const char*>(all.data) + from, to - from});
}

Status str_to_bytes(vm::NativeCall& call) { return return_bytes(call, text(call, 0)); }

Status str_copy_bytes(vm::NativeCall& call) {
  const std::string_view from = text(call, 0);
  DHPVM_ASSIGN(const std::span<char> to,
               bytes(call, 1, integer(call, 0), static_cast<std::int64_t>(from.size()), Access::kWrite));
  return from.empty() ? Status() : copy_text(call, to.data(), from);
}

bool str_copy_bytes_fast(vm::NativeCall& call) {
  if (call.r[0] == nullptr || call.r[1] == nullptr || text(call, 0).size() > kShortText) return false;
  const std::string_view from = text(call, 0);
  const gc::Array& to = *array(call, 1);
  const std::uint64_t at = call.p[0], room = static_cast<std::uint64_t>(to.writable);
  if (at > room || from.size() > room - at) return false;
  copy_short(reinterpret_cast<char*>(to.data) + at, from.data(), from.size());
  return true;
}

}  // namespace dhpvm::stdlib
