// SPDX-License-Identifier: Apache-2.0
// Events of CUDA, which are kept for reuse because creating one costs more than an operation; and the ends of
// operations.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "offload/drivers/cuda/driver_api.h"
#include "offload/drivers/driver_event.h"

namespace dhpvm::offload {

class CudaDevice;

// Thread-safe. The device's context must be current.
class CudaEventPool {
 public:
  explicit CudaEventPool(const cu::Api& api) : api_(api) {}
  ~CudaEventPool();
  CudaEventPool(const CudaEventPool&) = delete;
  CudaEventPool& operator=(const CudaEventPool&) = delete;

  // `timed` events record the time, at some cost for the device.
  Result<cu::Event> take(bool timed);
  void give_back(cu::Event event, bool timed);

 private:
  const cu::Api& api_;
  std::mutex mutex_;
  std::array<std::vector<cu::Event>, 2> free_;  // by `timed`
};

// A time that is known on the device's clock, from which later events can be measured.
class CudaMoment {
 public:
  // Takes over `event`, which is timed.
  CudaMoment(const cu::Api& api, CudaEventPool& events, cu::Event event, std::chrono::nanoseconds when)
      : api_(api), events_(events), event_(event), when_(when) {}
  ~CudaMoment() { events_.give_back(event_, true); }
  CudaMoment(const CudaMoment&) = delete;
  CudaMoment& operator=(const CudaMoment&) = delete;

  std::chrono::nanoseconds when() const { return when_; }
  // The time of `event`. False if the driver does not report it. The context must be current.
  bool locate(cu::Event event, std::chrono::nanoseconds& when) const;

 private:
  const cu::Api& api_;
  CudaEventPool& events_;
  cu::Event const event_;
  const std::chrono::nanoseconds when_;
};

// The driver measures the time between two events, in milliseconds as a float: exact to a microsecond only over
// seconds. So every second a new moment is taken to measure from. Thread-safe; the device's context must be current.
class CudaClock {
 public:
  CudaClock(const Device& device, const cu::Api& api, CudaEventPool& events)
      : device_(device), api_(api), events_(events) {}
  ~CudaClock();
  CudaClock(const CudaClock&) = delete;
  CudaClock& operator=(const CudaClock&) = delete;

  Result<std::shared_ptr<const CudaMoment>> latest();

 private:
  Result<std::shared_ptr<const CudaMoment>> measure();

  const Device& device_;
  const cu::Api& api_;
  CudaEventPool& events_;
  std::mutex mutex_;
  cu::Stream stream_ = nullptr;  // used for nothing else, so that events happen at once
  std::shared_ptr<const CudaMoment> latest_;
};

// The times of the steps of a batch when they were launched one by one, because no event lies between the nodes of a
// graph. Thread-safe.
class StepTimes {
 public:
  void note(std::span<const OperationRecord> steps);
  // Divides the time from `begin` to `end` among the steps; equally if no times are known.
  void share_out(std::chrono::nanoseconds begin, std::chrono::nanoseconds end,
                 std::span<OperationRecord> steps) const;

 private:
  mutable std::mutex mutex_;
  std::vector<double> taken_;
};

class CudaEvent final : public DriverEvent {
 public:
  // Takes over the events. With `since`, the operation lies between `begin` and `end`; without it, `begin` is null.
  CudaEvent(CudaDevice& device, cu::Event begin, cu::Event end, std::shared_ptr<const CudaMoment> since)
      : device_(device), begin_(begin), end_(end), since_(std::move(since)) {}
  // The operation is a batch. `ends`: events of all steps but the last, if they are observable. Takes them over.
  void set_steps(std::shared_ptr<StepTimes> times, std::vector<cu::Event> ends) {
    times_ = std::move(times);
    ends_ = std::move(ends);
  }
  // Keeps the object alive until the operation has ended.
  void keep(std::shared_ptr<const void> object) { kept_ = std::move(object); }
  ~CudaEvent() override;
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  cu::Event end() const { return end_; }

  Result<bool> ended() override;
  void wait(Semaphore::Clock::time_point deadline) override;
  bool measure(std::span<OperationRecord> records) override;

 private:
  CudaDevice& device_;
  cu::Event const begin_;
  cu::Event const end_;
  const std::shared_ptr<const CudaMoment> since_;
  std::shared_ptr<StepTimes> times_;  // null: the operation is no batch
  std::vector<cu::Event> ends_;
  std::shared_ptr<const void> kept_;
};

}  // namespace dhpvm::offload
