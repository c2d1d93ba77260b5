// SPDX-License-Identifier: Apache-2.0
// Natives of module time, and random.entropy.
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <ctime>
#include <thread>

#include "stdlib/native/call.h"
#include "stdlib/native/natives.h"

namespace dhpvm::stdlib {
namespace {

using Seconds = std::chrono::duration<double>;

// The longest time that an interrupt or a deadline goes unnoticed.
constexpr Seconds kNap{0.01};
// Long enough for anything that is done meanwhile.
constexpr Seconds kLongWait{3600};

}  // namespace

Status time_now(vm::NativeCall& call) {
  return_number(call, 0, Seconds(std::chrono::system_clock::now().time_since_epoch()).count());
  return {};
}

Status time_monotonic(vm::NativeCall& call) {
  return_number(call, 0, Seconds(std::chrono::steady_clock::now().time_since_epoch()).count());
  return {};
}

Status time_sleep(vm::NativeCall& call) {
  const double seconds = number(call, 0);
  if (!(seconds > 0)) return {};  // not for NaN either
  // Output printed before the wait must appear before it.
  DHPVM_TRY(NativeState::of(call).console.flush());
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    DHPVM_TRY(call.isolate.poll());
    const Seconds left = Seconds(seconds) - (std::chrono::steady_clock::now() - start);
    if (left <= Seconds::zero()) return {};
    call.isolate.rest({gc::IdleWatch::WaitKind::kAhead,
                       std::chrono::duration_cast<std::chrono::nanoseconds>(std::min(left, kLongWait))});
    std::this_thread::sleep_for(std::min(left, kNap));
  }
}

Status time_format(vm::NativeCall& call) {
  const double seconds = std::floor(number(call, 0));
  const std::string format(text(call, 0).empty() ? std::string_view("%Y-%m-%dT%H:%M:%SZ") : text(call, 0));
  // The years that the calendar functions can write, with a good margin.
  constexpr double kMost = 1e15;
  std::tm parts{};
  const auto unix_time = std::abs(seconds) <= kMost ? static_cast<std::time_t>(seconds) : 0;
  if (!(std::abs(seconds) <= kMost) || ::gmtime_r(&unix_time, &parts) == nullptr) {
    return error(ErrorCode::kUserTrap, "{} is not a point in time that a calendar shows", number(call, 0));
  }
  // strftime returns 0 both for "does not fit" and for an empty result: a mark tells them apart.
  const std::string marked = format + "|";
  constexpr std::size_t kMostText = 1 << 20;
  for (std::string out(256, '\0'); out.size() <= kMostText; out.resize(out.size() * 4)) {
    const std::size_t size = std::strftime(out.data(), out.size(), marked.c_str(), &parts);
    if (size != 0) return return_text(call, std::string_view(out).substr(0, size - 1));
  }
  return error(ErrorCode::kUserTrap, "the time format is too long");
}

Status random_entropy(vm::NativeCall& call) {
  std::uint64_t bits = 0;
  while (::getrandom(&bits, sizeof bits, 0) != sizeof bits) {
    if (errno != EINTR) return error(ErrorCode::kIoTrap, "the system gives no random numbers");
  }
  call.p[0] = bits;
  return {};
}

}  // namespace dhpvm::stdlib
