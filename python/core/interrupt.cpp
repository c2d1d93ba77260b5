// SPDX-License-Identifier: Apache-2.0
#include "python/core/interrupt.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <utility>

namespace dhpvm::python {
namespace {

// All of these belong to the main thread and to the handler, which may run on any thread.
std::atomic<const dhpvm_isolate*> running{nullptr};
std::atomic<void (*)(int)> pythons_handler{nullptr};
std::atomic<bool> arrived{false};

void handle(int signal) {
  arrived.store(true);
  if (auto* const next = pythons_handler.load()) next(signal);
  if (const auto* const isolate = running.load()) (void)dhpvm_isolate_interrupt(isolate);
}

bool is_main_thread() {
  thread_local const bool is_main = syscall(SYS_gettid) == getpid();
  return is_main;
}

}  // namespace

InterruptScope::InterruptScope(const dhpvm_isolate* isolate) {
  if (!is_main_thread()) return;
  outer_ = running.load();
  if (outer_ == nullptr) {
    struct sigaction ours{};
    ours.sa_handler = &handle;
    ours.sa_flags = SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    if (sigaction(SIGINT, nullptr, &previous_) != 0 || (previous_.sa_flags & SA_SIGINFO) != 0 ||
        previous_.sa_handler == SIG_DFL || previous_.sa_handler == SIG_IGN)
      return;
    arrived.store(false);
    pythons_handler.store(previous_.sa_handler);
    running.store(isolate);
    if (sigaction(SIGINT, &ours, nullptr) != 0) {
      running.store(nullptr);
      return;
    }
  } else {
    running.store(isolate);
  }
  is_active_ = true;
}

bool InterruptScope::leave() {
  if (!std::exchange(is_active_, false)) return false;
  running.store(outer_);
  if (outer_ == nullptr) (void)sigaction(SIGINT, &previous_, nullptr);
  return arrived.load();
}

}  // namespace dhpvm::python
