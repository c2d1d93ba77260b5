// SPDX-License-Identifier: Apache-2.0
// Bulk data over a channel: runs of bytes, straight from memory into memory.
//
// A run is announced by a message with its purpose and length, and follows in pieces of kPieceBytes. Each message ends
// in a trailer: the tag of AES-GCM, or without a seal the number of the message. The receiver provides memory before it
// receives anything; until then the data stays with the sender and in the network's buffers (back-pressure).
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "offload/remote/fabric/channel.h"

namespace dhpvm::offload {

class BulkLane;

// All on the progress thread.
class BulkHandler {
 public:
  virtual ~BulkHandler() = default;
  virtual void on_bulk_open() = 0;
  // A run of `bytes` bytes follows. Its memory must be provided, now or later, by BulkLane::receive().
  virtual void on_run(ConstBytes header, std::uint64_t bytes) = 0;
  virtual void on_bulk_closed(const Error& reason) = 0;
};

class BulkLane final : public Lane, public std::enable_shared_from_this<BulkLane> {
 public:
  static constexpr std::size_t kPieceBytes = 256 << 10;
  static constexpr std::size_t kLargestHeader = 64;
  static constexpr std::uint64_t kLargestRun = std::uint64_t{1} << 40;

  // Called once, on the progress thread; with an error when the lane ends before.
  using Done = std::function<void(const Status& status)>;

  // `messages_received`: the number received by the lane that this channel had before it was detached.
  BulkLane(std::shared_ptr<Channel> channel, std::shared_ptr<BulkHandler> handler,
           std::uint64_t messages_received = 0)
      : channel_(std::move(channel)),
        handler_(std::move(handler)),
        messages_received_(messages_received),
        slots_(kWindow) {}

  // Queues a run behind the waiting ones; its memory must not change until `done`. From any thread.
  void send(ConstBytes header, ConstBytes memory, Done done);
  // Receives the next part of the run that on_run() has announced. All parts but the last are multiples of kPieceBytes.
  // Several parts may be requested at once, but together not more than the run. On the progress thread.
  void receive(MutableBytes memory, Done done);
  // As FrameHandler::on_look(): the lane is dropped if data stops for longer than `patience` in the middle of a run, or
  // on its way to the other side. Its connection can be cut while that of the frames lives.
  void look(std::chrono::milliseconds listened, std::chrono::milliseconds patience);
  // As in Channel.
  void close(Error reason) { channel_->close(std::move(reason)); }
  void drop(Error reason) { channel_->drop(std::move(reason)); }
  const std::string& peer() const { return channel_->peer(); }
  Channel& channel() const { return *channel_; }

  void opened() override;
  void received(std::uint64_t tag, std::size_t bytes) override;
  void sent(std::uint64_t tag) override;
  void closed(const Error& reason) override;
  void say_goodbye(const Error&) override {}

 private:
  // Messages in flight: enough to keep the sockets' buffers full.
  static constexpr unsigned kWindow = 8;
  // The most receives at a time. Those of sealed pieces have buffers: one receives while another is opened. More
  // buffers would not stay in the second-level cache, where a piece is opened and copied from.
  static constexpr unsigned kReceives = 32;
  static constexpr unsigned kSealedReceives = 2;
  static constexpr std::uint64_t kHeaderTag = 0;
  static constexpr std::uint64_t kPieceTag = 1;
  static constexpr std::size_t kLengthBytes = 8;
  static constexpr std::size_t kCounterBytes = 8;

  struct Run {
    std::vector<std::byte> header;  // with the length in front; empty once it has been sent
    ConstBytes rest;
    Done done;
  };
  struct Part {
    MutableBytes rest;    // not requested yet
    std::size_t missing;  // bytes not yet received
    Done done;
  };
  // A sealed piece arrives in a buffer, and is copied to its memory after it has been authenticated. Otherwise a
  // connection that ends within it would leave encrypted bytes there, even where a loop that is done again writes
  // nothing.
  struct Piece {
    MutableBytes memory;
    Tag trailer;
    std::vector<std::byte> sealed;
  };
  // A message in flight that is not sent from its own memory.
  struct Slot {
    std::vector<std::byte> content;
    Tag trailer{};
  };

  bool seals_pieces() const { return channel_->seal_mode() != SealMode::kNone; }
  std::size_t trailer_bytes(bool sealed) const { return sealed ? kTagBytes : kCounterBytes; }
  void receive_header();
  void ask();
  Status take_header(std::size_t bytes);
  Status take_piece(std::size_t bytes);
  std::vector<std::byte> buffer_of(std::size_t bytes);
  Status open(ConstBytes readable, MutableBytes data, bool sealed, const Tag& trailer);
  void pump();
  Status send_message(ConstBytes data, bool is_header);

  const std::shared_ptr<Channel> channel_;
  std::shared_ptr<BulkHandler> handler_;

  // For receiving; only for the progress thread.
  std::vector<std::byte> header_;
  std::uint64_t run_rest_ = 0;  // bytes of the run for which no memory has been provided
  std::deque<Part> parts_;
  std::size_t asked_parts_ = 0;  // the first of parts_ whose receives are all posted
  std::deque<Piece> asked_;
  std::vector<std::vector<std::byte>> spare_buffers_;
  std::uint64_t messages_received_;
  std::optional<Error> ended_;
  std::optional<std::uint64_t> seen_bytes_;  // as of the last look
  std::chrono::milliseconds without_bytes_{0};
  std::chrono::milliseconds without_acknowledgement_{0};

  // Sending.
  std::mutex mutex_;
  bool closed_ = false;
  std::deque<Run> runs_;
  std::deque<std::pair<std::uint64_t, Done>>
      finishing_;            // by the number of messages that must have been sent before
  std::vector<Slot> slots_;  // by the number of the message, modulo kWindow
  std::uint64_t messages_begun_ = 0;
  std::uint64_t messages_sent_ = 0;
};

}  // namespace dhpvm::offload
