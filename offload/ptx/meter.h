// SPDX-License-Identifier: Apache-2.0
// Counts what limits a launch on a GPU besides its instructions: uncoalesced accesses to global memory, bank conflicts
// in shared memory, and idle threads.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "offload/ptx/program.h"
#include "offload/ptx/types.h"

namespace dhpvm::ptx {

// Without caches: a sector that two accesses touch counts as two transactions.
struct Counts {
  std::uint64_t launched = 0;  // threads
  std::uint64_t working = 0;   // those of them that accessed global memory
  std::uint64_t issued = 0;    // lanes of executed operations: 32 for each, inactive lanes included
  std::uint64_t active = 0;    // active lanes of executed operations
  std::uint64_t transactions =
      0;  // sectors of 32 bytes that an access of a warp touches, all accesses together
  std::uint64_t fewest_transactions =
      0;                            // sectors that the distinct bytes of each access would fill if contiguous
  std::uint64_t passes = 0;         // of shared memory: one for each access, more if words are in one bank
  std::uint64_t fewest_passes = 0;  // passes if no banks conflicted
};

// One line, without a line break.
std::string text_of(const Counts& counts);

// Belongs to one launch, which one thread runs.
class Meter {
 public:
  explicit Meter(const Extent& block);

  // Adds a lane's access to the operation that end_operation() ends. An atomic update is two accesses.
  void add(Space space, std::uint32_t thread, std::uint64_t address, std::size_t bytes);
  void end_operation(unsigned active);
  void end_block();
  const Counts& counts() const { return counts_; }

 private:
  struct Access {
    std::uint64_t address = 0;
    std::uint64_t end = 0;
    auto operator<=>(const Access&) const = default;
  };
  void count_transactions();
  void count_passes();

  Counts counts_;
  std::uint64_t threads_;  // of a block
  Space space_ = Space::kGlobal;
  unsigned pending_ = 0;
  std::array<Access, std::size_t{2} * kWarpSize> accesses_;
  std::vector<LaneMask> worked_;  // by warp of the block
};

}  // namespace dhpvm::ptx
