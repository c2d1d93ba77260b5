// SPDX-License-Identifier: Apache-2.0
// Natives of module io: whole files.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/file.h"
#include "stdlib/native/call.h"
#include "stdlib/native/natives.h"

namespace dhpvm::stdlib {
namespace {

struct Descriptor {
  int number;
  explicit Descriptor(int descriptor) : number(descriptor) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

// Not more than `limit` bytes: a device such as /dev/zero has no end, and the program's limits must hold
// for it, too.
Result<std::string> read_whole(const std::string& path, std::size_t limit) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number < 0) return io_error("read", path);
  struct stat info{};
  std::string content;
  std::size_t expected = 0;
  if (::fstat(file.number, &info) == 0 && S_ISREG(info.st_mode))
    expected = static_cast<std::size_t>(info.st_size);
  constexpr std::size_t kStep = 64 * 1024;
  for (std::size_t used = 0;;) {
    if (used > limit || expected > limit) {
      return error(ErrorCode::kIoTrap,
                   "cannot read '{}': it is larger than {} bytes, the most that the program may hold", path,
                   limit);
    }
    // One byte more than the file is said to have, so that its end is found without another step.
    content.resize(std::max({used + kStep, expected + 1, used + used / 2}));
    const ssize_t count = ::read(file.number, content.data() + used, content.size() - used);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return io_error("read", path);
    used += static_cast<std::size_t>(count);
    if (count == 0) {
      content.resize(used);
      return content;
    }
  }
}

Status write_whole(const std::string& path, std::string_view content) {
  Status status = write_file(path, std::as_bytes(std::span(content)));
  // The system's refusal is the program's to deal with, so it is a trap here.
  if (!status.ok()) return Error(ErrorCode::kIoTrap, status.error().message());
  return {};
}

}  // namespace

Status io_read_text(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string path, path_argument(call, 0));
  const std::size_t limit = std::min(kMaxTextSize, call.isolate.options().limits.heap_bytes);
  DHPVM_ASSIGN(const std::string content, read_whole(path, limit));
  return return_text(call, content);
}

Status io_read_bytes(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string path, path_argument(call, 0));
  DHPVM_ASSIGN(const std::string content, read_whole(path, call.isolate.options().limits.off_heap_bytes));
  return return_bytes(call, content);
}

Status io_write_text(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string path, path_argument(call, 0));
  return write_whole(path, text(call, 1));
}

Status io_write_bytes(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string path, path_argument(call, 0));
  DHPVM_ASSIGN(const std::span<char> content, bytes(call, 1, 0, array(call, 1)->length, Access::kRead));
  return write_whole(path, {content.data(), content.size()});
}

Status io_append_text(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string path, path_argument(call, 0));
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (file.number < 0) return io_error("append to", path);
  const Status status = write_all(file.number, text(call, 1), path);
  if (!status.ok()) return Error(ErrorCode::kIoTrap, status.error().message());
  return {};
}

Status io_exists(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string path, path_argument(call, 0));
  return_bool(call, 0, ::access(path.c_str(), F_OK) == 0);
  return {};
}

}  // namespace dhpvm::stdlib
