// SPDX-License-Identifier: Apache-2.0
// A thread. This is the only way in which the project starts threads: it reports the reason where the system refuses.
#pragma once

#include <pthread.h>

#include <chrono>
#include <functional>
#include <optional>

#include "dhpvm/result.h"

namespace dhpvm {

// A handle; joins the thread when it is destroyed.
class Thread {
 public:
  Thread() = default;
  ~Thread() { join(); }
  Thread(Thread&& other) noexcept;
  Thread& operator=(Thread&& other) noexcept;

  // Runs `body`, which must not throw, on a new thread. All signals are blocked in it: the application's handlers may
  // rely on running on threads of the application. `name` is for debuggers, at most 15 characters. kUnsupported, with
  // the remedy, when the system refuses to start a thread.
  static Result<Thread> start(const char* name, std::function<void()> body);
  // Starts the thread of this handle, unless it has one.
  Status start_once(const char* name, std::function<void()> body);

  bool is_running() const { return handle_.has_value(); }
  // Waits for the thread's end; returns at once if there is no thread.
  void join();

 private:
  std::optional<pthread_t> handle_;
};

// The processor time of this thread so far. Unlike the wall clock it takes a system call.
std::chrono::nanoseconds processor_time_of_thread();

}  // namespace dhpvm
