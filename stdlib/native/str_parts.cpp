// SPDX-License-Identifier: Apache-2.0
// Natives of module str: texts in parts, between separators, by lines, by words. Each gives one part and where the next
// begins, so that programs go over the parts of a text without having all of them at once.
#include <algorithm>
#include <optional>
#include <string_view>

#include "stdlib/native/call.h"
#include "stdlib/native/natives.h"
#include "stdlib/native/search.h"

namespace dhpvm::stdlib {
namespace {

// A part of a text, and where the next one begins.
struct Part {
  std::size_t to = 0;
  std::int64_t next = 0;
};

// `at`: of the separator behind the part, or npos.
Part part_before(std::size_t size, std::size_t at, std::size_t separator) {
  if (at == std::string_view::npos) return {size, -1};
  return {at, static_cast<std::int64_t>(at + separator)};
}

// `at`: of the line feed behind the line that begins at `from`, or npos.
Part line_before(std::string_view all, std::size_t from, std::size_t at) {
  if (at == all.npos) return {all.size(), static_cast<std::int64_t>(all.size())};
  const bool returns = at > from && all[at - 1] == '\r';
  return {returns ? at - 1 : at, static_cast<std::int64_t>(at + 1)};
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

Status check_from(std::int64_t from, std::size_t size) {
  if (from >= 0 && from <= static_cast<std::int64_t>(size)) return {};
  return error(ErrorCode::kIndexOutOfRange,
               "the part begins at {}, which is not inside the {} bytes of the text", from, size);
}

// The part from `from` on.
Result<Part> part_from(const vm::NativeCall& call, std::string_view all, std::string_view separator,
                       std::size_t from) {
  DHPVM_ASSIGN(const std::size_t at, find_in(call, all, separator, from));
  return part_before(all.size(), at, separator.size());
}

Result<Part> line_from(const vm::NativeCall& call, std::string_view all, std::size_t from) {
  DHPVM_ASSIGN(const std::size_t at, find_in(call, all, "\n", from));
  return line_before(all, from, at);
}

// The first position from `at` on that is, or is not, white space; or the size.
Result<std::size_t> next_space(Poller& poller, std::string_view all, std::size_t at, bool wanted) {
  for (; at < all.size() && is_space(all[at]) != wanted; ++at) DHPVM_TRY(poller.advance(1));
  return at;
}

Result<Part> word_from(const vm::NativeCall& call, std::string_view all, std::size_t from) {
  Poller poller(call);
  DHPVM_ASSIGN(const std::size_t to, next_space(poller, all, from, true));
  DHPVM_ASSIGN(const std::size_t next, next_space(poller, all, to, false));
  return Part{to, static_cast<std::int64_t>(next)};
}

Status empty_separator() { return Error(ErrorCode::kUserTrap, "str.split: the separator is empty"); }

Status return_part(vm::NativeCall& call, std::string_view all, std::size_t from, const Part& part) {
  DHPVM_TRY(return_text(call, all.substr(from, part.to - from)));
  return_integer(call, 0, part.next);
  return {};
}

bool return_fast_part(vm::NativeCall& call, std::string_view all, std::size_t from, const Part& part) {
  if (!return_short_part(call, all, from, part.to)) return false;
  return_integer(call, 0, part.next);
  return true;
}

// Where fast paths look for the end of a part that begins at `from`; nothing where they do not.
std::optional<std::string_view> nearby(const vm::NativeCall& call, std::uint64_t from) {
  if (call.r[0] == nullptr || from > text(call, 0).size()) return std::nullopt;
  return text(call, 0).substr(from, kShortText);
}
// Whether `near`, from `from` on, is all that is left.
bool is_rest(const vm::NativeCall& call, std::uint64_t from, std::string_view near) {
  return near.size() == text(call, 0).size() - from;
}

}  // namespace

Status str_count(vm::NativeCall& call) {
  const std::string_view all = text(call, 0), what = text(call, 1);
  if (what.empty()) return Error(ErrorCode::kUserTrap, "str.count: an empty text stands everywhere");
  std::int64_t count = 0;
  Poller poller(call);
  for (std::size_t from = 0;; ++count) {
    DHPVM_ASSIGN(const std::size_t at, find_in(call, all, what, from));
    if (at == all.npos) break;
    DHPVM_TRY(poller.advance(at - from + what.size()));
    from = at + what.size();
  }
  return_integer(call, 0, count);
  return {};
}

bool str_count_fast(vm::NativeCall& call) {
  if (call.r[0] == nullptr || call.r[1] == nullptr) return false;
  const std::string_view all = text(call, 0), what = text(call, 1);
  if (what.empty() || all.size() > kShortText) return false;
  std::int64_t count = 0;
  if (what.size() == 1) {
    count = count_byte(all, what[0]);
  } else {
    for (std::size_t at = 0; (at = all.find(what, at)) != all.npos; at += what.size()) ++count;
  }
  return_integer(call, 0, count);
  return true;
}

Status str_next_part(vm::NativeCall& call) {
  const std::string_view all = text(call, 0), separator = text(call, 1);
  const std::int64_t begin = integer(call, 0);
  DHPVM_TRY(check_from(begin, all.size()));
  if (separator.empty()) return empty_separator();
  const auto from = static_cast<std::size_t>(begin);
  DHPVM_ASSIGN(const Part part, part_from(call, all, separator, from));
  return return_part(call, all, from, part);
}

bool str_next_part_fast(vm::NativeCall& call) {
  const std::uint64_t from = call.p[0];
  const auto near = nearby(call, from);
  if (!near || call.r[1] == nullptr) return false;
  const std::string_view separator = text(call, 1);
  if (separator.empty() || separator.size() > kShortText) return false;
  std::size_t at = find_near(*near, separator);
  if (at == near->npos && !is_rest(call, from, *near)) return false;
  if (at != near->npos) at += from;
  const std::string_view all = text(call, 0);
  return return_fast_part(call, all, from, part_before(all.size(), at, separator.size()));
}

Status str_next_line(vm::NativeCall& call) {
  const std::string_view all = text(call, 0);
  const std::int64_t begin = integer(call, 0);
  DHPVM_TRY(check_from(begin, all.size()));
  const auto from = static_cast<std::size_t>(begin);
  DHPVM_ASSIGN(const Part part, line_from(call, all, from));
  return return_part(call, all, from, part);
}

bool str_next_line_fast(vm::NativeCall& call) {
  const std::uint64_t from = call.p[0];
  const auto near = nearby(call, from);
  if (!near) return false;
  std::size_t at = find_byte(*near, '\n');
  if (at == near->npos && !is_rest(call, from, *near)) return false;
  if (at != near->npos) at += from;
  const std::string_view all = text(call, 0);
  return return_fast_part(call, all, from, line_before(all, from, at));
}

Status str_next_word(vm::NativeCall& call) {
  const std::string_view all = text(call, 0);
  const std::int64_t begin = integer(call, 0);
  DHPVM_TRY(check_from(begin, all.size()));
  const auto from = static_cast<std::size_t>(begin);
  DHPVM_ASSIGN(const Part part, word_from(call, all, from));
  return return_part(call, all, from, part);
}

bool str_next_word_fast(vm::NativeCall& call) {
  const std::uint64_t from = call.p[0];
  const auto near = nearby(call, from);
  if (!near) return false;
  std::size_t to = 0;
  while (to < near->size() && !is_space((*near)[to])) ++to;
  std::size_t next = to;
  while (next < near->size() && is_space((*near)[next])) ++next;
  if (next == near->size() && !is_rest(call, from, *near)) return false;
  return return_fast_part(call, text(call, 0), from, {from + to, static_cast<std::int64_t>(from + next)});
}

namespace {

// Puts the parts of text 0 that begin at `from` or later, and before `end`, into array `index`, from its first element
// on, as far as there are elements.
template <typename Next>
Status fill(vm::NativeCall& call, unsigned index, std::size_t from, std::size_t end, Next next_part) {
  gc::Array& parts = *array(call, index);
  DHPVM_TRY(check_elements(call, parts, 0, parts.length, Access::kWrite));
  const std::string_view all = text(call, 0);
  // The cost of an object, in bytes copied.
  constexpr std::size_t kObject = 32;
  Poller poller(call);
  for (std::int64_t i = 0; i < parts.length && from < end; ++i) {
    DHPVM_ASSIGN(const Part part, next_part(from));
    DHPVM_ASSIGN(gc::String* const made, new_text(call, all.substr(from, part.to - from)));
    reinterpret_cast<gc::String**>(parts.data)[i] = made;
    call.isolate.heap().write_barrier(&parts, i);
    DHPVM_TRY(poller.advance(part.to - from + kObject));
    if (part.next < 0) break;
    from = static_cast<std::size_t>(part.next);
  }
  return {};
}

// The same in fast paths, for an array that no collection has seen.
class FastFill {
 public:
  // False where there are none.
  static bool is_possible(const vm::NativeCall& call, unsigned index) {
    if (call.r[0] == nullptr || call.r[index] == nullptr || text(call, 0).size() > kShortText) return false;
    const gc::Array& parts = *array(call, index);
    return parts.writable == parts.length && !parts.header.has(gc::kUnlogged);
  }
  FastFill(vm::NativeCall& call, unsigned index)
      : call_(call), all_(text(call, 0)), parts_(*array(call, index)) {}

  // False if there is no open memory for it, or no element.
  bool put(std::size_t from, std::size_t to) {
    if (done_ == parts_.length) return false;
    gc::String* const made = short_part(call_, all_, from, to);
    reinterpret_cast<gc::String**>(parts_.data)[done_++] = made;
    return made != nullptr;
  }

 private:
  vm::NativeCall& call_;
  const std::string_view all_;
  gc::Array& parts_;
  std::int64_t done_ = 0;
};

// Calls visit(position) for each place of the byte, until it says false; whether it never did.
template <typename Visit>
bool for_each_byte(std::string_view near, char byte, Visit visit) {
  std::size_t at = 0;
#ifdef __SSE2__
  for (; near.size() - at >= 16; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(near.data() + at));
    auto found = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte))));
    for (; found != 0; found &= found - 1) {
      if (!visit(at + static_cast<std::size_t>(std::countr_zero(found)))) return false;
    }
  }
#endif
  for (; at < near.size(); ++at) {
    if (near[at] == byte && !visit(at)) return false;
  }
  return true;
}

std::size_t first_word(std::string_view all) {
  std::size_t at = 0;
  while (at < all.size() && is_space(all[at])) ++at;
  return at;
}

// Calls visit(from, to) for each word, until it says false; whether it never did.
template <typename Visit>
bool for_each_word(std::string_view near, Visit visit) {
  for (std::size_t at = first_word(near); at < near.size();) {
    const std::size_t from = at;
    while (at < near.size() && !is_space(near[at])) ++at;
    if (!visit(from, at)) return false;
    while (at < near.size() && is_space(near[at])) ++at;
  }
  return true;
}

}  // namespace

Status str_fill_parts(vm::NativeCall& call) {
  const std::string_view all = text(call, 0), separator = text(call, 1);
  if (separator.empty()) return empty_separator();
  // The last part may be empty, and then begins where the text ends.
  return fill(call, 2, 0, all.size() + 1,
              [&](std::size_t from) { return part_from(call, all, separator, from); });
}

bool str_fill_parts_fast(vm::NativeCall& call) {
  if (call.r[1] == nullptr || !FastFill::is_possible(call, 2)) return false;
  const std::string_view all = text(call, 0), separator = text(call, 1);
  if (separator.empty()) return false;
  FastFill parts(call, 2);
  std::size_t from = 0;
  const auto take = [&](std::size_t at) {
    const std::size_t begin = from;
    from = at + separator.size();
    return parts.put(begin, at);
  };
  if (separator.size() == 1) {
    if (!for_each_byte(all, separator[0], take)) return false;
  } else {
    for (std::size_t at = 0; (at = all.find(separator, from)) != all.npos;) {
      if (!take(at)) return false;
    }
  }
  return parts.put(from, all.size());
}

Status str_fill_lines(vm::NativeCall& call) {
  const std::string_view all = text(call, 0);
  return fill(call, 1, 0, all.size(), [&](std::size_t from) { return line_from(call, all, from); });
}

bool str_fill_lines_fast(vm::NativeCall& call) {
  if (!FastFill::is_possible(call, 1)) return false;
  const std::string_view all = text(call, 0);
  FastFill lines(call, 1);
  std::size_t from = 0;
  const auto take = [&](std::size_t at) {
    const std::size_t begin = from;
    from = at + 1;
    return lines.put(begin, line_before(all, begin, at).to);
  };
  return for_each_byte(all, '\n', take) && (from == all.size() || lines.put(from, all.size()));
}

Status str_count_words(vm::NativeCall& call) {
  const std::string_view all = text(call, 0);
  Poller poller(call);
  std::int64_t count = 0;
  DHPVM_ASSIGN(std::size_t at, next_space(poller, all, 0, false));
  for (; at < all.size(); ++count) {
    DHPVM_ASSIGN(at, next_space(poller, all, at, true));
    DHPVM_ASSIGN(at, next_space(poller, all, at, false));
  }
  return_integer(call, 0, count);
  return {};
}

bool str_count_words_fast(vm::NativeCall& call) {
  if (call.r[0] == nullptr || text(call, 0).size() > kShortText) return false;
  std::int64_t count = 0;
  for_each_word(text(call, 0), [&](std::size_t, std::size_t) {
    ++count;
    return true;
  });
  return_integer(call, 0, count);
  return true;
}

Status str_fill_words(vm::NativeCall& call) {
  const std::string_view all = text(call, 0);
  Poller poller(call);
  DHPVM_ASSIGN(const std::size_t first, next_space(poller, all, 0, false));
  return fill(call, 1, first, all.size(), [&](std::size_t from) { return word_from(call, all, from); });
}

bool str_fill_words_fast(vm::NativeCall& call) {
  if (!FastFill::is_possible(call, 1)) return false;
  FastFill words(call, 1);
  return for_each_word(text(call, 0), [&](std::size_t from, std::size_t to) { return words.put(from, to); });
}

}  // namespace dhpvm::stdlib
