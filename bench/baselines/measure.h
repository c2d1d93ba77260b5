// SPDX-License-Identifier: Apache-2.0
// Shared code of the baselines: same as bench/programs/kernels/measure.dhp, with the same arguments and output, so that
// a program and its baseline can take turns and be compared. Compiled apart from the baselines: no optimiser sees
// through the clock, and so none moves work across it or leaves out a repetition.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace measure {

// The repetitions of a program's work, and the time that each takes:
//
//   Run run(argc, argv, 1000);
//   while (run.next()) { work(run.size()); run.done(); }
class Run {
 public:
  Run(int argc, char** argv, std::int64_t size);
  std::int64_t size() const;
  // Starts the clock for the next repetition, or says that there is none left.
  bool next();
  // Stops the clock. `value` is any element of the result: to pass it, the result must be there.
  void done(double value = 0.0);

 private:
  std::int64_t size_;
  std::int64_t left_ = 1;
  bool timed_ = false;
  bool paced_ = false;
  double value_ = 0.0;
  std::chrono::steady_clock::time_point start_;
};

// From 0 (included) to 1 (excluded): the same 24 bits for the same i everywhere, exact in float as well.
inline double noise(std::int64_t i) {
  std::uint64_t h = (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u;
  h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9u;
  return static_cast<double>(h >> 40) * 5.9604644775390625e-8;
}
inline float noise_f32(std::int64_t i) { return static_cast<float>(noise(i)); }
// noise(first), noise(first + 1) and so on, less a half.
std::vector<float> centred_noise(std::int64_t count, std::int64_t first = 0);

// Summarises a result as measure.dhp does: a hash of all bits, sums, and some of the numbers.
class Digest {
 public:
  explicit Digest(std::int64_t count) : count_(count) {}
  void add(std::uint64_t hashed, double x);
  void report() const;

 private:
  std::int64_t count_;
  std::int64_t seen_ = 0;
  std::uint64_t bits_ = 0xcbf29ce484222325u;
  double sum_ = 0.0;
  double magnitude_ = 0.0;
};

// `hash(x)` of the language: a float by its bits as a double, an integer by its value.
std::uint64_t hash(double x);

template <typename T>
void check(const std::vector<T>& values) {
  Digest digest(static_cast<std::int64_t>(values.size()));
  for (const T x : values) {
    if constexpr (std::is_floating_point_v<T>) {
      digest.add(hash(static_cast<double>(x)), static_cast<double>(x));
    } else {
      digest.add(static_cast<std::uint64_t>(x), static_cast<double>(x));
    }
  }
  digest.report();
}

}  // namespace measure
