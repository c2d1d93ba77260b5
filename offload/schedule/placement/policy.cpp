// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/placement/policy.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

// A loop that is over sooner is not split: the parts would have to be brought together again.
constexpr double kWorthSplitting = 2e-3;
constexpr std::uint64_t kRowsWorthSplitting = 64;
// Something must be better by this factor: moving back and forth between places costs more than it shows.
constexpr double kClearlyBetter = 0.8;

// The place that is done first, of those at `among`, which are not empty.
std::size_t quickest(std::span<const Place> places, std::span<const std::size_t> among) {
  std::size_t best = among[0];
  for (const std::size_t n : among.subspan(1)) {
    const bool is_host = places[best].kind == Place::Kind::kHost;
    // Until the host has been measured, it runs the loop: that costs nothing but time.
    if (is_host && !places[best].known) break;
    if (places[n].seconds < places[best].seconds * (is_host ? kClearlyBetter : 1)) best = n;
  }
  return best;
}

// Seconds that all take together, if each does the part that it is quick enough for.
double shared_seconds(std::span<const Place> places, std::span<const std::size_t> among) {
  double rate = 0;
  for (const std::size_t n : among) rate += 1 / std::max(places[n].seconds, 1e-9);
  return 1 / rate;
}

bool pays_to_share(std::span<const Place> places, std::span<const std::size_t> among, std::size_t best,
                   std::uint64_t rows, double host_seconds) {
  if (among.size() < 2 || rows < kRowsWorthSplitting) return false;
  if (!std::ranges::all_of(among, [&](std::size_t n) { return places[n].divisible; })) return false;
  // Unknown rates are measured while all take part.
  if (!std::ranges::all_of(among, [&](std::size_t n) { return places[n].known; })) {
    return host_seconds > kWorthSplitting;
  }
  return places[best].seconds > kWorthSplitting &&
         shared_seconds(places, among) < places[best].seconds * kClearlyBetter;
}

PlacementChoice share(std::span<const std::size_t> among) {
  PlacementChoice choice;
  choice.places.assign(among.begin(), among.end());
  choice.reason = "sharing it is expected to be quicker";
  return choice;
}

PlacementChoice alone(const Place& place, std::size_t number, bool only) {
  if (only && place.kind != Place::Kind::kHost) return {{number}, "no other place can run it"};
  if (place.kind != Place::Kind::kHost) {
    return {{number}, fmt::format("{} is expected to be quicker", place.name)};
  }
  return {{number}, place.known ? "the host is expected to be quicker" : "the host's speed is not known yet"};
}

class FastestCompletion final : public PlacementPolicy {
 public:
  std::string name() const override { return "fastest"; }

  PlacementChoice choose(std::span<const Place> places, std::uint64_t rows,
                         double host_seconds) const override {
    std::vector<std::size_t> all(places.size());
    std::iota(all.begin(), all.end(), 0);
    return choose_among(places, all, rows, host_seconds);
  }

  static PlacementChoice choose_among(std::span<const Place> places, std::span<const std::size_t> among,
                                      std::uint64_t rows, double host_seconds) {
    if (among.empty()) return {};
    const std::size_t best = quickest(places, among);
    if (pays_to_share(places, among, best, rows, host_seconds)) return share(among);
    return alone(places[best], best, among.size() == 1);
  }
};

class PreferRemote final : public PlacementPolicy {
 public:
  explicit PreferRemote(double factor) : factor_(factor) {}

  std::string name() const override {
    return factor_ == kPreferRemoteFactor ? "remote" : fmt::format("remote:{}", factor_);
  }

  PlacementChoice choose(std::span<const Place> places, std::uint64_t rows,
                         double host_seconds) const override {
    std::vector<std::size_t> workers;
    std::vector<std::size_t> local;
    for (std::size_t n = 0; n < places.size(); ++n) {
      (places[n].kind == Place::Kind::kWorker ? workers : local).push_back(n);
    }
    if (workers.empty() || local.empty()) {
      PlacementChoice choice =
          FastestCompletion::choose_among(places, local.empty() ? workers : local, rows, host_seconds);
      if (workers.empty() && !choice.places.empty()) {
        choice.reason = "no worker can run it: " + choice.reason;
      }
      return choice;
    }
    const std::size_t best = quickest(places, workers);
    const bool shares = pays_to_share(places, workers, best, rows, host_seconds);
    const double there = shares ? shared_seconds(places, workers) : places[best].seconds;
    const double here = local_seconds(places, local, places[best]);
    if (there <= factor_ * here) {
      PlacementChoice choice = shares ? share(workers) : PlacementChoice{{best}, {}};
      choice.reason = shares ? "workers share it, and spare this machine" : "a worker spares this machine";
      return choice;
    }
    PlacementChoice choice = FastestCompletion::choose_among(places, local, rows, host_seconds);
    choice.reason = fmt::format("workers would take more than {} times as long as this machine", factor_);
    return choice;
  }

 private:
  // Seconds that this machine would take. While that is not known, the worker's kernel stands for it; without that
  // either, the loop goes there to be measured.
  static double local_seconds(std::span<const Place> places, std::span<const std::size_t> local,
                              const Place& worker) {
    double least = std::numeric_limits<double>::infinity();
    for (const std::size_t n : local) {
      if (places[n].known) least = std::min(least, places[n].seconds);
    }
    if (least != std::numeric_limits<double>::infinity()) return least;
    return worker.known ? worker.kernel_seconds : worker.seconds;
  }

  const double factor_;
};

}  // namespace

std::unique_ptr<PlacementPolicy> fastest_completion() { return std::make_unique<FastestCompletion>(); }

std::unique_ptr<PlacementPolicy> prefer_remote(double factor) {
  return std::make_unique<PreferRemote>(factor);
}

}  // namespace dhpvm::offload
