// SPDX-License-Identifier: Apache-2.0
// Bytes from the network. Preambles, frames of either side, headers of bulk data: reading any bytes ends with a result;
// accepted records survive writing and reading again. And whole connections, on either side, with a key and without:
// each side answers any message or closes. Also after a successful handshake, with messages that are sealed or numbered
// as they should be.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>

#include "base/error.h"
#include "offload/remote/fabric/bulk_lane.h"
#include "offload/remote/fabric/channel.h"
#include "offload/remote/fabric/frame_lane.h"
#include "offload/remote/fabric/key_file.h"
#include "offload/remote/fabric/operator_protocol.h"
#include "offload/remote/fabric/protocol.h"
#include "offload/remote/fabric/tls.h"

namespace dhpvm::offload {
namespace {

void insist(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "wire_fuzz: %s\n", what);
  std::abort();
}

template <typename Records>
void check_frame(const Result<Records>& records, Result<Records> (*read)(ConstBytes)) {
  if (!records.ok()) return insist(!records.error().message().empty(), "an error without a message");
  std::vector<std::byte> frame;
  for (const auto& record : *records) wire::write(frame, record);
  const Result<Records> again = read(frame);
  insist(again.ok() && again->size() == records->size(), "a frame is not read as it was written");
  std::vector<std::byte> rewritten;
  for (const auto& record : *again) wire::write(rewritten, record);
  insist(rewritten == frame, "a frame is not written as it was read");
}

// A network without threads: the channel's requests are recorded, and functions run when the test says so.
class QuietTransport final : public Transport {
 public:
  Result<std::shared_ptr<Connection>> connect(const Address&, std::shared_ptr<ConnectionHandler>) override;
  Result<std::unique_ptr<Listener>> listen(const Address&, AcceptFunction) override {
    return Error(ErrorCode::kUnsupported, "nobody can dial here");
  }
  void post(std::function<void()> function) override { posted_.push_back(std::move(function)); }
  // Deadlines are never reached.
  void post_at(Clock::time_point, std::function<void()>) override {}
  void run() {
    while (!posted_.empty()) {
      const std::function<void()> function = std::move(posted_.front());
      posted_.pop_front();
      function();
    }
  }
  // The connection that was made last, and who hears of it.
  std::shared_ptr<class QuietConnection> connection_;
  std::shared_ptr<ConnectionHandler> handler_;

 private:
  std::deque<std::function<void()>> posted_;
};

class QuietConnection final : public Connection {
 public:
  void send(std::span<const ConstBytes>, std::uint64_t) override {}
  void send_copy(ConstBytes message) override { sent_.emplace_back(message.begin(), message.end()); }
  void receive(std::span<const MutableBytes> parts, std::uint64_t tag) override {
    receives_.push_back({{parts.begin(), parts.end()}, tag});
  }
  void close(Error) override { closed_ = true; }
  std::string peer() const override { return "127.0.0.1:1"; }
  bool is_local() const override { return true; }

  // False when nothing more can arrive.
  bool deliver(ConnectionHandler& handler, ConstBytes message) {
    if (closed_ || receives_.empty()) return false;
    const auto [parts, tag] = std::move(receives_.front());
    receives_.pop_front();
    std::size_t size = 0;
    for (const MutableBytes part : parts) {
      const std::size_t taken = std::min(part.size(), message.size() - size);
      std::memcpy(part.data(), message.data() + size, taken);
      size += taken;
    }
    if (size < message.size()) return false;
    handler.on_received(tag, size);
    return true;
  }
  std::deque<std::vector<std::byte>> sent_;

 private:
  struct Receive {
    std::vector<MutableBytes> parts;
    std::uint64_t tag;
  };
  std::deque<Receive> receives_;
  bool closed_ = false;
};

Result<std::shared_ptr<Connection>> QuietTransport::connect(const Address&,
                                                            std::shared_ptr<ConnectionHandler> handler) {
  handler_ = std::move(handler);
  return std::shared_ptr<Connection>(connection_ = std::make_shared<QuietConnection>());
}

// Reads all frames, and has little memory for bulk data.
class Listening final : public FrameHandler, public BulkHandler {
 public:
  void on_open() override {}
  void on_bulk_open() override {}
  void on_frame(ConstBytes frame) override {
    static_cast<void>(wire::read_from_client(frame).ok());
    static_cast<void>(wire::read_from_operator(frame).ok());
  }
  void on_run(ConstBytes header, std::uint64_t bytes) override {
    static_cast<void>(wire::read_run_header(header).ok());
    if (bytes <= memory_.size() && bytes != 0)
      bulk_->receive(MutableBytes(memory_).first(bytes), [](const Status&) {});
  }
  void on_closed(const Error&) override {}
  void on_bulk_closed(const Error&) override {}
  std::shared_ptr<BulkLane> bulk_;

 private:
  std::vector<std::byte> memory_ = std::vector<std::byte>(1 << 20);
};

// The next of the messages that stand between lengths of two bytes.
ConstBytes next_message(ConstBytes& bytes) {
  const std::size_t wanted = std::to_integer<std::size_t>(bytes[0]) | std::to_integer<std::size_t>(bytes[1])
                                                                          << 8;
  bytes = bytes.subspan(2);
  const ConstBytes message = bytes.first(std::min(wanted, bytes.size()));
  bytes = bytes.subspan(message.size());
  return message;
}

// Messages are what stands between two lengths of two bytes.
void test_channel(ConstBytes bytes, bool dials, std::shared_ptr<Identity> identity) {
  QuietTransport transport;
  ChannelOptions options;
  options.role = Role::kWorker;
  options.identity = std::move(identity);
  const auto handler = std::make_shared<Listening>();
  const Channel::MakeLane make_lane = [&](const std::shared_ptr<Channel>& made,
                                          LaneKind kind) -> std::shared_ptr<Lane> {
    if (kind != LaneKind::kBulk) return std::make_shared<FrameLane>(made, handler, FrameLaneOptions{});
    return handler->bulk_ = std::make_shared<BulkLane>(made, handler);
  };
  std::shared_ptr<Channel> channel;
  if (dials) {
    channel =
        Channel::dial(transport, {"127.0.0.1", 1}, "localhost", LaneKind::kFrames, options, make_lane, {});
    transport.run();
    channel->on_connected();
  } else {
    transport.connection_ = std::make_shared<QuietConnection>();
    channel = Channel::accept(transport, transport.connection_, options, make_lane, {});
    transport.handler_ = channel;
  }
  const Error end(ErrorCode::kDeviceLost, "the end of the input");
  while (bytes.size() >= 2) {
    const ConstBytes message = next_message(bytes);
    const std::shared_ptr<ConnectionHandler> current = transport.handler_;
    if (!transport.connection_->deliver(*current, message)) break;
    transport.run();
    if (transport.handler_ == current) continue;
    // The other side was dialled again, with an earlier version of the protocol.
    current->on_closed(end);
    transport.handler_->on_connected();
    transport.run();
  }
  transport.handler_->on_closed(end);
  transport.run();
  transport.handler_ = nullptr;
  handler->bulk_ = nullptr;
}

struct Side {
  QuietTransport transport;
  std::shared_ptr<Listening> handler = std::make_shared<Listening>();
  std::shared_ptr<Channel> channel;
  bool is_open = false;

  Channel::MakeLane make_lane() {
    return [this](const std::shared_ptr<Channel>& made, LaneKind kind) -> std::shared_ptr<Lane> {
      is_open = true;
      if (kind != LaneKind::kBulk) return std::make_shared<FrameLane>(made, handler, FrameLaneOptions{});
      return handler->bulk_ = std::make_shared<BulkLane>(made, handler);
    };
  }
  // Delivers the oldest message sent; false if there is none.
  bool pass_on_to(Side& other) {
    transport.run();
    std::deque<std::vector<std::byte>>& sent = transport.connection_->sent_;
    if (sent.empty()) return false;
    const std::vector<std::byte> message = std::move(sent.front());
    sent.pop_front();
    insist(other.transport.connection_->deliver(*other.channel, message), "a handshake is not taken");
    return true;
  }
  void end() {
    channel->on_closed(Error(ErrorCode::kDeviceLost, "the end of the input"));
    transport.run();
    transport.handler_ = nullptr;
    handler->bulk_ = nullptr;
  }
};

// Arbitrary messages of a client that knows the key.
void test_behind_handshake(ConstBytes bytes, LaneKind kind, const std::shared_ptr<Identity>& identity) {
  Side client;
  Side worker;
  ChannelOptions options;
  options.identity = identity;
  worker.transport.connection_ = std::make_shared<QuietConnection>();
  options.role = Role::kWorker;
  worker.channel =
      Channel::accept(worker.transport, worker.transport.connection_, options, worker.make_lane(), {});
  options.role = Role::kClient;
  client.channel =
      Channel::dial(client.transport, {"127.0.0.1", 1}, "localhost", kind, options, client.make_lane(), {});
  client.transport.run();
  client.channel->on_connected();
  while (!client.is_open || !worker.is_open) {
    const bool any = client.pass_on_to(worker);
    insist(worker.pass_on_to(client) || any, "a handshake does not come to its end");
  }
  const std::size_t header = kind == LaneKind::kBulk ? 0 : 2;
  const std::size_t counter_bytes = kind == LaneKind::kBulk ? 8 : 4;
  for (std::uint64_t number = 0; bytes.size() >= 2; ++number) {
    const ConstBytes content = next_message(bytes);
    if (content.size() < header) continue;
    std::vector<std::byte> message(content.begin(), content.end());
    if (Seal* const seal = client.channel->outgoing()) {
      Tag tag;
      const MutableBytes sealed = MutableBytes(message).subspan(header);
      insist(seal->seal(content.first(header), content.subspan(header), sealed, tag).ok(),
             "nothing is sealed");
      message.insert(message.end(), tag.begin(), tag.end());
    } else {
      for (unsigned i = 0; i < counter_bytes; ++i)
        message.push_back(static_cast<std::byte>(number >> (8 * i)));
    }
    if (!worker.transport.connection_->deliver(*worker.channel, message)) break;
    worker.transport.run();
  }
  client.end();
  worker.end();
}

std::shared_ptr<Identity> key_identity() {
  auto identity = load_tls_identity({SecretBytes(kKeyBytes, std::byte{1}), {}, {}, {}});
  insist(identity.ok(), "no identity");
  return std::move(identity).value();
}

int test_one(ConstBytes bytes) {
  if (bytes.empty()) return 0;
  const ConstBytes rest = bytes.subspan(1);
  switch (std::to_integer<unsigned>(bytes[0]) % 16) {
    case 0: check_frame(wire::read_from_client(rest), wire::read_from_client); break;
    case 1: check_frame(wire::read_from_worker(rest), wire::read_from_worker); break;
    case 2:
      if (const auto header = wire::read_run_header(rest); header.ok()) {
        const auto again = wire::read_run_header(wire::write_run_header(*header));
        insist(again.ok() && again->operation == header->operation && again->offset == header->offset,
               "a header changes");
      }
      break;
    case 3:
      if (const auto preamble = Preamble::read(rest);
          preamble.ok() && preamble->has_common_version() &&
          (preamble->version <= kVersionWithoutRange || rest[10] != std::byte{0} || rest[11] != std::byte{0}))
        insist(std::ranges::equal(preamble->to_bytes(), rest.first(Preamble::kBytes)), "a preamble changes");
      break;
    case 4: test_channel(rest, false, nullptr); break;
    case 5: test_channel(rest, true, nullptr); break;
    case 6: test_channel(rest, false, key_identity()); break;
    case 7: test_channel(rest, true, key_identity()); break;
    case 8: test_behind_handshake(rest, LaneKind::kFrames, nullptr); break;
    case 9: test_behind_handshake(rest, LaneKind::kBulk, nullptr); break;
    case 10: test_behind_handshake(rest, LaneKind::kFrames, key_identity()); break;
    case 11: test_behind_handshake(rest, LaneKind::kBulk, key_identity()); break;
    case 12: check_frame(wire::read_from_operator(rest), wire::read_from_operator); break;
    case 13: check_frame(wire::read_to_operator(rest), wire::read_to_operator); break;
    case 14: test_behind_handshake(rest, LaneKind::kOperator, nullptr); break;
    case 15: test_behind_handshake(rest, LaneKind::kOperator, key_identity()); break;
  }
  return 0;
}

}  // namespace
}  // namespace dhpvm::offload

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return dhpvm::offload::test_one(std::as_bytes(std::span(data, size)));
}
