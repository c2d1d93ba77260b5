// SPDX-License-Identifier: Apache-2.0
// Preloaded (LD_PRELOAD) into a program under test: injects faults of the system into this program only.
//
// DENY_THREADS_AFTER=N permits N threads, and refuses all later ones. RLIMIT_NPROC would do the same, but not for root,
// the user of tests in containers. DHPVM_LAB_CLOCK=FILE names a file with a 64-bit number of nanoseconds, by which the
// time of day is wrong; changing the file sets the clock. The monotonic clock, by which programs wait, is not changed,
// as when a real clock is set.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

const std::int64_t* wrong_by = nullptr;

// Runs before main(), and so before the program gives up the right to open files.
__attribute__((constructor)) void find_clock() {
  const char* const name = std::getenv("DHPVM_LAB_CLOCK");
  if (name == nullptr) return;
  const int file = ::open(name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void* const mapped = ::mmap(nullptr, sizeof *wrong_by, PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  if (mapped != MAP_FAILED) wrong_by = static_cast<const std::int64_t*>(mapped);
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

void make_wrong(std::int64_t& seconds, std::int64_t& parts, std::int64_t parts_of_second) {
  const std::int64_t by = wrong_by == nullptr ? 0 : __atomic_load_n(wrong_by, __ATOMIC_RELAXED);
  seconds += by / kSecond;
  parts += by % kSecond / (kSecond / parts_of_second);
  seconds += parts / parts_of_second;
  parts %= parts_of_second;
  if (parts >= 0) return;
  parts += parts_of_second;
  --seconds;
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                              void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = next<Create>("pthread_create");
  static const long after = [] {
    const char* const text = std::getenv("DENY_THREADS_AFTER");
    return text == nullptr ? -1 : std::atol(text);
  }();
  static std::atomic<long> started{0};
  if (after >= 0 && started.fetch_add(1) >= after) return EAGAIN;
  return create(thread, attributes, body, argument);
}

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static const auto get = next<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int result = get(clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    make_wrong(time->tv_sec, time->tv_nsec, kSecond);
  return result;
}

extern "C" int gettimeofday(timeval* time, void* zone) noexcept {
  static const auto get = next<int (*)(timeval*, void*)>("gettimeofday");
  const int result = get(time, zone);
  if (result == 0 && time != nullptr) make_wrong(time->tv_sec, time->tv_usec, 1'000'000);
  return result;
}

extern "C" time_t time(time_t* where) noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  if (where != nullptr) *where = now.tv_sec;
  return now.tv_sec;
}
