// SPDX-License-Identifier: Apache-2.0
#include "base/processors.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

namespace dhpvm {
namespace {

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Of a machine with more processors than the usual set has room for, too.
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

// "200000 100000" is two processors, "max 100000" any number of them.
std::optional<double> quotient(const std::string& quota, const std::string& period) {
  const double microseconds = std::strtod(quota.c_str(), nullptr);
  const double of = std::strtod(period.c_str(), nullptr);
  if (microseconds <= 0 || of <= 0) return std::nullopt;
  return microseconds / of;
}

std::optional<double> quota_of(const std::string& folder, bool is_unified) {
  if (!is_unified)
    return quotient(content(folder + "/cpu.cfs_quota_us"), content(folder + "/cpu.cfs_period_us"));
  const std::string both = content(folder + "/cpu.max");
  const std::size_t blank = both.find(' ');
  if (blank == both.npos) return std::nullopt;
  return quotient(both.substr(0, blank), both.substr(blank));
}

}  // namespace

std::optional<double> processor_quota(const std::string& root, std::string_view membership) {
  std::optional<double> least;
  // Lines are "number:controllers:/path", with neither number nor controllers but 0 in version 2.
  while (!membership.empty()) {
    const std::string line(membership.substr(0, membership.find('\n')));
    membership.remove_prefix(std::min(line.size() + 1, membership.size()));
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool is_unified = controllers == ",,";
    if (!is_unified && controllers.find(",cpu,") == controllers.npos) continue;
    const std::string mount = is_unified ? root : root + "/cpu";
    // A container may see its own group as the root, whatever it is called outside.
    std::string path = line.substr(second + 1);
    for (;;) {
      if (path == "/") path.clear();
      const std::optional<double> quota = quota_of(mount + path, is_unified);
      if (quota) least = std::min(least.value_or(*quota), *quota);
      if (path.empty()) break;
      path.resize(std::min(path.rfind('/'), path.size() - 1));
    }
  }
  return least;
}

unsigned usable_processors() {
  static const unsigned count = [] {
    const unsigned allowed = allowed_processors();
    const auto quota = processor_quota("/sys/fs/cgroup", content("/proc/self/cgroup"));
    if (!quota) return allowed;
    return std::clamp(static_cast<unsigned>(std::ceil(std::min(*quota, 65536.0))), 1u, allowed);
  }();
  return count;
}

}  // namespace dhpvm
