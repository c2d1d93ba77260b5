// SPDX-License-Identifier: Apache-2.0
// Hands out the iterations of one loop to the devices that share it, by their measured rates.
//
// An unmeasured device gets a small chunk first. A device whose smallest chunk would take longer than the others need
// for the rest gets nothing. Once all chunks are handed out, an idle device does chunks again that are expected to take
// others longer (speculative execution), and the first answer counts.
//
// The cost of a chunk does not depend on the number of parts: sums over all parts are updated by the part that changes,
// and the parts are examined at a bounded rate.
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
  // Only after their claims have been revoked: the loop reads elements that it writes, so the inputs of its chunks stay
  // unchanged only as long as no results are put in place.
  kInstead,
  // Beside the others, under the same claim.
  kBeside,
};

// Times are in seconds, of any clock. Thread-safe.
class ChunkBoard {
 public:
  // Chunks consist of multiples of `unit` rows.
  ChunkBoard(const IterationSpace& space, std::uint64_t unit, std::size_t parts);

  struct Chunk {
    std::uint64_t number = 0;
    IterationSpace box;
    std::shared_ptr<ChunkClaim> claim;  // null: no other part computes it
  };
  enum class Advice : std::uint8_t {
    kCompute,  // compute the chunk
    kWait,     // wait until some chunk is done, and ask again
    kEnd,      // everything is done, or will be done by others
  };
  struct Offer {
    Advice advice = Advice::kEnd;
    Chunk chunk;
  };

  // Must be called before chunks are handed out to the part.
  struct Facts {
    double rows_per_second = 0;  // expected; 0: not known
    bool has_claims = false;     // its results are put in place under claims
    // Whether others may compute its chunks again, and it the chunks of others.
    Redo redo = Redo::kNever;
  };
  void join(std::size_t part, const Facts& facts);
  // The part leaves the loop: its chunks are not waited for any more, and the caller gives back those that it has not
  // done.
  void leave(std::size_t part);

  // Tells the part what to do next: a chunk has at most so many rows, or one unit of them. It has a multiple of `step`
  // if it has as many. No rows are given to a part that is not done with them, even if others have taken them from it.
  Offer next(std::size_t part, double now, std::uint64_t most_rows, std::uint64_t step = 1);
  // The part has submitted the chunk; with Redo::kInstead, it has read its inputs as well. Before that no part does it
  // again: contents of arrays are noted in the order of submission, and inputs are not replaced while they are read.
  void submitted(std::size_t part, const Chunk& chunk);
  // The part is done with the chunk, whose results were put in place by it or by others. Returns true if it was the
  // last one, so that nobody has to wait any longer.
  bool done(std::size_t part, const Chunk& chunk, double now);
  // Returns a chunk of which nothing has begun, for lack of room.
  void refuse(std::size_t part, const Chunk& chunk);
  // Takes so many rows for a device that has the loop to itself.
  std::optional<IterationSpace> take(std::uint64_t rows);
  void give_back(const std::vector<IterationSpace>& boxes);
  std::uint64_t rows_left() const;
  std::uint64_t unit() const { return unit_; }
  // The time that the part is expected to need for the chunks that it has.
  double seconds_left(std::size_t part, double now) const;
  // The number of chunks that were handed out again.
  std::uint64_t redone() const;

 private:
  struct Given {
    Chunk chunk;
    double since = 0;
    std::uint64_t rows = 0;
    bool is_submitted = false;
    bool is_settled = false;  // known to be done: nobody waits for it
    bool is_again = false;    // another part does it as well
    // If two parts do it: the other part, and the number of the chunk there; 0: no other part does it.
    std::size_t twin = 0;
    std::uint64_t twin_number = 0;
    double patience = 1;  // more for a part that has taken it over from another
  };
  struct PartState {
    Facts facts;
    bool is_here = false;
    std::vector<Given> given;  // the oldest first
    std::uint64_t rows_done = 0;
    double first_begin = 0;
    double last_done = 0;
    double least_seconds = 0;  // the shortest time of any chunk
    double rate = 0;           // the rate when the part was last examined; its share of rates_
  };

  static bool is_revoked(const Given& given);
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
  // Totals over the parts in the loop, each as of its last examination.
  double rates_ = 0;
  double quickest_ = 0;
  std::size_t here_ = 0;
  std::size_t unmeasured_ = 0;   // parts without a rate
  std::uint64_t unsettled_ = 0;  // over all that was given
  double looks_ = 0;             // the number of parts that may be examined now
  double looked_ = 0;            // when that number was updated
  std::uint64_t next_number_ = 1;
  std::uint64_t redone_ = 0;
};

}  // namespace dhpvm::offload
