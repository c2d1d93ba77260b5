// SPDX-License-Identifier: Apache-2.0
#include "gc/nursery.h"

#include <algorithm>

namespace dhpvm::gc {
namespace {

constexpr std::size_t kSmallest = std::size_t{512} << 10;
constexpr std::size_t kFirst = std::size_t{8} << 20;

// A smaller share is marked so quickly that the size makes no difference.
constexpr double kWorthTrying = 1.0 / 16;
// A share within this factor of the best is nearly as good.
constexpr double kNearly = 1.2;
constexpr double kNegligible = 0.03;
// With a share above this, objects may only live longer than the nursery waits: a larger one may still help.
constexpr double kMost = 0.5;

// Collections from one trial to the next: a trial costs some memory, and evicts other data from the caches.
constexpr std::uint32_t kFirstInterval = 384;
constexpr std::uint32_t kLongestInterval = 8192;
// A program whose behaviour has changed waits for fewer.
constexpr std::uint32_t kShortestInterval = 48;
constexpr double kChanged = 2;

}  // namespace

Nursery::Nursery(std::size_t fixed, std::size_t most)
    : is_fixed_(fixed != 0),
      most_(most == 0 ? SIZE_MAX : most),
      bytes_(std::min(fixed != 0 ? fixed : kFirst, most_)),
      since_trial_(kShortestInterval),
      interval_(kFirstInterval) {}

void Nursery::minor_collected(std::size_t allocated, std::size_t survived, std::size_t room) {
  if (is_fixed_) return;
  const double share = static_cast<double>(survived) / static_cast<double>(std::max(allocated, bytes_));
  const std::size_t count = choices(room);
  if (is_trial_) return tried(share, count);
  share_ += (share - share_) / 4;
  ++since_trial_;
  if (is_time_to_try(count)) {
    is_trial_ = true;
    known_ = count;
    shares_ = {};
    return try_size(0);
  }
  // Hardly anything survives: memory that is used again while it is in the cache is used faster.
  if (share < 1.0 / 128) bytes_ = std::min(std::max(bytes_ / 2, kSmallest), most_);
  if (share > 1.0 / 8) bytes_ = std::min(std::max(bytes_, kFirst), most_);
}

void Nursery::full_collected(std::size_t promoted, std::size_t died) { dies_old_ = died > promoted / 4; }

// How many sizes may be chosen. Large ones only where they can help: while a heap only grows, what survives is not
// garbage.
std::size_t Nursery::choices(std::size_t room) const {
  const std::size_t ceiling = std::min(dies_old_ ? std::max(room, kFirst) : kFirst, most_);
  std::size_t count = 0;
  while (count < kSizes && kChoice[count].bytes <= ceiling) ++count;
  return count;
}

bool Nursery::is_time_to_try(std::size_t choices) const {
  if (choices < 2 || share_ < kWorthTrying || since_trial_ < kShortestInterval) return false;
  const bool is_changed = share_ > expected_share_ * kChanged || share_ < expected_share_ / kChanged;
  return is_changed || choices > known_ || since_trial_ >= interval_;
}

void Nursery::try_size(std::size_t index) {
  index_ = index;
  collections_ = 0;
  bytes_ = kChoice[index].bytes;
}

void Nursery::tried(double share, std::size_t choices) {
  shares_[index_] += share / kChoice[index_].collections;
  if (++collections_ < kChoice[index_].collections) return;
  const double now = shares_[index_];
  const bool gains = index_ == 0 || now > kMost || now * kNearly + kNegligible < shares_[index_ - 1];
  if (gains && index_ + 1 < choices) return try_size(index_ + 1);
  choose(index_ + 1);
}

void Nursery::choose(std::size_t tried) {
  const double best =
      *std::min_element(shares_.begin(), shares_.begin() + static_cast<std::ptrdiff_t>(tried));
  std::size_t chosen = 0;
  while (shares_[chosen] > best * kNearly + kNegligible) ++chosen;
  is_trial_ = false;
  const bool is_same = expected_share_ != 0 && shares_[chosen] < expected_share_ * kChanged &&
                       shares_[chosen] > expected_share_ / kChanged;
  interval_ = is_same ? std::min(2 * interval_, kLongestInterval) : kFirstInterval;
  since_trial_ = 0;
  bytes_ = kChoice[chosen].bytes;
  share_ = expected_share_ = shares_[chosen];
}

}  // namespace dhpvm::gc
