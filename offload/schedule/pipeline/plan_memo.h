// SPDX-License-Identifier: Apache-2.0
// The use that loops make of their arrays, as far as numbers determine it: bounds, some scalars, the shapes of arrays,
// and which of them are the same. Short loops mostly run with the same numbers again, and evaluating footprints with
// them is most of the cost of planning. The state of an array's copies is not part of it: it is asked anew for each
// execution, so that nothing that is kept can be out of date.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "offload/loops/execution_memo.h"
#include "offload/loops/loop.h"
#include "offload/schedule/pipeline/chunk_needs.h"

namespace dhpvm::offload {

// The use of one array by all iterations of the loops.
struct ArrayFacts {
  ArrayNeeds needs;
  bool by_chunk = true;  // each chunk writes a part of its own, which is known beforehand
  // The reason, for people, why it cannot be sliced; empty if it can.
  std::string_view whole_because;
};

// Belongs to one device of an isolate; the footprints must outlive it. One thread uses it at a time.
class PlanMemo {
 public:
  // For each distinct array of `captures`, which are those of `loops`. Valid until the next call.
  const std::vector<ArrayFacts>& facts_of(Loops loops, const Captures& captures);

 private:
  // 512 of them, for loops by themselves and for the chains that they form: an epoch of the network of the samples has
  // four with other numbers for each of its 45 steps. A chain of 64 loops with three arrays each keeps 20 KB.
  NumberMemo<std::vector<ArrayFacts>, 128> memo_;
  std::vector<std::int64_t> asked_;
  std::vector<std::int64_t> of_loop_;
  std::vector<ArrayFacts> unkept_;
};

}  // namespace dhpvm::offload
