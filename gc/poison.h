// SPDX-License-Identifier: Apache-2.0
// Tells AddressSanitizer which parts of the heap hold no objects. Does nothing without it.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define DHPVM_GC_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DHPVM_GC_ASAN 1
#endif
#endif

#ifdef DHPVM_GC_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace dhpvm::gc {

#ifdef DHPVM_GC_ASAN
constexpr bool kPoisoning = true;
inline void poison(void* start, std::size_t bytes) { ASAN_POISON_MEMORY_REGION(start, bytes); }
inline void unpoison(void* start, std::size_t bytes) { ASAN_UNPOISON_MEMORY_REGION(start, bytes); }
#else
constexpr bool kPoisoning = false;
inline void poison(void*, std::size_t) {}
inline void unpoison(void*, std::size_t) {}
#endif

}  // namespace dhpvm::gc
