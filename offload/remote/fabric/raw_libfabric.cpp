// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/raw_libfabric.h"

#include <netinet/in.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_eq.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "offload/remote/fabric/ofi_handles.h"

namespace dhpvm::offload {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kShortBytes = 64;
constexpr std::uint64_t kWindow = 8;
constexpr std::uint64_t kReceives = 32;
constexpr int kSliceMs = 100;
constexpr std::chrono::microseconds kServerSpin{500};

Status check(const char* what, long code) {
  if (code >= 0) return {};
  return ofi_error(what, code);
}

Result<Info> look_up(std::uint16_t port, std::uint64_t flags) {
  const Info hints(fi_allocinfo());
  hints->ep_attr->type = FI_EP_MSG;
  hints->caps = FI_MSG;
  hints->fabric_attr->prov_name = strdup("tcp");
  fi_info* found = nullptr;
  DHPVM_TRY(check(
      "look up an address",
      fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", std::to_string(port).c_str(), flags, hints.get(), &found)));
  return Info(found);
}

}  // namespace

struct RawLibfabric::Side {
  RawWait wait;
  bool serves = false;
  std::vector<std::byte> bulk;
  std::size_t piece_bytes;
  std::vector<std::byte> message = std::vector<std::byte>(kShortBytes);
  Fid<fid_fabric> fabric;
  Fid<fid_eq> events;
  Fid<fid_domain> domain;
  Fid<fid_cq> completions;
  Fid<fid_ep> endpoint;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::size_t arrived = 0;  // bytes received

  Status open(fi_info& info) {
    fid_domain* made_domain = nullptr;
    DHPVM_TRY(check("open an interface", fi_domain(fabric.get(), &info, &made_domain, nullptr)));
    domain.reset(made_domain);
    fi_cq_attr attributes{};
    attributes.size = 1024;
    attributes.format = FI_CQ_FORMAT_MSG;
    attributes.wait_obj = FI_WAIT_FD;
    fid_cq* made_queue = nullptr;
    DHPVM_TRY(check("create a queue", fi_cq_open(made_domain, &attributes, &made_queue, nullptr)));
    completions.reset(made_queue);
    fid_ep* made = nullptr;
    DHPVM_TRY(check("create an endpoint", fi_endpoint(made_domain, &info, &made, nullptr)));
    endpoint.reset(made);
    DHPVM_TRY(check("bind", fi_ep_bind(made, &events->fid, 0)));
    DHPVM_TRY(check("bind", fi_ep_bind(made, &made_queue->fid, FI_TRANSMIT | FI_RECV)));
    return check("enable", fi_enable(made));
  }

  Status open_fabric(fi_info& info) {
    fid_fabric* made = nullptr;
    DHPVM_TRY(check("open a network", fi_fabric(info.fabric_attr, &made, nullptr)));
    fabric.reset(made);
    fi_eq_attr attributes{};
    attributes.wait_obj = FI_WAIT_UNSPEC;
    fid_eq* made_events = nullptr;
    DHPVM_TRY(check("create events", fi_eq_open(made, &attributes, &made_events, nullptr)));
    events.reset(made_events);
    return {};
  }

  Result<Info> next_event(std::uint32_t wanted) const {
    std::uint32_t kind = 0;
    alignas(fi_eq_cm_entry) std::byte buffer[sizeof(fi_eq_cm_entry) + 256];
    const ssize_t size = fi_eq_sread(events.get(), &kind, buffer, sizeof(buffer), 5000, 0);
    DHPVM_TRY(check("connect", size));
    if (kind != wanted) return error(ErrorCode::kIo, "libfabric tells something else than was expected");
    return Info(reinterpret_cast<const fi_eq_cm_entry*>(buffer)->info);
  }

  // Handles completions until both counts have been reached.
  Status progress(std::uint64_t all_sent, std::uint64_t all_received) {
    const auto begin = Clock::now();
    while (sent < all_sent || received < all_received) {
      fi_cq_msg_entry entries[16];
      const bool spins = wait == RawWait::kSpin && (!serves || Clock::now() - begin < kServerSpin);
      const ssize_t count =
          spins ? fi_cq_read(completions.get(), entries, std::size(entries))
                : fi_cq_sread(completions.get(), entries, std::size(entries), nullptr, kSliceMs);
      if (count == -FI_EAGAIN) continue;
      DHPVM_TRY(check("wait", count));
      for (ssize_t n = 0; n < count; ++n) {
        if ((entries[n].flags & FI_SEND) != 0) ++sent;
        if ((entries[n].flags & FI_RECV) != 0) {
          ++received;
          arrived += entries[n].len;
        }
      }
    }
    return {};
  }
  Status send(const std::byte* data, std::size_t bytes) const {
    return check("send", fi_send(endpoint.get(), data, bytes, nullptr, FI_ADDR_UNSPEC, nullptr));
  }
  Status receive(std::byte* data, std::size_t bytes) const {
    return check("receive", fi_recv(endpoint.get(), data, bytes, nullptr, FI_ADDR_UNSPEC, nullptr));
  }

  Status round_trip() {
    DHPVM_TRY(receive(message.data(), message.size()));
    DHPVM_TRY(send(message.data(), message.size()));
    return progress(sent + 1, received + 1);
  }
  Status upload() {
    DHPVM_TRY(receive(message.data(), message.size()));
    const std::uint64_t before = sent;
    std::uint64_t begun = 0;
    for (std::size_t at = 0; at < bulk.size(); at += piece_bytes, ++begun) {
      if (begun >= kWindow) DHPVM_TRY(progress(before + begun - kWindow + 1, 0));
      DHPVM_TRY(send(bulk.data() + at, std::min(piece_bytes, bulk.size() - at)));
    }
    return progress(before + begun, received + 1);
  }

  // The other process: echoes short messages, and answers the last piece with one.
  Status serve(int port_out) {
    serves = true;
    DHPVM_ASSIGN(const Info info, look_up(0, FI_SOURCE));
    DHPVM_TRY(open_fabric(*info));
    fid_pep* made = nullptr;
    DHPVM_TRY(check("listen", fi_passive_ep(fabric.get(), info.get(), &made, nullptr)));
    const Fid<fid_pep> listening(made);
    DHPVM_TRY(check("listen", fi_pep_bind(made, &events->fid, 0)));
    DHPVM_TRY(check("listen", fi_listen(made)));
    sockaddr_in address{};
    std::size_t length = sizeof(address);
    DHPVM_TRY(check("tell its address", fi_getname(&made->fid, &address, &length)));
    const std::uint16_t port = ntohs(address.sin_port);
    if (write(port_out, &port, sizeof(port)) != sizeof(port)) return error(ErrorCode::kIo, "no one listens");
    DHPVM_ASSIGN(const Info request, next_event(FI_CONNREQ));
    DHPVM_TRY(open(*request));
    // Each receive has room for a piece; its place does not matter.
    const std::size_t pieces = (bulk.size() + piece_bytes - 1) / piece_bytes;
    std::uint64_t asked = 0;
    const auto ask = [&] {
      const std::size_t at = asked++ % pieces * piece_bytes;
      return receive(bulk.data() + at, std::min(piece_bytes, bulk.size() - at));
    };
    for (std::uint64_t n = 0; n < std::min<std::uint64_t>(kReceives, pieces); ++n) DHPVM_TRY(ask());
    DHPVM_TRY(check("accept", fi_accept(endpoint.get(), nullptr, 0)));
    DHPVM_TRY(next_event(FI_CONNECTED));
    for (;;) {
      const std::uint64_t before = received;
      DHPVM_TRY(progress(0, before + 1));
      for (std::uint64_t n = before; n < received; ++n) DHPVM_TRY(ask());
      // The other side waits for the answer before it sends more.
      if (arrived != kShortBytes && arrived != bulk.size()) continue;
      arrived = 0;
      DHPVM_TRY(send(message.data(), message.size()));
    }
  }

  Status connect(std::uint16_t port) {
    DHPVM_ASSIGN(const Info info, look_up(port, 0));
    DHPVM_TRY(open_fabric(*info));
    DHPVM_TRY(open(*info));
    DHPVM_TRY(check("connect", fi_connect(endpoint.get(), info->dest_addr, nullptr, 0)));
    DHPVM_TRY(next_event(FI_CONNECTED));
    return {};
  }
};

RawLibfabric::RawLibfabric(int child, std::unique_ptr<Side> side) : child_(child), side_(std::move(side)) {}

Result<std::unique_ptr<RawLibfabric>> RawLibfabric::start(RawWait wait, std::size_t bulk_bytes,
                                                          std::size_t piece_bytes) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return error(ErrorCode::kIo, "no more descriptors");
  auto side = std::make_unique<Side>();
  side->wait = wait;
  side->bulk.resize(bulk_bytes);
  side->piece_bytes = piece_bytes;
  const pid_t child = fork();
  if (child == 0) {
    static_cast<void>(side->serve(ends[1]));  // the other end sees errors
    std::_Exit(1);
  }
  std::unique_ptr<RawLibfabric> made(new RawLibfabric(child, std::move(side)));
  close(ends[1]);
  std::uint16_t port = 0;
  const bool told = read(ends[0], &port, sizeof(port)) == sizeof(port);
  close(ends[0]);
  if (!told) return error(ErrorCode::kIo, "the other process could not listen");
  DHPVM_TRY(made->side_->connect(port));
  return made;
}

RawLibfabric::~RawLibfabric() {
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
}

Status RawLibfabric::round_trip() { return side_->round_trip(); }
Status RawLibfabric::upload() { return side_->upload(); }

}  // namespace dhpvm::offload
