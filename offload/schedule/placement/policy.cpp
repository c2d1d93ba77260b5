// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/placement/policy.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

// A shorter loop is not split, because its parts would have to be brought together again.
constexpr double kWorthSplitting = 2e-3;
constexpr std::uint64_t kRowsWorthSplitting = 64;
// Another place must be better by this factor: moving back and forth between places costs more than the estimates show.
constexpr double kClearlyBetter = 0.8;
// Another place joins if the loop is expected to take less than this part of the time with it: a useless helper costs
// more than the rest.
constexpr double kWorthTakingIn = 0.97;

// The place among `among`, which is not empty, that ends first.
std::size_t quickest(std::span<const Place> places, std::span<const std::size_t> among) {
  std::size_t best = among[0];
  for (const std::size_t n : among.subspan(1)) {
    const bool is_host = places[best].kind == Place::Kind::kHost;
    // The host runs the loop until it has been measured, which costs only time.
    if (is_host && !places[best].known) break;
    if (places[n].seconds < places[best].seconds * (is_host ? kClearlyBetter : 1)) best = n;
  }
  return best;
}

// The places that share a loop, and the seconds that they need together.
struct Sharing {
  std::vector<std::size_t> places;
  double seconds = std::numeric_limits<double>::infinity();
};

// Each place gets a part that takes as long as the parts of the others: the time of a place is T(part) = least + part *
// (seconds - least), and T is the same for all. Places are added, the quickest first, as long as that makes T clearly
// smaller.
Sharing share_of(std::span<const Place> places, std::span<const std::size_t> among) {
  std::vector<std::size_t> order(among.begin(), among.end());
  std::ranges::stable_sort(order, {}, [&](std::size_t n) { return places[n].seconds; });
  Sharing sharing;
  double rate = 0;   // parts of the loop per second
  double begun = 0;  // parts that would have been done during the `least` of all
  for (const std::size_t n : order) {
    const double least = std::min(places[n].least_seconds, places[n].seconds);
    const double own = 1 / std::max(places[n].seconds - least, 1e-9);
    const double seconds = (1 + begun + least * own) / (rate + own);
    if (!sharing.places.empty() && seconds > sharing.seconds * kWorthTakingIn) continue;
    rate += own;
    begun += least * own;
    sharing.seconds = seconds;
    sharing.places.push_back(n);
  }
  std::ranges::sort(sharing.places);
  return sharing;
}

// The places that share the loop; none or one if sharing does not pay.
Sharing share_if_it_pays(std::span<const Place> places, std::span<const std::size_t> among, std::size_t best,
                         std::uint64_t rows, double longest_seconds) {
  if (among.size() < 2 || rows < kRowsWorthSplitting) return {};
  std::vector<std::size_t> divisible;
  std::ranges::copy_if(among, std::back_inserter(divisible),
                       [&](std::size_t n) { return places[n].divisible; });
  if (divisible.size() != among.size()) return {};
  Sharing sharing = share_of(places, divisible);
  // Unknown rates are measured in the first execution, while all places that could help take part: a loop that ran at
  // one place alone might get one that takes ten times as long, and the others would stay unknown.
  if (!std::ranges::all_of(sharing.places, [&](std::size_t n) { return places[n].known; })) {
    for (const std::size_t n : among) {
      if (places[n].known) longest_seconds = std::min(longest_seconds, places[n].seconds);
    }
    return longest_seconds > kWorthSplitting ? sharing : Sharing{};
  }
  const bool pays =
      places[best].seconds > kWorthSplitting && sharing.seconds < places[best].seconds * kClearlyBetter;
  return pays ? sharing : Sharing{};
}

// Leaves out the host's cores behind a driver if the host itself is among the places.
std::vector<std::size_t> without_second_names(std::span<const Place> places,
                                              std::span<const std::size_t> among) {
  const auto is = [&](Place::Kind kind) {
    return [&places, kind](std::size_t n) { return places[n].kind == kind; };
  };
  std::vector<std::size_t> kept(among.begin(), among.end());
  if (std::ranges::any_of(among, is(Place::Kind::kHost))) std::erase_if(kept, is(Place::Kind::kHostCores));
  return kept;
}

// "; remote/b would not help": the places that do not share the loop.
std::string without(std::span<const Place> places, std::span<const std::size_t> among,
                    const Sharing& sharing) {
  std::string names;
  for (const std::size_t n : among) {
    if (std::ranges::find(sharing.places, n) != sharing.places.end()) continue;
    names += (names.empty() ? "; " : " and ") + places[n].name;
  }
  return names.empty() ? names : names + " would not help";
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
                         double longest_seconds) const override {
    std::vector<std::size_t> all(places.size());
    std::iota(all.begin(), all.end(), 0);
    return choose_among(places, all, rows, longest_seconds);
  }

  static PlacementChoice choose_among(std::span<const Place> places, std::span<const std::size_t> candidates,
                                      std::uint64_t rows, double longest_seconds) {
    if (candidates.empty()) return {};
    const std::vector<std::size_t> among = without_second_names(places, candidates);
    if (among.size() == 1 && candidates.size() > 1)
      return {among, "nothing else can run it but the same cores by a driver, which is slower"};
    const std::size_t best = quickest(places, among);
    Sharing sharing = share_if_it_pays(places, among, best, rows, longest_seconds);
    if (sharing.places.size() > 1) {
      return {sharing.places, "sharing it is expected to be quicker" + without(places, among, sharing)};
    }
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
                         double longest_seconds) const override {
    std::vector<std::size_t> workers;
    std::vector<std::size_t> local;
    for (std::size_t n = 0; n < places.size(); ++n) {
      (places[n].kind == Place::Kind::kWorker ? workers : local).push_back(n);
    }
    if (workers.empty() || local.empty()) {
      PlacementChoice choice =
          FastestCompletion::choose_among(places, local.empty() ? workers : local, rows, longest_seconds);
      if (workers.empty() && !choice.places.empty()) {
        choice.reason = "no worker can run it: " + choice.reason;
      }
      return choice;
    }
    const std::size_t best = quickest(places, workers);
    const Sharing sharing = share_if_it_pays(places, workers, best, rows, longest_seconds);
    const bool shares = sharing.places.size() > 1;
    const double there = shares ? sharing.seconds : places[best].seconds;
    const double here = local_seconds(places, local, places[best]);
    if (there <= factor_ * here) {
      if (!shares) return {{best}, "a worker spares this machine"};
      return {sharing.places, "workers share it, and spare this machine" + without(places, workers, sharing)};
    }
    PlacementChoice choice = FastestCompletion::choose_among(places, local, rows, longest_seconds);
    choice.reason = fmt::format("workers would take more than {} times as long as this machine", factor_);
    return choice;
  }

 private:
  // The seconds that this machine would take. While they are unknown, those of the worker's kernel stand for them; if
  // these are unknown, too, the loop goes there to be measured.
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
