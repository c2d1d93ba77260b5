// SPDX-License-Identifier: Apache-2.0
// A model for the duration of an operation by its size: a fixed part and a rate, fitted to the measured operations.
#pragma once

#include <cstdint>

namespace dhpvm::offload {

// A least-squares line through the measurements; older ones count less and less.
class LinkModel {
 public:
  // The model before the first measurement.
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
