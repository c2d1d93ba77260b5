// SPDX-License-Identifier: Apache-2.0
// The state that the parts of a session share: semaphores, operations, queues and kernels of its client.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "offload/devices/operation.h"
#include "offload/remote/fabric/protocol.h"
#include "offload/remote/worker/launch_guard.h"
#include "offload/remote/worker/queue_answers.h"
#include "offload/remote/worker/staging.h"

namespace dhpvm::offload::session {

// A semaphore of the client. The device needs to know the signal of a value
// before any wait for it, and values in ascending order; operations may reach the
// device in another order than they were submitted in, so they queue up here.
struct Timeline {
  std::shared_ptr<Semaphore> semaphore;
  std::uint64_t device = 0;
  std::uint64_t promised = 0;  // the highest value that the device has been told of
  std::uint64_t next_ticket = 0;
  std::uint64_t serving = 0;
  std::optional<Error> failure;  // found here; then the order of values does not matter any more
};
struct Wait {
  std::shared_ptr<Timeline> timeline;
  std::uint64_t value;
};
struct Promise {
  std::shared_ptr<Timeline> timeline;
  std::uint64_t value;
  std::uint64_t ticket;
};

// A part of an upload, received or arriving.
struct StagedPart {
  std::shared_ptr<StagingBlock> block;
  std::uint64_t offset;
  std::uint64_t bytes;
  bool received = false;
};
struct UploadState {
  std::uint64_t announced = 0;  // bytes in runs so far
  std::uint64_t submitted = 0;  // given to the device
  bool direct = false;          // received directly into its destination
  std::deque<std::shared_ptr<StagedPart>> parts;
};
struct DownloadState {
  std::uint64_t submitted = 0;
};
// Ends the launches of a queue between two StopLaunches.
struct LaunchStop {
  StopToken token;
  KernelStop kernels{token};
};
struct LaunchState {
  std::shared_ptr<Kernel> kernel;
  std::shared_ptr<const LaunchGuard> guard;
  IterationSpace space;
  std::vector<std::uint64_t> scalars;
  std::vector<ArrayArgument> arrays;
  MemorySpan partials;
  MemorySpan report;
  std::shared_ptr<LaunchStop> stop;
};
struct FillState {
  std::byte value;
};
struct WriteState {
  std::vector<std::byte> bytes;
};
struct CopyState {};
// Operations that the device gets as one.
struct BatchState {
  std::vector<Operation> steps;
  std::vector<std::shared_ptr<const LaunchGuard>> guards;  // by step; null: the step is no launch
  // If the client's elements are staged, the copies lack their other end: the staging memory of this place.
  std::optional<std::uint64_t> place = {};
};
struct HostCallState {};

struct Pending {
  std::uint64_t number = 0;
  std::uint64_t count = 1;  // the client's operations, numbered consecutively
  std::vector<Wait> waits;
  std::vector<Promise> signals;
  MemorySpan to;
  MemorySpan from;
  // The first alternative is that of a new operation, because it allocates nothing.
  std::variant<CopyState, UploadState, DownloadState, WriteState, FillState, LaunchState, HostCallState,
               BatchState>
      what;
  bool begun = false;  // the device has got a part of it
};

// Whether all values that the operation waits for have been promised to the device, and its signals are next in order.
inline bool may_begin(const Pending& pending) {
  if (pending.begun) return true;
  return std::ranges::all_of(pending.waits,
                             [](const Wait& wait) {
                               return wait.timeline->failure || wait.timeline->promised >= wait.value;
                             }) &&
         std::ranges::all_of(pending.signals, [](const Promise& promise) {
           return promise.timeline->failure || promise.timeline->serving == promise.ticket;
         });
}

// A queue of the client.
struct Stream {
  wire::Id id = 0;
  std::uint64_t device = 0;
  std::string name;
  std::unique_ptr<Queue> queue;
  std::shared_ptr<Semaphore> marks;  // counts the notifications that were reached
  std::uint64_t marked = 0;
  std::deque<std::shared_ptr<Pending>> pending;
  std::uint64_t waiting = 0;  // operations in `pending`
  // The signals of operations that the device has got and that are not known to be done.
  std::deque<std::vector<Promise>> submitted;
  std::uint64_t given = 0;  // the number that the device has got in all
  // How many of `given` are known to be done; counted on threads of the device.
  std::shared_ptr<std::atomic<std::uint64_t>> done = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::uint64_t forgotten = 0;  // how many of `done` are no longer in `submitted`
  std::uint64_t unmarked = 0;   // given to the device since the last notification
  std::shared_ptr<QueueAnswers> answers;
  std::shared_ptr<LaunchStop> stop = std::make_shared<LaunchStop>();
  bool blocked = false;  // the session does the front itself, not the device
  std::optional<Error> failure;
};

struct LocalOrder {
  std::vector<SemaphoreValue> waits;
  std::vector<SemaphoreValue> signals;
  Order all() const { return {waits, signals}; }
};

struct LoadedKernel {
  std::uint64_t device = 0;
  std::shared_ptr<Kernel> kernel;
  std::shared_ptr<const LaunchGuard> guard;
  std::string name;
  std::uint64_t launches = 0;
};
}  // namespace dhpvm::offload::session
