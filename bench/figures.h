// SPDX-License-Identifier: Apache-2.0
// The common part of benchmarks: they end at the first error, and their figures are medians.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>
#include <vector>

#include "dhpvm/result.h"

namespace dhpvm {

// Ends the process, with everything that still runs in it, unless all is well.
inline void insist(const Status& status) {
  if (status.ok()) return;
  std::fflush(stdout);
  fmt::print(stderr, "{}\n", status.error().to_string());
  std::_Exit(1);
}
template <typename T>
T insist(Result<T> result) {
  if (!result.ok()) insist(Status(std::move(result).error()));
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

inline double microseconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace dhpvm
