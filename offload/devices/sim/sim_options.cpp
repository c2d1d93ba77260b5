// SPDX-License-Identifier: Apache-2.0
#include "offload/devices/sim/sim_options.h"

#include <charconv>
#include <cmath>
#include <span>

#include "base/error.h"
#include "offload/devices/device_options.h"

namespace dhpvm::offload {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr Unit kBytes[] = {{"B", 1},           {"KB", 1e3},           {"MB", 1e6},
                           {"GB", 1e9},        {"TB", 1e12},          {"KiB", 1024.0},
                           {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0}};
constexpr Unit kByteRates[] = {{"B/s", 1}, {"KB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}};
constexpr Unit kTimes[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
constexpr Unit kRates[] = {{"/s", 1}};
constexpr Unit kCounts[] = {{"", 1}};

// Beyond this, doubles are not exact to the unit any more.
constexpr double kLargest = 9007199254740992.0;

// A number with one of the units, in the unit of factor 1, between `least` and kLargest.
Result<double> parse(const DeviceOption& option, std::span<const Unit> units, double least,
                     std::string_view example) {
  double number = 0;
  const char* const end = option.value.data() + option.value.size();
  const auto [rest, problem] = std::from_chars(option.value.data(), end, number);
  if (problem == std::errc()) {
    for (const Unit& unit : units) {
      if (unit.name != std::string_view(rest, static_cast<std::size_t>(end - rest))) continue;
      const double value = number * unit.factor;
      if (value >= least && value <= kLargest) return value;
    }
  }
  std::string names;
  for (const Unit& unit : units) {
    if (!unit.name.empty()) names += fmt::format("{}{}", names.empty() ? ", in " : ", ", unit.name);
  }
  return error(ErrorCode::kInvalidArgument,
               "option '{}' of device 'sim' is '{}': give a number from {} up{}, such as {}={}", option.key,
               option.value, least, names, option.key, example);
}

Result<std::uint64_t> parse_count(const DeviceOption& option, std::uint64_t least, std::uint64_t most,
                                  std::string_view example) {
  DHPVM_ASSIGN(const double value, parse(option, kCounts, static_cast<double>(least), example));
  if (value != std::floor(value) || value > static_cast<double>(most))
    return error(ErrorCode::kInvalidArgument,
                 "option '{}' of device 'sim' is '{}': give a whole number from {} to {}", option.key,
                 option.value, least, most);
  return static_cast<std::uint64_t>(value);
}

Status apply(SimOptions& options, const DeviceOption& option) {
  constexpr std::uint64_t kMany = std::uint64_t{1} << 48;
  const std::string_view key = option.key;
  if (key == "h2d" || key == "d2h" || key == "d2d" || key == "pageable") {
    DHPVM_ASSIGN(const double rate, parse(option, kByteRates, 1, "12GB/s"));
    (key == "h2d"        ? options.upload_bytes
     : key == "d2h"      ? options.download_bytes
     : key == "pageable" ? options.pageable_bytes
                         : options.device_bytes) = rate;
  } else if (key == "launch" || key == "copy") {
    DHPVM_ASSIGN(const double time, parse(option, kTimes, 0, "5us"));
    (key == "launch" ? options.launch : options.copy) = std::chrono::nanoseconds(std::llround(time));
  } else if (key == "rate") {
    DHPVM_ASSIGN(options.iterations, parse(option, kRates, 1, "1e9/s"));
  } else if (key == "mem") {
    DHPVM_ASSIGN(const double bytes, parse(option, kBytes, 1, "256MB"));
    options.memory_bytes = static_cast<std::uint64_t>(bytes);
  } else if (key == "engines") {
    DHPVM_ASSIGN(const std::uint64_t engines, parse_count(option, 0, 2, "2"));
    options.copy_engines = static_cast<std::uint32_t>(engines);
  } else if (key == "units") {
    DHPVM_ASSIGN(const std::uint64_t units, parse_count(option, 1, 1 << 20, "16"));
    options.compute_units = static_cast<std::uint32_t>(units);
  } else if (key == "lazy") {
    DHPVM_ASSIGN(const std::uint64_t lazy, parse_count(option, 0, 1, "1"));
    options.keeps_results = lazy != 0;
  } else if (key == "lost") {
    DHPVM_ASSIGN(options.lost, parse_count(option, 0, kMany, "100"));
  } else if (key == "alloc_fail") {
    DHPVM_ASSIGN(options.alloc_fail, parse_count(option, 1, kMany, "3"));
  } else if (key == "load_fail") {
    DHPVM_ASSIGN(options.load_fail, parse_count(option, 1, kMany, "3"));
  } else {
    DHPVM_ASSIGN(options.fail_launch, parse_count(option, 1, kMany, "3"));
  }
  return {};
}

}  // namespace

Result<SimOptions> parse_sim_options(std::string_view name) {
  constexpr std::string_view kKeys[] = {"h2d",  "d2h",  "pageable",   "d2d",       "launch",
                                        "copy", "rate", "mem",        "engines",   "units",
                                        "lazy", "lost", "alloc_fail", "load_fail", "fail_launch"};
  DHPVM_ASSIGN(const std::vector<DeviceOption> given, parse_device_options(name, kKeys));
  SimOptions options;
  for (const DeviceOption& option : given) DHPVM_TRY(apply(options, option));
  return options;
}

std::string describe(const SimOptions& options) {
  const auto microseconds = [](std::chrono::nanoseconds time) {
    return static_cast<double>(time.count()) / 1e3;
  };
  return fmt::format(
      "simulated accelerator: upload {:g} GB/s, download {:g} GB/s, copy {:g} us, launch {:g} us, {}, {:g} "
      "MB",
      options.upload_bytes / 1e9, options.download_bytes / 1e9, microseconds(options.copy),
      microseconds(options.launch),
      options.iterations ? fmt::format("{:g} iterations/s", *options.iterations)
                         : "kernels at the host's speed",
      static_cast<double>(options.memory_bytes) / 1e6);
}

}  // namespace dhpvm::offload
