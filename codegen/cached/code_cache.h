// SPDX-License-Identifier: Apache-2.0
// A cache of object files on disk, shared by all processes of a user: a program that has run before compiles nothing.
//
// Each entry is a file named by its key. It is written under another name and then renamed, so that a reader sees all
// of it or nothing. Entries become machine code, so an entry is used only if its checksum and key are right and if only
// this user can have written it; otherwise it is removed and compiled again. The time of last use is the file's
// modification time, so eviction needs no index shared between processes.
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

// SHA-256 of the version of this file format, of the build ID of the code generator (build_id.h), and of the parts,
// each with its length. Code of another build is never used, and {"ab", "c"} and {"a", "bc"} have different keys.
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
  // In bytes. The least recently used entries are evicted first; each of several processes may exceed the limit by a
  // sixteenth.
  std::uint64_t limit = std::uint64_t{256} << 20;
  // Called once, with one line, when the cache cannot be used or written; compilation goes on without it.
  std::function<void(const std::string&)> warn;
};

struct CodeCacheStats {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t stored = 0;
  std::uint64_t rejected = 0;  // entries that were found but not trusted; they count as misses
  std::uint64_t evicted = 0;
};

// Thread-safe. Never fails: a cache that does not work finds and stores nothing.
class CodeCache {
 public:
  explicit CodeCache(CodeCacheOptions options);
  ~CodeCache();
  CodeCache(const CodeCache&) = delete;
  CodeCache& operator=(const CodeCache&) = delete;

  // Finds the entry of `key` and marks it as used now.
  std::optional<CachedCode> find(const CacheKey& key);

  // Stores an object file and some metadata of the caller (for example a table of trap sites) under `key`.
  void store(const CacheKey& key, std::span<const std::byte> object, std::span<const std::byte> metadata);

  // Removes an intact entry that cannot be used.
  void remove(const CacheKey& key);

  // Records that this process ends before it has compiled the code for `key`. Storing that code removes the record.
  void note_attempt(const CacheKey& key);
  // The number of processes that have recorded this since code was last stored.
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
      size_;                  // of all entries as far as this process knows; unknown before the first store
  std::uint64_t unseen_ = 0;  // bytes written since the directory was last scanned
  std::uint64_t temporaries_ = 0;
};

}  // namespace dhpvm::codegen
