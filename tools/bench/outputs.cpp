// SPDX-License-Identifier: Apache-2.0
#include "bench/outputs.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace dhpvm::tools {
namespace {

// Calls visit(elements) with the elements of an array as a span of their type.
template <typename Visitor>
Status with_elements(const Object& array, Visitor&& visit) {
  const std::string type = array.type_name();
  const std::string_view element =
      std::string_view(type).substr(1, type.find_first_of(",]") - 1);  // "[f32, 2]"
  const auto take = [&]<typename T>(T) -> Status {
    Result<std::span<const T>> elements = array.elements<const T>();
    if (!elements.ok()) return std::move(elements).error();
    visit(*elements);
    return {};
  };
  if (element == "f32") return take(float{});
  if (element == "f64") return take(double{});
  if (element == "i32") return take(std::int32_t{});
  if (element == "i64") return take(std::int64_t{});
  return Error(ErrorCode::kUnsupported, "results of type " + type + " cannot be compared");
}

// Calls visit(array) with each of the results.
template <typename Visitor>
Status for_each_output(const Isolate& isolate, const Object& work, Visitor&& visit) {
  for (int n = 0;; ++n) {
    const auto function = isolate.function<Object(Object)>(fmt::format("output{}", n));
    if (!function.ok()) {
      if (n > 0 && function.error().code() == ErrorCode::kNotFound) return {};
      return function.error();
    }
    Result<Object> array = (*function)(work);
    if (!array.ok()) return std::move(array).error();
    if (Status status = visit(*array); !status.ok()) return status;
  }
}

template <typename T>
std::string compare(std::span<const T> actual, const Output& expected, double tolerance) {
  if (actual.size_bytes() != expected.bytes.size()) {
    return fmt::format("{} elements instead of {}", actual.size(), expected.bytes.size() / sizeof(T));
  }
  if (std::memcmp(actual.data(), expected.bytes.data(), expected.bytes.size()) == 0) return {};
  const auto* const wanted = reinterpret_cast<const T*>(expected.bytes.data());
  double magnitude = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) magnitude += std::abs(static_cast<double>(wanted[i]));
  magnitude /= static_cast<double>(actual.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double distance = std::abs(static_cast<double>(actual[i]) - static_cast<double>(wanted[i]));
    const bool same = tolerance == 0 ? std::memcmp(&actual[i], &wanted[i], sizeof(T)) == 0
                                     : distance <= tolerance * magnitude;
    if (!same) return fmt::format("element {} is {} instead of {}", i, actual[i], wanted[i]);
  }
  return {};
}

}  // namespace

Result<std::vector<Output>> outputs_of(const Isolate& isolate, const Object& work) {
  std::vector<Output> outputs;
  Status status = for_each_output(isolate, work, [&](const Object& array) {
    return with_elements(array, [&](auto elements) {
      const auto bytes = std::as_bytes(elements);
      outputs.push_back({array.type_name(), {bytes.begin(), bytes.end()}});
    });
  });
  if (!status.ok()) return std::move(status).error();
  return outputs;
}

Result<std::string> difference(const Isolate& isolate, const Object& work, std::span<const Output> expected,
                               double tolerance) {
  std::string found;
  std::size_t n = 0;
  Status status = for_each_output(isolate, work, [&](const Object& array) {
    return with_elements(array, [&](auto elements) {
      if (found.empty()) found = compare(elements, expected[n], tolerance);
      ++n;
    });
  });
  if (!status.ok()) return std::move(status).error();
  return found;
}

}  // namespace dhpvm::tools
