// SPDX-License-Identifier: Apache-2.0
// Moves the data of a session: directly to and from memory that device and host share, otherwise through staging
// memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "offload/remote/fabric/bulk_lane.h"
#include "offload/remote/worker/session_port.h"
#include "offload/remote/worker/session_state.h"

namespace dhpvm::offload {

class SessionQueues;

class SessionTransfers {
 public:
  // `queues` has the operations that the data belongs to.
  SessionTransfers(SessionPort& port, SessionQueues& queues) : port_(port), queues_(queues) {}

  // False when there is a lane already.
  bool attach(std::shared_ptr<BulkLane> lane);
  const std::shared_ptr<BulkLane>& lane() const { return lane_; }

  // Staging memory between network and device.
  struct Staging {
    std::shared_ptr<StagingPool> up;
    std::shared_ptr<StagingPool> down;
    std::shared_ptr<StagingPool> writes;
    std::shared_ptr<StagingPool> batches;
  };
  // True for one caller per device, which then makes the staging memory on a thread that may block.
  bool claim_staging(std::uint64_t device) { return staging_.try_emplace(device).second; }
  Result<Staging> make_staging(Device& device);
  void add_staging(std::uint64_t device, Result<Staging> made);
  void clear_staging() { staging_.clear(); }

  // The client announces data on the bulk lane.
  void on_run(ConstBytes header, std::uint64_t bytes);
  // Provides memory for incoming data, as far as there is some. Called again whenever there may be more.
  void continue_run();
  // expect() announces an upload whose data has not come yet; forget() cancels that.
  void expect(const std::shared_ptr<session::Stream>& stream,
              const std::shared_ptr<session::Pending>& pending);
  void forget(std::uint64_t operation) { uploads_.erase(operation); }
  void forget_all() { uploads_.clear(); }

  // True when all of the operation has been given to the device; false when the rest must wait.
  Result<bool> submit_upload(session::Stream& stream, session::Pending& pending,
                             const session::LocalOrder& order);
  // Functions for a thread of the device, for a write, or a download that is_answer(), of elements that the host sees.
  std::function<void()> writing(const MemorySpan& to, std::vector<std::byte> bytes);
  std::function<void()> answering(const session::Stream& stream, std::uint64_t operation,
                                  const MemorySpan& from);
  // Whether the host sees the elements, so that nothing has to be staged.
  bool is_shared(const session::Stream& stream, const MemorySpan& span) const {
    return shared_memory(stream, span) != nullptr;
  }
  Result<bool> submit_write(session::Stream& stream, session::Pending& pending,
                            const session::LocalOrder& order);
  Result<bool> submit_download(const std::shared_ptr<session::Stream>& stream,
                               const std::shared_ptr<session::Pending>& pending,
                               const session::LocalOrder& order);

  // Batches of at most kBatchBytes of elements go to the device as one even if the elements are staged. Each place has
  // memory of its own, so that a device that records batches finds the copies unchanged; twice, so that one batch can
  // be prepared while the last one is in flight.
  static constexpr std::size_t kBatchBytes = 64 << 10;
  // The bytes that a span of a batch takes in staging memory.
  static std::size_t staged_bytes(const MemorySpan& span) { return (span.bytes + 15) & ~std::size_t{15}; }
  // Like submit_write().
  Result<bool> submit_batch(session::Stream& stream, session::BatchState& batch,
                            const session::LocalOrder& order);

 private:
  // Incoming data must never wait for memory that outgoing data holds, nor the other way round. Data that came with its
  // operation must not wait for memory of runs, because their operations may wait for it.
  static constexpr std::uint32_t kUpBlocks = 8;
  static constexpr std::uint32_t kDownBlocks = 4;
  static constexpr std::uint32_t kWriteBlocks = 8;
  static constexpr std::uint32_t kBlocksOfPlace = 2;

  struct ExpectedUpload {
    std::shared_ptr<session::Stream> stream;
    std::shared_ptr<session::Pending> pending;
  };
  // A run whose data has not been received yet.
  struct IncomingRun {
    wire::RunHeader header;
    std::uint64_t rest = 0;  // no memory provided yet
    std::uint64_t taken = 0;
    bool is_checked = false;
  };

  std::byte* shared_memory(const session::Stream& stream, const MemorySpan& span) const;
  bool may_receive_directly(const session::Stream& stream, const session::Pending& pending) const;
  void receive_directly(const ExpectedUpload& upload);
  void receive_staged(const ExpectedUpload& upload);
  void discard();
  // Whether the data of a download leaves with the queue's answers.
  bool is_answer(std::uint64_t bytes) const;
  void answer(QueueAnswers& answers, std::uint64_t operation, ConstBytes data);
  void send_run(const wire::RunHeader& header, ConstBytes data, std::function<void()> sent);
  // Receives on the bulk lane, and keeps the session alive meanwhile; `then` is called unless the lane or the session
  // has ended.
  void receive(MutableBytes memory, std::function<void()> then);

  SessionPort& port_;
  SessionQueues& queues_;
  std::shared_ptr<BulkLane> lane_;
  std::map<std::uint64_t, ExpectedUpload> uploads_;  // by the number of the operation
  std::optional<IncomingRun> run_;
  std::vector<std::byte> discarded_;
  std::map<std::uint64_t, Staging> staging_;  // by device; empty while it is being made
};

}  // namespace dhpvm::offload
