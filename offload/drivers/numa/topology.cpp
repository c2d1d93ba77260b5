// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/numa/topology.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

namespace dhpvm::offload {
namespace {

// More than any machine has, so that a wrong list cannot fill the memory.
constexpr unsigned kMostProcessors = 1U << 16;

// A set of processors that has room for all possible ones.
class ProcessorSet {
 public:
  ProcessorSet() : set_(CPU_ALLOC(kMostProcessors), [](cpu_set_t* set) { CPU_FREE(set); }) {
    if (set_ != nullptr) CPU_ZERO_S(bytes(), set_.get());
  }
  static std::size_t bytes() { return CPU_ALLOC_SIZE(kMostProcessors); }
  cpu_set_t* get() { return set_.get(); }

 private:
  std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set_;
};

std::string first_line(const std::filesystem::path& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

// "Node 0 MemTotal:       32610712 kB"
std::uint64_t memory_of(const std::filesystem::path& meminfo) {
  std::ifstream file(meminfo);
  for (std::string word; file >> word;) {
    std::uint64_t kilobytes = 0;
    if (word == "MemTotal:" && file >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

std::optional<unsigned> parse_number(std::string_view& text) {
  unsigned number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || number >= kMostProcessors) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace

std::vector<unsigned> parse_cpu_list(std::string_view text) {
  std::vector<unsigned> numbers;
  while (const std::optional<unsigned> first = parse_number(text)) {
    std::optional<unsigned> last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      last = parse_number(text);
      if (!last) break;
    }
    for (unsigned number = *first; number <= *last; ++number) numbers.push_back(number);
    if (!text.starts_with(',')) break;
    text.remove_prefix(1);
  }
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
  return numbers;
}

std::vector<NumaNode> numa_nodes(const std::vector<unsigned>& allowed, const std::filesystem::path& root) {
  const std::filesystem::path folder = root / "sys/devices/system/node";
  std::vector<NumaNode> nodes;
  for (const unsigned number : parse_cpu_list(first_line(folder / "online"))) {
    const std::filesystem::path its_folder = folder / ("node" + std::to_string(number));
    NumaNode node;
    node.number = number;
    node.memory_bytes = memory_of(its_folder / "meminfo");
    std::ranges::set_intersection(parse_cpu_list(first_line(its_folder / "cpulist")), allowed,
                                  std::back_inserter(node.processors));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::vector<unsigned> allowed_processors() {
  std::vector<unsigned> allowed;
  ProcessorSet set;
  if (set.get() == nullptr || ::sched_getaffinity(0, ProcessorSet::bytes(), set.get()) != 0) return allowed;
  for (unsigned number = 0; number < kMostProcessors; ++number) {
    if (CPU_ISSET_S(number, ProcessorSet::bytes(), set.get())) allowed.push_back(number);
  }
  return allowed;
}

void run_on(const std::vector<unsigned>& processors) {
  ProcessorSet set;
  if (set.get() == nullptr) return;
  for (const unsigned number : processors) CPU_SET_S(number, ProcessorSet::bytes(), set.get());
  (void)::sched_setaffinity(0, ProcessorSet::bytes(), set.get());
}

void place_on(unsigned node, void* memory, std::size_t bytes) {
  // From linux/mempolicy.h, whose functions are in a separate library. With this policy, a full node takes memory from
  // its neighbour, which is slower; a strict policy would end the process.
  constexpr int kPreferred = 1;
  constexpr std::size_t kBits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask(node / kBits + 1);
  mask[node / kBits] = 1UL << (node % kBits);
  // The kernel expects the number of bits plus one.
  (void)::syscall(SYS_mbind, memory, bytes, kPreferred, mask.data(), mask.size() * kBits + 1, 0UL);
}

}  // namespace dhpvm::offload
