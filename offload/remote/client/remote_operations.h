// SPDX-License-Identifier: Apache-2.0
// Operations that a worker has been given: their data, and their end.
//
// An operation is finished here in the order of its queue, when the worker says that it is done and its data
// has moved. Data of uploads is sent ahead of being needed, in the order of submission over all queues, as
// soon as it is certain that nothing that comes before will change it: neither a download nor a call of the
// host on which the upload depends.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "offload/devices/checked_queue.h"
#include "offload/remote/client/remote_batches.h"
#include "offload/remote/fabric/protocol.h"
#include "offload/remote/worker/task_thread.h"

namespace dhpvm::offload {

class RemoteLink;

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
  std::uint64_t awaited = 0;  // downloads of a batch whose data is yet to come
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

class RemoteOperations {
 public:
  explicit RemoteOperations(RemoteLink& link) : link_(link) {}

  void add(const std::shared_ptr<RemoteStream>& stream);
  // Waits until its operations are done, and removes it.
  void remove(RemoteStream& stream);
  void submit(RemoteStream& stream, const std::shared_ptr<RemoteOperation>& operation);
  // Runs the pending host calls; calls nothing after that.
  void stop() { host_.reset(); }

  // Handle the worker's records; on the progress thread. Errors are breaches of the protocol.
  Status on_progress(const wire::Progress& record);
  Status on_failure(const wire::QueueFailed& record);
  Status on_call(const wire::CallHost& record);
  Status on_observed(const wire::Observed& record);
  Status on_downloaded(wire::Downloaded& record);
  Status on_run(const wire::RunHeader& header, std::uint64_t bytes);
  // The connection has ended, and nothing touches the operations' memory any more.
  void on_lost(const Error& reason);

 private:
  struct Transfer {
    std::shared_ptr<RemoteStream> stream;
    std::shared_ptr<RemoteOperation> operation;
  };

  std::shared_ptr<RemoteStream> find(wire::Id queue);
  wire::FromClient record_of(const RemoteStream& stream, RemoteOperation& operation);
  wire::FromClient record_of_batch(wire::Order order, RemoteOperation& operation);
  void order(RemoteStream& stream, RemoteOperation& operation);
  void start_transfers();
  void start_upload(const Transfer& upload);
  void start_call(const Transfer& call);
  void host_done(std::uint64_t number);
  void moved(const Transfer& transfer);
  void put_in_place(const RemoteOperation& operation);
  void put_in_place(const Operation& download, std::uint64_t number);
  void settle(const std::shared_ptr<RemoteStream>& stream);
  void discard(std::uint64_t bytes);
  void watch_for_stops();
  void look_for_stops();
  bool is_stopped_too_long(RemoteStream& stream);

  RemoteLink& link_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<wire::Id, std::shared_ptr<RemoteStream>> streams_;
  std::optional<Error> lost_;
  std::uint64_t next_number_ = 0;
  RemoteBatches batches_;
  std::map<std::uint64_t, Transfer> downloads_;          // whose data is yet to come, by number
  std::vector<std::shared_ptr<RemoteOperation>> begun_;  // downloads whose data goes to its place as it comes
  std::deque<Transfer> uploads_;                         // whose data is yet to be sent
  std::deque<Transfer> calls_;                           // which the worker has asked for
  std::uint64_t host_submitted_ = 0;
  std::uint64_t host_prefix_ = 0;       // all up to here are done,
  std::set<std::uint64_t> host_ahead_;  // and these
  std::vector<std::byte> discarded_;    // of the progress thread
  bool watching_ = false;               // look_for_stops() follows
  std::unique_ptr<TaskThread> host_ = std::make_unique<TaskThread>();
};

}  // namespace dhpvm::offload
