// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/placement/policy.h"

#include <gtest/gtest.h>

#include <limits>

namespace dhpvm::offload {
namespace {

using Choice = std::vector<std::size_t>;
using Kind = Place::Kind;

constexpr std::uint64_t kRows = 10'000;

Place host(double seconds) { return {Kind::kHost, "the host", seconds, seconds, seconds > 0, true}; }
Place device(double seconds, Kind kind = Kind::kDevice) {
  return {kind, "it", seconds, seconds / 2, true, true};
}
Place worker(double seconds) { return device(seconds, Kind::kWorker); }
Place unknown(Place place) {
  place.known = false;
  place.kernel_seconds = 5e-6;
  return place;
}
Place whole(Place place) {
  place.divisible = false;
  return place;
}

PlacementChoice choose(const PlacementPolicy& policy, const std::vector<Place>& places) {
  double longest_seconds = std::numeric_limits<double>::infinity();
  for (const Place& place : places) {
    if (place.kind == Kind::kHost && place.known) longest_seconds = place.seconds;
  }
  return policy.choose(places, kRows, longest_seconds);
}
Choice fastest(const std::vector<Place>& places) { return choose(*fastest_completion(), places).places; }
Choice remote(const std::vector<Place>& places, double factor = kPreferRemoteFactor) {
  return choose(*prefer_remote(factor), places).places;
}

TEST(FastestCompletion, TakesThePlaceThatIsDoneFirst) {
  EXPECT_EQ(fastest({}), Choice{});
  EXPECT_EQ(fastest({whole(device(3e-3)), whole(device(1e-3)), whole(device(2e-3))}), Choice{1});
  EXPECT_EQ(fastest({host(1.0), whole(worker(0.1))}), Choice{1});
}

TEST(FastestCompletion, LeavesTheHostOnlyForWhatIsClearlyBetter) {
  EXPECT_EQ(fastest({host(1e-3), device(0.9e-3)}), Choice{0});
  EXPECT_EQ(fastest({host(1e-3), device(0.5e-3)}), Choice{1});
  EXPECT_EQ(fastest({host(0), device(1e-9)}), Choice{0}) << "it has not been measured";
}

TEST(FastestCompletion, NeverPrefersTheHostsCoresByADriver) {
  const auto cores = [](double seconds) { return device(seconds, Kind::kHostCores); };
  EXPECT_EQ(fastest({host(1.0), cores(1e-3)}), Choice{0});
  EXPECT_EQ(fastest({cores(1e-3), host(0)}), Choice{1}) << "whose speed is not known yet";
  EXPECT_EQ(fastest({host(10e-3), cores(10e-3), device(10e-3)}), (Choice{0, 2})) << "nor shares with them";
  EXPECT_EQ(fastest({whole(cores(1.0)), device(2.0)}), Choice{0}) << "nobody asked for the host";
  EXPECT_EQ(fastest({cores(1.0)}), Choice{0});
  EXPECT_EQ(remote({worker(1.0), host(0.1), cores(0.01)}), Choice{1}) << "when workers are too slow";
}

TEST(FastestCompletion, SharesWhatTakesLong) {
  EXPECT_EQ(fastest({host(10e-3), device(10e-3), worker(20e-3)}), (Choice{0, 1, 2}));
  EXPECT_EQ(fastest({host(1e-3), device(1e-3)}), Choice{0}) << "too short";
  EXPECT_EQ(fastest({host(1.0), device(10e-3)}), Choice{1}) << "the host would hardly help";
  EXPECT_EQ(fastest({host(10e-3), whole(device(10e-3))}), Choice{0});
  EXPECT_EQ(fastest_completion()->choose(std::vector{device(1.0), device(1.0)}, 8, 0).places, Choice{0})
      << "too few rows";
}

TEST(FastestCompletion, FindsOutWhatPlacesAreWorthTogether) {
  EXPECT_EQ(fastest({host(10e-3), unknown(worker(1e-3)), unknown(worker(1e-3))}), (Choice{0, 1, 2}));
  EXPECT_EQ(fastest({host(1e-3), unknown(worker(0.1e-3))}), Choice{1});
  EXPECT_EQ(fastest({host(0), unknown(worker(1e-3)), unknown(worker(1e-3))}), Choice{0})
      << "the host is measured";
}

// Nothing is known of the host, which is no place for the loop.
TEST(FastestCompletion, MeasuresAllWorkersAtOnce) {
  EXPECT_EQ(fastest({unknown(worker(1e-3)), unknown(worker(1.1e-3))}), (Choice{0, 1}));
  EXPECT_EQ(fastest({worker(1.0), unknown(worker(1.1))}), (Choice{0, 1}))
      << "by its link the other one is slower, and yet it halves the time";
  EXPECT_EQ(remote({host(0), unknown(worker(1e-3)), unknown(worker(1.1e-3))}), (Choice{1, 2}));
  EXPECT_EQ(fastest({worker(1e-3), unknown(worker(1.1e-3))}), Choice{0}) << "too short";
  EXPECT_EQ(fastest_completion()
                ->choose(std::vector{unknown(worker(1e-3)), unknown(worker(1.1e-3))}, kRows, 1e-3)
                .places,
            Choice{0})
      << "the host says that it is short";
}

Place with_least(Place place, double seconds) {
  place.least_seconds = seconds;
  return place;
}

TEST(FastestCompletion, LeavesOutWhoCannotHelp) {
  EXPECT_EQ(fastest({worker(55e-3), worker(55e-3), worker(6.0)}), (Choice{0, 1}));
  EXPECT_EQ(fastest({worker(6.0), worker(55e-3), worker(55e-3)}), (Choice{1, 2}));
  EXPECT_EQ(fastest({worker(55e-3), with_least(worker(60e-3), 40e-3), worker(55e-3)}), (Choice{0, 2}))
      << "what it needs first takes as long as the others need";
  EXPECT_EQ(fastest({worker(55e-3), with_least(worker(60e-3), 4e-3), worker(55e-3)}), (Choice{0, 1, 2}));
  EXPECT_EQ(fastest({worker(55e-3), worker(6.0)}), Choice{0});
  EXPECT_EQ(remote({host(10e-3), worker(30e-3), worker(30e-3), worker(9.0)}), (Choice{1, 2}));
  EXPECT_NE(choose(*fastest_completion(), {worker(55e-3), worker(55e-3), worker(6.0)})
                .reason.find("would not help"),
            std::string::npos);
  EXPECT_EQ(fastest_completion()
                ->choose(std::vector{unknown(worker(1e-3)), unknown(worker(1e-3)), unknown(worker(1.0))},
                         kRows, 10e-3)
                .places,
            (Choice{0, 1}))
      << "its link is known";
}

TEST(PreferRemote, TakesWorkersUpToTheFactor) {
  EXPECT_EQ(remote({host(1e-3), worker(3.9e-3)}), Choice{1});
  EXPECT_EQ(remote({host(1e-3), worker(4.1e-3)}), Choice{0});
  EXPECT_EQ(remote({host(1e-3), worker(4.1e-3)}, 5), Choice{1});
  EXPECT_EQ(remote({host(1e-3), worker(0.9e-3)}, 0.5), Choice{0});
  EXPECT_EQ(remote({host(10e-3), device(1e-3), worker(3e-3)}), Choice{2})
      << "a local GPU needs power as well";
}

TEST(PreferRemote, SharesAmongWorkersAlone) {
  EXPECT_EQ(remote({host(10e-3), worker(30e-3), worker(30e-3)}), (Choice{1, 2}));
  EXPECT_EQ(remote({host(5e-3), worker(30e-3), worker(30e-3)}), (Choice{1, 2}))
      << "together they are quick enough";
  EXPECT_EQ(remote({host(10e-3), whole(worker(30e-3)), worker(20e-3)}), Choice{2});
}

TEST(PreferRemote, StaysWhereThereAreNoWorkers) {
  EXPECT_EQ(remote({}), Choice{});
  EXPECT_EQ(remote({host(1.0), whole(device(0.1))}), Choice{1});
  EXPECT_EQ(remote({host(1.0)}), Choice{0});
  EXPECT_NE(choose(*prefer_remote(4), {host(1.0)}).reason.find("no worker"), std::string::npos);
}

TEST(PreferRemote, GoesByTheKernelUntilThisMachineIsMeasured) {
  EXPECT_EQ(remote({host(0), unknown(worker(1.0))}), Choice{1}) << "nothing is known: the worker is tried";
  Place busy = worker(8e-3);
  busy.kernel_seconds = 4e-3;
  EXPECT_EQ(remote({host(0), busy}), Choice{1});
  busy.kernel_seconds = 1e-3;
  EXPECT_EQ(remote({host(0), busy}), Choice{0}) << "nearly all of it is transfers";
}

TEST(Policies, SayWhoTheyAreAndWhy) {
  EXPECT_EQ(fastest_completion()->name(), "fastest");
  EXPECT_EQ(prefer_remote(4)->name(), "remote");
  EXPECT_EQ(prefer_remote(2.5)->name(), "remote:2.5");
  const std::unique_ptr<PlacementPolicy> policies[] = {fastest_completion(), prefer_remote(4)};
  for (const auto& policy : policies) {
    for (const auto& places :
         {std::vector{host(1.0), worker(1.0)}, std::vector{host(0)}, std::vector{worker(1)},
          std::vector{host(1e-3), worker(1.0)}, std::vector{device(1), device(1)}}) {
      EXPECT_NE(choose(*policy, places).reason, "");
    }
  }
}

}  // namespace
}  // namespace dhpvm::offload
