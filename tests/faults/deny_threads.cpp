// SPDX-License-Identifier: Apache-2.0
// Preloaded (LD_PRELOAD) into a program that is tested: the system seems to have no thread left.
//
// DENY_THREADS_AFTER=N lets N threads start, and refuses all that are asked for behind them. RLIMIT_NPROC
// would do the same, but not for root, as whom tests run in containers.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                              void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
  static const long after = [] {
    const char* const text = std::getenv("DENY_THREADS_AFTER");
    return text == nullptr ? -1 : std::atol(text);
  }();
  static std::atomic<long> started{0};
  if (after >= 0 && started.fetch_add(1) >= after) return EAGAIN;
  return create(thread, attributes, body, argument);
}
