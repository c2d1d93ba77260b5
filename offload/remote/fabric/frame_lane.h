// SPDX-License-Identifier: Apache-2.0
// Frames over a channel: short messages of bounded length, and signs of life.
//
// On the wire: one byte for the kind, one byte for the credits it grants, the content, and a trailer: the tag of
// AES-GCM, or without an identity the number of the message. A sender needs a credit for each frame, so that the
// receiver needs no more memory than it has provided (back-pressure).
//
// The first message of each side is a sign of life with the longest silence that it tolerates. Both sides give signs
// four times as often as the shorter of the two needs.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "offload/remote/fabric/channel.h"

namespace dhpvm::offload {

// All on the progress thread.
class FrameHandler {
 public:
  virtual ~FrameHandler() = default;
  virtual void on_open() = 0;
  // `frame` is valid during the call only.
  virtual void on_frame(ConstBytes frame) = 0;
  // Called several times within the deadline of this side. `listened`: the time for which this side has listened since
  // the last call. `patience`: the time after which a peer that gives signs of life, but does not do what it has to do,
  // is given up.
  virtual void on_look(std::chrono::milliseconds listened, std::chrono::milliseconds patience) {
    static_cast<void>(listened);
    static_cast<void>(patience);
  }
  virtual void on_closed(const Error& reason) = 0;
};

struct FrameLaneOptions {
  // The other side is lost if it sends nothing for this long, or for four times as long while its machine still
  // answers, because then its process only waits for a processor. Time in which this side could not listen does not
  // count.
  std::chrono::milliseconds silence_deadline{3000};
  // The most bytes of frames that may wait for credits; beyond that, the connection is dropped.
  std::size_t most_waiting = std::numeric_limits<std::size_t>::max();
};

class FrameLane final : public Lane, public std::enable_shared_from_this<FrameLane> {
 public:
  static constexpr std::size_t kLargestFrame = 16 << 10;
  static constexpr std::size_t kLargestGoodbye = 512;
  // The frames that one side may send before the other one has acknowledged them; and the messages of the lane itself
  // that may come in addition.
  static constexpr unsigned kCredits = 16;
  static constexpr unsigned kReserved = 6;

  FrameLane(std::shared_ptr<Channel> channel, std::shared_ptr<FrameHandler> handler, FrameLaneOptions options)
      : channel_(std::move(channel)), handler_(std::move(handler)), options_(options) {}

  // At most kLargestFrame. From any thread; frames of one thread arrive in the order in which it has sent them. Without
  // credits the frame waits here; the protocol must ensure that few do.
  void send(ConstBytes frame);
  // On the progress thread, from on_frame(): the frame will be handled later. The other side may send one frame less
  // until give_credits() is called.
  void withhold_credit() { is_withheld_ = true; }
  void give_credits(unsigned count);
  // As in Channel.
  void close(Error reason) { channel_->close(std::move(reason)); }
  // Whether the other side has sent a farewell. On the progress thread.
  bool was_left() const { return was_left_; }
  const std::string& peer() const { return channel_->peer(); }
  Channel& channel() const { return *channel_; }

  // The message for LastWord; `seal` is null without an identity.
  static Result<std::vector<std::byte>> make_last_word(const Error& reason, Seal* seal);

  void opened() override;
  void received(std::uint64_t tag, std::size_t bytes) override;
  void sent(std::uint64_t) override {}
  void closed(const Error& reason) override;
  void say_goodbye(const Error& reason) override;

 private:
  using Clock = Transport::Clock;
  // kLastWord: a farewell that the worker sends for a session whose process cannot (last_word.h).
  enum class Kind : std::uint8_t { kFrame = 0, kSign = 1, kGoodbye = 2, kLastWord = 3 };
  static constexpr std::chrono::milliseconds kNotTold = std::chrono::milliseconds::max();
  static constexpr std::size_t kHeaderBytes = 2;
  static constexpr std::size_t kCounterBytes = 4;

  std::size_t trailer_bytes() const { return channel_->incoming() == nullptr ? kCounterBytes : kTagBytes; }
  void receive(std::uint64_t slot);
  Status handle(MutableBytes message);
  Status open(ConstBytes header, MutableBytes content, ConstBytes trailer);
  void hear_goodbye(ConstBytes content);
  Status hear_sign(ConstBytes content);
  std::vector<std::byte> first_sign() const;
  Status take_credits(unsigned count);
  void send_now(Kind kind, ConstBytes content);
  void tick();
  std::chrono::milliseconds deadline() const;
  bool is_dead(Clock::time_point now);
  // The time between two signs is a quarter of this.
  std::chrono::milliseconds shortest_silence() const {
    return std::min(options_.silence_deadline, needed_there_);
  }

  const std::shared_ptr<Channel> channel_;
  std::shared_ptr<FrameHandler> handler_;
  const FrameLaneOptions options_;

  // Only for the progress thread.
  std::vector<std::byte> memory_;  // kCredits + kReserved slots
  std::size_t slot_bytes_ = 0;
  std::uint32_t messages_received_ = 0;
  Clock::time_point last_received_;
  Clock::time_point last_look_ = Clock::now();
  Clock::duration silence_{0};                         // the time for which this side has listened since then
  std::chrono::milliseconds needed_there_ = kNotTold;  // the other side's deadline
  std::uint64_t turn_ = 0;                             // of tick()
  bool was_left_ = false;
  bool is_withheld_ = false;  // whether the credit of the frame being handled is withheld

  std::atomic<unsigned> owed_ = 0;  // credits that the next message gives to the other side

  std::mutex mutex_;
  bool closed_ = false;
  unsigned credits_ = kCredits;
  std::uint32_t messages_sent_ = 0;
  Clock::time_point last_sent_;
  std::deque<std::vector<std::byte>> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::vector<std::byte> message_;  // being put together
};

}  // namespace dhpvm::offload
