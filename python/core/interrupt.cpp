// SPDX-License-Identifier: Apache-2.0
#include "python/core/interrupt.h"

#include <signal.h>
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

// Puts our handler in front of Python's, where it stays. Python sets its own again when a program calls
// signal.signal(), so that each outermost call looks: one call of the system, where to set the handler for each call
// and to restore it were three, half the time of a short call.
bool is_installed() {
  struct sigaction now{};
  if (sigaction(SIGINT, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0) return false;
  if (now.sa_handler == &handle) return true;
  if (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN) return false;
  struct sigaction ours{};
  ours.sa_handler = &handle;
  ours.sa_flags = SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  pythons_handler.store(now.sa_handler);
  return sigaction(SIGINT, &ours, nullptr) == 0;
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
    if (!is_installed()) return;
    arrived.store(false);
  }
  running.store(isolate);
  is_active_ = true;
}

bool InterruptScope::leave() {
  if (!std::exchange(is_active_, false)) return false;
  running.store(outer_);
  return arrived.load();
}

}  // namespace dhpvm::python
