// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/worker_places.h"

#include <algorithm>
#include <limits>

namespace dhpvm::offload {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

}  // namespace

WorkerPlaces::WorkerPlaces(const WorkerLimits& limits)
    : most_served_(limits.sessions), most_waiting_(limits.waiting), total_bytes_(limits.total_memory_bytes) {}

void WorkerPlaces::set_clients(const std::vector<ClientEntry>& clients) {
  clients_.clear();
  for (const ClientEntry& client : clients)
    clients_[client.name] = {client.sessions, client.memory_bytes, client.time, client.priority};
}

bool WorkerPlaces::has_room_for(const std::string& client) const {
  if (served_.size() >= most_served_) return false;
  const auto limits = clients_.find(client);
  return limits == clients_.end() || served_for(client) < limits->second.sessions;
}

std::optional<SessionPlace> WorkerPlaces::enter(std::uint64_t number, const std::string& client,
                                                Patience patience) {
  if (has_room_for(client)) return serve(number, client);
  if (patience == Patience::kNone || waiting_.size() >= most_waiting_) return std::nullopt;
  waiting_.emplace_back(number, client);
  SessionPlace place;
  for (const auto& waiting : order()) {
    ++place.number;
    if (waiting->first == number) break;
  }
  return place;
}

std::uint64_t WorkerPlaces::priority_of(const std::string& client) const {
  const auto limits = clients_.find(client);
  return limits == clients_.end() ? ClientEntry::kUsualPriority : limits->second.priority;
}

// Sessions are counted relative to priority: a client of twice the priority may have twice as many before it is the
// others' turn.
bool WorkerPlaces::goes_before(const std::string& one, const std::string& other) const {
  const bool has_room = has_room_for(one);
  if (has_room != has_room_for(other)) return has_room;
  return (served_for(one) + 1) * priority_of(other) < (served_for(other) + 1) * priority_of(one);
}

std::vector<WorkerPlaces::Waiting::const_iterator> WorkerPlaces::order() const {
  std::vector<Waiting::const_iterator> order;
  for (auto waiting = waiting_.begin(); waiting != waiting_.end(); ++waiting) order.push_back(waiting);
  std::ranges::stable_sort(
      order, [this](const auto& one, const auto& other) { return goes_before(one->second, other->second); });
  return order;
}

SessionPlace WorkerPlaces::serve(std::uint64_t number, const std::string& client) {
  Served& served = served_[number];
  served.client = client;
  const auto limits = clients_.find(client);
  const std::uint64_t most = limits == clients_.end() ? kUnlimited : limits->second.memory_bytes;
  SessionPlace place;
  if (limits != clients_.end()) place.time = limits->second.time;
  place.memory_bytes = most;
  if (total_bytes_ == kUnlimited) return place;
  const std::uint64_t half = total_bytes_ / 2;
  served.extra_bytes = (half - extra_bytes_) / 2;
  extra_bytes_ += served.extra_bytes;
  place.memory_bytes = std::min(most, half / most_served_ + served.extra_bytes);
  return place;
}

std::size_t WorkerPlaces::served_for(const std::string& client) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(served_, [&](const auto& entry) { return entry.second.client == client; }));
}

WorkerPlaces::Moves WorkerPlaces::leave(std::uint64_t number) {
  Moves moves;
  if (const auto served = served_.find(number); served != served_.end()) {
    extra_bytes_ -= served->second.extra_bytes;
    served_.erase(served);
  }
  std::erase_if(waiting_, [&](const auto& entry) { return entry.first == number; });
  while (!waiting_.empty()) {
    const auto next = order().front();
    if (!has_room_for(next->second)) break;
    moves.emplace_back(next->first, serve(next->first, next->second));
    waiting_.erase(next);
  }
  std::uint64_t place = 0;
  for (const auto& waiting : order()) {
    SessionPlace moved;
    moved.number = ++place;
    moves.emplace_back(waiting->first, moved);
  }
  return moves;
}

}  // namespace dhpvm::offload
