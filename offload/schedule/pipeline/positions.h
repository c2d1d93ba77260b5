// SPDX-License-Identifier: Apache-2.0
// Positions on the timelines of a device: one timeline for each stage of the pipeline.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace dhpvm::offload {

// The stages of the pipeline, a queue each.
enum class Stage : std::uint8_t { kUpload, kLaunch, kDownload };
inline constexpr unsigned kStages = 3;

// For each queue, the operation that it must have reached: the operations of a stage are numbered from 1.
struct Positions {
  std::array<std::uint64_t, kStages> at = {};

  std::uint64_t& operator[](Stage stage) { return at[static_cast<unsigned>(stage)]; }
  std::uint64_t operator[](Stage stage) const { return at[static_cast<unsigned>(stage)]; }
  // From now on, reaching these positions means that `other` has been reached, too.
  void include(const Positions& other) {
    for (unsigned stage = 0; stage < kStages; ++stage) at[stage] = std::max(at[stage], other.at[stage]);
  }
  void include(Stage stage, std::uint64_t position) {
    std::uint64_t& mine = (*this)[stage];
    mine = std::max(mine, position);
  }
  bool operator==(const Positions&) const = default;
};

// The fate of the operations up to some positions.
enum class Fate : std::uint8_t { kUnderWay, kDone, kFailed };

// Reports the outcome of operations. An outcome changes only from kUnderWay to one of the others.
class Timelines {
 public:
  virtual ~Timelines() = default;
  virtual Fate fate_of(const Positions& positions) = 0;
};

}  // namespace dhpvm::offload
