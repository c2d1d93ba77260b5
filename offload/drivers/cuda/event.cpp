// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/cuda/event.h"

#include <algorithm>
#include <utility>

#include "offload/drivers/cuda/cuda_device.h"

namespace dhpvm::offload {
namespace {

using Clock = Semaphore::Clock;

// Sleeping until an interrupt takes some 20 us, so spin for about the time that short operations take altogether.
constexpr std::chrono::microseconds kSpinning(20);
constexpr std::chrono::seconds kRenewal(1);

}  // namespace

CudaEventPool::~CudaEventPool() {
  for (const std::vector<cu::Event>& events : free_) {
    for (cu::Event const event : events) api_.EventDestroy(event);
  }
}

Result<cu::Event> CudaEventPool::take(bool timed) {
  {
    const std::lock_guard lock(mutex_);
    std::vector<cu::Event>& events = free_[timed ? 1 : 0];
    if (!events.empty()) {
      cu::Event const event = events.back();
      events.pop_back();
      return event;
    }
  }
  cu::Event event = nullptr;
  const unsigned flags = cu::kEventBlockingSync | (timed ? 0 : cu::kEventDisableTiming);
  const cu::Code code = api_.EventCreate(&event, flags);
  if (code != cu::CUDA_SUCCESS) return api_.error_of(code, "cuEventCreate");
  return event;
}

void CudaEventPool::give_back(cu::Event event, bool timed) {
  if (event == nullptr) return;
  const std::lock_guard lock(mutex_);
  free_[timed ? 1 : 0].push_back(event);
}

bool CudaMoment::locate(cu::Event event, std::chrono::nanoseconds& when) const {
  float milliseconds = 0;
  if (api_.EventElapsedTime(&milliseconds, event_, event) != cu::CUDA_SUCCESS) return false;
  when = when_ + std::chrono::duration_cast<std::chrono::nanoseconds>(
                     std::chrono::duration<double, std::milli>(static_cast<double>(milliseconds)));
  return true;
}

CudaClock::~CudaClock() {
  latest_.reset();
  if (stream_ != nullptr) api_.StreamDestroy(stream_);
}

Result<std::shared_ptr<const CudaMoment>> CudaClock::latest() {
  const std::lock_guard lock(mutex_);
  if (latest_ == nullptr || device_.now() - latest_->when() >= kRenewal) {
    DHPVM_ASSIGN(latest_, measure());
  }
  return latest_;
}

Result<std::shared_ptr<const CudaMoment>> CudaClock::measure() {
  if (stream_ == nullptr) {
    const cu::Code code = api_.StreamCreate(&stream_, cu::kStreamNonBlocking);
    if (code != cu::CUDA_SUCCESS) return api_.error_of(code, "cuStreamCreate");
  }
  DHPVM_ASSIGN(cu::Event const event, events_.take(true));
  const std::chrono::nanoseconds before = device_.now();
  cu::Code code = api_.EventRecord(event, stream_);
  // Spin: waking would take longer than the measured time.
  if (code == cu::CUDA_SUCCESS) {
    do code = api_.EventQuery(event);
    while (code == cu::CUDA_ERROR_NOT_READY);
  }
  const std::chrono::nanoseconds after = device_.now();
  auto moment = std::make_shared<const CudaMoment>(api_, events_, event, before + (after - before) / 2);
  if (code != cu::CUDA_SUCCESS) return api_.error_of(code, "cuEventRecord");
  return std::shared_ptr<const CudaMoment>(std::move(moment));
}

CudaEvent::~CudaEvent() {
  const bool timed = since_ != nullptr;
  device_.events().give_back(begin_, timed);
  device_.events().give_back(end_, timed);
  for (cu::Event const end : ends_) device_.events().give_back(end, timed);
}

Result<bool> CudaEvent::ended() {
  const CudaCurrent current(device_);
  const cu::Code code = device_.api().EventQuery(end_);
  if (code == cu::CUDA_ERROR_NOT_READY) return false;
  if (code != cu::CUDA_SUCCESS) return device_.api().error_of(code, "cuEventQuery");
  return true;
}

void CudaEvent::wait(Clock::time_point deadline) {
  const CudaCurrent current(device_);
  const Clock::time_point begin = Clock::now();
  while (Clock::now() - begin < kSpinning) {
    if (device_.api().EventQuery(end_) != cu::CUDA_ERROR_NOT_READY) return;
  }
  if (deadline != Clock::time_point::max()) {
    poll(*this, deadline);
  } else {
    device_.api().EventSynchronize(end_);
  }
}

bool CudaEvent::measure(std::span<OperationRecord> records) {
  const CudaCurrent current(device_);
  std::chrono::nanoseconds begin{0};
  std::chrono::nanoseconds end{0};
  if (since_ == nullptr || !since_->locate(begin_, begin) || !since_->locate(end_, end)) return false;
  if (times_ != nullptr && ends_.empty()) {
    times_->share_out(begin, end, records);
    return true;
  }
  for (std::size_t n = 0; n < records.size(); ++n) {
    records[n].begin = n == 0 ? begin : records[n - 1].end;
    records[n].end = end;
    if (n < ends_.size() && !since_->locate(ends_[n], records[n].end)) return false;
  }
  if (times_ != nullptr) times_->note(records);
  return true;
}

void StepTimes::note(std::span<const OperationRecord> steps) {
  const std::lock_guard lock(mutex_);
  taken_.clear();
  // The clock's steps are longer than short kernels: such kernels count with a minimum.
  for (const OperationRecord& step : steps)
    taken_.push_back(std::max(static_cast<double>((step.end - step.begin).count()), 1.0));
}

void StepTimes::share_out(std::chrono::nanoseconds begin, std::chrono::nanoseconds end,
                          std::span<OperationRecord> steps) const {
  const std::lock_guard lock(mutex_);
  const auto weight = [&](std::size_t n) { return n < taken_.size() ? taken_[n] : 1.0; };
  double all = 0;
  for (std::size_t n = 0; n < steps.size(); ++n) all += weight(n);
  double before = 0;
  for (std::size_t n = 0; n < steps.size(); ++n) {
    const auto at = [&](double part) {
      return begin + std::chrono::nanoseconds(
                         static_cast<std::int64_t>(static_cast<double>((end - begin).count()) * part / all));
    };
    steps[n].begin = at(before);
    before += weight(n);
    steps[n].end = n + 1 == steps.size() ? end : at(before);
  }
}

}  // namespace dhpvm::offload
