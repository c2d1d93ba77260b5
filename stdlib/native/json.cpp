// SPDX-License-Identifier: Apache-2.0
// Natives of module json.
#include "stdlib/native/call.h"
#include "stdlib/native/json_number.h"
#include "stdlib/native/natives.h"
#include "stdlib/native/search.h"

namespace dhpvm::stdlib {
namespace {

bool is_blank(char byte) { return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'; }

template <typename Element>
bool take(const JsonNumber& read, Element& into) {
  if constexpr (std::is_floating_point_v<Element>) {
    into = read.number;
    return read.kind <= JsonNumberKind::kFloat;
  } else {
    into = read.integer;
    return read.kind == JsonNumberKind::kInteger;
  }
}

// Elements of a JSON array, until it ends, `into` is full, or something else stands there.
template <typename Element>
Status read_elements(vm::NativeCall& call) {
  const std::string_view all = text(call, 0);
  const std::int64_t from = integer(call, 0), room = array(call, 1)->length;
  DHPVM_TRY(check_part(from, static_cast<std::int64_t>(all.size()), static_cast<std::int64_t>(all.size())));
  DHPVM_TRY(check_elements(call, *array(call, 1), 0, room, Access::kWrite));
  auto* const into = reinterpret_cast<Element*>(array(call, 1)->data);
  const char* at = all.data() + from;
  const char* const end = all.data() + all.size();
  const auto skip_blanks = [&] {
    while (at != end && is_blank(*at)) ++at;
  };
  Poller poller(call);
  std::int64_t found = 0;
  bool whole = false;
  while (found < room) {
    const char* const before = at;
    skip_blanks();
    const JsonNumber read = read_json_number({at, static_cast<std::size_t>(end - at)});
    if (!take(read, into[found])) break;
    ++found;
    at = read.end;
    skip_blanks();
    whole = at != end && *at == ']';
    if (at == end || *at != ',') break;
    ++at;
    DHPVM_TRY(poller.advance(static_cast<std::size_t>(at - before)));
  }
  return_integer(call, 0, found);
  return_integer(call, 1, at - all.data());
  return_bool(call, 2, whole);
  return {};
}

void return_json_number(vm::NativeCall& call, const JsonNumber& read, std::string_view all) {
  return_integer(call, 0, static_cast<std::int64_t>(read.kind));
  return_integer(call, 1, read.end - all.data());
  return_integer(call, 2, read.integer);
  return_number(call, 3, read.number);
}

}  // namespace

Status json_number(vm::NativeCall& call) {
  const std::string_view all = text(call, 0);
  const std::int64_t from = integer(call, 0);
  DHPVM_TRY(check_part(from, static_cast<std::int64_t>(all.size()), static_cast<std::int64_t>(all.size())));
  return_json_number(call, read_json_number(all.substr(static_cast<std::size_t>(from))), all);
  return {};
}

bool json_number_fast(vm::NativeCall& call) {
  if (call.r[0] == nullptr) return false;
  const std::string_view all = text(call, 0);
  const std::uint64_t from = call.p[0];
  if (from > all.size()) return false;
  const std::string_view near = all.substr(from, kShortText);
  const JsonNumber read = read_json_number(near);
  // It may go on behind the part that was looked at.
  if (read.end == near.data() + near.size() && near.size() != all.size() - from) return false;
  return_json_number(call, read, all);
  return true;
}

Status json_commas(vm::NativeCall& call) {
  const std::string_view all = text(call, 0);
  std::int64_t found = 0;
  DHPVM_TRY(in_parts(all.size(), stop_check(call), [&](std::size_t begin, std::size_t end) -> Status {
    found += count_byte(all.substr(begin, end - begin), ',');
    return {};
  }));
  return_integer(call, 0, found);
  return {};
}

Status json_floats(vm::NativeCall& call) { return read_elements<double>(call); }

Status json_ints(vm::NativeCall& call) { return read_elements<std::int64_t>(call); }

}  // namespace dhpvm::stdlib
