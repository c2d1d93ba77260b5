// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/mirror.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace dhpvm::codegen {

using bytecode::Family;
using bytecode::kNoIndex;

namespace {

// Allocations that need more references than this store them before they look for room, so that each is stored once;
// separate slow paths for 250 allocations of surviving objects would have 30,000 stores.
constexpr std::size_t kFewReferences = 16;
// Above this number of pairs of a block and a slot, every site stores all references: limits the analysis to 64 MiB.
constexpr std::size_t kMaximumPairs = std::size_t{1} << 24;

// The content of each slot: a register's current value, null (kNoIndex), or unknown.
using Contents = std::vector<std::uint32_t>;
constexpr std::uint32_t kUnknown = kNoIndex - 1;

// The required slots at one instruction: for each slot the register, or kNoIndex for a slot that is null because a
// higher one is used.
using Wanted = std::vector<std::uint32_t>;

class MirrorSearch {
 public:
  MirrorSearch(const bytecode::Module& module, const bytecode::Function& function, const Flow& flow)
      : module_(module), function_(function), flow_(flow) {}

  void find_sites();
  void find_contents(Mirror::Entry entry);
  std::map<std::uint32_t, MirrorSite> take_sites();

 private:
  struct Site {
    Wanted wanted;
    MirrorSite mirror;
  };

  template <typename Visit>
  void for_each_instruction(std::uint32_t block, Visit&& visit) const {
    for (std::uint32_t pc = flow_.blocks()[block].begin; pc < flow_.blocks()[block].end;) {
      const Instruction i = decode(module_, function_, pc);
      visit(i);
      pc = i.next();
    }
  }
  void add_site(std::uint32_t block, const Instruction& i, const ReferenceFacts::Facts& known,
                std::vector<std::vector<std::uint32_t>>& sites_of);
  void choose_places(const std::vector<std::vector<std::uint32_t>>& sites_of);
  void step(const Instruction& i, Contents& contents) const;
  // Merges `contents` into those at the block's entry: slots that differ become unknown. Returns whether these changed.
  bool flow_to(std::uint32_t block, const Contents& contents);

  const bytecode::Module& module_;
  const bytecode::Function& function_;
  const Flow& flow_;
  std::map<std::uint32_t, Site> sites_;
  std::vector<std::uint32_t> place_;               // by register
  std::size_t places_ = 0;                         // in use anywhere
  std::vector<std::optional<Contents>> on_entry_;  // by block; empty while unreachable
};

void MirrorSearch::find_sites() {
  std::vector<std::vector<std::uint32_t>> sites_of(function_.reference_registers);  // by register: words
  for (std::uint32_t number = 0; number < flow_.blocks().size(); ++number) {
    ReferenceFacts::Facts known = flow_.facts().on_entry(number);
    for_each_instruction(number, [&](const Instruction& i) {
      if (i.has(bytecode::kCollects)) add_site(number, i, known, sites_of);
      flow_.facts().step(i, known);
    });
  }
  choose_places(sites_of);
}

// A reference that is known to be null, such as the error of a successful result, is no root.
void MirrorSearch::add_site(std::uint32_t block, const Instruction& i, const ReferenceFacts::Facts& known,
                            std::vector<std::vector<std::uint32_t>>& sites_of) {
  std::vector<std::uint32_t> needed = flow_.live_after(block, i.pc);
  if (!known.empty())
    std::erase_if(needed, [&](std::uint32_t reg) { return known[reg] == ReferenceFact::kNull; });
  for (const std::uint32_t reg : needed) sites_of[reg].push_back(i.pc);
  // Allocations usually find room, and short loops run in place.
  const bool seldom_calls = i.row->family == Family::kNew || i.row->family == Family::kNewArray ||
                            i.row->family == Family::kParallelFor;
  sites_[i.pc].mirror.when = seldom_calls && needed.size() <= kFewReferences ? MirrorSite::When::kInSlowPath
                                                                             : MirrorSite::When::kAlways;
}

// Greedy colouring, the most frequently live registers first: they get the lowest slots, and few sites have gaps.
void MirrorSearch::choose_places(const std::vector<std::vector<std::uint32_t>>& sites_of) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t reg = 0; reg < sites_of.size(); ++reg) {
    if (!sites_of[reg].empty()) order.push_back(reg);
  }
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::uint32_t reg) { return sites_of[reg].size(); });
  place_.assign(sites_of.size(), kNoIndex);
  for (const std::uint32_t reg : order) {
    std::vector<bool> taken;
    for (const std::uint32_t pc : sites_of[reg]) {
      const Wanted& wanted = sites_[pc].wanted;
      if (taken.size() < wanted.size()) taken.resize(wanted.size());
      for (std::size_t place = 0; place < wanted.size(); ++place) {
        if (wanted[place] != kNoIndex) taken[place] = true;
      }
    }
    const auto free = static_cast<std::size_t>(std::ranges::find(taken, false) - taken.begin());
    place_[reg] = static_cast<std::uint32_t>(free);
    places_ = std::max(places_, free + 1);
    for (const std::uint32_t pc : sites_of[reg]) {
      Wanted& wanted = sites_[pc].wanted;
      if (wanted.size() <= free) wanted.resize(free + 1, kNoIndex);
      wanted[free] = reg;
    }
  }
}

void MirrorSearch::step(const Instruction& i, Contents& contents) const {
  if (i.has(bytecode::kCollects)) {
    const Site& site = sites_.at(i.pc);
    for (std::size_t place = 0; place < contents.size(); ++place) {
      // A callee may use the slots above those in use.
      const std::uint32_t stored = place < site.wanted.size() ? site.wanted[place] : kUnknown;
      if (contents[place] == stored) continue;
      contents[place] = site.mirror.when == MirrorSite::When::kAlways ? stored : kUnknown;
    }
  }
  for_each_reference_write(module_, i, [&](std::uint32_t reg) {
    const std::uint32_t place = place_[reg];
    if (place != kNoIndex && contents[place] == reg) contents[place] = kUnknown;
  });
}

bool MirrorSearch::flow_to(std::uint32_t block, const Contents& contents) {
  std::optional<Contents>& entry = on_entry_[block];
  if (!entry) {
    entry = contents;
    return true;
  }
  bool changed = false;
  for (std::size_t place = 0; place < contents.size(); ++place) {
    if ((*entry)[place] == contents[place] || (*entry)[place] == kUnknown) continue;
    (*entry)[place] = kUnknown;
    changed = true;
  }
  return changed;
}

void MirrorSearch::find_contents(Mirror::Entry entry) {
  const std::vector<Block>& blocks = flow_.blocks();
  on_entry_.resize(blocks.size());
  const Contents nothing(places_, kUnknown);
  if (blocks.size() * places_ > kMaximumPairs) {
    on_entry_.assign(blocks.size(), std::nullopt);
    return;
  }
  std::vector<bool> dirty(blocks.size(), false);
  const auto enter = [&](std::uint32_t block, const Contents& contents) {
    if (flow_to(block, contents)) dirty[block] = true;
  };
  enter(0, nothing);
  for (std::uint32_t number = 0; number < blocks.size(); ++number) {
    if (entry == Mirror::Entry::kInLoops && blocks[number].is_loop_header) enter(number, nothing);
    // A trap leaves its operands in the first slots.
    if (blocks[number].handler != kNoIndex) enter(blocks[number].handler, nothing);
  }
  while (std::ranges::find(dirty, true) != dirty.end()) {
    for (std::uint32_t number = 0; number < blocks.size(); ++number) {
      if (!dirty[number]) continue;
      dirty[number] = false;
      Contents contents = *on_entry_[number];
      for_each_instruction(number, [&](const Instruction& i) { step(i, contents); });
      for (const std::uint32_t successor : blocks[number].successors) enter(successor, contents);
    }
  }
}

std::map<std::uint32_t, MirrorSite> MirrorSearch::take_sites() {
  const Contents nothing(places_, kUnknown);
  for (std::uint32_t number = 0; number < flow_.blocks().size(); ++number) {
    Contents contents = on_entry_[number].value_or(nothing);
    for_each_instruction(number, [&](const Instruction& i) {
      if (i.has(bytecode::kCollects)) {
        Site& site = sites_.at(i.pc);
        site.mirror.size = static_cast<std::uint32_t>(site.wanted.size());
        for (std::uint32_t place = 0; place < site.mirror.size; ++place) {
          if (contents[place] != site.wanted[place])
            site.mirror.stores.push_back({place, site.wanted[place]});
        }
      }
      step(i, contents);
    });
  }
  std::map<std::uint32_t, MirrorSite> sites;
  for (auto& [pc, site] : sites_) sites[pc] = std::move(site.mirror);
  return sites;
}

}  // namespace

Mirror::Mirror(const bytecode::Module& module, const bytecode::Function& function, const Flow& flow,
               Entry entry) {
  MirrorSearch search(module, function, flow);
  search.find_sites();
  search.find_contents(entry);
  sites_ = search.take_sites();
}

}  // namespace dhpvm::codegen
