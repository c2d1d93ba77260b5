// SPDX-License-Identifier: Apache-2.0
#include "codegen/cached/perf_map.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "base/descriptor.h"
#include "base/error.h"

namespace dhpvm::codegen {
namespace {

void write_names(int fd, std::span<const LoadedFunction> functions) {
  std::string lines;
  for (const LoadedFunction& function : functions) {
    lines += fmt::format("{:x} {:x} {}\n", reinterpret_cast<std::uintptr_t>(function.begin), function.size,
                         function.name);
  }
  // A single write, so that lines of several threads do not mix. A failure only loses names.
  if (::write(fd, lines.data(), lines.size()) < 0) return;
}

}  // namespace

Result<LoadWatch> perf_map() {
  const std::string path = fmt::format("/tmp/perf-{}.map", ::getpid());
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return error(ErrorCode::kIo, "cannot write '{}' for perf: {}", path, std::strerror(errno));
  auto file = std::make_shared<Descriptor>(fd);
  struct stat info{};
  // perf refuses a file of another user.
  if (::fstat(fd, &info) != 0 || info.st_uid != ::geteuid()) {
    return error(ErrorCode::kIo, "cannot write '{}' for perf: it belongs to another user; remove it", path);
  }
  return LoadWatch(
      [file](std::span<const LoadedFunction> functions) { write_names(file->get(), functions); });
}

}  // namespace dhpvm::codegen
