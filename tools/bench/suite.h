// SPDX-License-Identifier: Apache-2.0
// Measures each kernel in all modes, with each size of its arrays.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/measure.h"

namespace dhpvm::tools {

struct Plan {
  std::vector<const Kernel*> kernels;
  std::vector<double> sizes;          // of the arrays, in budgets
  std::vector<std::uint64_t> chunks;  // numbers of chunks to try
  Settings settings;
};

// A kernel with arrays of one size.
struct Case {
  const Kernel* kernel = nullptr;
  double size = 0;
  std::uint64_t bytes = 0;
  double host_seconds = 0;
  std::vector<Measurement> measurements;  // in the order of Mode; kPipelined with ascending numbers of chunks
  // The best of the sweep, measured again in turns with the automatic choice; 0 on a simulated device, whose clock
  // nothing disturbs.
  double best_in_turns = 0;

  const Measurement* find(Mode mode) const;
  // The quickest measurement with a fixed number of chunks; null if there is none.
  const Measurement* best() const;
  // The time of the automatic choice, relative to the best.
  double choice() const;
  bool verified() const;
};

// Summary of all cases, worst and mean.
struct Summary {
  std::size_t cases = 0;
  std::size_t wrong = 0;            // cases whose results differed
  double worst_choice = 0;          // the time of the automatic size, relative to the best of the sweep
  double mean_choice = 0;           // geometric
  double best_over_pageable = 0;    // how many times quicker than serial pageable
  double mean_over_pageable = 0;    // geometric
  double mean_over_pinned = 0;      // geometric
  std::uint64_t registrations = 0;  // in runs after the warm-up
};
Summary summary_of(const std::vector<Case>& cases);

// Measures one case.
Result<Case> measure_case(const Engine& engine, const Plan& plan, const Kernel& kernel, double size,
                          const std::function<void(const std::string&)>& progress);

}  // namespace dhpvm::tools
