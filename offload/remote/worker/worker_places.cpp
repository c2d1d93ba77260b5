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

std::optional<SessionPlace> WorkerPlaces::enter(std::uint64_t number, const std::string& client,
                                                Patience patience) {
  if (served_.size() < most_served_) return serve(number, client);
  if (patience == Patience::kNone || waiting_.size() >= most_waiting_) return std::nullopt;
  waiting_.emplace_back(number, client);
  return SessionPlace{waiting_.size(), 0};
}

SessionPlace WorkerPlaces::serve(std::uint64_t number, const std::string& client) {
  Served& served = served_[number];
  served.client = client;
  if (total_bytes_ == kUnlimited) return {0, kUnlimited};
  const std::uint64_t half = total_bytes_ / 2;
  served.extra_bytes = (half - extra_bytes_) / 2;
  extra_bytes_ += served.extra_bytes;
  return {0, half / most_served_ + served.extra_bytes};
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
  while (served_.size() < most_served_ && !waiting_.empty()) {
    const auto next = std::ranges::min_element(
        waiting_, {}, [this](const auto& entry) { return served_for(entry.second); });
    moves.emplace_back(next->first, serve(next->first, next->second));
    waiting_.erase(next);
  }
  std::uint64_t place = 0;
  for (const auto& [waiting, client] : waiting_) moves.emplace_back(waiting, SessionPlace{++place, 0});
  return moves;
}

}  // namespace dhpvm::offload
