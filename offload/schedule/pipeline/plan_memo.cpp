// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/plan_memo.h"

#include <algorithm>
#include <span>
#include <utility>

#include "offload/loops/execution_memo.h"
#include "offload/loops/range.h"

namespace dhpvm::offload {
namespace {

// Determines which arrays each chunk writes a part of its own of, and which can be sliced.
void follow_chunks(const Loop& loop, std::span<const std::uint32_t> names, Ranges& ranges,
                   std::vector<ArrayFacts>& facts) {
  for (std::uint32_t n = 0; n < names.size(); ++n) {
    ArrayFacts& array = facts[names[n]];
    const ArrayUse& use = loop.footprint->arrays[n];
    const auto writes = [&](std::uint32_t name) {
      const ArrayUse& its_use = loop.footprint->arrays[name];
      return !loop.footprint->complete || its_use.is_written || its_use.is_updated;
    };
    if (array.by_chunk && writes(n)) array.by_chunk = ranges.writes_are_disjoint(n);
    bool is_twin = false;
    for (std::uint32_t other = 0; other < names.size(); ++other) {
      if (other == n || names[other] != names[n]) continue;
      is_twin = true;
      // One of several names may write.
      if (writes(n) && writes(other)) array.by_chunk = false;
    }
    if (is_twin) {
      array.whole_because = "captured twice";
    } else if (use.kind != ArrayClass::kSliced && use.kind != ArrayClass::kUnused) {
      array.whole_because = use.reason;
    }
  }
}

// Computes each loop's ranges once, because that is most of the cost of planning.
std::vector<ArrayFacts> follow(Loops loops, const Captures& captures) {
  std::vector<ArrayFacts> facts(captures.arrays.size());
  NeedsCollector collector(captures);
  std::size_t first = 0;
  for (const Loop& loop : loops) {
    Ranges ranges(*loop.footprint, loop);
    collector.add(loop, first, ranges);
    follow_chunks(loop, std::span(captures.array_of).subspan(first, loop.arrays.size()), ranges, facts);
    first += loop.arrays.size();
  }
  std::vector<ArrayNeeds> needs = std::move(collector).take();
  for (std::size_t n = 0; n < facts.size(); ++n) {
    ArrayFacts& array = facts[n];
    array.needs = std::move(needs[n]);
    if (array.needs.writes.empty()) {
      array.by_chunk = false;
    } else if (!array.by_chunk && array.whole_because.empty()) {
      array.whole_because = "written by more than one chunk";
    }
  }
  return facts;
}

}  // namespace

const std::vector<ArrayFacts>& PlanMemo::facts_of(Loops loops, const Captures& captures) {
  // Elements that the host may inspect are no numbers of the loop.
  if (std::ranges::any_of(loops, [](const Loop& loop) { return loop.inspectable != 0; }))
    return unkept_ = follow(loops, captures);
  asked_.clear();
  for (const Loop& loop : loops) {
    numbers_of(*loop.footprint, loop, of_loop_);
    asked_.push_back(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(loop.footprint)));
    asked_.push_back(loop.can_trap ? 1 : 0);
    asked_.insert(asked_.end(), of_loop_.begin(), of_loop_.end());
    for (const ArrayStorage& array : loop.storage) asked_.push_back(array.element_bytes);
  }
  asked_.insert(asked_.end(), captures.array_of.begin(), captures.array_of.end());
  if (const std::vector<ArrayFacts>* const known = memo_.find(asked_)) return *known;
  return memo_.keep(asked_, follow(loops, captures));
}

}  // namespace dhpvm::offload
