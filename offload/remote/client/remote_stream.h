// SPDX-License-Identifier: Apache-2.0
// The client's side of a queue on a worker, and the queue's unfinished operations.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "offload/devices/operation.h"
#include "offload/remote/fabric/protocol.h"

namespace dhpvm::offload {

inline std::byte* host_address(const MemorySpan& span) { return span.memory->host() + span.offset; }

struct RemoteOperation {
  Operation operation;
  std::uint64_t number = 0;  // as in wire::Order; for a batch, the number of its first step
  // The number of operations that it is for the worker.
  std::uint64_t count() const { return operation.is_batch() ? operation.steps.size() : 1; }
  std::chrono::steady_clock::time_point begin;
  std::vector<wire::Observed> observed;  // of the operation, or of its steps
  // Operations that change memory of the host are numbered from 1; 0: this one does not change any. `after` is the last
  // such operation before this one, in its queue or by semaphores.
  std::uint64_t host_number = 0;
  std::uint64_t after = 0;
  std::function<void()> host_function;  // runs here when the worker gets to it
  bool called = false;
  bool data_moved = true;   // all of it
  bool data_moves = false;  // some of it, just now
  std::uint64_t received = 0;
  std::uint64_t announced = 0;  // and what is being received
  // Its data has come between the records of others, so that it has no time of its own. A download's data stays in the
  // operation until its turn in the queue has come, as the data of a batch's downloads does.
  bool is_in_frame = false;
  std::uint64_t awaited = 0;       // downloads of a batch whose data has not come yet
  std::uint64_t answer_bytes = 0;  // of its results that come in frames
};

// A queue. Guarded by the mutex of RemoteOperations.
struct RemoteStream {
  wire::Id id = 0;
  std::deque<std::shared_ptr<RemoteOperation>> pending;
  std::uint64_t outstanding = 0;   // the number of the worker's operations that these are
  std::uint64_t acknowledged = 0;  // how many of these the worker has done
  std::uint64_t after = 0;         // the value for the next operation
  std::optional<Error> failure;
  bool finishing = false;
  // Set by the queue; called on the progress thread without the mutex.
  std::function<void(RemoteOperation& operation, Status status)> finish;
  std::function<void(const wire::Observed& observed)> observe;
  // Launches that should have stopped at this time are not done.
  std::optional<std::chrono::steady_clock::time_point> stopped;

  // The index in `pending` of the first operation that the worker has not done.
  std::size_t first_under_way() const {
    std::uint64_t done = acknowledged;
    std::size_t n = 0;
    for (; n < pending.size() && pending[n]->count() <= done; ++n) done -= pending[n]->count();
    return n;
  }
};

}  // namespace dhpvm::offload
