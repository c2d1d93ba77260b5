// SPDX-License-Identifier: Apache-2.0
// The time that the iterations of one parallel loop take: measured in the interpreter, estimated from that, and
// measured in compiled code.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "codegen/codegen.h"
#include "offload/devices/host/host_loop.h"

namespace dhpvm::vm {

class LoopTiming {
 public:
  // In seconds of compiled code: an iteration this long is worth waking a thread for.
  static constexpr double kLongIteration = 20e-6;

  // The loop is about to run `count` iterations.
  void add_iterations(std::uint64_t count) { iterations_ += count; }
  std::uint64_t iterations() const { return iterations_; }
  // Part of it has been interpreted.
  void add_interpreted(std::chrono::nanoseconds time, std::uint64_t count) {
    interpreted_ += time;
    interpreted_iterations_ += count;
  }

  // The time of an iteration in the interpreter, on average; 0 while too few were interpreted to tell.
  std::chrono::nanoseconds interpreted_on_average() const {
    constexpr std::uint64_t kEnough = 16;
    if (interpreted_iterations_ < kEnough) return std::chrono::nanoseconds(0);
    return interpreted_ / static_cast<std::int64_t>(interpreted_iterations_);
  }

  // A part of an execution took `time` in baseline code.
  void add_baseline(std::chrono::nanoseconds time) { baseline_ += time; }

  // Whether a kernel would be worth its compilation by now.
  bool is_worth_compiling() const { return iterations_ >= kWorthCompiling || interpreted_ >= kLongEnough; }
  // Whether optimised code would be worth its compilation by now.
  bool is_worth_optimising() const { return baseline_ >= kWorthOptimising; }
  // Seconds that an iteration takes compiled: measured, or guessed while it has not run so; 0: not known.
  double expected() const {
    return profile_.seconds_per_iteration > 0 ? profile_.seconds_per_iteration : guess();
  }
  // The measured time only; 0: not measured.
  double measured() const { return profile_.seconds_per_iteration; }
  // Whether there have been enough measurements, so that no execution has to run here only to be measured.
  bool is_measured() const { return profile_.measurements >= offload::LoopProfile::kFirst; }
  // Whether an execution of `seconds` has been measured well enough to leave the host for good: a short execution may
  // have waited for a processor longer than it ran.
  bool is_known(double seconds) const {
    constexpr double kTooLongToRepeat = 20e-3;
    return is_measured() || (profile_.measurements > 0 && seconds >= kTooLongToRepeat);
  }
  // The profile that plans the chunks of an execution in code of that tier, and stores its measurements.
  offload::LoopProfile& profile(codegen::KernelTier tier) {
    if (tier == codegen::KernelTier::kBaseline) return baseline_profile_;
    if (profile_.seconds_per_iteration == 0) profile_.seconds_per_iteration = guess();
    return profile_;
  }

 private:
  // A loop is worth compiling after so many iterations in all, or after so much time in the interpreter.
  static constexpr std::uint64_t kWorthCompiling = 512;
  static constexpr std::chrono::microseconds kLongEnough{50};
  // Optimised code is worth compiling after so much time in baseline code. It is several times as fast, and takes 20 to
  // 80 ms to compile. A long loop loses less than this time; a short one saves the compilation.
  static constexpr std::chrono::milliseconds kWorthOptimising{2};

  // Iterations that take long in the interpreter take long in any case, so that no time need be spent on
  // trying how long; the same holds for baseline code. 0 where they are short.
  double guess() const {
    constexpr double kMostGained = 64;
    constexpr double kMostGainedByBaseline = 16;
    double guess = baseline_profile_.seconds_per_iteration / kMostGainedByBaseline;
    if (interpreted_iterations_ != 0) {
      const double seconds = std::chrono::duration<double>(interpreted_).count();
      guess = std::max(guess, seconds / static_cast<double>(interpreted_iterations_) / kMostGained);
    }
    return guess > kLongIteration ? guess : 0;
  }

  std::uint64_t iterations_ = 0;
  std::chrono::nanoseconds interpreted_{0};
  std::uint64_t interpreted_iterations_ = 0;
  std::chrono::nanoseconds baseline_{0};
  offload::LoopProfile profile_;           // of optimised code
  offload::LoopProfile baseline_profile_;  // of baseline code
};

}  // namespace dhpvm::vm
