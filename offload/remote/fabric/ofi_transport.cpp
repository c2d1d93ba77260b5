// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/ofi_transport.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_eq.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace dhpvm::offload {
namespace {

constexpr std::uint32_t kApiVersion = FI_VERSION(1, 17);
// While a provider's queue is full, there may be no event that says when it has room again.
constexpr std::chrono::milliseconds kStallTick{1};

Error cannot_listen(const Address& address, int code) {
  if (code == -FI_EADDRINUSE) {
    return error(ErrorCode::kIo,
                 "cannot listen at {}: another program does; choose another port, or 0 for one that is free",
                 address.to_string());
  }
  return ofi_error(fmt::format("listen at {}", address.to_string()).c_str(), code);
}

// Clearer texts than the system's for a failed connection.
const char* reason_of(int code) {
  if (code == FI_ECONNREFUSED) return "Connection refused: nobody listens there";
  // The other side's first message is not the provider's.
  if (code == FI_ENOPROTOOPT) return "the program that listens there is not DHPVM";
  return fi_strerror(code);
}

}  // namespace

class OfiTransport::ListenerOf final : public Listener {
 public:
  ListenerOf(OfiTransport& transport, std::unique_ptr<Listening> listening, Address address)
      : transport_(transport), listening_(std::move(listening)), address_(std::move(address)) {}
  ~ListenerOf() override {
    // The progress thread handles the endpoint's events that have been read; unread ones are dropped with the endpoint.
    transport_.progress_.run_and_wait([this] { listening_ = nullptr; });
  }
  Address address() const override { return address_; }

 private:
  OfiTransport& transport_;
  std::unique_ptr<Listening> listening_;
  const Address address_;
};

Result<std::unique_ptr<Transport>> OfiTransport::create(const TransportOptions& options) {
  std::unique_ptr<OfiTransport> made(new OfiTransport(options));
  DHPVM_TRY(made->start());
  return std::unique_ptr<Transport>(std::move(made));
}

Status OfiTransport::start() {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (epoll_ < 0 || wake_ < 0) {
    return error(ErrorCode::kIo, "cannot create a descriptor to wait with: {}", std::strerror(errno));
  }
  DHPVM_TRY(watch(wake_));
  DHPVM_TRY(look_up({"127.0.0.1", 0}, FI_SOURCE));  // finds out at once whether the provider is there
  return progress_.start();
}

OfiTransport::~OfiTransport() {
  progress_.stop([this] {
    notice_new_parts();
    for (;;) {
      std::shared_ptr<OfiConnection> connection;
      {
        const std::lock_guard lock(mutex_);
        if (connections_.empty()) break;
        connection = connections_.begin()->second;
      }
      connection->close(Error(ErrorCode::kDeviceLost, "the connection was closed"));
      finish(*connection);
    }
  });
  if (wake_ >= 0) close(wake_);
  if (epoll_ >= 0) close(epoll_);
}

Result<Info> OfiTransport::look_up(const Address& address, std::uint64_t flags) const {
  const Info hints(fi_allocinfo());
  hints->ep_attr->type = FI_EP_MSG;
  hints->caps = FI_MSG;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  hints->domain_attr->threading = FI_THREAD_SAFE;
  hints->fabric_attr->prov_name = strdup(options_.provider.c_str());
  fi_info* found = nullptr;
  const int code = fi_getinfo(kApiVersion, address.host.c_str(), std::to_string(address.port).c_str(), flags,
                              hints.get(), &found);
  if (code == -FI_ENODATA) {
    return error(
        ErrorCode::kUnsupported,
        "libfabric's provider '{}' cannot be used for {} on this machine; `fi_info -t FI_EP_MSG` lists those "
        "that can, and tcp is always there",
        options_.provider, address.to_string());
  }
  if (code != 0) return ofi_error("look up an address", code);
  return Info(found);
}

// With the mutex held.
Result<OfiFabric*> OfiTransport::fabric_of(const fi_info& info) {
  for (OfiFabric& known : fabrics_) {
    if (known.name == info.fabric_attr->name) return &known;
  }
  OfiFabric made;
  made.name = info.fabric_attr->name;
  fid_fabric* fabric = nullptr;
  if (const int code = fi_fabric(info.fabric_attr, &fabric, nullptr); code != 0) {
    return ofi_error("open a network", code);
  }
  made.fabric.reset(fabric);
  fi_eq_attr attributes{};
  attributes.wait_obj = FI_WAIT_FD;
  fid_eq* events = nullptr;
  if (const int code = fi_eq_open(fabric, &attributes, &events, nullptr); code != 0) {
    return ofi_error("create an event queue", code);
  }
  made.events.reset(events);
  if (const int code = fi_control(&events->fid, FI_GETWAIT, &made.descriptor); code != 0) {
    return ofi_error("wait for events with a file descriptor", code);
  }
  DHPVM_TRY(watch(made.descriptor));
  fabrics_.push_back(std::move(made));
  parts_.fetch_add(1);
  return &fabrics_.back();
}

Result<OfiDomain*> OfiTransport::domain_of(const fi_info& info) {
  const std::lock_guard lock(mutex_);
  DHPVM_ASSIGN(OfiFabric* const fabric, fabric_of(info));
  for (const auto& known : domains_) {
    if (known->is_for(*fabric, info)) return known.get();
  }
  DHPVM_ASSIGN(std::unique_ptr<OfiDomain> made,
               OfiDomain::open(*fabric, const_cast<fi_info&>(info), options_.register_memory));
  DHPVM_TRY(watch(made->descriptor()));
  domains_.push_back(std::move(made));
  parts_.fetch_add(1);
  return domains_.back().get();
}

Status OfiTransport::watch(int descriptor) const {
  epoll_event event{};
  event.events = EPOLLIN;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) != 0) {
    return error(ErrorCode::kIo, "cannot wait for a descriptor: {}", std::strerror(errno));
  }
  return {};
}

Result<std::shared_ptr<Connection>> OfiTransport::connect(const Address& address,
                                                          std::shared_ptr<ConnectionHandler> handler) {
  DHPVM_ASSIGN(const Info info, look_up(address, 0));
  DHPVM_ASSIGN(OfiDomain* const domain, domain_of(*info));
  auto connection =
      std::make_shared<OfiConnection>(*this, *domain, address.to_string(), is_loopback(address));
  DHPVM_TRY(connection->open(domain->fabric().events.get(), *info));
  connection->set_handler(std::move(handler));
  {
    const std::lock_guard lock(mutex_);
    connections_.emplace(connection.get(), connection);
  }
  const int code = fi_connect(connection->endpoint(), info->dest_addr, nullptr, 0);
  if (code != 0) connection->close(ofi_error("connect", code));
  return std::shared_ptr<Connection>(std::move(connection));
}

Result<std::unique_ptr<Listener>> OfiTransport::listen(const Address& address, AcceptFunction accept) {
  DHPVM_ASSIGN(const Info info, look_up(address, FI_SOURCE));
  auto listening = std::make_unique<Listening>();
  listening->accept = std::move(accept);
  {
    const std::lock_guard lock(mutex_);
    DHPVM_ASSIGN(listening->fabric, fabric_of(*info));
  }
  fid_pep* endpoint = nullptr;
  if (const int code = fi_passive_ep(listening->fabric->fabric.get(), info.get(), &endpoint, listening.get());
      code != 0) {
    return cannot_listen(address, code);
  }
  listening->endpoint.reset(endpoint);
  int code = fi_pep_bind(endpoint, &listening->fabric->events->fid, 0);
  if (code == 0) code = fi_listen(endpoint);
  if (code != 0) return cannot_listen(address, code);
  sockaddr_storage bound{};
  std::size_t length = sizeof(bound);
  Address chosen = address;
  if (fi_getname(&endpoint->fid, &bound, &length) == 0)
    chosen.port = address_of(reinterpret_cast<const sockaddr*>(&bound), length).port;
  return std::unique_ptr<Listener>(
      std::make_unique<ListenerOf>(*this, std::move(listening), std::move(chosen)));
}

// ---- The progress thread --------------------------------------------------------------------------------------------

bool OfiTransport::poll() {
  if (parts_.load() != seen_fabrics_.size() + seen_domains_.size()) notice_new_parts();
  bool any = drain_completions();
  any |= drain_events();
  if (any_stalled_.load()) {
    const std::lock_guard lock(mutex_);
    std::erase_if(stalled_, [](OfiConnection* connection) { return connection->retry(); });
    any_stalled_.store(!stalled_.empty());
  }
  return any;
}

void OfiTransport::notice_new_parts() {
  const std::lock_guard lock(mutex_);
  seen_fabrics_.clear();
  for (OfiFabric& fabric : fabrics_) seen_fabrics_.push_back(&fabric);
  seen_domains_.clear();
  for (const auto& domain : domains_) seen_domains_.push_back(domain.get());
}

bool OfiTransport::drain_completions() {
  bool any = false;
  for (const OfiDomain* domain : seen_domains_) {
    fi_cq_msg_entry entries[16];
    for (;;) {
      const ssize_t count = fi_cq_read(domain->completions(), entries, std::size(entries));
      if (count == -FI_EAVAIL) {
        fail_completion(domain->completions());
      } else if (count <= 0) {
        break;
      }
      any = true;
      for (ssize_t i = 0; i < count; ++i) {
        auto& operation = *static_cast<OfiOperation*>(entries[i].op_context);
        operation.connection->completed(operation, entries[i].len);
      }
    }
  }
  return any;
}

void OfiTransport::fail_completion(fid_cq* completions) {
  fi_cq_err_entry entry{};
  if (fi_cq_readerr(completions, &entry, 0) != 1 || entry.op_context == nullptr) return;
  auto& operation = *static_cast<OfiOperation*>(entry.op_context);
  OfiConnection& connection = *operation.connection;
  // Operations are cancelled when the other side is gone, so report that reason.
  connection.close(entry.err == FI_ECANCELED
                       ? error(ErrorCode::kDeviceLost, "the connection to {} was closed by the other side",
                               connection.peer())
                       : error(ErrorCode::kDeviceLost, "the connection to {} failed: {}", connection.peer(),
                               fi_strerror(entry.err)));
  connection.completed(operation, 0);
}

bool OfiTransport::drain_events() {
  bool any = false;
  for (const OfiFabric* fabric : seen_fabrics_) {
    // libfabric's structure ends in an array of unknown length, for data that these connections do not carry.
    alignas(fi_eq_cm_entry) std::byte buffer[sizeof(fi_eq_cm_entry) + 256];
    std::uint32_t kind = 0;
    ssize_t size;
    while ((size = fi_eq_read(fabric->events.get(), &kind, buffer, sizeof(buffer), 0)) >= 0) {
      any = true;
      const auto& entry = *reinterpret_cast<const fi_eq_cm_entry*>(buffer);
      if (kind == FI_CONNREQ) {
        request(*static_cast<Listening*>(entry.fid->context), Info(entry.info));
        continue;
      }
      auto& connection = *static_cast<OfiConnection*>(entry.fid->context);
      if (kind == FI_CONNECTED) connection.established();
      if (kind == FI_SHUTDOWN) {
        drain_completions();  // for messages that were sent before the close
        connection.close(error(ErrorCode::kDeviceLost, "the connection to {} was closed by the other side",
                               connection.peer()));
      }
    }
    if (size == -FI_EAVAIL) {
      any = true;
      fail_event(fabric->events.get());
    }
  }
  return any;
}

void OfiTransport::fail_event(fid_eq* events) {
  fi_eq_err_entry entry{};
  if (fi_eq_readerr(events, &entry, 0) < 0 || entry.fid == nullptr) return;
  if (entry.fid->fclass != FI_CLASS_EP) return;  // a request that ended before it was accepted
  auto& connection = *static_cast<OfiConnection*>(entry.fid->context);
  connection.close(
      error(ErrorCode::kDeviceLost, "could not connect to {}: {}", connection.peer(), reason_of(entry.err)));
}

void OfiTransport::request(const Listening& listening, const Info& info) {
  // If this fails, only resources of this machine can be missing; the dialler sees a refusal.
  const auto domain = domain_of(*info);
  std::shared_ptr<OfiConnection> connection;
  std::shared_ptr<ConnectionHandler> handler;
  if (domain.ok()) {
    const Address peer = address_of(static_cast<const sockaddr*>(info->dest_addr), info->dest_addrlen);
    connection = std::make_shared<OfiConnection>(*this, **domain, peer.to_string(), is_loopback(peer));
    handler = listening.accept(connection);
  }
  if (handler == nullptr) {
    static_cast<void>(fi_reject(listening.endpoint.get(), info->handle, nullptr, 0));
    return;
  }
  connection->set_handler(std::move(handler));
  {
    const std::lock_guard lock(mutex_);
    connections_.emplace(connection.get(), connection);
  }
  if (Status status = connection->open(listening.fabric->events.get(), *info); !status.ok()) {
    connection->close(std::move(status).error());
  } else if (const int code = fi_accept(connection->endpoint(), nullptr, 0); code != 0) {
    connection->close(ofi_error("accept a connection", code));
  }
}

void OfiTransport::close_soon(OfiConnection& connection) {
  post([this, held = &connection] { finish(*held); });
}

void OfiTransport::stalled(OfiConnection& connection) {
  progress_.post([this, held = &connection] {
    const std::lock_guard lock(mutex_);
    if (connections_.contains(held)) stalled_.insert(held);
    any_stalled_.store(!stalled_.empty());
  });
}

void OfiTransport::finish(OfiConnection& connection) {
  std::shared_ptr<OfiConnection> held;
  {
    const std::lock_guard lock(mutex_);
    const auto found = connections_.find(&connection);
    if (found == connections_.end()) return;
    held = std::move(found->second);
    connections_.erase(found);
    stalled_.erase(&connection);
  }
  held->finish();
  // The completions of its operations refer to the connection.
  drain_completions();
  held->tell_closed();
}

void OfiTransport::wait(std::chrono::milliseconds timeout) {
  if (any_stalled_.load()) timeout = std::min(timeout, kStallTick);
  // libfabric's rule: do not wait for a descriptor before libfabric has confirmed that there is nothing to read.
  for (const OfiFabric* fabric : seen_fabrics_) {
    fid* waits[] = {&fabric->events->fid};
    if (fi_trywait(fabric->fabric.get(), waits, 1) != 0) return;
  }
  for (const OfiDomain* domain : seen_domains_) {
    fid* waits[] = {&domain->completions()->fid};
    if (fi_trywait(domain->fabric().fabric.get(), waits, 1) != 0) return;
  }
  epoll_event events[8];
  static_cast<void>(epoll_wait(epoll_, events, std::size(events), static_cast<int>(timeout.count())));
  std::uint64_t count = 0;
  static_cast<void>(!read(wake_, &count, sizeof(count)));
}

void OfiTransport::wake() {
  const std::uint64_t one = 1;
  static_cast<void>(!write(wake_, &one, sizeof(one)));
}

}  // namespace dhpvm::offload
