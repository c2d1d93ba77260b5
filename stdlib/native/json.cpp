// SPDX-License-Identifier: Apache-2.0
// Natives of module json.
#include <bit>
#include <cstdint>
#include <string_view>

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

// The commas among 64 bytes, a bit for each.
constexpr std::ptrdiff_t kBlock = 64;
#ifdef __SSE2__
std::uint64_t commas_of(const char* at) {
  std::uint64_t found = 0;
  for (int i = 0; i < 4; ++i) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 16 * i));
    const int mask = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(',')));
    found |= static_cast<std::uint64_t>(static_cast<unsigned>(mask)) << 16 * i;
  }
  return found;
}
#else
std::uint64_t commas_of(const char* at) {
  std::uint64_t found = 0;
  for (int i = 0; i < kBlock; ++i) found |= std::uint64_t{at[i] == ','} << i;
  return found;
}
#endif

// Elements of a JSON array, until it ends, the room is full, or something else stands there.
template <typename Element>
class ElementReader {
 public:
  ElementReader(vm::NativeCall& call, std::string_view all, std::size_t from)
      : poller_(call),
        begin_(all.data()),
        at_(begin_ + from),
        end_(begin_ + all.size()),
        into_(reinterpret_cast<Element*>(array(call, 1)->data)),
        room_(array(call, 1)->length) {}

  Status run() {
    // Numbers of another kind are read one by one, some of them before another try.
    constexpr int kMany = 4;
    constexpr int kOneByOne = 16;
    int waits = 0;
    while (found_ < room_) {
      if (waits == 0) {
        const std::int64_t before = found_;
        DHPVM_TRY(between_commas());
        if (found_ == room_) break;
        if (found_ - before < kMany) waits = kOneByOne;
      } else {
        --waits;
      }
      DHPVM_ASSIGN(const bool goes_on, one());
      if (!goes_on) break;
    }
    return {};
  }
  void give(vm::NativeCall& call) const {
    return_integer(call, 0, found_);
    return_integer(call, 1, at_ - begin_);
    return_bool(call, 2, whole_);
  }

 private:
  void skip_blanks() {
    while (at_ != end_ && is_blank(*at_)) ++at_;
  }

  // Short numbers with a comma behind each. Where they end is known before they are read, so that the processor reads
  // several at once.
  Status between_commas() {
    while (end_ - at_ >= kBlock) {
      const char* const block = at_;
      for (std::uint64_t commas = commas_of(block); commas != 0; commas &= commas - 1) {
        const char* const comma = block + std::countr_zero(commas);
        if (comma - begin_ < static_cast<std::ptrdiff_t>(kDigitsAtOnce) || found_ == room_) return {};
        const JsonNumber read = read_json_token(is_blank(*at_) ? at_ + 1 : at_, comma);
        if (!take(read, into_[found_])) return {};
        ++found_;
        at_ = comma + 1;
      }
      if (at_ == block) return {};
      DHPVM_TRY(poller_.advance(static_cast<std::size_t>(at_ - block)));
    }
    return {};
  }

  // Whether another one follows.
  Result<bool> one() {
    const char* const before = at_;
    skip_blanks();
    const auto left = static_cast<std::size_t>(end_ - at_);
    JsonNumber read;
    if (left >= kShortJsonNumber) read = read_short_json_number(at_);
    if (read.kind == JsonNumberKind::kNone) read = read_json_number({at_, left});
    if (!take(read, into_[found_])) return false;
    ++found_;
    at_ = read.end;
    skip_blanks();
    whole_ = at_ != end_ && *at_ == ']';
    if (at_ == end_ || *at_ != ',') return false;
    ++at_;
    DHPVM_TRY(poller_.advance(static_cast<std::size_t>(at_ - before)));
    return true;
  }

  Poller poller_;
  const char* begin_;
  const char* at_;
  const char* end_;
  Element* into_;
  std::int64_t room_;
  std::int64_t found_ = 0;
  bool whole_ = false;  // the array has ended
};

template <typename Element>
Status read_elements(vm::NativeCall& call) {
  const std::string_view all = text(call, 0);
  const std::int64_t from = integer(call, 0), room = array(call, 1)->length;
  DHPVM_TRY(check_part(from, static_cast<std::int64_t>(all.size()), static_cast<std::int64_t>(all.size())));
  DHPVM_TRY(check_elements(call, *array(call, 1), 0, room, Access::kWrite));
  ElementReader<Element> reader(call, all, static_cast<std::size_t>(from));
  DHPVM_TRY(reader.run());
  reader.give(call);
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
