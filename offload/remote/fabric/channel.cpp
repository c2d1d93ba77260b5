// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/channel.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

constexpr std::string_view kMagic = "DHPV";
// The time for the other side to read the reason for closing; then the connection is closed in any case.
constexpr std::chrono::milliseconds kLinger{200};

std::string_view what_it_wants(IdentityKind kind) {
  switch (kind) {
    case IdentityKind::kNone: return "neither a key nor certificates";
    case IdentityKind::kKey: return "a key (--key-file)";
    case IdentityKind::kCertificate: return "certificates (--certificate)";
  }
  return "?";
}

}  // namespace

std::vector<std::byte> Preamble::to_bytes() const {
  std::vector<std::byte> bytes;
  for (const char letter : kMagic) bytes.push_back(static_cast<std::byte>(letter));
  bytes.push_back(static_cast<std::byte>(version));
  bytes.push_back(static_cast<std::byte>(version >> 8));
  for (const auto value :
       {static_cast<unsigned>(identity), static_cast<unsigned>(seal), static_cast<unsigned>(lane),
        static_cast<unsigned>(role), unsigned{oldest}, static_cast<unsigned>(oldest >> 8)}) {
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

Result<Preamble> Preamble::read(ConstBytes message) {
  const auto at = [&](std::size_t index) { return std::to_integer<unsigned>(message[index]); };
  if (message.size() < kBytes ||
      !std::equal(kMagic.begin(), kMagic.end(), message.begin(),
                  [](char letter, std::byte byte) { return static_cast<std::byte>(letter) == byte; })) {
    return error(ErrorCode::kProtocol, "the other side does not speak the protocol of DHPVM");
  }
  Preamble preamble;
  preamble.version = static_cast<std::uint16_t>(at(4) | at(5) << 8);
  preamble.oldest = static_cast<std::uint16_t>(at(10) | at(11) << 8);
  const bool tells_range = preamble.version > kVersionWithoutRange;
  // A side of kVersionWithoutRange speaks only its own version, and so does a later one that states no oldest.
  if (tells_range && preamble.oldest == 0) preamble.oldest = preamble.version;
  const Error malformed(ErrorCode::kProtocol, "the other side's first message is malformed");
  if (tells_range ? preamble.oldest > preamble.version : preamble.oldest != 0) return malformed;
  if (!preamble.has_common_version()) return preamble;
  if (at(6) > 2 || at(7) > 2 || at(8) > 2 || at(9) > 1) return malformed;
  preamble.identity = static_cast<IdentityKind>(at(6));
  preamble.seal = static_cast<SealMode>(at(7));
  preamble.lane = static_cast<LaneKind>(at(8));
  preamble.role = static_cast<Role>(at(9));
  return preamble;
}

Channel::Channel(Transport& transport, bool dials, std::string host, ChannelOptions options,
                 MakeLane make_lane, Failed failed)
    : transport_(transport),
      dials_(dials),
      host_(std::move(host)),
      options_(std::move(options)),
      identity_(options_.identity),
      make_lane_(std::move(make_lane)),
      failed_(std::move(failed)),
      memory_(kHandshakeBytes) {
  own_.identity = identity_ == nullptr ? IdentityKind::kNone : identity_->kind();
  own_.seal = options_.seal;
  own_.role = options_.role;
  own_.version = options_.version;
  if (own_.version == kVersionWithoutRange) own_.oldest = 0;
}

std::shared_ptr<Channel> Channel::dial(Transport& transport, const Address& address, const std::string& host,
                                       LaneKind kind, ChannelOptions options, MakeLane make_lane,
                                       Failed failed) {
  std::shared_ptr<Channel> channel(
      new Channel(transport, true, host, std::move(options), std::move(make_lane), std::move(failed)));
  channel->own_.lane = kind;
  channel->peer_ = address.to_string();
  channel->dialled_ = address;
  // On the progress thread, so that no event comes before the connection is attached.
  transport.post([channel, address] {
    auto connection = channel->transport_.connect(address, channel);
    if (connection.ok()) {
      channel->attach(std::move(connection).value());
    } else {
      channel->on_closed(connection.error());
    }
  });
  return channel;
}

std::shared_ptr<Channel> Channel::accept(Transport& transport, std::shared_ptr<Connection> connection,
                                         ChannelOptions options, MakeLane make_lane, Failed failed) {
  std::shared_ptr<Channel> channel(
      new Channel(transport, false, {}, std::move(options), std::move(make_lane), std::move(failed)));
  channel->attach(std::move(connection));
  return channel;
}

std::shared_ptr<Channel> Channel::adopt(Transport& transport, DetachedChannel detached, SealPair seals,
                                        LaneKind kind, MakeLane make_lane, Failed failed) {
  std::shared_ptr<Channel> channel(
      new Channel(transport, false, {}, {}, std::move(make_lane), std::move(failed)));
  channel->is_adopted_ = true;
  channel->own_.lane = kind;
  channel->peer_ = std::move(detached.peer);
  channel->seal_mode_ = detached.seal;
  channel->own_.version = detached.version;
  channel->seals_ = std::move(seals);
  // As in dial().
  transport.post([channel, moved = std::make_shared<DetachedConnection>(std::move(detached.connection))] {
    auto connection = channel->transport_.adopt(std::move(*moved), channel);
    if (connection.ok()) {
      channel->connection_ = std::move(connection).value();
    } else {
      channel->on_closed(connection.error());
    }
  });
  return channel;
}

std::optional<DetachedChannel> Channel::detach() {
  std::optional<DetachedConnection> connection = connection_->detach();
  if (!connection) return std::nullopt;
  std::shared_ptr<Lane> lane;  // destroyed without the mutex
  {
    const std::lock_guard lock(mutex_);
    lane = std::exchange(lane_, nullptr);
    reason_ = Error(ErrorCode::kDeviceLost, "the connection was given away");
  }
  failed_ = nullptr;
  DetachedChannel detached{std::move(*connection), peer_,        seal_mode_,
                           own_.version,           std::nullopt, std::move(last_word_)};
  if (seals_.outgoing != nullptr) {
    detached.seals = SealStates{seals_.outgoing->state(), seals_.incoming->state()};
  }
  return detached;
}

void Channel::attach(std::shared_ptr<Connection> connection) {
  connection_ = std::move(connection);
  peer_ = connection_->peer();
  transport_.post_at(Transport::Clock::now() + options_.handshake_deadline, [weak = weak_from_this()] {
    const auto channel = weak.lock();
    if (channel == nullptr) return;
    {
      const std::lock_guard lock(channel->mutex_);
      if (channel->lane_ != nullptr) return;
    }
    channel->drop(error(ErrorCode::kDeviceLost, "{} has not answered for {} ms", channel->peer_,
                        channel->options_.handshake_deadline.count()));
  });
  receive();
}

void Channel::receive() {
  const MutableBytes part = memory_;
  connection_->receive({&part, 1}, kHandshakeTag);
}

void Channel::on_connected() {
  if (is_adopted_) {
    if (Status status = carry(); !status.ok()) close(std::move(status).error());
    return;
  }
  if (!dials_) return;
  std::vector<std::byte> first = own_.to_bytes();
  context_ = first;
  if (identity_ != nullptr) {
    auto handshake = identity_->begin(true, host_, options_.newest);
    if (!handshake.ok()) return close(std::move(handshake).error());
    handshake_ = std::move(handshake).value();
    if (Status status = handshake_->step({}, first); !status.ok()) return close(std::move(status).error());
  }
  send(std::move(first));
}

// Split into messages that the other side has room for.
void Channel::send(std::vector<std::byte> bytes) {
  for (ConstBytes rest = bytes; !rest.empty();) {
    const ConstBytes message = rest.first(std::min(rest.size(), kHandshakeBytes));
    connection_->send_copy(message);
    rest = rest.subspan(message.size());
  }
}

void Channel::on_received(std::uint64_t tag, std::size_t bytes) {
  std::shared_ptr<Lane> lane;
  {
    const std::lock_guard lock(mutex_);
    if (reason_) return;
    lane = lane_;
  }
  if (tag != kHandshakeTag) return lane->received(tag, bytes);
  Status status = handle(ConstBytes(memory_).first(bytes));
  if (status.ok() && make_lane_) receive();
  if (!status.ok())
    close(std::move(status).error().with_context("the connection to " + peer_ + " could not be opened"));
}

Status Channel::handle(ConstBytes message) {
  if (!is_met_) {
    auto theirs = Preamble::read(message);
    // The answer is sent first, also to a side that is refused, so that it can tell its user why.
    Status agreed = theirs.ok() ? agree(*theirs) : Status(theirs.error());
    if (theirs.ok()) context_.insert(context_.end(), message.begin(), message.begin() + Preamble::kBytes);
    if (!dials_) {
      if (theirs.ok()) {
        own_.lane = theirs->lane;
        choose_identity(*theirs);
      }
      std::vector<std::byte> answer = own_.to_bytes();
      context_.insert(context_.end(), answer.begin(), answer.end());
      send(std::move(answer));
    } else if (agreed.ok() && own_.version != options_.version && theirs->oldest == 0) {
      dial_again();
      return {};
    }
    DHPVM_TRY(std::move(agreed));
    DHPVM_TRY(meet(*theirs));
    is_met_ = true;
    message = message.subspan(Preamble::kBytes);
    if (own_.identity == IdentityKind::kNone) {
      if (!message.empty()) return error(ErrorCode::kProtocol, "the other side's first message is malformed");
      return open();
    }
    if (message.empty()) return {};
  }
  return advance(message);
}

// Decides which version is used from now on.
Status Channel::agree(const Preamble& theirs) {
  if (!theirs.has_common_version() || theirs.oldest > own_.version) {
    const std::string range = theirs.oldest != 0 && theirs.oldest < theirs.version
                                  ? fmt::format("versions {} to {}", theirs.oldest, theirs.version)
                                  : fmt::format("version {}", theirs.version);
    return error(
        ErrorCode::kUnsupported,
        "the other side speaks {} of the protocol, and this side versions {} to {}: install releases of "
        "DHPVM that follow each other on both",
        range, kOldestVersion, kProtocolVersion);
  }
  own_.version = std::min(own_.version, theirs.version);
  if (own_.version == kVersionWithoutRange) own_.oldest = 0;
  return {};
}

// The other side refuses a peer that offers a later version than its own.
void Channel::dial_again() {
  ChannelOptions options = options_;
  options.version = own_.version;
  dial(transport_, *dialled_, host_, own_.lane, std::move(options), std::exchange(make_lane_, nullptr),
       std::exchange(failed_, nullptr));
  close(Error(ErrorCode::kUnsupported,
              "the other side is dialled again with an earlier version of the protocol"));
}

// For a side that was dialled and has two identities.
void Channel::choose_identity(const Preamble& theirs) {
  const std::shared_ptr<Identity>& other = options_.other_identity;
  if (other == nullptr || theirs.identity != other->kind()) return;
  identity_ = other;
  own_.identity = other->kind();
}

// Checks that no attacker has made both sides choose an earlier version than they could.
Status Channel::check_version() const {
  if (dials_ || std::min(handshake_->newest_there(), options_.newest) <= own_.version) return {};
  return error(ErrorCode::kProtocol,
               "the other side speaks version {} of the protocol, and its first message says {}: somebody "
               "interferes with the network",
               handshake_->newest_there(), own_.version);
}

Status Channel::meet(const Preamble& theirs) {
  if (theirs.identity != own_.identity) {
    return error(ErrorCode::kDeviceLost,
                 "the other side was started with {}, this side with {}: both need the same",
                 what_it_wants(theirs.identity), what_it_wants(own_.identity));
  }
  if (own_.identity == IdentityKind::kNone && !connection_->is_local()) {
    return error(ErrorCode::kInvalidArgument,
                 "without a key or certificates, only this machine can connect: give both sides a key file "
                 "(--key-file; "
                 "`dhpvm-run --make-key FILE` makes one)");
  }
  if (theirs.role == own_.role) {
    return error(ErrorCode::kInvalidArgument, "{}",
                 own_.role == Role::kClient
                     ? "the other side is a program that looks for workers, not a worker"
                     : "the other side is a worker, not a program that looks for workers");
  }
  if (theirs.lane != own_.lane)
    return error(ErrorCode::kProtocol, "the other side offers another kind of connection");
  seal_mode_ = own_.identity == IdentityKind::kNone ? SealMode::kNone : std::max(own_.seal, theirs.seal);
  return {};
}

Status Channel::advance(ConstBytes input) {
  if (handshake_ == nullptr) {
    DHPVM_ASSIGN(handshake_, identity_->begin(false, {}, options_.newest));
  }
  // With certificates, TLS is complete for the dialling side before the other side has checked its certificate. So the
  // dialling side waits for a word of the other side, in order to hear what is wrong with the certificate.
  const bool has_word = own_.identity == IdentityKind::kCertificate;
  if (has_word && dials_ && handshake_->done() && input.size() == 1 && input[0] == kWelcomeWord)
    return open();
  std::vector<std::byte> out;
  Status status = handshake_->step(input, out);
  send(std::move(out));
  if (!status.ok() || !handshake_->done()) return status;
  if (has_word && dials_) return {};
  if (has_word) send({kWelcomeWord});
  return open();
}

Status Channel::open() {
  if (handshake_ != nullptr) {
    DHPVM_TRY(check_version());
    DHPVM_ASSIGN(seals_, handshake_->seals(context_));
    DHPVM_ASSIGN(last_word_, handshake_->last_word_seal(
                                 context_, own_.role == Role::kWorker ? SealUse::kSeal : SealUse::kOpen));
    name_ = handshake_->peer();
    key_name_ = handshake_->key_name();
    if (!name_.empty()) peer_ = fmt::format("{} ({})", name_, peer_);
    handshake_ = nullptr;
  }
  memory_ = {};
  return carry();
}

Status Channel::carry() {
  // Release the memory that both functions hold; make_lane() sees an open channel.
  const MakeLane make_lane = std::exchange(make_lane_, nullptr);
  std::shared_ptr<Lane> lane = make_lane(shared_from_this(), own_.lane);
  {
    const std::lock_guard lock(mutex_);
    if (lane == nullptr && reason_) return {};  // detached meanwhile, or closed with another reason
    lane_ = lane;
  }
  if (lane == nullptr) {
    return error(ErrorCode::kDeviceLost, "this side takes no more connections of this kind");
  }
  failed_ = nullptr;
  lane->opened();
  return {};
}

void Channel::on_sent(std::uint64_t tag) {
  std::shared_ptr<Lane> lane;
  {
    const std::lock_guard lock(mutex_);
    lane = lane_;
  }
  if (lane != nullptr) lane->sent(tag);
}

void Channel::close(Error reason) {
  std::shared_ptr<Lane> lane;
  {
    const std::lock_guard lock(mutex_);
    if (reason_) return;
    reason_ = reason;
    lane = lane_;
  }
  if (lane != nullptr) lane->say_goodbye(reason);
  transport_.post_at(Transport::Clock::now() + kLinger,
                     [channel = shared_from_this(), reason = std::move(reason)] {
                       if (channel->connection_ != nullptr) channel->drop(reason);
                     });
}

void Channel::on_closed(const Error& reason) {
  std::shared_ptr<Lane> lane;
  Error first = reason;
  {
    const std::lock_guard lock(mutex_);
    lane = std::exchange(lane_, nullptr);
    if (reason_) first = *reason_;
    reason_ = first;
  }
  make_lane_ = nullptr;
  const Failed failed = std::exchange(failed_, nullptr);
  if (lane != nullptr) lane->closed(first);
  if (failed) failed(first);
}

}  // namespace dhpvm::offload
