// SPDX-License-Identifier: Apache-2.0
// A cache of object files on disk, shared by all processes of a user: a program that ran before compiles
// nothing.
//
// One file per entry, named by its key, written under another name and then renamed, so that a reader sees
// all of it or nothing. Entries become machine code: one is used only if its checksum and key are
// right and if only this user can have written it; otherwise it is removed and compiled again. The time
// of last use is the file's modification time, so that eviction needs no index that processes would have to
// agree on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dhpvm::codegen {

// The key of an entry: a 256-bit hash of everything that its content depends on.
struct CacheKey {
  std::array<std::uint8_t, 32> bytes = {};
  bool operator==(const CacheKey&) const = default;
};

// SHA-256 of the parts, each with its length, of the version of this file format, and of the build of the
// code generator (build_id.h), so that nothing is used that another one has compiled. {"ab", "c"} and
// {"a", "bc"} have different keys.
CacheKey cache_key(std::string_view build, std::initializer_list<std::string_view> parts);

// An entry in memory. `object` is aligned to 16 bytes.
class CachedCode {
 public:
  std::span<const std::byte> object() const { return std::span(file_).subspan(begin_, object_size_); }
  std::span<const std::byte> metadata() const { return std::span(file_).subspan(begin_ + object_size_); }

 private:
  friend class CodeCache;
  std::vector<std::byte> file_;
  std::size_t begin_ = 0;
  std::size_t object_size_ = 0;
};

struct CodeCacheOptions {
  // Empty: $XDG_CACHE_HOME/dhpvm, or ~/.cache/dhpvm. Made, with mode 0700, if it does not exist.
  std::string directory;
  // In bytes. The entries used longest ago go first; several processes at once may pass it by a sixteenth
  // each.
  std::uint64_t limit = std::uint64_t{256} << 20;
  // Called once, with one line, when the cache cannot be used or written; compilation goes on without it.
  std::function<void(const std::string&)> warn;
};

struct CodeCacheStats {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t stored = 0;
  std::uint64_t rejected = 0;  // entries that were found and not trusted; they are among the misses
  std::uint64_t evicted = 0;
};

// Thread-safe. Never fails: a cache that does not work finds nothing and stores nothing.
class CodeCache {
 public:
  explicit CodeCache(CodeCacheOptions options);
  ~CodeCache();
  CodeCache(const CodeCache&) = delete;
  CodeCache& operator=(const CodeCache&) = delete;

  // The entry of `key`, and marks it as used now.
  std::optional<CachedCode> find(const CacheKey& key);

  // Stores an object file and a few bytes of the caller's own (a table of trap sites, say) under `key`.
  void store(const CacheKey& key, std::span<const std::byte> object, std::span<const std::byte> metadata);

  // For an entry that cannot be used although it is intact.
  void remove(const CacheKey& key);

  // Notes that this process ends before it has compiled what would be kept under `key`. Stored code removes the note.
  void note_attempt(const CacheKey& key);
  // How many processes have noted it since code was last stored.
  unsigned attempts(const CacheKey& key) const;

  CodeCacheStats stats() const;
  const std::string& directory() const { return options_.directory; }

 private:
  enum class Found : std::uint8_t { kIntact, kNothing, kBad };

  bool open_directory();
  void forget_attempts(const CacheKey& key);
  Found read(const std::string& name, const CacheKey& key, CachedCode& code) const;
  bool write(const std::string& name, std::span<const std::span<const std::byte>> pieces, std::uint64_t size);
  void account(std::uint64_t written);
  void evict();
  void disable_writing(const std::string& problem);

  CodeCacheOptions options_;
  int directory_ = -1;
  mutable std::mutex mutex_;
  // All below are guarded by the mutex.
  CodeCacheStats stats_;
  bool writable_ = true;
  std::optional<std::uint64_t>
      size_;                  // of all entries, as far as this process knows; unknown before the first store
  std::uint64_t unseen_ = 0;  // bytes written since the directory was looked through
  std::uint64_t temporaries_ = 0;
};

}  // namespace dhpvm::codegen
