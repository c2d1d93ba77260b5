// SPDX-License-Identifier: Apache-2.0
// Timeline semaphores whose state the host keeps, and the rule that keeps queues from waiting for each other in a
// circle: what an operation waits for has been submitted before it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "dhpvm/result.h"
#include "offload/devices/semaphore.h"

namespace dhpvm::offload {

class TimelineSemaphore;

// Hears of values that semaphores have reached: one thread can wait for many.
class SemaphoreListener {
 public:
  virtual ~SemaphoreListener() = default;
  // The semaphore that was given this label has reached the value, or has failed. On any thread, which holds no mutex
  // of the semaphore.
  virtual void on_reached(std::uint64_t label) = 0;
};

// State that the semaphores of one device share. Thread-safe; must outlive them.
class Timeline {
 public:
  // Checks the order of an operation that is being submitted, and takes down what it promises to signal: from then on
  // others may wait for that. kInvalidArgument, and nothing is promised, when a semaphore belongs to another device, a
  // wait is for a value that is not promised, or a signal is not above the promised values.
  Status submit(const Order& order);

 private:
  friend class TimelineSemaphore;
  // The semaphore as this class of this device, or null.
  TimelineSemaphore* own(const SemaphoreValue& entry) const;

  std::mutex mutex_;  // guards promised_ of all semaphores; taken before their own mutexes
};

// The functions below Semaphore's are for the device. Devices that know more of time derive from this.
class TimelineSemaphore : public Semaphore {
 public:
  TimelineSemaphore(Timeline& timeline, std::uint64_t initial)
      : timeline_(timeline), promised_(initial), value_(initial) {}

  Result<std::uint64_t> value() override;
  Result<bool> wait(std::uint64_t value, Clock::time_point deadline) override {
    return await(value, deadline);
  }
  Status signal(std::uint64_t value) override;
  void fail(Error error) override;

  // Whether the value has been reached, without blocking; the error if it never will be.
  Result<bool> has_reached(std::uint64_t value);
  // The operation that promised this value has been done. Has no effect once the semaphore has failed.
  void reach(std::uint64_t value);
  // Like wait(), but on behalf of an operation: a clock that counts the host's waits does not count this one.
  Result<bool> await(std::uint64_t value, Clock::time_point deadline = Clock::time_point::max());
  const Timeline& timeline() const { return timeline_; }
  // Calls the listener once, when the value is reached or never will be; returns false if that is already so. A
  // semaphore has one listener: a new one replaces the last.
  bool listen(std::uint64_t value, std::shared_ptr<SemaphoreListener> listener, std::uint64_t label);

 private:
  friend class Timeline;
  static constexpr std::uint64_t kNobody = ~std::uint64_t{0};
  struct Listening {
    std::uint64_t value = kNobody;
    std::shared_ptr<SemaphoreListener> listener;
    std::uint64_t label = 0;
  };
  bool has_failed();
  static void tell(const Listening& listening);

  Timeline& timeline_;
  std::uint64_t promised_;  // guarded by timeline_.mutex_
  std::mutex mutex_;        // guards what follows
  std::condition_variable changed_;
  std::uint64_t value_;
  // The least value for which any thread may be waiting. With it, a thread that waits for the last of a hundred
  // operations is woken once.
  std::uint64_t awaited_ = kNobody;
  Listening listening_;
  std::optional<Error> failure_;
};

}  // namespace dhpvm::offload
