// SPDX-License-Identifier: Apache-2.0
// Finds what can be checked for many iterations of an innermost loop at once (SteppedAccess): the registers that grow
// by the same step in every iteration, the indices that are made of these, and the accesses and branches that compare
// such an index with a limit which stays the same.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "codegen/lower/flow.h"

namespace dhpvm::codegen {

class StepSearch {
 public:
  // `always`: by block, whether it is in every iteration; see Flow::blocks_of_all_iterations().
  StepSearch(const bytecode::Module& module, const bytecode::Function& function, const Flow& flow,
             InnerLoop& loop, std::vector<bool> always);

  // Fills in `inductions` and `stepped` of the loop; its references have been found.
  void run();

 private:
  // A summand of an index: a part, and its factor. Two indices of the same sum are equal in every iteration.
  enum class Part : std::uint8_t { kConstant, kRegister, kField, kLength };
  using Summand = std::tuple<Part, std::uint32_t, std::uint32_t>;
  using Sum = std::map<Summand, std::uint64_t>;
  // Identifies a check: two with the same key succeed and fail together in an iteration.
  using Key = std::tuple<std::uint32_t, std::uint32_t, Sum, Sum>;
  struct Found {
    std::optional<Step> step;
    std::optional<Key> key;
  };

  template <typename Visit>
  void for_each_instruction(Visit&& visit) const;
  void find_inductions();
  void find_moved_fields();
  // The place of a number that moves on: a register, or the field at an offset of an object.
  struct Place {
    std::optional<std::uint32_t> reg;
    std::uint32_t holder = 0;
    std::uint32_t offset = 0;
  };
  std::optional<Step> step_to(std::uint32_t block, const Instruction& written, const Place& from,
                              unsigned depth) const;
  std::optional<Step> step_to(std::uint32_t block, std::uint32_t pc, std::uint32_t reg, const Place& from,
                              unsigned depth) const;
  const Induction* moved_field(const Instruction& i) const;
  std::vector<bool> blocks_behind(std::uint32_t block) const;
  std::optional<Step> growth(std::uint32_t block, std::uint32_t pc, std::uint32_t reg, unsigned depth = 0);
  std::optional<Step> growth_of_result(std::uint32_t block, const Instruction& i, unsigned depth);
  std::optional<Step> growth_of_index(std::uint32_t block, const Instruction& i, unsigned depth = 0);
  std::optional<Step> growth_of_field(const Instruction& i);
  std::optional<Step> approach(const BoundCheck& check, std::uint32_t block, std::uint32_t pc);
  std::optional<Sum> sum(std::uint32_t block, std::uint32_t pc, std::uint32_t reg, unsigned depth = 0) const;
  std::optional<Sum> field_sum(std::uint32_t block, const Instruction& i) const;
  static void plus(Sum& sum, const Summand& summand, std::uint64_t factor);
  static void plus_step(Sum& sum, const Step& step);
  Found look_at(std::uint32_t block, const Instruction& i);
  void add(std::uint32_t block, const Instruction& i, Step step);

  const bytecode::Module& module_;
  const bytecode::Function& function_;
  const Flow& flow_;
  InnerLoop& loop_;
  const std::vector<bool> always_;
  std::set<std::uint32_t> changed_;  // registers that the loop writes
  std::set<std::uint32_t>
      holders_;  // the objects, by number, of fields that were looked at for the current check
  std::set<std::uint32_t> wanted_;  // those of all checks that are left out
  bool ends_by_check_ =
      false;               // a check that ends the loop is left out, whose sides come closer to each other
  bool accesses_ = false;  // an access is not checked
};

}  // namespace dhpvm::codegen
