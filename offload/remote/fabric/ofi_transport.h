// SPDX-License-Identifier: Apache-2.0
// The transport over libfabric: message endpoints (FI_EP_MSG), because they report within milliseconds that the other
// side is gone, which datagram endpoints never do.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "offload/remote/fabric/fabric.h"
#include "offload/remote/fabric/ofi_connection.h"
#include "offload/remote/fabric/ofi_domain.h"
#include "offload/remote/fabric/progress.h"
#include "offload/remote/fabric/transport.h"

namespace dhpvm::offload {

class OfiTransport final : public Transport, private EventSource, public OfiConnection::Owner {
 public:
  static Result<std::unique_ptr<Transport>> create(const TransportOptions& options);
  ~OfiTransport() override;

  Result<std::shared_ptr<Connection>> connect(const Address& address,
                                              std::shared_ptr<ConnectionHandler> handler) override;
  Result<std::unique_ptr<Listener>> listen(const Address& address, AcceptFunction accept) override;
  void post(std::function<void()> function) override { progress_.post(std::move(function)); }
  void post_at(Clock::time_point when, std::function<void()> function) override {
    progress_.post_at(when, std::move(function));
  }

 private:
  class ListenerOf;
  // By libfabric's context, the progress thread finds the connection of an open endpoint, and the listener of a passive
  // one.
  struct Listening {
    Fid<fid_pep> endpoint;
    OfiFabric* fabric = nullptr;
    AcceptFunction accept;
  };

  explicit OfiTransport(TransportOptions options) : options_(std::move(options)), progress_(*this) {}
  Status start();
  Result<Info> look_up(const Address& address, std::uint64_t flags) const;
  Result<OfiFabric*> fabric_of(const fi_info& info);
  Result<OfiDomain*> domain_of(const fi_info& info);
  Status watch(int descriptor) const;

  // EventSource, on the progress thread.
  bool poll() override;
  void wait(std::chrono::milliseconds timeout) override;
  void wake() override;
  void notice_new_parts();
  bool drain_completions();
  bool drain_events();
  void fail_completion(fid_cq* completions);
  void fail_event(fid_eq* events);
  void request(const Listening& listening, const Info& info);
  void finish(OfiConnection& connection);

  // OfiConnection::Owner.
  void close_soon(OfiConnection& connection) override;
  void stalled(OfiConnection& connection) override;

  const TransportOptions options_;
  int epoll_ = -1;
  int wake_ = -1;

  std::mutex mutex_;
  // The lists only grow.
  std::deque<OfiFabric> fabrics_;
  std::deque<std::unique_ptr<OfiDomain>> domains_;
  std::atomic<std::size_t> parts_ = 0;  // the number of entries in both
  std::unordered_map<OfiConnection*, std::shared_ptr<OfiConnection>> connections_;
  std::unordered_set<OfiConnection*> stalled_;
  std::atomic<bool> any_stalled_ = false;

  // Copies of the lists above for the progress thread, without the mutex.
  std::vector<OfiFabric*> seen_fabrics_;
  std::vector<OfiDomain*> seen_domains_;

  ProgressThread progress_;
};

}  // namespace dhpvm::offload
