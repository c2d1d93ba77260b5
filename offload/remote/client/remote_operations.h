// SPDX-License-Identifier: Apache-2.0
// Operations that a worker has been given: their data, and their end.
//
// An operation is finished here in the order of its queue, when the worker says that it is done and its data has moved.
// Data of uploads is sent before it is needed, in the order of submission over all queues, as soon as nothing that
// comes before can change it: neither a download nor a host call on which the upload depends.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "offload/remote/client/frame_results.h"
#include "offload/remote/client/remote_records.h"
#include "offload/remote/client/remote_stream.h"
#include "offload/remote/fabric/protocol.h"
#include "offload/remote/worker/task_thread.h"

namespace dhpvm::offload {

class RemoteLink;

class RemoteOperations {
 public:
  explicit RemoteOperations(RemoteLink& link) : link_(link) {}

  void add(const std::shared_ptr<RemoteStream>& stream);
  // Waits until the queue's operations are done, and removes it.
  void remove(RemoteStream& stream);
  void submit(RemoteStream& stream, const std::shared_ptr<RemoteOperation>& operation);
  // Runs the pending host calls; calls nothing after that.
  void stop() { host_.reset(); }

  // Handle records of the worker; on the progress thread. Errors are breaches of the protocol.
  Status handle(const wire::Progress& record);
  Status handle(const wire::QueueFailed& record);
  Status handle(const wire::CallHost& record);
  Status handle(const wire::Observed& record);
  Status handle(wire::Downloaded& record);
  Status on_run(const wire::RunHeader& header, std::uint64_t bytes);
  // The connection has ended, and nothing accesses the operations' memory any more.
  void on_lost(const Error& reason);

 private:
  struct Transfer {
    std::shared_ptr<RemoteStream> stream;
    std::shared_ptr<RemoteOperation> operation;
  };

  std::shared_ptr<RemoteStream> find(wire::Id queue);
  void order(RemoteStream& stream, RemoteOperation& operation);
  void start_transfers();
  void start_upload(const Transfer& upload);
  void start_call(const Transfer& call);
  void host_done(std::uint64_t number);
  void moved(const Transfer& transfer);
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
  RemoteRecords records_{link_};
  std::map<std::uint64_t, Transfer> downloads_;  // downloads whose data has not come yet, by number
  FrameResults results_;
  std::deque<Transfer> uploads_;  // uploads whose data has not been sent yet
  std::deque<Transfer> calls_;    // host calls that the worker has asked for
  std::uint64_t host_submitted_ = 0;
  std::uint64_t host_prefix_ = 0;       // all operations up to this one are done,
  std::set<std::uint64_t> host_ahead_;  // and these
  std::vector<std::byte> discarded_;    // of the progress thread
  bool watching_ = false;               // look_for_stops() is scheduled
  std::unique_ptr<TaskThread> host_ = std::make_unique<TaskThread>();
};

}  // namespace dhpvm::offload
