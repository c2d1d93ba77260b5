// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/descriptor.h"
#include "base/error.h"

namespace dhpvm {
namespace {

Error io_error(const char* verb, const std::string& path, ErrorCode code = ErrorCode::kIo) {
  const bool denied = errno == EACCES || errno == EPERM || errno == EROFS;
  return error(denied ? ErrorCode::kPermissionDenied : code, "cannot {} '{}': {}", verb, path,
               std::strerror(errno));
}

template <typename Bytes>
Status read_all(const std::string& path, Bytes& out) {
  const Descriptor file(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                    : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  // kNotFound is told apart from other errors, because a search in several folders goes on only after it.
  if (file.get() < 0) return io_error("read", path, errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo);
  constexpr std::size_t kStep = 64 * 1024;
  // One byte more than the file has: its end is then seen without growing the buffer, which would be zeroed.
  std::size_t step = kStep;
  struct stat info{};
  if (::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0)
    step = static_cast<std::size_t>(info.st_size) + 1;
  std::size_t used = 0;
  for (;; step = kStep) {
    if (used == out.size()) out.resize(used + std::max(step, out.capacity() - used));
    const ssize_t got = ::read(file.get(), out.data() + used, out.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("read", path);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  out.resize(used);
  return {};
}

Status write_all(int fd, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return io_error("write", path);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return {};
}

}  // namespace

Result<std::vector<std::byte>> read_file(const std::string& path) {
  std::vector<std::byte> bytes;
  DHPVM_TRY(read_all(path, bytes));
  return bytes;
}

Result<std::string> read_text_file(const std::string& path) {
  std::string text;
  DHPVM_TRY(read_all(path, text));
  return text;
}

Status write_file(const std::string& path, std::span<const std::byte> bytes) {
  struct stat info{};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode)) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() < 0) return io_error("write", path);
    return write_all(file.get(), bytes, path);
  }
  std::error_code problem;
  const std::string target = exists ? std::filesystem::canonical(path, problem).string() : path;
  if (problem) return error(ErrorCode::kIo, "cannot write '{}': {}", path, problem.message());
  // The process id and a counter keep concurrent writers of one path apart.
  static std::atomic<unsigned> counter{0};
  const std::string temporary = fmt::format("{}.tmp{}.{}", target, ::getpid(), counter++);
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) return io_error("write", path);
  Status status = write_all(file.get(), bytes, path);
  if (status.ok() && exists && ::fchmod(file.get(), info.st_mode & 07777) != 0)
    status = io_error("write", path);
  if (status.ok() && ::fsync(file.get()) != 0 && errno != EINVAL) status = io_error("write", path);
  if (file.close() != 0 && status.ok()) status = io_error("write", path);
  if (status.ok() && ::rename(temporary.c_str(), target.c_str()) != 0) status = io_error("replace", path);
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

}  // namespace dhpvm
