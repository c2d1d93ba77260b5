// SPDX-License-Identifier: Apache-2.0
// Chooses the bytes that are allocated between two minor collections.
//
// Objects that survive a minor collection are old at once, so a larger nursery pays where objects die a little later
// than a small one waits for. Where the same share survives in any nursery, a larger one only makes pauses longer. So
// sizes are tried now and then, from the first up, and the smallest one is kept that does nearly as well as the best.
// There are smaller ones below the first, for programs in which hardly anything survives. The size does not determine
// the length of pauses: a nursery that takes long is marked in parts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dhpvm::gc {

class Nursery {
 public:
  // `fixed` bytes for ever, or, if it is 0, a chosen size. `most` bounds the choice; 0 is no bound.
  Nursery(std::size_t fixed, std::size_t most);

  std::size_t bytes() const { return bytes_; }

  // After a minor collection: `survived` of `allocated` bytes became old; `allocated` may exceed the nursery if it was
  // marked in parts. `room`: the bytes that a nursery above the first size may have.
  void minor_collected(std::size_t allocated, std::size_t survived, std::size_t room);
  // After a full collection, in which `died` bytes died; `promoted` bytes had become old since the last one.
  void full_collected(std::size_t promoted, std::size_t died);

 private:
  static constexpr std::size_t kSizes = 4;
  struct Size {
    std::size_t bytes;
    unsigned collections;  // of a trial: a small nursery says less about a program than a large one
  };
  static constexpr std::array<Size, kSizes> kChoice = {
      {{8 << 20, 2}, {16 << 20, 1}, {32 << 20, 1}, {64 << 20, 1}}};

  std::size_t choices(std::size_t room) const;
  bool is_time_to_try(std::size_t choices) const;
  void try_size(std::size_t index);
  void tried(double share, std::size_t choices);
  void choose(std::size_t tried);

  const bool is_fixed_;
  const std::size_t most_;
  std::size_t bytes_;
  bool dies_old_ = false;  // a full collection found much of what had survived minor ones dead

  double share_ = 0;           // the share of the nursery that survives, over the last collections
  double expected_share_ = 0;  // share_ when the size was chosen
  std::size_t known_ = 0;      // the number of sizes that the last trial could try

  bool is_trial_ = false;
  std::size_t index_ = 0;     // the size being tried
  unsigned collections_ = 0;  // with this size
  std::array<double, kSizes> shares_{};

  std::uint32_t since_trial_;  // collections, as nursery.cpp counts them
  std::uint32_t interval_;     // collections from one trial to the next
};

}  // namespace dhpvm::gc
