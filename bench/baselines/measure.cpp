// SPDX-License-Identifier: Apache-2.0
#include "measure.h"

#ifdef _OPENMP
#include <omp.h>
#endif

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

namespace measure {
namespace {

[[noreturn]] void fail(const std::string& problem) {
  std::fprintf(stderr, "%s\narguments: [SIZE [REPETITIONS [paced]]]\n", problem.c_str());
  std::exit(2);
}

std::int64_t whole(const char* text, const char* name) {
  char* end = nullptr;
  const long long value = std::strtoll(text, &end, 10);
  if (*text == '\0' || *end != '\0' || value < 1) {
    fail(std::string(name) + " must be a positive whole number, not '" + text + "'");
  }
  return value;
}

}  // namespace

std::vector<float> centred_noise(std::int64_t count, std::int64_t first) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(noise(first + i) - 0.5);
  return values;
}

Run::Run(int argc, char** argv, std::int64_t size) : size_(argc > 1 ? whole(argv[1], "SIZE") : size) {
  if (argc > 2) {
    timed_ = true;
    left_ = whole(argv[2], "REPETITIONS");
  }
  paced_ = argc == 4 && std::strcmp(argv[3], "paced") == 0;
  if (argc > 4 || (argc == 4 && !paced_)) fail("only `paced` may follow SIZE and REPETITIONS");
#ifdef _OPENMP
  if (timed_) std::printf("threads %d\n", omp_get_max_threads());
#endif
}

std::int64_t Run::size() const { return size_; }

bool Run::next() {
  std::string line;
  if (left_ == 0 || (paced_ && !std::getline(std::cin, line))) return false;
  --left_;
  start_ = std::chrono::steady_clock::now();
  return true;
}

void Run::done(double value) {
  value_ = value;
  const auto time = std::chrono::steady_clock::now() - start_;
  if (!timed_) return;
  std::printf("time_ns %" PRId64 "\n",
              static_cast<std::int64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count()));
  std::fflush(stdout);
}

void Digest::add(std::uint64_t hashed, double x) {
  bits_ = (bits_ ^ hashed) * 0x9e3779b97f4a7c15u;
  bits_ ^= bits_ >> 32;
  sum_ += x;
  magnitude_ += std::fabs(x);
  // Sixteen of them, as far apart as they can be.
  if (seen_ * 16 / count_ != (seen_ - 1) * 16 / count_ || seen_ == 0) std::printf("sample %.17g\n", x);
  ++seen_;
}

void Digest::report() const {
  std::printf("count %" PRId64 "\nbits %016" PRIx64 "\nsum %.17g\nmagnitude %.17g\n", count_, bits_, sum_,
              magnitude_);
}

std::uint64_t hash(double x) {
  x += 0.0;  // -0.0 becomes 0.0
  std::uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

}  // namespace measure
