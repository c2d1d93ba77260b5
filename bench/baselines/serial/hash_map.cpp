// SPDX-License-Identifier: Apache-2.0
// Hash tables: counting by scattered integer keys, then by text keys. The table is that of stdlib/map.dhp,
// with the same hash functions, so that both programs probe the same slots; only removing is left out, which
// the program does not do.
#include <cinttypes>
#include <cstdio>
#include <string>
#include <utility>

#include "../measure.h"

namespace {

std::uint64_t hash_of(std::int64_t key) { return static_cast<std::uint64_t>(key); }
std::uint64_t hash_of(const std::string& key) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  hash ^= hash >> 32;
  hash *= 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

template <typename K, typename V>
class Map {
 public:
  Map() { reset(8); }

  std::int64_t len() const { return entries_; }

  V get_or(const K& key, V otherwise) {
    for (std::size_t slot = home(key);; slot = next(slot)) {
      const std::uint32_t entry = slots_[slot];
      if (entry == 0) return otherwise;
      if (pairs_[entry].first == key) {
        last_ = entry;
        return pairs_[entry].second;
      }
    }
  }

  void set(const K& key, V value) {
    if (last_ != 0 && pairs_[last_].first == key) {
      pairs_[last_].second = value;
      return;
    }
    std::size_t slot = home(key);
    for (; slots_[slot] != 0; slot = next(slot)) {
      if (pairs_[slots_[slot]].first == key) {
        pairs_[slots_[slot]].second = value;
        return;
      }
    }
    if (static_cast<std::size_t>(entries_) + 1 == pairs_.size()) {
      rebuild();
      set(key, value);
      return;
    }
    ++entries_;
    pairs_[entries_] = {key, value};
    slots_[slot] = static_cast<std::uint32_t>(entries_);
  }

  std::vector<K> keys() const {
    std::vector<K> out(entries_);
    for (std::int64_t i = 0; i < entries_; ++i) out[i] = pairs_[i + 1].first;
    return out;
  }

 private:
  std::size_t home(const K& key) const { return (hash_of(key) * 0x9e3779b97f4a7c15u) >> shift_; }
  std::size_t next(std::size_t slot) const { return slot + 1 == slots_.size() ? 0 : slot + 1; }

  void reset(std::size_t capacity) {
    pairs_.assign(capacity, {});
    slots_.assign(capacity * 2, 0);
    shift_ = 63 - __builtin_ctzll(capacity);
    entries_ = 0;
    last_ = 0;
  }

  void rebuild() {
    std::vector<std::pair<K, V>> old = std::move(pairs_);
    reset(old.size() * 2);
    for (std::size_t i = 1; i < old.size(); ++i) {
      ++entries_;
      pairs_[entries_] = std::move(old[i]);
      std::size_t slot = home(pairs_[entries_].first);
      while (slots_[slot] != 0) slot = next(slot);
      slots_[slot] = static_cast<std::uint32_t>(entries_);
    }
  }

  std::vector<std::pair<K, V>> pairs_;  // from 1 on, in order of insertion
  std::vector<std::uint32_t> slots_;    // numbers of pairs, 0 in a free slot
  int shift_ = 0;                       // 64 - log2(slots_.size())
  std::int64_t entries_ = 0;
  std::uint32_t last_ = 0;  // the pair that get_or found last, or 0
};

void hash_map(std::int64_t n) {
  Map<std::int64_t, std::int64_t> counts;
  std::int64_t x = 42;
  for (std::int64_t i = 0; i < n; ++i) {
    x = (x * 1103515245 + 12345) % 2147483648;
    const std::int64_t key = x % 50021 * 65537;
    counts.set(key, counts.get_or(key, 0) + 1);
  }
  std::int64_t most = 0;
  for (const std::int64_t key : counts.keys()) {
    if (counts.get_or(key, 0) > most) most = counts.get_or(key, 0);
  }
  std::printf("%" PRId64 "\n%" PRId64 "\n", counts.len(), most);

  Map<std::string, std::int64_t> words;
  for (std::int64_t i = 0; i < n / 2; ++i) {
    const std::string word = "w" + std::to_string(i % 5003);
    words.set(word, words.get_or(word, 0) + i);
  }
  std::printf("%" PRId64 "\n", words.get_or("w77", 0));
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 2'000'000);
  while (run.next()) {
    hash_map(run.size());
    run.done();
  }
}
