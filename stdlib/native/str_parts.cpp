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
    count = std::ranges::count(all, what[0]);  // without branches, which becomes vector code
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
  if (separator.empty()) return Error(ErrorCode::kUserTrap, "str.split: the separator is empty");
  const auto from = static_cast<std::size_t>(begin);
  DHPVM_ASSIGN(const std::size_t at, find_in(call, all, separator, from));
  return return_part(call, all, from, part_before(all.size(), at, separator.size()));
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
  DHPVM_ASSIGN(const std::size_t at, find_in(call, all, "\n", from));
  return return_part(call, all, from, line_before(all, from, at));
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
  Poller poller(call);
  std::size_t to = from;
  for (; to < all.size() && !is_space(all[to]); ++to) DHPVM_TRY(poller.advance(1));
  std::size_t next = to;
  for (; next < all.size() && is_space(all[next]); ++next) DHPVM_TRY(poller.advance(1));
  return return_part(call, all, from, {to, static_cast<std::int64_t>(next)});
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

}  // namespace dhpvm::stdlib
