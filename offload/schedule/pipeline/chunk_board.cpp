// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/chunk_board.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "offload/schedule/pipeline/chunk_needs.h"

namespace dhpvm::offload {
namespace {

// The chunk that measures a part is this fraction of the loop: what it takes a part with a tenth of the others' rate
// is a small part of the loop's time.
constexpr std::uint64_t kProbes = 256;
// A part takes next at least this fraction of what it has done already.
constexpr std::uint64_t kLeastShare = 64;
// Submitted ahead, so that transfers and kernels overlap.
constexpr std::size_t kAhead = 2;
// A chunk is done again if that is expected to take less than this fraction of the time that it would take otherwise.
constexpr double kWorthRedoing = 0.8;
// A part that has taken a chunk from another is given this much more time, again and again: devices whose rates are
// misjudged do not take it from each other for ever.
constexpr double kPatience = 4;

}  // namespace

ChunkBoard::ChunkBoard(const IterationSpace& space, std::uint64_t unit, std::size_t parts)
    : unit_(unit), all_rows_(space.extent(0)), boxes_{space}, parts_(parts) {
  if (space.empty()) boxes_.clear();
}

void ChunkBoard::join(std::size_t part, const Facts& facts) {
  const std::lock_guard lock(mutex_);
  PartState& state = parts_[part];
  state = {};
  state.facts = facts;
  state.is_here = true;
}

void ChunkBoard::leave(std::size_t part) {
  const std::lock_guard lock(mutex_);
  parts_[part].is_here = false;
  parts_[part].given.clear();
}

ChunkBoard::Offer ChunkBoard::next(std::size_t part, double now, std::uint64_t most_rows) {
  const std::lock_guard lock(mutex_);
  PartState& state = parts_[part];
  Offer offer;
  offer.advice = Advice::kWait;
  if (boxes_.empty()) {
    if (all_settled()) {
      offer.advice = Advice::kEnd;
    } else if (redo(part, now, offer)) {
      offer.advice = Advice::kCompute;
    }
    return offer;
  }
  // One chunk measures the part; only then it is given others ahead.
  const bool is_measured = state.rows_done != 0 || state.facts.rows_per_second > 0;
  if (state.given.size() >= (is_measured ? kAhead : 1)) return offer;
  const std::uint64_t wanted = rows_for_part(state, now);
  if (wanted == 0) return offer;
  offer.chunk.box = cut(std::min(wanted, most_rows));
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

// Cuts lie at multiples of the unit from the loop's low bound, as those of every box do.
IterationSpace ChunkBoard::cut(std::uint64_t rows) {
  rows = std::max((rows + unit_ - 1) / unit_, std::uint64_t{1}) * unit_;
  IterationSpace& box = boxes_.back();
  const IterationSpace piece = rows_of(box, 0, rows);
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

void ChunkBoard::done(std::size_t part, const Chunk& chunk, double now) {
  const std::lock_guard lock(mutex_);
  PartState& state = parts_[part];
  const auto found = find(state, chunk);
  if (found == state.given.end()) return;
  const double seconds = now - std::max(found->since, state.last_done);
  state.least_seconds = state.rows_done == 0 ? seconds : std::min(state.least_seconds, seconds);
  state.rows_done += found->rows;
  state.last_done = now;
  state.given.erase(found);
}

void ChunkBoard::refuse(std::size_t part, const Chunk& chunk) {
  const std::lock_guard lock(mutex_);
  PartState& state = parts_[part];
  std::erase_if(state.given, [&](const Given& given) { return given.chunk.number == chunk.number; });
  // Somebody else computes a chunk that was handed out again.
  const bool has_other = std::ranges::any_of(parts_, [&](const PartState& other) {
    return std::ranges::any_of(other.given, [&](const Given& given) {
      return given.chunk.claim != nullptr && given.chunk.claim == chunk.claim;
    });
  });
  const bool is_open = chunk.claim == nullptr || chunk.claim->state() == ChunkClaim::State::kOpen;
  if (!has_other && is_open) boxes_.push_back(chunk.box);
}

bool ChunkBoard::is_settled(const Given& given) {
  return given.chunk.claim != nullptr && given.chunk.claim->state() != ChunkClaim::State::kOpen;
}

bool ChunkBoard::all_settled() const {
  return std::ranges::all_of(parts_, [](const PartState& part) {
    return std::ranges::all_of(part.given, [](const Given& given) { return is_settled(given); });
  });
}

void ChunkBoard::give_back(const std::vector<IterationSpace>& boxes) {
  const std::lock_guard lock(mutex_);
  boxes_.insert(boxes_.end(), boxes.begin(), boxes.end());
}

std::uint64_t ChunkBoard::rows_left() const {
  const std::lock_guard lock(mutex_);
  return left();
}

std::uint64_t ChunkBoard::left() const {
  std::uint64_t rows = 0;
  for (const IterationSpace& box : boxes_) rows += box.extent(0);
  return rows;
}

std::uint64_t ChunkBoard::redone() const {
  const std::lock_guard lock(mutex_);
  return redone_;
}

// Rows a second, by what the part has done in this loop, or else by what was expected of it; 0: nothing is known. Once
// a chunk is overdue, the rate is what that chunk allows for.
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

// Half of what the part should still get by its rate makes chunks smaller towards the end, so that all come to it at
// the same time; but not so small that they cost more than they bring. 0: it cannot help.
std::uint64_t ChunkBoard::rows_for_part(const PartState& part, double now) const {
  const double mine = rate_of(part, now);
  double all = 0;
  double quickest = 0;
  std::size_t here = 0;
  bool all_known = true;
  for (const PartState& other : parts_) {
    if (!other.is_here) continue;
    const double rate = rate_of(other, now);
    ++here;
    all += rate;
    quickest = std::max(quickest, rate);
    all_known = all_known && rate > 0;
  }
  const auto rows = static_cast<double>(left());
  if (mine <= 0) return std::max(all_rows_ / kProbes, std::uint64_t{1});
  double share = mine / all;
  // A part that is still being measured may turn out to be as quick.
  if (!all_known) share = std::min(share, 1 / static_cast<double>(here));
  const std::uint64_t fair =
      std::max(static_cast<std::uint64_t>(rows * share / 2) + 1, part.rows_done / kLeastShare);
  const double least = std::min(static_cast<double>(unit_), rows);
  if (mine < quickest && least / mine > std::max(rows / (all - mine), least / quickest)) return 0;
  return fair;
}

// The time that the part is expected to take until this chunk is done; an overdue chunk is expected to double its age.
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
  const double rate = rate_of(me, now);
  if (!me.given.empty() || me.facts.redo == Redo::kNever || rate <= 0) return false;
  Given* best = nullptr;
  double longest = 0;
  for (PartState& other : parts_) {
    if (&other == &me || other.facts.redo == Redo::kNever) continue;
    for (std::size_t n = 0; n < other.given.size(); ++n) {
      Given& given = other.given[n];
      if (given.chunk.claim == nullptr || given.is_again || !given.is_submitted || is_settled(given))
        continue;
      const double seconds = seconds_until(other, n, now);
      const double again =
          std::max(static_cast<double>(given.rows) / rate, me.least_seconds) * given.patience;
      if (again >= kWorthRedoing * seconds || seconds <= longest) continue;
      best = &given;
      longest = seconds;
    }
  }
  if (best == nullptr) return false;
  const bool beside = me.facts.redo == Redo::kBeside && me.facts.has_claims;
  if (!beside && !best->chunk.claim->revoke()) return false;
  best->is_again = true;
  offer.chunk.box = best->chunk.box;
  offer.chunk.number = next_number_++;
  if (beside) {
    offer.chunk.claim = best->chunk.claim;
  } else if (me.facts.has_claims) {
    offer.chunk.claim = std::make_shared<ChunkClaim>();
  }
  const double patience = best->patience * kPatience;
  ++redone_;
  hand_out(me, offer.chunk, now);
  me.given.back().is_again = beside;
  me.given.back().patience = patience;
  return true;
}

}  // namespace dhpvm::offload
