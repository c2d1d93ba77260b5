// SPDX-License-Identifier: Apache-2.0
// A policy chooses where one execution of a loop runs: at one place, or at several that share it. Measurements give the
// time that each place would take (cost_model.h); the policy compares them, and explains its decision.
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

// A place where a loop could run.
struct Place {
  enum class Kind : std::uint8_t {
    kHost,       // this machine's cores
    kHostCores,  // the same cores behind a driver: slower, so used neither before the host nor beside it
    kDevice,     // another device of this machine
    kWorker,     // a device of another machine, which costs this one only the transfers
  };
  Kind kind = Kind::kHost;
  std::string name;
  // Seconds for the whole loop there, with transfers; and for computing alone.
  double seconds = 0;
  double kernel_seconds = 0;
  bool known = false;      // measured; guesses are low, so that places that were never tried are tried
  bool divisible = false;  // it could do a part of the loop
  // Seconds for the smallest part of the loop there: the costs that every part has, and the round trip.
  double least_seconds = 0;
};

struct PlacementChoice {
  // Indices of places; several share the loop. Empty if there was no place.
  std::vector<std::size_t> places;
  // "the host is expected to be quicker": without figures, which the places have.
  std::string reason;
};

// Thread-safe. Remembers no earlier decisions.
class PlacementPolicy {
 public:
  virtual ~PlacementPolicy() = default;
  // The name that `--policy` takes.
  virtual std::string name() const = 0;
  // `rows`: the iterations of the outermost dimension, along which a loop is divided. `longest_seconds`: about the most
  // that the host would take, whether it is among the places or not; infinity if unknown.
  virtual PlacementChoice choose(std::span<const Place> places, std::uint64_t rows,
                                 double longest_seconds) const = 0;
};

// Earliest completion: the place that is expected to end first, or all of them together if sharing pays.
std::unique_ptr<PlacementPolicy> fastest_completion();

// Workers whenever there are some, to spare this machine's battery, unless they are expected to take more than `factor`
// times as long as this machine. Without workers, or beyond that factor, fastest_completion() decides. Until this
// machine has run the loop, it is assumed to be as quick as a worker's kernel alone.
std::unique_ptr<PlacementPolicy> prefer_remote(double factor);
inline constexpr double kPreferRemoteFactor = 4;

}  // namespace dhpvm::offload
