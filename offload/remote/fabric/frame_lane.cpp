// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/frame_lane.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/one_line.h"

namespace dhpvm::offload {
namespace {

std::uint32_t read_counter(ConstBytes bytes) {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i) value |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * i);
  return value;
}

Error broken(const char* what) {
  return error(ErrorCode::kProtocol, "the other side breaks the protocol: {}", what);
}

// Signs of life are sent at most as often as this deadline needs them.
constexpr std::chrono::milliseconds kShortestDeadline{10};
// A silent process gets so many times the deadline while its machine answers.
constexpr int kPatience = 4;
constexpr std::size_t kDeadlineBytes = 4;
constexpr std::chrono::milliseconds kUsualDeadline{3000};

// The number of a last word, where messages are numbered.
constexpr std::uint32_t kLastWordNumber = ~std::uint32_t{0};

// A farewell: the code of an error and its message.
std::vector<std::byte> goodbye(const Error& reason) {
  std::vector<std::byte> content{static_cast<std::byte>(reason.code())};
  std::string text = one_line(reason);
  text.resize(std::min(text.size(), FrameLane::kLargestGoodbye));
  for (const char letter : text) content.push_back(static_cast<std::byte>(letter));
  return content;
}

// Includes the cost of keeping it.
std::size_t size_of_waiting(const std::vector<std::byte>& frame) { return frame.size() + 64; }

}  // namespace

void FrameLane::opened() {
  last_received_ = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    last_sent_ = last_received_;
  }
  slot_bytes_ = kHeaderBytes + kLargestFrame + trailer_bytes();
  memory_.resize((kCredits + kReserved) * slot_bytes_);
  for (unsigned slot = 0; slot < kCredits + kReserved; ++slot) receive(slot);
  const std::vector<std::byte> sign = first_sign();
  {
    const std::lock_guard lock(mutex_);
    send_now(Kind::kSign, sign);
  }
  handler_->on_open();
  tick();
}

std::vector<std::byte> FrameLane::first_sign() const {
  const auto deadline = static_cast<std::uint32_t>(std::min<std::chrono::milliseconds::rep>(
      options_.silence_deadline.count(), std::numeric_limits<std::int32_t>::max()));
  std::vector<std::byte> content(kDeadlineBytes);
  for (unsigned i = 0; i < kDeadlineBytes; ++i) content[i] = static_cast<std::byte>(deadline >> (8 * i));
  return content;
}

Status FrameLane::hear_sign(ConstBytes content) {
  if (content.empty()) return {};
  if (content.size() != kDeadlineBytes) return broken("a malformed sign of life");
  if (needed_there_ != kNotTold) return broken("it tells twice how long a silence it bears");
  needed_there_ = std::max(std::chrono::milliseconds(read_counter(content)), kShortestDeadline);
  tick();
  return {};
}

void FrameLane::receive(std::uint64_t slot) {
  const MutableBytes part = MutableBytes(memory_).subspan(slot * slot_bytes_, slot_bytes_);
  channel_->connection().receive({&part, 1}, slot);
}

void FrameLane::received(std::uint64_t slot, std::size_t bytes) {
  last_received_ = Clock::now();
  Status status = handle(MutableBytes(memory_).subspan(slot * slot_bytes_, bytes));
  if (!status.ok()) return channel_->close(std::move(status).error());
  receive(slot);
}

// A worker's last word has a seal, or a number, of its own, because the worker does not know the numbers of the
// session's messages.
Status FrameLane::open(ConstBytes header, MutableBytes content, ConstBytes trailer) {
  const bool is_last_word = header[0] == static_cast<std::byte>(Kind::kLastWord);
  if (channel_->incoming() == nullptr) {
    if (read_counter(trailer) == (is_last_word ? kLastWordNumber : messages_received_++)) return {};
    return broken("a message was lost, repeated or moved");
  }
  Seal* const seal = is_last_word ? channel_->last_word() : channel_->incoming();
  if (seal == nullptr) return broken("a last word of a side that has none");
  Tag tag;
  std::ranges::copy(trailer, tag.begin());
  return seal->open(header, content, tag);
}

Status FrameLane::handle(MutableBytes message) {
  if (message.size() < kHeaderBytes + trailer_bytes()) return broken("a message that is too short");
  const ConstBytes header = message.first(kHeaderBytes);
  const MutableBytes content = message.subspan(kHeaderBytes, message.size() - kHeaderBytes - trailer_bytes());
  DHPVM_TRY(open(header, content, message.last(trailer_bytes())));
  DHPVM_TRY(take_credits(std::to_integer<unsigned>(header[1])));
  switch (static_cast<Kind>(header[0])) {
    case Kind::kSign: return hear_sign(content);
    case Kind::kGoodbye:
    case Kind::kLastWord: hear_goodbye(content); return {};
    case Kind::kFrame: break;
    default: return broken("a message of an unknown kind");
  }
  handler_->on_frame(content);
  if (!std::exchange(is_withheld_, false)) give_credits(1);
  return {};
}

// If no frame is sent that could carry them, credits are sent by themselves before the other side runs out of them.
void FrameLane::give_credits(unsigned count) {
  if (owed_.fetch_add(count) + count < kCredits / 2) return;
  const std::lock_guard lock(mutex_);
  send_now(Kind::kSign, {});
}

Status FrameLane::take_credits(unsigned count) {
  if (count == 0) return {};
  const std::lock_guard lock(mutex_);
  credits_ += count;
  if (credits_ > kCredits) return broken("it grants more than it can take");
  while (credits_ != 0 && !waiting_.empty()) {
    --credits_;
    send_now(Kind::kFrame, waiting_.front());
    waiting_bytes_ -= size_of_waiting(waiting_.front());
    waiting_.pop_front();
  }
  return {};
}

void FrameLane::send(ConstBytes frame) {
  const std::lock_guard lock(mutex_);
  if (credits_ == 0) {
    if (closed_) return;
    waiting_.emplace_back(frame.begin(), frame.end());
    waiting_bytes_ += size_of_waiting(waiting_.back());
    if (waiting_bytes_ > options_.most_waiting) {
      closed_ = true;
      channel_->drop(broken("it does not take what it is sent"));
    }
    return;
  }
  --credits_;
  send_now(Kind::kFrame, frame);
}

// With the mutex held.
void FrameLane::send_now(Kind kind, ConstBytes content) {
  if (closed_) return;
  message_.resize(kHeaderBytes + content.size() + trailer_bytes());
  message_[0] = static_cast<std::byte>(kind);
  message_[1] = static_cast<std::byte>(owed_.exchange(0));
  const MutableBytes body = MutableBytes(message_).subspan(kHeaderBytes, content.size());
  const MutableBytes trailer = MutableBytes(message_).last(trailer_bytes());
  if (Seal* const seal = channel_->outgoing()) {
    Tag tag;
    if (Status status = seal->seal(MutableBytes(message_).first(kHeaderBytes), content, body, tag);
        !status.ok()) {
      return channel_->drop(std::move(status).error());
    }
    std::ranges::copy(tag, trailer.begin());
  } else {
    std::ranges::copy(content, body.begin());
    for (unsigned i = 0; i < kCounterBytes; ++i)
      trailer[i] = static_cast<std::byte>(messages_sent_ >> (8 * i));
    ++messages_sent_;
  }
  channel_->connection().send_copy(message_);
  last_sent_ = Clock::now();
}

void FrameLane::say_goodbye(const Error& reason) {
  const std::vector<std::byte> content = goodbye(reason);
  const std::lock_guard lock(mutex_);
  send_now(Kind::kGoodbye, content);
  closed_ = true;
}

Result<std::vector<std::byte>> FrameLane::make_last_word(const Error& reason, Seal* seal) {
  std::vector<std::byte> message{static_cast<std::byte>(Kind::kLastWord), std::byte{0}};
  std::vector<std::byte> content = goodbye(reason);
  Tag tag;
  if (seal != nullptr) DHPVM_TRY(seal->seal(message, content, content, tag));
  message.insert(message.end(), content.begin(), content.end());
  if (seal != nullptr) {
    message.insert(message.end(), tag.begin(), tag.end());
  } else {
    message.insert(message.end(), kCounterBytes, std::byte{0xff});
  }
  return message;
}

void FrameLane::hear_goodbye(ConstBytes content) {
  if (content.empty() || content.size() > 1 + kLargestGoodbye)
    return channel_->drop(broken("a malformed farewell"));
  was_left_ = true;
  // A later release may send other kinds.
  const auto number = std::to_integer<unsigned>(content[0]);
  const ErrorCode code = number <= static_cast<unsigned>(kLastErrorCode) ? static_cast<ErrorCode>(number)
                                                                         : ErrorCode::kDeviceLost;
  std::string text;
  // The text goes to terminals and logs: remove control characters.
  for (const std::byte byte : content.subspan(1)) {
    const auto letter = static_cast<char>(byte);
    if (static_cast<unsigned char>(letter) >= ' ') text += letter;
  }
  channel_->drop(Error(code, fmt::format("{} says: {}", peer(), text)));
}

std::chrono::milliseconds FrameLane::deadline() const {
  // Sides of kVersionWithoutRange give signs as often as they need them themselves.
  const bool is_told = channel_->version() > kVersionWithoutRange;
  return is_told ? options_.silence_deadline : std::max(options_.silence_deadline, kUsualDeadline);
}

bool FrameLane::is_dead(Clock::time_point now) {
  const std::chrono::milliseconds step = shortest_silence() / 8;
  // A late look is caused by this side, not by the other: messages that have come may still be unread.
  silence_ = std::min<Clock::duration>(silence_ + 2 * step, now - last_received_);
  // A loss must be noticed within the deadline, and so up to one step before it.
  if (silence_ <= deadline() - step) return false;
  return silence_ > kPatience * deadline() - step || !channel_->connection().is_acknowledged(deadline());
}

// Handles both sides' signs of life, four times as often as one is needed.
void FrameLane::tick() {
  const Clock::time_point now = Clock::now();
  if (is_dead(now)) {
    const auto silence = std::chrono::duration_cast<std::chrono::milliseconds>(now - last_received_);
    return channel_->drop(
        error(ErrorCode::kDeviceLost, "{} has given no sign of life for {} ms", peer(), silence.count()));
  }
  const std::chrono::milliseconds step = shortest_silence() / 8;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    if (now - last_sent_ >= 2 * step) send_now(Kind::kSign, {});
  }
  const Clock::duration listened = std::min<Clock::duration>(now - std::exchange(last_look_, now), 2 * step);
  if (handler_ != nullptr) {
    handler_->on_look(std::chrono::duration_cast<std::chrono::milliseconds>(listened),
                      kPatience * deadline());
  }
  // A call of tick() in between replaces the scheduled one.
  channel_->transport().post_at(now + step, [weak = weak_from_this(), turn = ++turn_] {
    if (const auto lane = weak.lock(); lane != nullptr && lane->turn_ == turn) lane->tick();
  });
}

void FrameLane::closed(const Error& reason) {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    waiting_.clear();
    waiting_bytes_ = 0;
  }
  if (const auto handler = std::exchange(handler_, nullptr)) handler->on_closed(reason);
}

}  // namespace dhpvm::offload
