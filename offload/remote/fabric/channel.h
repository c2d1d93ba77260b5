// SPDX-License-Identifier: Apache-2.0
// A connection whose two sides agree on a version and have authenticated each other. A lane decides what it carries:
// frames (frame_lane.h) of a session or of an operator, or bulk data (bulk_lane.h).
//
// Each side first sends a preamble, in the clear; the side that dials goes first. With an identity, messages of TLS
// follow until the handshake is complete. A preamble changed in transit ends the connection: the keys depend on both.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "offload/remote/fabric/security.h"
#include "offload/remote/fabric/transport.h"

namespace dhpvm::offload {

// Each side states the range of versions that it speaks, and both use the highest common one.
inline constexpr std::uint16_t kProtocolVersion = 6;
inline constexpr std::uint16_t kOldestVersion = 2;
// The last version whose sides state no range. Such a side refuses later versions, and is dialled again with this one.
inline constexpr std::uint16_t kVersionWithoutRange = 2;
// The last version whose frames carry no elements of arrays: all elements travel on the bulk lane.
inline constexpr std::uint16_t kVersionWithoutElements = 3;
// The last version without batches: each operation has a record of its own.
inline constexpr std::uint16_t kVersionWithoutBatches = 4;
// The last version without kernels for small indices.
inline constexpr std::uint16_t kVersionWithoutSmallIndices = 5;

// On the wire; the numbers are fixed.
enum class LaneKind : std::uint8_t { kFrames = 0, kBulk = 1, kOperator = 2 };
enum class Role : std::uint8_t { kClient = 0, kWorker = 1 };

// The first message of each side.
struct Preamble {
  static constexpr std::size_t kBytes = 12;
  std::uint16_t version = kProtocolVersion;  // the highest version; in an answer, the one to be used
  IdentityKind identity = IdentityKind::kNone;
  SealMode seal = SealMode::kFull;
  LaneKind lane = LaneKind::kFrames;
  Role role = Role::kClient;
  std::uint16_t oldest = kOldestVersion;  // the lowest version; 0 if `version` is kVersionWithoutRange

  std::vector<std::byte> to_bytes() const;
  bool has_common_version() const { return version >= kOldestVersion && oldest <= kProtocolVersion; }
  // Reads only the versions if none of them is known here; the other fields may differ there.
  static Result<Preamble> read(ConstBytes message);
};

class Channel;

// The user of an open channel. All functions except say_goodbye() are called on the progress thread.
class Lane {
 public:
  virtual ~Lane() = default;
  virtual void opened() = 0;
  // As in ConnectionHandler.
  virtual void received(std::uint64_t tag, std::size_t bytes) = 0;
  virtual void sent(std::uint64_t tag) = 0;
  virtual void closed(const Error& reason) = 0;
  // Sends the reason of the coming close to the other side, if this lane can carry it.
  virtual void say_goodbye(const Error& reason) = 0;
};

struct ChannelOptions {
  Role role = Role::kClient;           // of this side; the other side must have the other role
  std::shared_ptr<Identity> identity;  // null: none; then both sides must be on this machine
  // An identity of the other kind, for peers that dial in with that kind: a listening side may accept keys and
  // certificates.
  std::shared_ptr<Identity> other_identity = {};
  SealMode seal = SealMode::kFull;
  std::chrono::milliseconds handshake_deadline{5000};
  std::uint16_t version = kProtocolVersion;  // the highest that is offered
  // The highest version that this side speaks, which is also sent inside TLS, because preambles can be changed in
  // transit.
  std::uint16_t newest = kProtocolVersion;
};

// An open channel that has left its transport, to be used in another process.
struct DetachedChannel {
  DetachedConnection connection;
  std::string peer;
  SealMode seal = SealMode::kNone;
  std::uint16_t version = kProtocolVersion;
  std::optional<SealStates> seals;  // none without an identity
  std::unique_ptr<Seal> last_word;  // likewise; stays with the code that has detached the channel
};

class Channel final : public ConnectionHandler, public std::enable_shared_from_this<Channel> {
 public:
  // Makes the lane of an open channel, on the progress thread; null to close the channel.
  using MakeLane =
      std::function<std::shared_ptr<Lane>(const std::shared_ptr<Channel>& channel, LaneKind kind)>;
  // Called when a channel ends before it has a lane, on the progress thread.
  using Failed = std::function<void(const Error& reason)>;

  // The transport must outlive the channel. `host`: the name that was dialled, as in Identity::begin.
  static std::shared_ptr<Channel> dial(Transport& transport, const Address& address, const std::string& host,
                                       LaneKind kind, ChannelOptions options, MakeLane make_lane,
                                       Failed failed);
  // For AcceptFunction.
  static std::shared_ptr<Channel> accept(Transport& transport, std::shared_ptr<Connection> connection,
                                         ChannelOptions options, MakeLane make_lane, Failed failed);

  // Adopts an open channel of another process, with seals made from its states.
  static std::shared_ptr<Channel> adopt(Transport& transport, DetachedChannel detached, SealPair seals,
                                        LaneKind kind, MakeLane make_lane, Failed failed);
  // Takes the open channel out of its transport; its lane gets no more calls, and neither does `Failed`. Nothing in the
  // cases of Connection::detach. On the progress thread, from MakeLane or from the lane.
  std::optional<DetachedChannel> detach();

  // Sends the reason to the other side, and closes after a moment in which it can be read. From any thread.
  void close(Error reason);
  // Closes at once, because the other side is dead or has sent its reason. From any thread, once there is a lane.
  void drop(Error reason) { connection_->close(std::move(reason)); }

  // The functions below may be called once there is a lane. The peer at the other end: an address, and the name in its
  // certificate.
  const std::string& peer() const { return peer_; }
  // Its authenticated name, and the name of its key: see Handshake.
  const std::string& name() const { return name_; }
  const std::string& key_name() const { return key_name_; }
  SealMode seal_mode() const { return seal_mode_; }
  std::uint16_t version() const { return own_.version; }
  Connection& connection() const { return *connection_; }
  Transport& transport() const { return transport_; }
  // Null without an identity. Each is used by one thread at a time: the incoming one by the progress thread.
  Seal* outgoing() const { return seals_.outgoing.get(); }
  Seal* incoming() const { return seals_.incoming.get(); }
  Seal* last_word() const { return last_word_.get(); }

  void on_connected() override;
  void on_received(std::uint64_t tag, std::size_t bytes) override;
  void on_sent(std::uint64_t tag) override;
  void on_closed(const Error& reason) override;

 private:
  static constexpr std::uint64_t kHandshakeTag = ~std::uint64_t{0};
  static constexpr std::size_t kHandshakeBytes = 4096;  // of one message
  static constexpr std::byte kWelcomeWord{1};

  Channel(Transport& transport, bool dials, std::string host, ChannelOptions options, MakeLane make_lane,
          Failed failed);
  void attach(std::shared_ptr<Connection> connection);
  void receive();
  Status handle(ConstBytes message);
  Status meet(const Preamble& theirs);
  void choose_identity(const Preamble& theirs);
  Status check_version() const;
  Status agree(const Preamble& theirs);
  void dial_again();
  Status advance(ConstBytes input);
  void send(std::vector<std::byte> bytes);
  Status open();
  // The channel is open.
  Status carry();

  Transport& transport_;
  const bool dials_;
  bool is_adopted_ = false;
  const std::string host_;
  std::optional<Address> dialled_;
  const ChannelOptions options_;
  std::shared_ptr<Identity> identity_;  // the one that is used
  // Only for the progress thread until there is a lane; constant after that.
  MakeLane make_lane_;
  Failed failed_;
  std::shared_ptr<Connection> connection_;
  std::string peer_;
  std::string name_;
  std::string key_name_;
  Preamble own_;
  bool is_met_ = false;             // the other side's preamble has come, and fits
  std::vector<std::byte> context_;  // both preambles, the dialling side's first: the keys depend on them
  std::unique_ptr<Handshake> handshake_;
  std::vector<std::byte> memory_;  // of the handshake's receive
  SealMode seal_mode_ = SealMode::kNone;
  SealPair seals_;
  std::unique_ptr<Seal> last_word_;

  std::mutex mutex_;
  std::shared_ptr<Lane> lane_;
  std::optional<Error> reason_;  // set when close() has been called
};

}  // namespace dhpvm::offload
