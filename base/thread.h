// SPDX-License-Identifier: Apache-2.0
// A thread, or the reason why the system starts none: the only way in which this house starts threads.
#pragma once

#include <pthread.h>

#include <chrono>
#include <functional>
#include <optional>

#include "dhpvm/result.h"

namespace dhpvm {

// A handle; joined when it is destroyed.
class Thread {
 public:
  Thread() = default;
  ~Thread() { join(); }
  Thread(Thread&& other) noexcept;
  Thread& operator=(Thread&& other) noexcept;

  // Runs `body`, which must not throw, on a new thread. The thread takes no signals: those of the process are
  // for threads of the application, whose handlers may count on being there. `name` is for debuggers, at most
  // 15 characters. kUnsupported when the system has no thread left, and with what to do.
  static Result<Thread> start(const char* name, std::function<void()> body);
  // The same into this handle, unless it has a thread.
  Status start_once(const char* name, std::function<void()> body);

  bool is_running() const { return handle_.has_value(); }
  // Waits for its end; nothing if there is none.
  void join();

 private:
  std::optional<pthread_t> handle_;
};

// The processor time of this thread so far. It takes a system call, which the clock on the wall does not.
std::chrono::nanoseconds processor_time_of_thread();

}  // namespace dhpvm
