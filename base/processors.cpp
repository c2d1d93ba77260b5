// SPDX-License-Identifier: Apache-2.0
#include "base/processors.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <thread>

namespace dhpvm {
namespace {

// Also on machines with more processors than cpu_set_t has room for.
unsigned allowed_processors() {
  for (int room = CPU_SETSIZE; room <= (1 << 16); room *= 2) {
    cpu_set_t* const set = CPU_ALLOC(room);
    if (set == nullptr) break;
    const bool known = ::sched_getaffinity(0, CPU_ALLOC_SIZE(room), set) == 0;
    const int count = known ? CPU_COUNT_S(CPU_ALLOC_SIZE(room), set) : 0;
    CPU_FREE(set);
    if (known) return static_cast<unsigned>(std::max(count, 1));
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

// A quota of 200000 us in a period of 100000 us is two processors; "max" and -1 mean that there is no quota.
std::optional<double> quotient(const std::string& quota, const std::string& period) {
  const double microseconds = std::strtod(quota.c_str(), nullptr);
  const double of = std::strtod(period.c_str(), nullptr);
  if (microseconds <= 0 || of <= 0) return std::nullopt;
  return microseconds / of;
}

std::optional<double> quota_of(const ControlGroups::Folder& folder) {
  const auto line = [&](const char* file) {
    return ControlGroups::first_line(folder.path / file).value_or(std::string());
  };
  if (folder.version == ControlGroups::Version::kOne)
    return quotient(line("cpu.cfs_quota_us"), line("cpu.cfs_period_us"));
  const std::string both = line("cpu.max");
  const std::size_t blank = both.find(' ');
  if (blank == both.npos) return std::nullopt;
  return quotient(both.substr(0, blank), both.substr(blank));
}

}  // namespace

std::optional<double> processor_quota(const ControlGroups& groups) {
  std::optional<double> least;
  for (const ControlGroups::Folder& folder : groups.folders("cpu")) {
    const std::optional<double> quota = quota_of(folder);
    if (quota) least = std::min(least.value_or(*quota), *quota);
  }
  return least;
}

unsigned usable_processors() {
  static const unsigned count = [] {
    const unsigned allowed = allowed_processors();
    const auto quota = processor_quota(ControlGroups());
    if (!quota) return allowed;
    return std::clamp(static_cast<unsigned>(std::ceil(std::min(*quota, 65536.0))), 1u, allowed);
  }();
  return count;
}

}  // namespace dhpvm
