// SPDX-License-Identifier: Apache-2.0
// The stop token of an execution: why it has to end, seen by every thread and device that works for it.
//
// A request stays until the thread of the execution has answered it, so that all threads see the same. A compiled loop
// reads one word of its own, a StopToken::Word, which its threads use for other messages as well.
#pragma once

#include <atomic>
#include <cstdint>

namespace dhpvm {

// Thread-safe; lower() is for the thread of the execution alone.
class StopToken {
 public:
  // Reasons, as bits.
  static constexpr std::uint32_t kInterrupt = 1;
  static constexpr std::uint32_t kDeadline = 2;

  StopToken() = default;
  // All words must be gone.
  ~StopToken() {
    for (Entry* entry = entries_.load(); entry != nullptr;) {
      Entry* const next = entry->next;
      delete entry;
      entry = next;
    }
  }
  StopToken(const StopToken&) = delete;
  StopToken& operator=(const StopToken&) = delete;

  // May be called from signal handlers. All operations are sequentially consistent: a word that is taken at the same
  // time either sees the reason itself, or is seen here.
  void raise(std::uint32_t reason) {
    reasons_.fetch_or(reason);
    for (Entry* entry = entries_.load(); entry != nullptr; entry = entry->next) entry->value.fetch_or(reason);
  }
  // The thread of the execution has answered the request.
  void lower(std::uint32_t reason) {
    if ((reasons_.load(std::memory_order_relaxed) & reason) != 0) reasons_.fetch_and(~reason);
  }
  std::uint32_t reasons() const { return reasons_.load(std::memory_order_relaxed); }
  // The reasons, for callers that only read them.
  const std::atomic<std::uint32_t>& word() const { return reasons_; }

 private:
  // Entries are reused, and freed with the token: a thread that raises it walks over them without a lock.
  struct Entry {
    std::atomic<std::uint32_t> value{0};
    std::atomic<bool> taken{true};
    Entry* next = nullptr;
  };

  Entry& take() {
    for (Entry* entry = entries_.load(); entry != nullptr; entry = entry->next) {
      if (!entry->taken.exchange(true)) return *entry;
    }
    auto* const entry = new Entry;
    entry->next = entries_.load();
    while (!entries_.compare_exchange_weak(entry->next, entry)) {
    }
    return *entry;
  }

  std::atomic<std::uint32_t> reasons_{0};
  std::atomic<Entry*> entries_{nullptr};

 public:
  // For one loop: 0 until the token is raised. The bits that are no reasons belong to the loop.
  class Word {
   public:
    explicit Word(StopToken& token) : entry_(token.take()) {
      entry_.value.store(0);
      entry_.value.fetch_or(token.reasons_.load());
    }
    ~Word() { entry_.taken.store(false); }
    Word(const Word&) = delete;
    Word& operator=(const Word&) = delete;
    std::atomic<std::uint32_t>& value() { return entry_.value; }

   private:
    Entry& entry_;
  };
};

}  // namespace dhpvm
