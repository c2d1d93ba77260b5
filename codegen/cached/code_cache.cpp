// SPDX-License-Identifier: Apache-2.0
#include "codegen/cached/code_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>

#include "base/cache_folder.h"
#include "base/crc32c.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/sha256.h"
#include "codegen/cached/code_writer.h"

namespace dhpvm::codegen {
namespace {

constexpr std::string_view kSuffix = ".code";
constexpr std::string_view kTemporary = ".tmp-";
// Per key: a file with one byte for each process that gave up compiling it.
constexpr std::string_view kAttempts = ".attempts";
constexpr std::uint32_t kVersion = 1;
// A hit updates an entry's time of last use at most once a minute, to limit writes to the disk.
constexpr std::time_t kUseGranularity = 60;
// A temporary file of a process that died is removed after this many seconds.
constexpr std::time_t kTemporaryLife = 3600;
// Records of attempts are removed this many seconds after the last one: a month.
constexpr std::time_t kAttemptsLife = 30 * 24 * 3600;

// The head of an entry; the object file and the metadata follow. It has the byte order of the machine, which is part of
// every key.
struct Header {
  char magic[8] = {'D', 'H', 'P', 'V', 'M', 'C', 'C', '\n'};
  std::uint32_t version = kVersion;
  std::uint32_t checksum = 0;  // CRC-32C of the whole file, with this field zero
  std::uint64_t object_size = 0;
  std::uint64_t metadata_size = 0;
  CacheKey key;
};
static_assert(sizeof(Header) == 64, "the object file behind it must be aligned");

std::span<const std::byte> bytes_of(const Header& header) {
  return std::as_bytes(std::span<const Header, 1>(&header, 1));
}

std::string name_of(const CacheKey& key, std::string_view suffix = kSuffix) {
  std::string name;
  for (const std::uint8_t byte : key.bytes) name += fmt::format("{:02x}", byte);
  return name.append(suffix);
}

// The minimal size that an entry counts for: small ones need a block and a name as well.
constexpr std::uint64_t least_size(std::uint64_t limit) { return limit >> 16; }

bool mine_alone(const struct stat& info) { return info.st_uid == ::geteuid() && (info.st_mode & 022) == 0; }

bool read_exactly(int fd, std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t got = ::read(fd, out.data(), out.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

bool write_exactly(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return true;
}

}  // namespace

CacheKey cache_key(std::string_view build, std::initializer_list<std::string_view> parts) {
  Sha256 hash;
  hash.update("dhpvm code cache, version " + std::to_string(kVersion));
  hash.update(build);
  for (const std::string_view part : parts) {
    hash.update("/" + std::to_string(part.size()) + ":");
    hash.update(part);
  }
  return {hash.finish()};
}

CodeCache::CodeCache(CodeCacheOptions options) : options_(std::move(options)) {
  if (options_.directory.empty()) options_.directory = default_cache_folder();
  const std::lock_guard lock(mutex_);
  if (!open_directory()) {
    if (directory_ >= 0) ::close(directory_);
    directory_ = -1;
  }
}

CodeCache::~CodeCache() {
  if (directory_ >= 0) ::close(directory_);
}

bool CodeCache::open_directory() {
  if (options_.directory.empty()) {
    disable_writing("neither HOME nor XDG_CACHE_HOME is set");
    return false;
  }
  directory_ = ::open(options_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory_ < 0 && errno == ENOENT) {
    make_cache_folder(options_.directory);
    directory_ = ::open(options_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  struct stat info{};
  if (directory_ < 0 || ::fstat(directory_, &info) != 0) {
    disable_writing(std::strerror(errno));
    return false;
  }
  if (!mine_alone(info)) {
    disable_writing(
        "the directory belongs to another user or can be written by others, who could place code in it");
    return false;
  }
  return true;
}

std::optional<CachedCode> CodeCache::find(const CacheKey& key) {
  if (directory_ < 0) return std::nullopt;
  const std::string name = name_of(key);
  CachedCode code;
  const Found found = read(name, key, code);
  if (found == Found::kBad) ::unlinkat(directory_, name.c_str(), 0);
  const std::lock_guard lock(mutex_);
  if (found == Found::kBad) ++stats_.rejected;
  if (found != Found::kIntact) {
    ++stats_.misses;
    return std::nullopt;
  }
  ++stats_.hits;
  return code;
}

CodeCache::Found CodeCache::read(const std::string& name, const CacheKey& key, CachedCode& code) const {
  // Without O_NONBLOCK, opening a named pipe would block.
  const Descriptor file(::openat(directory_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  // It does not exist, or this process cannot open it for another reason (too many open files).
  if (!file.is_open()) return errno == ELOOP || errno == EACCES ? Found::kBad : Found::kNothing;
  struct stat info{};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || !mine_alone(info)) return Found::kBad;
  const auto size = static_cast<std::uint64_t>(info.st_size);
  Header header;
  if (size < sizeof header || size > options_.limit) return Found::kBad;
  code.file_.resize(size);
  if (!read_exactly(file.get(), code.file_)) return Found::kBad;

  std::memcpy(&header, code.file_.data(), sizeof header);
  const Header expected;
  const std::uint64_t payload = size - sizeof header;
  if (std::memcmp(header.magic, expected.magic, sizeof header.magic) != 0 || header.version != kVersion ||
      header.key != key || header.object_size > payload ||
      header.metadata_size != payload - header.object_size) {
    return Found::kBad;
  }
  const std::uint32_t checksum = std::exchange(header.checksum, 0);
  if (crc32c(std::span(code.file_).subspan(sizeof header), crc32c(bytes_of(header))) != checksum)
    return Found::kBad;
  code.begin_ = sizeof header;
  code.object_size_ = header.object_size;
  if (std::time(nullptr) - info.st_mtime > kUseGranularity) ::futimens(file.get(), nullptr);
  return Found::kIntact;
}

void CodeCache::store(const CacheKey& key, std::span<const std::byte> object,
                      std::span<const std::byte> metadata) {
  const std::uint64_t size = sizeof(Header) + object.size() + metadata.size();
  if (directory_ < 0 || size > options_.limit) return;
  if (const int writer = code_writer(); writer >= 0) {
    send_code(writer, key, object, metadata);
    const std::lock_guard lock(mutex_);
    ++stats_.stored;
    return;
  }
  Header header;
  header.object_size = object.size();
  header.metadata_size = metadata.size();
  header.key = key;
  header.checksum = crc32c(metadata, crc32c(object, crc32c(bytes_of(header))));
  const std::span<const std::byte> pieces[] = {bytes_of(header), object, metadata};
  if (!write(name_of(key), pieces, size)) return;
  forget_attempts(key);
  account(size);
}

bool CodeCache::write(const std::string& name, std::span<const std::span<const std::byte>> pieces,
                      std::uint64_t size) {
  std::string temporary;
  {
    const std::lock_guard lock(mutex_);
    if (!writable_) return false;
    // The time distinguishes processes with the same id, in containers that share a directory.
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    temporary = fmt::format("{}{}-{}-{}", kTemporary, ::getpid(), now.tv_nsec, temporaries_++);
  }
  // Writing past this limit would kill the process by SIGXFSZ.
  rlimit file_size{};
  bool written = ::getrlimit(RLIMIT_FSIZE, &file_size) != 0 || size <= file_size.rlim_cur;
  if (!written) errno = EFBIG;
  if (written) {
    Descriptor file(
        ::openat(directory_, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    written = file.is_open();
    for (const std::span<const std::byte> piece : pieces)
      written = written && write_exactly(file.get(), piece);
    // Not synced to disk: the checksum detects an entry that a crash of the machine truncated.
    written = written && file.close() == 0 &&
              ::renameat(directory_, temporary.c_str(), directory_, name.c_str()) == 0;
  }
  if (written) return true;
  const int problem = errno;
  ::unlinkat(directory_, temporary.c_str(), 0);
  const std::lock_guard lock(mutex_);
  disable_writing(std::strerror(problem));
  return false;
}

void CodeCache::remove(const CacheKey& key) {
  if (directory_ >= 0) ::unlinkat(directory_, name_of(key).c_str(), 0);
}

void CodeCache::note_attempt(const CacheKey& key) {
  if (directory_ < 0) return;
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const Descriptor file(::openat(directory_, name_of(key, kAttempts).c_str(), kFlags, 0600));
  if (file.is_open()) write_exactly(file.get(), std::array<std::byte, 1>{});
}

unsigned CodeCache::attempts(const CacheKey& key) const {
  struct stat info{};
  if (directory_ < 0 ||
      ::fstatat(directory_, name_of(key, kAttempts).c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return 0;
  return static_cast<unsigned>(info.st_size);
}

void CodeCache::forget_attempts(const CacheKey& key) {
  ::unlinkat(directory_, name_of(key, kAttempts).c_str(), 0);
}

void CodeCache::account(std::uint64_t written) {
  const std::lock_guard lock(mutex_);
  ++stats_.stored;
  written = std::max(written, least_size(options_.limit));
  if (size_) *size_ += written;
  unseen_ += written;
  // Other processes write as well: scan again after a sixteenth of the limit.
  if (!size_ || *size_ > options_.limit || unseen_ > options_.limit / 16) evict();
}

void CodeCache::evict() {
  struct Entry {
    std::string name;
    std::uint64_t size;
    timespec used;
  };
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  const int fd = ::openat(directory_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(fd < 0 ? nullptr : ::fdopendir(fd), ::closedir);
  if (listing == nullptr) {
    if (fd >= 0) ::close(fd);
    disable_writing(std::strerror(errno));
    return;
  }
  const std::time_t now = std::time(nullptr);
  while (const dirent* found = ::readdir(listing.get())) {
    const std::string_view name = found->d_name;
    struct stat info{};
    if (::fstatat(directory_, found->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const std::time_t age = now - info.st_mtime;
    if ((name.starts_with(kTemporary) && age > kTemporaryLife) ||
        (name.ends_with(kAttempts) && age > kAttemptsLife)) {
      ::unlinkat(directory_, found->d_name, 0);
    } else if (name.ends_with(kSuffix) && S_ISREG(info.st_mode)) {
      entries.push_back({found->d_name, static_cast<std::uint64_t>(info.st_size), info.st_mtim});
      entries.back().size = std::max(entries.back().size, least_size(options_.limit));
      total += entries.back().size;
    }
  }
  if (total > options_.limit) {
    // Evicts a little more than needed, so that the next entries are written without scanning the directory.
    const std::uint64_t enough = options_.limit - options_.limit / 8;
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
    });
    for (const Entry& entry : entries) {
      if (total <= enough) break;
      // An entry that another process has removed in the meantime is gone, too.
      if (::unlinkat(directory_, entry.name.c_str(), 0) == 0) ++stats_.evicted;
      total -= entry.size;
    }
  }
  size_ = total;
  unseen_ = 0;
}

void CodeCache::disable_writing(const std::string& problem) {
  if (!std::exchange(writable_, false) || !options_.warn) return;
  const std::string place = options_.directory.empty() ? "" : " in '" + options_.directory + "'";
  options_.warn(
      fmt::format("compiled code is not kept{}: {}; choose another directory with --cache-dir, or --no-cache",
                  place, problem));
}

CodeCacheStats CodeCache::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace dhpvm::codegen
