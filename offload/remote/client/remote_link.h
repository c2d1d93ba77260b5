// SPDX-License-Identifier: Apache-2.0
// The connection to a worker: handshake, requests and notifications, and the clean-up when it ends.
#pragma once

#include <atomic>
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

#include "offload/remote/client/frame_batch.h"
#include "offload/remote/client/held_records.h"
#include "offload/remote/client/remote_operations.h"
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
  // The reason for an orderly end, as it is sent to the worker.
  static Error program_ends();

  Fabric& fabric() const { return fabric_; }
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
  // Sends a record with the next frame that leaves.
  void post(const wire::FromClient& record) { post(record, 0, 0); }
  void flush();
  // A module that a request names.
  struct Code {
    wire::Digest digest;
    ConstBytes bytes;
  };
  // Like Transport::attend, while answers of this worker are awaited.
  void attend(const std::function<bool()>& is_done, std::chrono::steady_clock::time_point deadline) {
    transport_.attend(is_done, deadline);
  }
  void expect(std::int64_t answers) { transport_.expect(answers); }
  // Sends a record that contains `request` at once, and waits for the reply. Sends `code` if the worker needs it.
  Result<wire::Reply> ask(const wire::FromClient& record, wire::Id request, Code code = {});

  // For RemoteOperations. The record has `count` operations, with `answer_bytes` of results that come in frames. It
  // waits while the worker has as many operations as it takes, or too many bytes of results are on their way.
  void post_operation(const wire::FromClient& record, std::uint64_t count, std::uint64_t answer_bytes) {
    post(record, count, answer_bytes);
  }
  void operations_done(std::uint64_t count);
  void answered(std::uint64_t bytes);
  // Sends the record before all that wait.
  void send_now(const wire::FromClient& record);
  void send_run(const wire::RunHeader& header, ConstBytes data, BulkLane::Done done);
  void receive_run(MutableBytes memory, BulkLane::Done done);
  void on_progress_thread(std::function<void()> function);
  void on_progress_thread_after(std::chrono::milliseconds delay, std::function<void()> function);
  // This machine's steady clock minus the worker's. The error is at
  // most half the shortest round trip, plus the clocks' drift in
  // the second until the next measurement while the link is in use.
  std::chrono::nanoseconds clock_shift();
  void count_job() { ++jobs_; }
  void count_batch(bool is_replay) {
    ++batches_;
    if (is_replay) ++replays_;
  }
  std::uint64_t batches() const { return batches_; }
  std::uint64_t replays() const { return replays_; }
  void count_sent(std::uint64_t bytes) { bytes_sent_ += bytes; }
  void count_received(std::uint64_t bytes) { bytes_received_ += bytes; }
  // The most bytes of an array in a frame; 0: none, because the worker is of an earlier release.
  std::uint64_t write_bytes();
  // The largest batch that the worker takes, as batch_bytes_of() counts; 0: it takes none.
  std::uint64_t batch_bytes();
  bool takes_small_indices();
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

  void post(const wire::FromClient& record, std::uint64_t operations, std::uint64_t answer_bytes);
  void release();
  void send_waiting();
  void send_batch();
  void end(const Error& reason);
  void mark_lost(const Error& reason);
  void lose(const Error& reason);
  void finish();
  void become_ready();
  void leave();
  bool is_queued();
  std::uint64_t take_place();
  void await_ready(std::chrono::milliseconds deadline);
  void ping();
  // Sends pings if the last measurement is too old.
  void renew_clock_shift();

  Status handle(wire::Welcome& record);
  Status handle(wire::Ready& record);
  Status handle(wire::Pong& record);
  Status handle(wire::Reply& record);
  Status handle(wire::NeedModule& record);
  Status handle(wire::Progress& record) { return operations_.on_progress(record); }
  Status handle(wire::QueueFailed& record) { return operations_.on_failure(record); }
  Status handle(wire::CallHost& record) { return operations_.on_call(record); }
  Status handle(wire::Observed& record) { return operations_.on_observed(record); }
  Status handle(wire::Draining& record);
  Status handle(wire::Queued& record);
  Status handle(wire::Downloaded& record) { return operations_.on_downloaded(record); }

  Fabric& fabric_;
  Transport& transport_;
  const std::string address_;
  const RemoteLinkOptions options_;
  wire::Welcome welcome_;
  RemoteOperations operations_;

  // Only for the progress thread.
  std::optional<std::pair<Address, std::string>> dialled_;
  bool welcomed_ = false;
  bool ready_sent_ = false;  // by the worker
  bool frames_open_ = false;
  bool bulk_open_ = false;
  std::uint64_t pings_ = 0;
  Clock::time_point pinged_;

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
  FrameBatch frame_;
  HeldRecords held_;
  std::map<wire::Id, Request*> requests_;
  std::chrono::nanoseconds shift_{0};
  Clock::duration best_trip_ = Clock::duration::max();  // of the measurement that gave shift_
  Clock::time_point shift_measured_;
  std::atomic<std::uint64_t> jobs_ = 0;
  std::atomic<std::uint64_t> batches_ = 0;
  std::atomic<std::uint64_t> replays_ = 0;
  std::atomic<std::uint64_t> bytes_sent_ = 0;
  std::atomic<std::uint64_t> bytes_received_ = 0;
};

}  // namespace dhpvm::offload
