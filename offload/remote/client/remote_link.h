// SPDX-License-Identifier: Apache-2.0
// The connection to a worker: handshake, requests and notifications, and the clean-up when it ends.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "offload/remote/client/link_counters.h"
#include "offload/remote/client/outgoing_records.h"
#include "offload/remote/client/remote_operations.h"
#include "offload/remote/client/worker_clock.h"
#include "offload/remote/fabric/bulk_lane.h"
#include "offload/remote/fabric/fabric.h"
#include "offload/remote/fabric/frame_lane.h"
#include "offload/remote/fabric/protocol.h"

namespace dhpvm::offload {

struct RemoteLinkOptions {
  ChannelOptions channel;
  std::chrono::milliseconds silence_deadline{3000};
  // Results of loops are copied back at once, so that a lost worker never has the only copy.
  bool writes_back = true;
  std::string name;     // of this program, for the worker's log
  std::string release;  // of DHPVM
};

// The reason for an orderly end, as it is sent to the worker.
Error program_ends();

// Thread-safe. Devices of the worker hold references; close() ends it.
class RemoteLink final : public FrameHandler,
                         public BulkHandler,
                         public std::enable_shared_from_this<RemoteLink> {
 public:
  // Fabric and transport must outlive the link. `address` is the worker's name in messages.
  RemoteLink(Fabric& fabric, Transport& transport, std::string address, RemoteLinkOptions options);
  ~RemoteLink() override;

  // Dials a worker at a numeric address. `host` is its name, for its certificate.
  void dial(const Address& address, const std::string& host);
  // For a worker that has dialled; on the progress thread. Takes the frame lane, and later the bulk lane whose first
  // run has the token. False when that token belongs to another session.
  std::shared_ptr<Lane> accept(const std::shared_ptr<Channel>& channel);
  bool accept_bulk(ConstBytes token, const std::shared_ptr<BulkLane>& lane);
  // Blocks until the worker is ready, or returns why it never will be. Meanwhile `queued` is called with each new place
  // in the queue of a worker that is full.
  Status wait_until_ready(const std::function<void(std::uint64_t place)>& queued);
  bool is_ready();
  // Whether the link has ever been ready, even if it is lost now.
  bool was_ready();
  // Leaves the worker, and waits until nothing is connected any more: a moment at most, if the worker does not answer.
  // Not from the progress thread.
  void close();
  // The same without waiting for the end.
  void drop(Error reason);

  Fabric& fabric() const { return fabric_; }
  Transport& transport() const { return transport_; }
  const std::string& address() const { return address_; }
  bool writes_back() const { return options_.writes_back; }
  // Valid when the link is ready.
  const wire::Welcome& welcome() const { return welcome_; }
  std::optional<Error> failure();
  // The reason why it should get no more work: it has failed, or is about to end and has asked its clients to leave.
  std::optional<Error> gone();
  // Counts the devices in use. When a worker is about to end, the client leaves it after the last one is released.
  void hold();
  void let_go();
  // Blocks until the connection has failed or ended.
  void wait_until_lost();
  RemoteOperations& operations() { return operations_; }

  wire::Id next_id();
  // Sends a record with the next frame that leaves. For RemoteOperations: a record of `operations` operations, with
  // `answer_bytes` of results that come in frames, waits while the worker has as many operations as it takes, or too
  // many bytes of results are on their way.
  void post(const wire::FromClient& record, std::uint64_t operations = 0, std::uint64_t answer_bytes = 0);
  void flush();
  // A module that a request names.
  struct Code {
    wire::Digest digest;
    ConstBytes bytes;
  };
  // Sends a record that contains `request` at once, and waits for the reply. Sends `code` if the worker needs it.
  Result<wire::Reply> ask(const wire::FromClient& record, wire::Id request, Code code = {});

  // So many operations of records that were posted are done, and so many bytes of their results have come.
  void done(std::uint64_t operations, std::uint64_t answer_bytes);
  // Sends the record before all that wait.
  void send_now(const wire::FromClient& record);
  void send_run(const wire::RunHeader& header, ConstBytes data, BulkLane::Done done);
  void receive_run(MutableBytes memory, BulkLane::Done done);
  void on_progress_thread(std::function<void()> function);
  void on_progress_thread_after(std::chrono::milliseconds delay, std::function<void()> function);
  WorkerClock& clock() { return clock_; }
  LinkCounters& counters() { return counters_; }
  // The abilities of the worker: workers of earlier releases lack some of them.
  struct Capabilities {
    // The most bytes of an array in a frame; 0: none.
    std::uint64_t write_bytes = 0;
    // The largest batch, as batch_bytes_of() counts; 0: it takes none.
    std::uint64_t batch_bytes = 0;
    bool small_indices = false;
  };
  Capabilities capabilities();
  // The work done over the link so far.
  struct Traffic {
    std::uint64_t jobs = 0;        // kernels launched
    std::uint64_t bytes_sent = 0;  // of arrays
    std::uint64_t bytes_received = 0;
    std::chrono::nanoseconds round_trip{0};  // the shortest recent one; 0: not known
    SealMode seal = SealMode::kNone;
    bool is_authenticated = false;
  };
  Traffic traffic();

  void on_open() override;
  void on_frame(ConstBytes frame) override;
  void on_closed(const Error& reason) override;
  void on_look(std::chrono::milliseconds listened, std::chrono::milliseconds patience) override {
    if (bulk_open_) bulk_->look(listened, patience);
  }
  void on_bulk_open() override;
  void on_run(ConstBytes header, std::uint64_t bytes) override;
  void on_bulk_closed(const Error& reason) override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Request {
    Code code;
    std::optional<wire::Reply> reply;
  };

  void end(const Error& reason);
  void mark_lost(const Error& reason);
  void lose(const Error& reason);
  void finish();
  void become_ready();
  void leave();
  bool is_queued();
  void await_ready(std::chrono::milliseconds deadline);

  Status handle(wire::Welcome& record);
  Status handle(wire::Ready& record);
  Status handle(wire::Reply& record);
  Status handle(wire::NeedModule& record);
  Status handle(wire::Draining& record);
  Status handle(wire::Queued& record);
  Status handle(wire::Pong& record) { return clock_.handle(record); }
  // All other records are about operations.
  template <typename Record>
  Status handle(Record& record) {
    return operations_.handle(record);
  }

  Fabric& fabric_;
  Transport& transport_;
  const std::string address_;
  const RemoteLinkOptions options_;
  wire::Welcome welcome_;
  RemoteOperations operations_;
  WorkerClock clock_{[this](const wire::Ping& ping) { send_now(ping); }};
  LinkCounters counters_;

  // Only for the progress thread.
  std::optional<std::pair<Address, std::string>> dialled_;
  bool welcomed_ = false;
  bool ready_sent_ = false;  // by the worker
  bool frames_open_ = false;
  bool bulk_open_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<FrameLane> frames_;
  std::shared_ptr<BulkLane> bulk_;
  bool ready_ = false;
  bool ended_ = false;  // nothing accesses the memory of operations any more
  std::optional<Error> lost_;
  bool draining_ = false;
  std::uint64_t place_ = 0;  // in the worker's queue
  unsigned devices_ = 0;
  wire::Id next_id_ = 1;
  OutgoingRecords outgoing_;
  std::map<wire::Id, Request*> requests_;
};

}  // namespace dhpvm::offload
