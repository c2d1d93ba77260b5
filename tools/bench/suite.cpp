// SPDX-License-Identifier: Apache-2.0
#include "bench/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace dhpvm::tools {

const Measurement* Case::find(Mode mode) const {
  const auto found = std::ranges::find(measurements, mode, &Measurement::mode);
  return found == measurements.end() ? nullptr : &*found;
}

const Measurement* Case::best() const {
  const Measurement* best = nullptr;
  for (const Measurement& measurement : measurements) {
    if (measurement.mode != Mode::kPipelined) continue;
    if (best == nullptr || measurement.run.seconds < best->run.seconds) best = &measurement;
  }
  return best;
}

double Case::choice() const {
  const Measurement* const fixed = best();
  if (fixed == nullptr) return 1;
  return find(Mode::kAutomatic)->run.seconds / (best_in_turns > 0 ? best_in_turns : fixed->run.seconds);
}

bool Case::verified() const {
  return std::ranges::all_of(measurements, [](const Measurement& one) { return one.difference.empty(); });
}

Summary summary_of(const std::vector<Case>& cases) {
  Summary summary;
  double choices = 0;
  double pageable = 0;
  double pinned = 0;
  for (const Case& one : cases) {
    const Measurement& automatic = *one.find(Mode::kAutomatic);
    const double choice = one.choice();
    const double gain = one.find(Mode::kSerialPageable)->run.seconds / automatic.run.seconds;
    summary.worst_choice = std::max(summary.worst_choice, choice);
    summary.best_over_pageable = std::max(summary.best_over_pageable, gain);
    choices += std::log(choice);
    pageable += std::log(gain);
    pinned += std::log(one.find(Mode::kSerialPinned)->run.seconds / automatic.run.seconds);
    summary.wrong += one.verified() ? 0 : 1;
    for (const Measurement& measurement : one.measurements) {
      summary.registrations += measurement.run.registrations;
    }
  }
  summary.cases = cases.size();
  const auto count = static_cast<double>(std::max<std::size_t>(cases.size(), 1));
  summary.mean_choice = std::exp(choices / count);
  summary.mean_over_pageable = std::exp(pageable / count);
  summary.mean_over_pinned = std::exp(pinned / count);
  return summary;
}

Result<Case> measure_case(const Engine& engine, const Plan& plan, const Kernel& kernel, double size,
                          const std::function<void(const std::string&)>& progress) {
  Case one;
  one.kernel = &kernel;
  one.size = size;
  one.bytes = static_cast<std::uint64_t>(size * static_cast<double>(plan.settings.budget));
  DHPVM_ASSIGN(Workload workload, Workload::create(engine, kernel, one.bytes, plan.settings));
  const auto tell = [&](std::string_view what) {
    progress(fmt::format("{} x {:g}: {}", kernel.name, size, what));
  };
  tell("on the host, for comparison");
  DHPVM_TRY(workload.run_on_host());
  one.host_seconds = workload.host_seconds();
  const auto add = [&](Mode mode, std::uint64_t chunks) -> Status {
    tell(chunks == 0 ? std::string(name_of(mode)) : fmt::format("{} in {} chunks", name_of(mode), chunks));
    DHPVM_ASSIGN(Measurement measurement, workload.measure(mode, chunks));
    // The device's memory may have required more chunks than requested: as many as were measured already.
    const bool known = std::ranges::any_of(one.measurements, [&](const Measurement& other) {
      return mode == Mode::kPipelined && other.mode == mode && other.run.chunks == measurement.run.chunks;
    });
    if (!known) one.measurements.push_back(std::move(measurement));
    return {};
  };
  DHPVM_TRY(add(Mode::kSerialPageable, 0));
  DHPVM_TRY(add(Mode::kSerialPinned, 0));
  for (const std::uint64_t chunks : plan.chunks) DHPVM_TRY(add(Mode::kPipelined, chunks));
  const Measurement* const best = one.best();
  if (best == nullptr || best->device.is_simulated) {
    DHPVM_TRY(add(Mode::kAutomatic, 0));
    return one;
  }
  tell("automatic, in turns with the best");
  DHPVM_ASSIGN(auto turns, workload.measure_in_turns(best->chunks_wanted));
  one.best_in_turns = turns.first.run.seconds;
  one.measurements.push_back(std::move(turns.second));
  return one;
}

}  // namespace dhpvm::tools
