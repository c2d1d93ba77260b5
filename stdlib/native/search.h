// SPDX-License-Identifier: Apache-2.0
// Searches in texts of any length, which end when the program has to stop, and in short ones; counts of bytes; short
// parts of texts.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "dhpvm/result.h"
#include "gc/heap.h"
#include "stdlib/native/call.h"

namespace dhpvm::stdlib {

// The positions searched before the next look at whether to go on: each may take as long as `what` is.
inline std::size_t searched_at_once(std::string_view what) {
  constexpr std::size_t kWork = std::size_t{16} << 20;
  return std::max<std::size_t>(kWork / std::max<std::size_t>(what.size(), 1), 1);
}

// all.find(what, from), or why the program has to stop.
inline Result<std::size_t> find_in(const vm::NativeCall& call, std::string_view all, std::string_view what,
                                   std::size_t from) {
  const std::size_t step = searched_at_once(what);
  for (;;) {
    const std::size_t left = all.size() - from;
    if (left <= step || left < what.size()) return all.find(what, from);
    // All matches that begin at the next `step` positions.
    const std::string_view near =
        all.substr(from, step + what.size() - std::min<std::size_t>(what.size(), 1));
    if (const std::size_t at = near.find(what); at != near.npos) return from + at;
    from += step;
    DHPVM_TRY(call.isolate.poll());
  }
}

// text.find(byte): mostly, the byte is near.
inline std::size_t find_byte(std::string_view text, char byte) {
  std::size_t at = 0;
#ifdef __SSE2__
  // Sixteen bytes at once; behind the first of them, the C library's way for long texts is worth its call.
  if (text.size() >= 16) {
    const __m128i front = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data()));
    const int found = _mm_movemask_epi8(_mm_cmpeq_epi8(front, _mm_set1_epi8(byte)));
    if (found != 0) return static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(found)));
    at = 16;
  }
#endif
  if (text.size() - at < 16) {
    for (; at < text.size(); ++at) {
      if (text[at] == byte) return at;
    }
    return text.npos;
  }
  const void* const found = std::memchr(text.data() + at, byte, text.size() - at);
  return found == nullptr ? text.npos
                          : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

// How often the byte stands in the text.
inline std::int64_t count_byte(std::string_view text, char byte) {
  std::size_t at = 0;
  std::int64_t count = 0;
#ifdef __SSE2__
  // Sixteen counters of a byte each, which are added up before they can overflow.
  constexpr std::size_t kVector = 16;
  constexpr std::size_t kBlock = kVector * 255;
  while (text.size() - at >= kVector) {
    const std::size_t end = at + std::min(text.size() - at, kBlock) / kVector * kVector;
    __m128i counts = _mm_setzero_si128();
    for (; at < end; at += kVector) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + at));
      counts = _mm_sub_epi8(counts, _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte)));
    }
    const __m128i sums = _mm_sad_epu8(counts, _mm_setzero_si128());
    count += _mm_cvtsi128_si64(sums) + _mm_cvtsi128_si64(_mm_unpackhi_epi64(sums, sums));
  }
#endif
  for (; at < text.size(); ++at) count += text[at] == byte;
  return count;
}

// near.find(what), for texts of at most kShortText bytes.
inline std::size_t find_near(std::string_view near, std::string_view what) {
  return what.size() == 1 ? find_byte(near, what[0]) : near.find(what);
}

// The bytes from..to of a text as a str of their own, for fast paths: null if there is no open memory for them.
// Sizes of words come in no order: where 16 bytes can be read, up to 16 are copied without a branch on how many are
// wanted, 8 at a time, since an object's memory goes up to a multiple of 8.
[[gnu::always_inline]] inline gc::String* short_part(vm::NativeCall& call, std::string_view all,
                                                     std::size_t from, std::size_t to) {
  constexpr std::size_t kHalf = gc::kGranule;
  static_assert(kHalf == 8 && sizeof(gc::String) % kHalf == 0);
  const std::size_t size = to - from;
  gc::String* const string = call.isolate.heap().allocate_short_string(bytecode::kStringType, size);
  if (string == nullptr) return nullptr;
  if (size - 1 < 2 * kHalf && all.size() - from >= 2 * kHalf) {
    const std::size_t last = (size - 1) & kHalf;  // the first half again, or the second
    std::memcpy(string->bytes(), all.data() + from, kHalf);
    std::memcpy(string->bytes() + last, all.data() + from + last, kHalf);
  } else {
    copy_short(string->bytes(), all.data() + from, size);
  }
  return string;
}

// The same as the first reference result.
inline bool return_short_part(vm::NativeCall& call, std::string_view all, std::size_t from, std::size_t to) {
  gc::String* const string = short_part(call, all, from, to);
  if (string == nullptr) return false;
  call.r[0] = reinterpret_cast<gc::Ref>(string);
  return true;
}

}  // namespace dhpvm::stdlib
