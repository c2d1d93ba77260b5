// SPDX-License-Identifier: Apache-2.0
#include "gc/mark_bytes.h"

#include <bit>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace dhpvm::gc {
namespace {

// The top bits of 64 bytes, and the bits below them.
struct StartsAndEnds {
  std::uint64_t starts = 0;
  std::uint64_t ends = 0;
};

#ifdef __SSE2__
StartsAndEnds gather(const std::uint8_t* marks) {
  StartsAndEnds bits;
  for (unsigned i = 0; i < 4; ++i) {
    const __m128i bytes = _mm_load_si128(reinterpret_cast<const __m128i*>(marks + 16 * i));
    const auto starts = static_cast<std::uint32_t>(_mm_movemask_epi8(bytes));
    const auto ends = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_add_epi8(bytes, bytes)));
    bits.starts |= static_cast<std::uint64_t>(starts) << (16 * i);
    bits.ends |= static_cast<std::uint64_t>(ends) << (16 * i);
  }
  return bits;
}
#else
// Moves the top bit of each of eight bytes into one byte; the partial products never overlap,
// so nothing carries.
std::uint64_t top_bits(std::uint64_t bytes) {
  return (((bytes >> 7) & 0x0101010101010101u) * 0x0102040810204080u) >> 56;
}

StartsAndEnds gather(const std::uint8_t* marks) {
  StartsAndEnds bits;
  for (unsigned i = 0; i < 8; ++i) {
    std::uint64_t bytes;
    std::memcpy(&bytes, marks + 8 * i, sizeof(bytes));
    if constexpr (std::endian::native == std::endian::big) bytes = __builtin_bswap64(bytes);
    bits.starts |= top_bits(bytes) << (8 * i);
    bits.ends |= top_bits(bytes << 1) << (8 * i);
  }
  return bits;
}
#endif

}  // namespace

// An object from granule s to granule e covers the bits 2^(e+1) - 2^s. Objects do not overlap, so the
// coverage of a block, read as one number of 8192 bits, is (ends << 1) - starts. The borrow from word to
// word is 1 exactly if an object reaches beyond the word; the bit that << moves out of the word only says
// that it does not.
void compute_coverage(const std::uint8_t* marks, Coverage& coverage) {
  std::uint64_t open = 0;
  for (std::size_t word = 0; word < kCoverageWords; ++word) {
    const StartsAndEnds bits = gather(marks + 64 * word);
    const std::uint64_t past_ends = bits.ends << 1;
    coverage[word] = past_ends - bits.starts - open;
    // No overflow in starts + open: an open object covers the first granule, which then starts none.
    open = bits.ends >> 63 == 0 && past_ends < bits.starts + open ? 1 : 0;
  }
}

std::size_t count_free(const Coverage& coverage) {
  std::size_t used = 0;
  for (const std::uint64_t word : coverage) used += static_cast<std::size_t>(std::popcount(word));
  return kGranulesPerBlock - used;
}

namespace {

// The first granule at or after `from` whose bit, inverted by `invert`, is set.
std::size_t next_set(const Coverage& coverage, std::size_t from, std::uint64_t invert) {
  std::size_t word = from / 64;
  if (word >= kCoverageWords) return kGranulesPerBlock;
  std::uint64_t bits = (coverage[word] ^ invert) & (~std::uint64_t{0} << (from % 64));
  while (bits == 0) {
    if (++word == kCoverageWords) return kGranulesPerBlock;
    bits = coverage[word] ^ invert;
  }
  return word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
}

}  // namespace

Hole find_hole(const Coverage& coverage, std::size_t from, std::size_t minimum) {
  std::size_t end = from;
  while (end < kGranulesPerBlock) {
    const std::size_t begin = next_set(coverage, end, ~std::uint64_t{0});
    if (begin == kGranulesPerBlock) break;
    end = next_set(coverage, begin, 0);
    if (end - begin >= minimum) return {begin, end};
  }
  return {kGranulesPerBlock, kGranulesPerBlock};
}

}  // namespace dhpvm::gc
