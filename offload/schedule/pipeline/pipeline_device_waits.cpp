// SPDX-License-Identifier: Apache-2.0
// Waiting for a device: for its operations, for its turn, and for a request to stop.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "offload/devices/timeline.h"
#include "offload/schedule/pipeline/pipeline_device.h"

namespace dhpvm::offload {
namespace {

// The period at which a waiting thread checks the clock and interrupts, which is how precisely deadlines are honoured.
// Shorter periods take time from devices that compute on this processor.
constexpr auto kPollInterval = std::chrono::milliseconds(4);
// Enough launches ahead to keep any device busy; each costs some memory until it is done.
constexpr std::uint64_t kLaunchesAhead = 1024;

// Whether the operation was part of a batch that could not be submitted.
bool never_comes(const PipelineDevice& device, unsigned stage, std::uint64_t position) {
  return device.failure() && position > device.submitted().at[stage];
}

}  // namespace

Status PipelineDevice::poll() {
  if (!options_.poll) return {};
  Status status = options_.poll();
  if (!status.ok()) was_interrupted_ = true;
  return status;
}

Status PipelineDevice::await_turn() {
  DHPVM_TRY(poll());
  if (!is_paced()) return {};
  while (const auto position = pace_->wait_before_next(done_[Stage::kLaunch])) {
    Positions first;
    first[Stage::kLaunch] = *position;
    DHPVM_TRY(wait(first));
  }
  return {};
}

// The request came late: the call that it was meant for ends with it here.
Error PipelineDevice::stop_reason() const {
  Status status = options_.poll ? options_.poll() : Status();
  return status.ok() ? Error(ErrorCode::kInterrupted, "the program was asked to stop")
                     : std::move(status).error();
}

Status PipelineDevice::keep_pace() {
  if (failure_) return *failure_;
  const Result<std::uint64_t> done = semaphores_[static_cast<unsigned>(Stage::kLaunch)]->value();
  if (!done.ok()) return fail(done.error());
  const std::uint64_t submitted = submitted_[Stage::kLaunch];
  // A batch has as many launches as a chain has loops, and more.
  const std::uint64_t ahead = info().batch_bytes == 0 ? kLaunchesAhead : kLaunchesAhead / 16;
  if (submitted - *done <= ahead) return {};
  Positions half;
  half[Stage::kLaunch] = submitted - ahead / 2;
  return wait(half);
}

// An array may wait for a download that is a step of the batch being made: submit the batch first.
Status PipelineDevice::submit_for(const Positions& positions) {
  return positions[Stage::kLaunch] > submitted_[Stage::kLaunch] ? submit_batch() : Status();
}

Status PipelineDevice::wait(const Positions& positions) {
  DHPVM_TRY(submit_for(positions));
  for (unsigned stage = 0; stage < kStages; ++stage) {
    if (positions.at[stage] <= done_.at[stage]) continue;
    if (never_comes(*this, stage, positions.at[stage])) return *failure_;
    DHPVM_TRY(queues_[stage]->flush());
    for (bool reached = false; !reached;) {
      // Also if nothing has to be waited for: some devices do their work while they are given it.
      DHPVM_TRY(poll());
      Result<bool> result =
          semaphores_[stage]->wait(positions.at[stage], Semaphore::Clock::now() + kPollInterval);
      if (!result.ok()) return fail(std::move(result).error());
      reached = *result;
    }
    done_.at[stage] = positions.at[stage];
  }
  return {};
}

Result<bool> PipelineDevice::await(const Positions& positions, std::chrono::milliseconds moment) {
  DHPVM_TRY(submit_for(positions));
  const auto deadline = Semaphore::Clock::now() + moment;
  for (unsigned stage = 0; stage < kStages; ++stage) {
    if (positions.at[stage] <= done_.at[stage]) continue;
    if (never_comes(*this, stage, positions.at[stage])) return *failure_;
    DHPVM_TRY(queues_[stage]->flush());
    DHPVM_TRY(poll());
    const Result<bool> reached = semaphores_[stage]->wait(positions.at[stage], deadline);
    if (!reached.ok()) return fail(reached.error());
    if (!*reached) return false;
    done_.at[stage] = positions.at[stage];
  }
  return true;
}

bool PipelineDevice::ends_by(Semaphore::Clock::time_point deadline) {
  for (unsigned stage = 0; stage < kStages; ++stage) {
    if (submitted_.at[stage] <= done_.at[stage] || !queues_[stage]->flush().ok()) continue;
    const Result<bool> reached = semaphores_[stage]->wait(submitted_.at[stage], deadline);
    if (reached.ok() && !*reached) return false;
  }
  return true;
}

void PipelineDevice::wait_out(const Positions& positions) {
  for (unsigned stage = 0; stage < kStages; ++stage) {
    if (positions.at[stage] <= done_.at[stage] || never_comes(*this, stage, positions.at[stage])) continue;
    if (queues_[stage]->flush().ok())
      (void)semaphores_[stage]->wait(positions.at[stage], Semaphore::Clock::time_point::max());
  }
}

void PipelineDevice::set_behind(const Positions& until, double seconds) {
  behind_.include(until);
  behind_since_ = Tracer::Clock::now();
  behind_seconds_ = seconds;
}

double PipelineDevice::seconds_behind() {
  if (fate_of(behind_) != Fate::kUnderWay) return 0;
  const double passed = std::chrono::duration<double>(Tracer::Clock::now() - behind_since_).count();
  return std::max(behind_seconds_ - passed, passed);
}

Result<bool> PipelineDevice::catch_up() { return await(behind_, std::chrono::milliseconds(0)); }

bool PipelineDevice::listen(const Positions& positions, const std::shared_ptr<SemaphoreListener>& listener,
                            std::uint64_t label) {
  for (unsigned stage = 0; stage < kStages; ++stage) {
    if (positions.at[stage] <= done_.at[stage]) continue;
    auto* const semaphore = dynamic_cast<TimelineSemaphore*>(semaphores_[stage].get());
    if (semaphore != nullptr && semaphore->listen(positions.at[stage], listener, label)) return true;
  }
  return false;
}

Fate PipelineDevice::fate_of(const Positions& positions) {
  for (unsigned stage = 0; stage < kStages; ++stage) {
    if (positions.at[stage] <= done_.at[stage]) continue;
    if (never_comes(*this, stage, positions.at[stage])) return Fate::kFailed;
    // Asking for one value is cheaper than asking for the highest: a driver's semaphore then checks one operation, not
    // all.
    const Result<bool> reached =
        semaphores_[stage]->wait(positions.at[stage], Semaphore::Clock::time_point{});
    if (!reached.ok()) {
      fail(reached.error());
      return Fate::kFailed;
    }
    if (!*reached) return Fate::kUnderWay;
    done_.at[stage] = positions.at[stage];
  }
  return Fate::kDone;
}

}  // namespace dhpvm::offload
