// SPDX-License-Identifier: Apache-2.0
// A policy chooses where one execution of a loop runs: at one of the places that could run it, or at several that share
// it. Measurements give the time that each place would take (cost_model.h); the policy weighs it, and explains its
// decision.
//
// Another policy is another class here, and a value of dhpvm::Policy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dhpvm/result.h"

namespace dhpvm::offload {

// Somewhere a loop could run.
struct Place {
  enum class Kind : std::uint8_t {
    kHost,  // this machine's cores
    kHostCores,  // the same cores, by a driver: slower, so that it neither takes a loop from the host nor shares one
    kDevice,  // another device of this machine
    kWorker,  // a device of another machine, which costs this one the transfers alone
  };
  Kind kind = Kind::kHost;
  std::string name;
  // Seconds for the whole loop there, transfers included; and for computing alone.
  double seconds = 0;
  double kernel_seconds = 0;
  bool known = false;      // measured, not guessed: guesses are low, so that what was never tried is tried
  bool divisible = false;  // could do a part of the loop
  // Seconds for the smallest part of the loop there: what every part needs, and its round trip.
  double least_seconds = 0;
};

struct PlacementChoice {
  // By index; several share the loop. None if there was no place.
  std::vector<std::size_t> places;
  // "the host is expected to be quicker": without figures, which are those of the places.
  std::string reason;
};

// Thread-safe, and without memory of what it has decided before.
class PlacementPolicy {
 public:
  virtual ~PlacementPolicy() = default;
  // As `--policy` takes it.
  virtual std::string name() const = 0;
  // `rows` are the iterations of the outermost dimension, by which a loop is divided. The host, whether it is one of
  // the places or not, would take at most about `longest_seconds`; infinity: nobody can tell.
  virtual PlacementChoice choose(std::span<const Place> places, std::uint64_t rows,
                                 double longest_seconds) const = 0;
};

// Earliest completion: the place that is expected to be done first, or all of them together where sharing pays.
std::unique_ptr<PlacementPolicy> fastest_completion();

// Workers whenever there are some, so that this machine's battery is spared: unless they are expected to take
// more than `factor` times as long as this machine would, or there are none; then as fastest_completion()
// decides. Until this machine has run the loop, it is assumed to be as quick as a worker's kernel alone.
std::unique_ptr<PlacementPolicy> prefer_remote(double factor);
inline constexpr double kPreferRemoteFactor = 4;

}  // namespace dhpvm::offload
