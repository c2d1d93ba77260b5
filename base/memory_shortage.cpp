// SPDX-License-Identifier: Apache-2.0
#include "base/memory_shortage.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>

namespace dhpvm {
namespace {

std::uint64_t mappings() {
  std::ifstream file("/proc/self/maps");
  return static_cast<std::uint64_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
}

std::uint64_t first_number(const char* path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  file >> number;
  return number;
}

}  // namespace

std::string memory_shortage() {
  const std::uint64_t used = mappings();
  const std::uint64_t allowed = first_number("/proc/sys/vm/max_map_count");
  // A request needs several mappings, so it is refused before the last one is used.
  constexpr std::uint64_t kNear = 64;
  if (allowed != 0 && used + kNear >= allowed)
    return fmt::format(
        "this process has {} memory mappings, and the system allows {}: have fewer isolates at a time, or "
        "raise the "
        "number (sysctl vm.max_map_count)",
        used, allowed);
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    return fmt::format("this process may have {} MiB of address space: raise that (ulimit -v)",
                       limit.rlim_cur >> 20);
  return "the machine has none left: end other programs, or use less";
}

}  // namespace dhpvm
