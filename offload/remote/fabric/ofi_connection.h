// SPDX-License-Identifier: Apache-2.0
// A connection over one message endpoint of libfabric.
//
// The provider's queues are short, and closed until the connection stands: operations wait in queues here
// until it takes them. All errors end the connection, on the progress thread.
#pragma once

#include <sys/uio.h>

#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "offload/remote/fabric/ofi_domain.h"
#include "offload/remote/fabric/transport.h"

namespace dhpvm::offload {

class OfiConnection;

// A message in flight. libfabric passes its address back when it is done.
struct OfiOperation {
  enum class Kind : std::uint8_t { kSend, kCopy, kReceive };
  fi_context2 context{};  // for the provider; must come first
  OfiConnection* connection = nullptr;
  Kind kind = Kind::kSend;
  std::uint64_t tag = 0;
  std::size_t count = 0;
  std::array<iovec, kMaxParts> parts{};
  std::array<Fid<fid_mr>, kMaxParts> regions;
  std::vector<std::byte> copy;
};

class OfiConnection final : public Connection {
 public:
  // Requests of a connection to its transport, from any thread.
  class Owner {
   public:
    virtual ~Owner() = default;
    // The connection has a reason to be closed: call finish() on the progress thread.
    virtual void close_soon(OfiConnection& connection) = 0;
    // The provider's queue was full: call retry() from time to time.
    virtual void stalled(OfiConnection& connection) = 0;
  };

  OfiConnection(Owner& owner, OfiDomain& domain, std::string peer, bool local)
      : owner_(owner), domain_(domain), peer_(std::move(peer)), local_(local) {}

  // Call it once, from one thread; sends and receives before that wait for it.
  Status open(fid_eq* events, fi_info& info);
  fid_ep* endpoint() const { return endpoint_.get(); }
  void set_handler(std::shared_ptr<ConnectionHandler> handler) { handler_ = std::move(handler); }

  void send(std::span<const ConstBytes> parts, std::uint64_t tag) override;
  void send_copy(ConstBytes message) override;
  void receive(std::span<const MutableBytes> parts, std::uint64_t tag) override;
  void close(Error reason) override;
  std::string peer() const override { return peer_; }
  bool is_local() const override { return local_; }

  // Everything below on the progress thread.
  void established();
  void completed(OfiOperation& operation, std::size_t bytes);
  // True when no operation waits any more.
  bool retry();
  // Closes the endpoint. Its earlier completions may still be in the completion queue, and must be taken out before
  // tell_closed().
  void finish();
  void tell_closed();

 private:
  OfiOperation* make(OfiOperation::Kind kind, std::uint64_t tag);
  void submit(OfiOperation* operation, std::deque<OfiOperation*>& waiting);
  bool give(OfiOperation& operation);
  bool drain(std::deque<OfiOperation*>& waiting);
  void fail(Error reason);

  Owner& owner_;
  OfiDomain& domain_;
  const std::string peer_;
  const bool local_;
  std::shared_ptr<ConnectionHandler> handler_;  // of the progress thread, once the connection is open

  std::mutex mutex_;
  Fid<fid_ep> endpoint_;
  std::size_t inject_size_ = 0;
  bool opened_ = false;
  bool connected_ = false;
  std::optional<Error> reason_;  // set: closing or closed
  std::deque<OfiOperation> operations_;
  std::vector<OfiOperation*> free_;
  std::deque<OfiOperation*> waiting_sends_;
  std::deque<OfiOperation*> waiting_receives_;
};

}  // namespace dhpvm::offload
