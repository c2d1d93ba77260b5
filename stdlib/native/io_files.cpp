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

// Not more than `limit` bytes: a device such as /dev/zero has no end, and the program's limits must hold
// for it, too.
Result<std::string> read_whole(const vm::NativeCall& call, const std::string& path, std::size_t limit) {
  const auto check = stop_check(call);
  DHPVM_ASSIGN(const Descriptor file, open_file(path, O_RDONLY, "read", check));
  struct stat info{};
  std::string content;
  std::size_t expected = 0;
  if (::fstat(file.number(), &info) == 0 && S_ISREG(info.st_mode))
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
    constexpr std::size_t kPart = std::size_t{8} << 20;
    DHPVM_TRY(check());
    DHPVM_ASSIGN(
        const ssize_t count,
        read_some(file.number(), {content.data() + used, std::min(content.size() - used, kPart)}, check));
    if (count < 0) return io_error("read", path);
    used += static_cast<std::size_t>(count);
    if (count == 0) {
      content.resize(used);
      return content;
    }
  }
}

// The system's refusal is the program's to deal with.
Status as_trap(Status status) {
  if (status.ok() || status.error().is_trap()) return status;
  if (status.error().code() == ErrorCode::kPermissionDenied) return status;
  return Error(ErrorCode::kIoTrap, status.error().message());
}

Status write_whole(const vm::NativeCall& call, const std::string& path, std::string_view content) {
  struct stat info{};
  const bool is_file = ::stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode);
  const auto check = stop_check(call);
  if (!is_file) {
    DHPVM_ASSIGN(const Descriptor file, open_file(path, O_WRONLY, "write", check));
    return as_trap(write_all(file.number(), content, "'" + path + "'", check));
  }
  return as_trap(write_file(path, std::as_bytes(std::span(content))));
}

}  // namespace

Status io_read_text(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string path, path_argument(call, 0, PathUse::kRead));
  DHPVM_ASSIGN(const std::string content, read_whole(call, path, most_text(call)));
  return return_text(call, content);
}

Status io_read_bytes(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string path, path_argument(call, 0, PathUse::kRead));
  DHPVM_ASSIGN(const std::string content, read_whole(call, path, most_bytes(call)));
  return return_bytes(call, content);
}

Status io_write_text(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string path, path_argument(call, 0, PathUse::kWrite));
  return write_whole(call, path, text(call, 1));
}

Status io_write_bytes(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string path, path_argument(call, 0, PathUse::kWrite));
  DHPVM_ASSIGN(const std::span<char> content, bytes(call, 1, 0, array(call, 1)->length, Access::kRead));
  return write_whole(call, path, {content.data(), content.size()});
}

Status io_append_text(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string path, path_argument(call, 0, PathUse::kWrite));
  const auto check = stop_check(call);
  DHPVM_ASSIGN(const Descriptor file, open_file(path, O_WRONLY | O_APPEND | O_CREAT, "append to", check));
  return as_trap(write_all(file.number(), text(call, 1), "'" + path + "'", check));
}

Status io_exists(vm::NativeCall& call) {
  // Outside of the program's rights there is nothing.
  const Result<std::string> path = path_argument(call, 0, PathUse::kRead);
  if (!path.ok() && path.error().code() == ErrorCode::kIoTrap) return path.error();
  return_bool(call, 0, path.ok() && ::access(path->c_str(), F_OK) == 0);
  return {};
}

}  // namespace dhpvm::stdlib
