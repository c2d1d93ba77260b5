// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/strangers.h"

#include <algorithm>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

// The address without its port.
std::string host_of(const Connection& connection) {
  const std::string peer = connection.peer();
  return peer.substr(0, peer.rfind(':'));
}

}  // namespace

std::shared_ptr<Strangers::Visit> Strangers::enter(const std::shared_ptr<Connection>& connection) {
  if (count_ >= most_) make_room();
  auto visit = std::make_shared<Visit>(shared_from_this(), host_of(*connection));
  Waiting& waiting = hosts_[visit->host_];
  visit->place_ = waiting.emplace(waiting.end(), visit.get(), connection);
  ++count_;
  return visit;
}

void Strangers::make_room() {
  const auto largest =
      std::ranges::max_element(hosts_, {}, [](const auto& host) { return host.second.size(); });
  // The connection leaves the list when it has closed, which is soon; it must not be chosen twice.
  const std::shared_ptr<Connection> oldest = largest->second.front().second.lock();
  largest->second.splice(largest->second.end(), largest->second, largest->second.begin());
  if (oldest == nullptr) return;
  oldest->close(
      error(ErrorCode::kDeviceLost, "it had not said who it is when {} others waited to do so", most_));
}

void Strangers::leave(Visit& visit) {
  const auto host = hosts_.find(visit.host_);
  host->second.erase(visit.place_);
  if (host->second.empty()) hosts_.erase(host);
  --count_;
}

}  // namespace dhpvm::offload
