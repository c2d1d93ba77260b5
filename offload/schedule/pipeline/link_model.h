// SPDX-License-Identifier: Apache-2.0
// The duration of an operation as a function of its size: a fixed part and a rate, learned from the operations that
// were measured.
#pragma once

#include <cstdint>

namespace dhpvm::offload {

// A line through what was measured, by least squares; older measurements count less and less.
class LinkModel {
 public:
  // Assumed until something has been measured.
  LinkModel(double seconds_per_operation, double seconds_per_unit)
      : fixed_(seconds_per_operation), slope_(seconds_per_unit) {}

  // `units` bytes or iterations took `seconds`.
  void measured(double units, double seconds);

  double seconds(double units) const { return fixed_ + slope_ * units; }
  double fixed() const { return fixed_; }
  double per_unit() const { return slope_; }
  bool known() const { return weight_ > 0; }

 private:
  void fit();

  double fixed_;
  double slope_;
  // Sums over the measurements, each with its weight.
  double weight_ = 0;
  double units_ = 0;
  double seconds_ = 0;
  double units_squared_ = 0;
  double products_ = 0;
};

}  // namespace dhpvm::offload
