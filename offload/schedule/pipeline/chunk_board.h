// SPDX-License-Identifier: Apache-2.0
// Hands out the iterations of one loop to the devices that share it, by what each has been measured to do.
//
// An unmeasured device gets a small chunk first. A device whose smallest chunk would take longer than the
// others need for all that is left gets nothing. Once all chunks are handed out, a device that is idle does those again
// that others are expected to take longer for (speculative execution), and the first answer counts.
//
// A chunk costs the same whether ten parts share the loop or a thousand: sums over all parts are kept up to date by the
// part that changes, and the parts are looked through at a bounded rate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "offload/loops/iteration_space.h"
#include "offload/schedule/pipeline/chunk_claim.h"

namespace dhpvm::offload {

// Whether an idle device may do chunks again that others have been given.
enum class Redo : std::uint8_t {
  kNever,
  // Only after their claims have been revoked: the loop reads elements that it writes, so that its chunks find their
  // inputs unchanged only as long as no results are put in place.
  kInstead,
  // Beside the others, under the same claim.
  kBeside,
};

// Times are in seconds, of any clock. Thread-safe.
class ChunkBoard {
 public:
  // `unit` rows cannot be divided.
  ChunkBoard(const IterationSpace& space, std::uint64_t unit, std::size_t parts);

  struct Chunk {
    std::uint64_t number = 0;
    IterationSpace box;
    std::shared_ptr<ChunkClaim> claim;  // null: no other part computes it
  };
  enum class Advice : std::uint8_t {
    kCompute,  // the chunk
    kWait,     // for some chunk to be done, and ask again
    kEnd,      // everything is done, or will be by others
  };
  struct Offer {
    Advice advice = Advice::kEnd;
    Chunk chunk;
  };

  // Before chunks are handed out to the part.
  struct Facts {
    double rows_per_second = 0;  // expected; 0: not known
    bool has_claims = false;     // its results are put in place under claims
    // Others may compute its chunks again, and it those of others.
    Redo redo = Redo::kNever;
  };
  void join(std::size_t part, const Facts& facts);
  // The part's chunks are not waited for any more; the caller gives back what it has not done.
  void leave(std::size_t part);

  // Tells the part what to do next: a chunk has at most so many rows, or one unit of them. It has a multiple of `step`
  // if it has as many.
  Offer next(std::size_t part, double now, std::uint64_t most_rows, std::uint64_t step = 1);
  // The part has submitted the chunk; with Redo::kInstead, it has read its inputs as well. Before that no part does it
  // again: contents of arrays are noted in the order of submission, and inputs are not replaced while they are read.
  void submitted(std::size_t part, const Chunk& chunk);
  // The part is done with the chunk, whose results are in place, by it or by others. Whether that was
  // the last one, and nobody has to wait any longer.
  bool done(std::size_t part, const Chunk& chunk, double now);
  // Nothing of the chunk has begun, for lack of room.
  void refuse(std::size_t part, const Chunk& chunk);
  // So many rows for a device that has the loop to itself.
  std::optional<IterationSpace> take(std::uint64_t rows);
  void give_back(const std::vector<IterationSpace>& boxes);
  std::uint64_t rows_left() const;
  std::uint64_t unit() const { return unit_; }
  // The time that the part is expected to take for the chunks that it has.
  double seconds_left(std::size_t part, double now) const;
  // Chunks that were handed out again.
  std::uint64_t redone() const;

 private:
  struct Given {
    Chunk chunk;
    double since = 0;
    std::uint64_t rows = 0;
    bool is_submitted = false;
    bool is_settled = false;  // known to be: nobody waits for it
    bool is_again = false;    // is done by another as well
    // The other one of two parts that do it, and its number there; 0: there is none.
    std::size_t twin = 0;
    std::uint64_t twin_number = 0;
    double patience = 1;  // with a part that has taken it from another
  };
  struct PartState {
    Facts facts;
    bool is_here = false;
    std::vector<Given> given;  // the oldest first
    std::uint64_t rows_done = 0;
    double first_begin = 0;
    double last_done = 0;
    double least_seconds = 0;  // of any chunk
    double rate = 0;           // as it was when the part was looked at last; its share of rates_
  };

  double rate_of(const PartState& part, double now) const;
  bool may_look(double now);
  void look_at(PartState& part, double now);
  void look_at_all(double now);
  void settle(Given& given);
  void drop(PartState& part);
  std::uint64_t rows_for_part(const PartState& part) const;
  double seconds_until(const PartState& part, std::size_t given, double now) const;
  static std::vector<Given>::iterator find(PartState& part, const Chunk& chunk);
  bool redo(std::size_t part, double now, Offer& offer);
  IterationSpace cut(std::uint64_t rows);
  void hand_out(PartState& part, Chunk chunk, double now);

  const std::uint64_t unit_;
  const std::uint64_t all_rows_;
  mutable std::mutex mutex_;
  std::vector<IterationSpace> boxes_;  // none is empty
  std::uint64_t rows_left_ = 0;        // in all of them
  std::vector<PartState> parts_;
  // Totals over the parts that are here, as each was when it was looked at last.
  double rates_ = 0;
  double quickest_ = 0;
  std::size_t here_ = 0;
  std::size_t unmeasured_ = 0;   // without a rate
  std::uint64_t unsettled_ = 0;  // of all that was given
  double looks_ = 0;             // parts that may be looked at now
  double looked_ = 0;            // when that was counted
  std::uint64_t next_number_ = 1;
  std::uint64_t redone_ = 0;
};

}  // namespace dhpvm::offload
