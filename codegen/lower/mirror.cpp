// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/mirror.h"

#include <algorithm>
#include <set>
#include <utility>

namespace dhpvm::codegen {

using bytecode::kNoIndex;

Mirror::Mirror(const bytecode::Module& module, const bytecode::Function& function, const Flow& flow) {
  std::vector<std::pair<std::uint32_t, std::vector<std::uint32_t>>>
      sites;  // by word offset: the registers needed
  std::vector<std::uint32_t> uses(function.reference_registers, 0);
  for (std::uint32_t number = 0; number < flow.blocks().size(); ++number) {
    const Block& block = flow.blocks()[number];
    for (std::uint32_t pc = block.begin; pc < block.end;) {
      const Instruction i = decode(module, function, pc);
      if (i.has(bytecode::kCollects)) {
        sites.emplace_back(pc, flow.live_after(number, pc));
        for (const std::uint32_t reg : sites.back().second) ++uses[reg];
      }
      pc = i.next();
    }
  }
  // Greedy colouring, the registers needed most often first: they get the lowest places, and few sites have
  // gaps.
  std::vector<std::uint32_t> order;
  for (std::uint32_t reg = 0; reg < uses.size(); ++reg) {
    if (uses[reg] != 0) order.push_back(reg);
  }
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::uint32_t reg) { return uses[reg]; });
  std::vector<std::uint32_t> place(function.reference_registers, kNoIndex);
  for (const std::uint32_t reg : order) {
    std::set<std::uint32_t> taken;
    for (const auto& [pc, registers] : sites) {
      if (std::ranges::find(registers, reg) == registers.end()) continue;
      for (const std::uint32_t other : registers) {
        if (place[other] != kNoIndex) taken.insert(place[other]);
      }
    }
    std::uint32_t free = 0;
    while (taken.contains(free)) ++free;
    place[reg] = free;
  }
  for (const auto& [pc, registers] : sites) {
    MirrorMap& map = maps_[pc];
    for (const std::uint32_t reg : registers) {
      if (map.size() <= place[reg]) map.resize(place[reg] + 1, kNoIndex);
      map[place[reg]] = reg;
    }
  }
}

}  // namespace dhpvm::codegen
