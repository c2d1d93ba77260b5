// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"

#include <signal.h>
#include <time.h>

#include <cstring>
#include <memory>
#include <utility>

#include "base/error.h"

namespace dhpvm {
namespace {

struct Beginning {
  const char* name;
  std::function<void()> body;
};

void* run(void* argument) {
  const std::unique_ptr<Beginning> beginning(static_cast<Beginning*>(argument));
  pthread_setname_np(pthread_self(), beginning->name);
  beginning->body();
  return nullptr;
}

}  // namespace

Thread::Thread(Thread&& other) noexcept : handle_(std::exchange(other.handle_, std::nullopt)) {}

Thread& Thread::operator=(Thread&& other) noexcept {
  join();
  handle_ = std::exchange(other.handle_, std::nullopt);
  return *this;
}

Result<Thread> Thread::start(const char* name, std::function<void()> body) {
  auto beginning = std::make_unique<Beginning>(Beginning{name, std::move(body)});
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t handle;
  const int problem = pthread_create(&handle, nullptr, run, beginning.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (problem != 0)
    return error(
        ErrorCode::kUnsupported,
        "the system starts no thread '{}' ({}): raise the limit of threads (ulimit -u, or pids.max of the "
        "control group), or end other programs",
        name, std::strerror(problem));
  (void)beginning.release();  // the thread has it
  Thread thread;
  thread.handle_ = handle;
  return thread;
}

Status Thread::start_once(const char* name, std::function<void()> body) {
  if (is_running()) return {};
  DHPVM_ASSIGN(*this, start(name, std::move(body)));
  return {};
}

void Thread::join() {
  if (!handle_) return;
  pthread_join(*handle_, nullptr);
  handle_.reset();
}

std::chrono::nanoseconds processor_time_of_thread() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace dhpvm
