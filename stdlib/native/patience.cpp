// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/patience.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/error.h"
#include "stdlib/native/call.h"

namespace dhpvm::stdlib {
namespace {

// The longest time that a deadline, or an interrupt that came to another thread, goes unnoticed.
constexpr int kNapMilliseconds = 20;

// Whether an operation may block until the other end acts: pipes, terminals and sockets, but no files.
bool may_block(int descriptor) {
  struct stat info{};
  return ::fstat(descriptor, &info) != 0 ||
         !(S_ISREG(info.st_mode) || S_ISDIR(info.st_mode) || S_ISBLK(info.st_mode));
}

}  // namespace

StopCheck briefly() {
  constexpr std::chrono::milliseconds kPatience{50};
  return [end = std::chrono::steady_clock::now() + kPatience]() -> Status {
    if (std::chrono::steady_clock::now() < end) return {};
    return Error(ErrorCode::kIo, "it has no reader");
  };
}

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

Result<Descriptor> open_file(const std::string& path, int flags, std::string_view what,
                             const StopCheck& check) {
  for (;;) {
    Descriptor file(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0666));
    if (file.number() >= 0) {
      // Later reads and writes block: they wait for the descriptor first.
      ::fcntl(file.number(), F_SETFL, ::fcntl(file.number(), F_GETFL) & ~O_NONBLOCK);
      return file;
    }
    // A pipe without a reader.
    const bool waits = errno == ENXIO || errno == EINTR;
    if (!waits) return io_error(what, path);
    if (check) DHPVM_TRY(check());
    ::poll(nullptr, 0, kNapMilliseconds);
  }
}

Status wait_for(int descriptor, Readiness readiness, const StopCheck& check) {
  const short wanted = readiness == Readiness::kRead ? POLLIN : POLLOUT;
  for (;;) {
    if (check) DHPVM_TRY(check());
    pollfd one{descriptor, wanted, 0};
    const int ready = ::poll(&one, 1, check ? kNapMilliseconds : -1);
    // The operation that follows reports any other error.
    if (ready > 0 || (ready < 0 && errno != EINTR)) return {};
  }
}

Result<ssize_t> read_some(int descriptor, std::span<char> into, const StopCheck& check) {
  const bool waits = may_block(descriptor);
  for (;;) {
    if (waits) DHPVM_TRY(wait_for(descriptor, Readiness::kRead, check));
    const ssize_t count = ::read(descriptor, into.data(), into.size());
    if (count >= 0 || errno != EINTR) return count;
  }
}

Status write_all(int descriptor, std::string_view text, std::string_view name, const StopCheck& check) {
  const bool waits = may_block(descriptor);
  while (!text.empty()) {
    std::size_t size = std::min(text.size(), std::size_t{8} << 20);
    if (waits) {
      // A ready pipe has room for PIPE_BUF bytes, and blocks a larger write.
      DHPVM_TRY(wait_for(descriptor, Readiness::kWrite, check));
      size = std::min<std::size_t>(size, PIPE_BUF);
    } else if (check) {
      DHPVM_TRY(check());
    }
    const ssize_t written = ::write(descriptor, text.data(), size);
    if (written < 0) {
      if (errno == EINTR || errno == EAGAIN) continue;
      return error(ErrorCode::kIo, "cannot write to {}: {}", name, std::strerror(errno));
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace dhpvm::stdlib
