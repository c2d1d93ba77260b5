// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/chunk_board.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "offload/schedule/pipeline/chunk_needs.h"

namespace dhpvm::offload {
namespace {

// The chunk that measures a part is this fraction of the loop: it takes a small part of the loop's time even on a part
// with a tenth of the others' rate.
constexpr std::uint64_t kProbes = 256;
// All measuring chunks together are at most this fraction of the loop.
constexpr std::uint64_t kProbesOfAll = 8;
// A part's next chunk is at least this fraction of what it has done already.
constexpr std::uint64_t kLeastShare = 64;
// Chunks submitted ahead, so that transfers and kernels overlap.
constexpr std::size_t kAhead = 2;
// A chunk is done again if that is expected to take less than this fraction of the time that is left otherwise.
constexpr double kWorthRedoing = 0.8;
// A part that has taken over a chunk from another gets so many times the patience, at each takeover: devices whose
// rates are misjudged thus do not take a chunk from each other for ever.
constexpr double kPatience = 4;
// A part that takes at most this many times as long as the quickest one helps with the last rows, even if a few others
// could do them alone.
constexpr double kNearlyAsQuick = 1.5;
// All parts are examined once this many seconds have passed for each of them, which takes about a hundredth of a
// processor's time. A few parts are examined at every question.
constexpr double kLookSeconds = 2e-6;
constexpr double kMostLooks = 1024;

}  // namespace

bool ChunkBoard::is_revoked(const Given& given) {
  return given.chunk.claim != nullptr && given.chunk.claim->state() == ChunkClaim::State::kRevoked;
}

ChunkBoard::ChunkBoard(const IterationSpace& space, std::uint64_t unit, std::size_t parts)
    : unit_(unit), all_rows_(space.extent(0)), boxes_{space}, parts_(parts), looks_(kMostLooks) {
  if (space.empty()) boxes_.clear();
  rows_left_ = boxes_.empty() ? 0 : all_rows_;
}

void ChunkBoard::join(std::size_t part, const Facts& facts) {
  const std::lock_guard lock(mutex_);
  PartState& state = parts_[part];
  drop(state);
  state = {};
  state.facts = facts;
  state.is_here = true;
  ++here_;
  ++unmeasured_;
  look_at(state, 0);
}

void ChunkBoard::leave(std::size_t part) {
  const std::lock_guard lock(mutex_);
  drop(parts_[part]);
}

// The part leaves the loop.
void ChunkBoard::drop(PartState& part) {
  for (Given& given : part.given) settle(given);
  part.given.clear();
  if (!std::exchange(part.is_here, false)) return;
  --here_;
  if (part.rate <= 0) --unmeasured_;
  rates_ -= std::exchange(part.rate, 0);
}

// ---- Looking at parts -----------------------------------------------------------------------------------------------

// Whether all parts may be examined, however many there are.
bool ChunkBoard::may_look(double now) {
  looks_ = std::min(looks_ + std::max(now - looked_, 0.0) / kLookSeconds, kMostLooks);
  looked_ = now;
  if (looks_ <= 0) return false;
  looks_ -= static_cast<double>(parts_.size());
  return true;
}

// Updates the sums after a change in the part.
void ChunkBoard::look_at(PartState& part, double now) {
  const double rate = rate_of(part, now);
  if ((rate > 0) != (part.rate > 0)) unmeasured_ += rate > 0 ? std::size_t{0} - 1 : 1;
  rates_ += rate - part.rate;
  quickest_ = std::max(quickest_, rate);
  part.rate = rate;
}

// Finds overdue parts, and the quickest part if it has become slower.
void ChunkBoard::look_at_all(double now) {
  if (!may_look(now)) return;
  rates_ = quickest_ = 0;
  unmeasured_ = 0;
  for (PartState& part : parts_) {
    if (!part.is_here) continue;
    part.rate = rate_of(part, now);
    rates_ += part.rate;
    quickest_ = std::max(quickest_, part.rate);
    if (part.rate <= 0) ++unmeasured_;
  }
}

void ChunkBoard::settle(Given& given) {
  if (!std::exchange(given.is_settled, true)) --unsettled_;
}

// ---- Handing out ----------------------------------------------------------------------------------------------------

ChunkBoard::Offer ChunkBoard::next(std::size_t part, double now, std::uint64_t most_rows,
                                   std::uint64_t step) {
  const std::lock_guard lock(mutex_);
  PartState& state = parts_[part];
  Offer offer;
  offer.advice = Advice::kWait;
  look_at(state, now);
  if (boxes_.empty()) {
    if (unsettled_ != 0 && redo(part, now, offer)) {
      offer.advice = Advice::kCompute;
    } else if (unsettled_ == 0) {
      offer.advice = Advice::kEnd;
    }
    return offer;
  }
  look_at_all(now);
  // Its copy has the results of a chunk that another has taken from it, until it is done with that. If the other has
  // had no room for the chunk, some of it may come next, and would be computed from these results.
  if (std::ranges::any_of(state.given, is_revoked)) return offer;
  // One chunk measures the part; only then it is given others ahead.
  const bool is_measured = state.rows_done != 0 || state.facts.rows_per_second > 0;
  if (state.given.size() >= (is_measured ? kAhead : 1)) return offer;
  const std::uint64_t wanted = rows_for_part(state);
  if (wanted == 0) return offer;
  const std::uint64_t rows = std::min(wanted, most_rows);
  offer.chunk.box = cut(rows > step ? rows - rows % step : rows);
  if (state.facts.has_claims) offer.chunk.claim = std::make_shared<ChunkClaim>();
  offer.chunk.number = next_number_++;
  offer.advice = Advice::kCompute;
  hand_out(state, offer.chunk, now);
  return offer;
}

std::optional<IterationSpace> ChunkBoard::take(std::uint64_t rows) {
  const std::lock_guard lock(mutex_);
  if (boxes_.empty()) return std::nullopt;
  return cut(rows);
}

// Cuts are at multiples of the unit from the loop's low bound, as in every box.
IterationSpace ChunkBoard::cut(std::uint64_t rows) {
  rows = std::max((rows + unit_ - 1) / unit_, std::uint64_t{1}) * unit_;
  IterationSpace& box = boxes_.back();
  const IterationSpace piece = rows_of(box, 0, rows);
  rows_left_ -= piece.extent(0);
  box.low[0] = piece.high[0];
  if (box.empty()) boxes_.pop_back();
  return piece;
}

void ChunkBoard::hand_out(PartState& part, Chunk chunk, double now) {
  if (part.rows_done == 0 && part.given.empty()) part.first_begin = now;
  Given& given = part.given.emplace_back();
  given.rows = chunk.box.extent(0);
  given.chunk = std::move(chunk);
  given.since = now;
  ++unsettled_;
}

std::vector<ChunkBoard::Given>::iterator ChunkBoard::find(PartState& part, const Chunk& chunk) {
  return std::ranges::find_if(part.given,
                              [&](const Given& given) { return given.chunk.number == chunk.number; });
}

void ChunkBoard::submitted(std::size_t part, const Chunk& chunk) {
  const std::lock_guard lock(mutex_);
  if (const auto found = find(parts_[part], chunk); found != parts_[part].given.end())
    found->is_submitted = true;
}

bool ChunkBoard::done(std::size_t part, const Chunk& chunk, double now) {
  const std::lock_guard lock(mutex_);
  PartState& state = parts_[part];
  const auto found = find(state, chunk);
  if (found == state.given.end()) return false;
  const double seconds = now - std::max(found->since, state.last_done);
  state.least_seconds = state.rows_done == 0 ? seconds : std::min(state.least_seconds, seconds);
  state.rows_done += found->rows;
  state.last_done = now;
  settle(*found);
  if (found->twin_number != 0) {
    PartState& other = parts_[found->twin];
    const auto twin = std::ranges::find(other.given, found->twin_number,
                                        [](const Given& given) { return given.chunk.number; });
    if (twin != other.given.end()) settle(*twin);
  }
  state.given.erase(found);
  look_at(state, now);
  return unsettled_ == 0 && boxes_.empty();
}

void ChunkBoard::refuse(std::size_t part, const Chunk& chunk) {
  const std::lock_guard lock(mutex_);
  PartState& state = parts_[part];
  const auto found = find(state, chunk);
  if (found == state.given.end()) return;
  settle(*found);
  // Another part computes a chunk that was handed out again.
  bool has_other = false;
  if (found->twin_number != 0) {
    const std::vector<Given>& others = parts_[found->twin].given;
    has_other = std::ranges::any_of(
        others, [&](const Given& given) { return given.chunk.number == found->twin_number; });
  }
  state.given.erase(found);
  const bool is_open = chunk.claim == nullptr || chunk.claim->state() == ChunkClaim::State::kOpen;
  if (has_other || !is_open) return;
  rows_left_ += chunk.box.extent(0);
  boxes_.push_back(chunk.box);
}

void ChunkBoard::give_back(const std::vector<IterationSpace>& boxes) {
  const std::lock_guard lock(mutex_);
  for (const IterationSpace& box : boxes) rows_left_ += box.extent(0);
  boxes_.insert(boxes_.end(), boxes.begin(), boxes.end());
}

std::uint64_t ChunkBoard::rows_left() const {
  const std::lock_guard lock(mutex_);
  return rows_left_;
}

double ChunkBoard::seconds_left(std::size_t part, double now) const {
  const std::lock_guard lock(mutex_);
  const PartState& state = parts_[part];
  return state.given.empty() ? 0 : seconds_until(state, state.given.size() - 1, now);
}

std::uint64_t ChunkBoard::redone() const {
  const std::lock_guard lock(mutex_);
  return redone_;
}

// Rows per second, from what the part has done in this loop, or else from what was expected of it; 0: unknown. Once a
// chunk is overdue, the rate is at most what its age allows for.
double ChunkBoard::rate_of(const PartState& part, double now) const {
  double rate = part.facts.rows_per_second;
  if (part.rows_done != 0)
    rate = static_cast<double>(part.rows_done) / std::max(part.last_done - part.first_begin, 1e-9);
  if (part.given.empty()) return rate;
  const Given& oldest = part.given.front();
  const double age = now - std::max(oldest.since, part.last_done);
  const double expected = rate > 0 ? static_cast<double>(oldest.rows) / rate : 0;
  if (rate > 0 && age > 2 * expected) rate = static_cast<double>(oldest.rows) / age;
  return rate;
}

// Half of the rows that the part should still get by its rate: chunks become smaller towards the end, so that all parts
// end at the same time, but not so small that they cost more than they bring. 0: the part cannot help.
std::uint64_t ChunkBoard::rows_for_part(const PartState& part) const {
  const double mine = part.rate;
  if (mine <= 0) return std::max(all_rows_ / std::max(kProbes, kProbesOfAll * here_), std::uint64_t{1});
  const auto rows = static_cast<double>(rows_left_);
  const double all = std::max(rates_, mine);
  double share = mine / all;
  // Parts that are still being measured may turn out to be as quick.
  if (unmeasured_ != 0) share = std::min(share, 1 / static_cast<double>(here_));
  const std::uint64_t fair =
      std::max(static_cast<std::uint64_t>(rows * share / 2) + 1, part.rows_done / kLeastShare);
  const double least = std::min(static_cast<double>(unit_), rows);
  const double others = std::max(rows / (all - mine), kNearlyAsQuick * least / quickest_);
  if (mine < quickest_ && least / mine > others) return 0;
  return fair;
}

// The time that the part is expected to take until this chunk is done; an overdue chunk is expected to take as long
// again as it has.
double ChunkBoard::seconds_until(const PartState& part, std::size_t given, double now) const {
  const double rate = rate_of(part, now);
  const double age = now - part.given[given].since;
  if (rate <= 0) return age;
  std::uint64_t rows = 0;
  for (std::size_t n = 0; n <= given; ++n) rows += part.given[n].rows;
  const double begun = std::max(part.given.front().since, part.last_done);
  const double expected = std::max(static_cast<double>(rows) / rate, part.least_seconds) - (now - begun);
  return expected > 0 ? expected : age;
}

bool ChunkBoard::redo(std::size_t part, double now, Offer& offer) {
  PartState& me = parts_[part];
  if (!me.given.empty() || me.facts.redo == Redo::kNever || me.rate <= 0 || !may_look(now)) return false;
  Given* best = nullptr;
  std::size_t best_part = 0;
  double longest = 0;
  for (std::size_t o = 0; o < parts_.size(); ++o) {
    PartState& other = parts_[o];
    if (o == part || other.facts.redo == Redo::kNever) continue;
    for (std::size_t n = 0; n < other.given.size(); ++n) {
      Given& given = other.given[n];
      if (given.chunk.claim == nullptr) continue;
      if (given.chunk.claim->state() != ChunkClaim::State::kOpen) settle(given);
      if (given.is_again || !given.is_submitted || given.is_settled) continue;
      const double seconds = seconds_until(other, n, now);
      const double again =
          std::max(static_cast<double>(given.rows) / me.rate, me.least_seconds) * given.patience;
      if (again >= kWorthRedoing * seconds || seconds <= longest) continue;
      best = &given;
      best_part = o;
      longest = seconds;
    }
  }
  if (best == nullptr) return false;
  const bool beside = me.facts.redo == Redo::kBeside && me.facts.has_claims;
  if (!beside) {
    settle(*best);
    if (!best->chunk.claim->revoke()) return false;
  }
  best->is_again = true;
  offer.chunk.box = best->chunk.box;
  offer.chunk.number = next_number_++;
  if (beside) {
    offer.chunk.claim = best->chunk.claim;
  } else if (me.facts.has_claims) {
    offer.chunk.claim = std::make_shared<ChunkClaim>();
  }
  ++redone_;
  hand_out(me, offer.chunk, now);
  Given& mine = me.given.back();
  mine.is_again = beside;
  mine.patience = best->patience * kPatience;
  if (beside) {
    mine.twin = best_part;
    mine.twin_number = best->chunk.number;
    best->twin = part;
    best->twin_number = mine.chunk.number;
  }
  return true;
}

}  // namespace dhpvm::offload
