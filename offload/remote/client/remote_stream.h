// SPDX-License-Identifier: Apache-2.0
// A queue of a worker as its client keeps it, and the operations in it that are not finished.
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
  std::uint64_t number = 0;  // as in wire::Order; of a batch, that of its first step
  // How many operations it is for the worker.
  std::uint64_t count() const { return operation.is_batch() ? operation.steps.size() : 1; }
  std::chrono::steady_clock::time_point begin;
  std::vector<wire::Observed> observed;  // itself, or its steps
  // Operations that change memory of the host are numbered from 1; 0: this one does not. And the last such operation
  // that comes before this one, in its queue or by semaphores.
  std::uint64_t host_number = 0;
  std::uint64_t after = 0;
  std::function<void()> host_function;  // called here when the worker gets to it
  bool called = false;
  bool data_moved = true;   // all of it
  bool data_moves = false;  // some of it, just now
  std::uint64_t received = 0;
  std::uint64_t announced = 0;  // and what is being received
  // Its data has travelled between the records of others: it has no time of its own. A download's is in the operation's
  // contents until its turn in the queue has come, as that of a batch's downloads.
  bool is_in_frame = false;
  std::uint64_t awaited = 0;       // downloads of a batch whose data is yet to come
  std::uint64_t answer_bytes = 0;  // of its results that come in frames
};

// A queue. Guarded by the mutex of RemoteOperations.
struct RemoteStream {
  wire::Id id = 0;
  std::deque<std::shared_ptr<RemoteOperation>> pending;
  std::uint64_t outstanding = 0;   // operations of the worker that these are
  std::uint64_t acknowledged = 0;  // how many of them the worker has done
  std::uint64_t after = 0;         // as of the operation that comes next
  std::optional<Error> failure;
  bool finishing = false;
  // The queue's; called on the progress thread without the mutex.
  std::function<void(RemoteOperation& operation, Status status)> finish;
  std::function<void(const wire::Observed& observed)> observe;
  // Launches that were to be stopped then are not done.
  std::optional<std::chrono::steady_clock::time_point> stopped;

  // Place in `pending` of the first that the worker has not done.
  std::size_t first_under_way() const {
    std::uint64_t done = acknowledged;
    std::size_t n = 0;
    for (; n < pending.size() && pending[n]->count() <= done; ++n) done -= pending[n]->count();
    return n;
  }
};

}  // namespace dhpvm::offload
