// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/link_model.h"

#include <algorithm>

namespace dhpvm::offload {
namespace {

// A measurement keeps this part of its weight with each later one: about the last fifty determine the model.
constexpr double kMemory = 0.98;

}  // namespace

void LinkModel::measured(double units, double seconds) {
  if (units <= 0 || seconds < 0) return;
  weight_ = weight_ * kMemory + 1;
  units_ = units_ * kMemory + units;
  seconds_ = seconds_ * kMemory + seconds;
  units_squared_ = units_squared_ * kMemory + units * units;
  products_ = products_ * kMemory + units * seconds;
  fit();
}

void LinkModel::fit() {
  const double mean = units_ / weight_;
  const double variance = units_squared_ / weight_ - mean * mean;
  const double covariance = products_ / weight_ - mean * seconds_ / weight_;
  // Sizes that hardly differ say nothing about the fixed part, which stays as it was, as far as the times allow.
  if (variance > 0.01 * mean * mean) {
    slope_ = std::max(covariance / variance, 0.0);
    fixed_ = std::max(seconds_ / weight_ - slope_ * mean, 0.0);
    if (fixed_ == 0) slope_ = seconds_ / units_;
  } else {
    fixed_ = std::min(fixed_, seconds_ / weight_);
    slope_ = (seconds_ / weight_ - fixed_) / mean;
  }
}

}  // namespace dhpvm::offload
