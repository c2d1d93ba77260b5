// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/metrics_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "offload/remote/fabric/socket_address.h"
#include "offload/remote/worker/metrics_text.h"

namespace dhpvm::offload {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{2};
constexpr std::size_t kMostVisitors = 32;
constexpr std::size_t kLongestRequest = 4096;
constexpr std::chrono::milliseconds kFreshness{100};
// The pause after a connection could not be accepted, mostly for lack of descriptors.
constexpr std::chrono::milliseconds kPause{100};

struct Visitor {
  Descriptor socket;
  Clock::time_point deadline;
  std::string request;
  std::string answer;  // the part that was not sent yet
  bool is_answered = false;
};

enum class Next : std::uint8_t { kStays, kGoes };

// Reads what is there; what follows the request, or comes after the answer, is ignored.
Next read_from(Visitor& visitor) {
  for (std::array<char, 1024> piece;;) {
    const ssize_t got = recv(visitor.socket.get(), piece.data(), piece.size(), 0);
    if (got < 0 && errno == EAGAIN) return Next::kStays;
    if (got <= 0) return Next::kGoes;
    if (visitor.is_answered) return Next::kStays;
    visitor.request.append(piece.data(), static_cast<std::size_t>(got));
    if (visitor.request.size() > kLongestRequest) return Next::kStays;
  }
}

// The connection ends only when the visitor has taken the answer: closing it with unread data would lose the answer.
Next write_to(Visitor& visitor) {
  while (!visitor.answer.empty()) {
    const ssize_t sent =
        send(visitor.socket.get(), visitor.answer.data(), visitor.answer.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EAGAIN) return Next::kStays;
    if (sent <= 0) return Next::kGoes;
    visitor.answer.erase(0, static_cast<std::size_t>(sent));
  }
  static_cast<void>(shutdown(visitor.socket.get(), SHUT_WR));
  return Next::kStays;
}

// All connected visitors, served by one thread.
class Visitors {
 public:
  explicit Visitors(const MetricsServer::Report& report) : report_(report) {}

  void add(Descriptor socket) {
    if (visitors_.size() >= kMostVisitors) visitors_.pop_front();
    visitors_.push_back({std::move(socket), Clock::now() + kPatience, {}, {}});
  }
  void add_to(std::vector<pollfd>& ready) const {
    for (const Visitor& visitor : visitors_) {
      const bool writes = !visitor.answer.empty();
      ready.push_back({visitor.socket.get(), static_cast<short>(writes ? POLLOUT : POLLIN), 0});
    }
  }
  std::optional<Clock::time_point> first_deadline() const {
    if (visitors_.empty()) return std::nullopt;
    return visitors_.front().deadline;  // the oldest is first
  }
  // `ready`: as filled in by add_to().
  void serve(const pollfd* ready) {
    const Clock::time_point now = Clock::now();
    for (auto visitor = visitors_.begin(); visitor != visitors_.end(); ++ready) {
      const bool goes = visitor->deadline <= now || (ready->revents != 0 && serve(*visitor) == Next::kGoes);
      visitor = goes ? visitors_.erase(visitor) : std::next(visitor);
    }
  }

 private:
  Next serve(Visitor& visitor) {
    if (!visitor.answer.empty()) return write_to(visitor);
    if (read_from(visitor) == Next::kGoes) return Next::kGoes;
    if (visitor.is_answered) return Next::kStays;
    if (visitor.request.find("\r\n\r\n") != std::string::npos) {
      visitor.answer = http_answer(visitor.request, [this] { return report(); });
    } else if (visitor.request.size() > kLongestRequest) {
      visitor.answer = http_answer_too_long();
    }
    visitor.is_answered = !visitor.answer.empty();
    return visitor.is_answered ? write_to(visitor) : Next::kStays;
  }
  const WorkerReport& report() {
    const Clock::time_point now = Clock::now();
    if (!last_ || now - made_ > kFreshness) {
      last_ = report_();
      made_ = now;
    }
    return *last_;
  }

  const MetricsServer::Report& report_;
  std::list<Visitor> visitors_;
  std::optional<WorkerReport> last_;
  Clock::time_point made_;
};

}  // namespace

Result<std::unique_ptr<MetricsServer>> MetricsServer::start(const Address& address, Report report) {
  if (!is_loopback(address)) {
    return error(ErrorCode::kInvalidArgument,
                 "metrics are for this machine alone, and {} can be reached from elsewhere: take 127.0.0.1, "
                 "and let a collector on this machine pass them on",
                 address.to_string());
  }
  std::unique_ptr<MetricsServer> server(new MetricsServer());
  server->report_ = std::move(report);
  server->address_ = address;
  DHPVM_ASSIGN(server->door_, listen_at(server->address_));
  server->stop_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!server->stop_.is_open())
    return error(ErrorCode::kIo, "no descriptor to wait with: {}", std::strerror(errno));
  DHPVM_TRY(server->thread_.start_once("metrics", [raw = server.get()] { raw->run(); }));
  return server;
}

MetricsServer::~MetricsServer() {
  if (stop_.is_open()) static_cast<void>(eventfd_write(stop_.get(), 1));
  thread_.join();
}

void MetricsServer::run() {
  Visitors visitors(report_);
  std::optional<Clock::time_point> pause;  // no connection is accepted until then
  for (;;) {
    std::vector<pollfd> ready{{stop_.get(), POLLIN, 0},
                              {door_.get(), static_cast<short>(pause ? 0 : POLLIN), 0}};
    visitors.add_to(ready);
    std::optional<Clock::time_point> next = visitors.first_deadline();
    if (pause) next = next ? std::min(*next, *pause) : *pause;
    int timeout = -1;
    if (next) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now()).count();
      timeout = static_cast<int>(std::max<decltype(left)>(left, 0));
    }
    static_cast<void>(poll(ready.data(), ready.size(), timeout));
    if (ready[0].revents != 0) return;
    visitors.serve(ready.data() + 2);
    if (pause && *pause <= Clock::now()) pause.reset();
    if (ready[1].revents == 0) continue;
    Descriptor socket(accept4(door_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.is_open()) {
      visitors.add(std::move(socket));
    } else {
      pause = Clock::now() + kPause;
    }
  }
}

}  // namespace dhpvm::offload
