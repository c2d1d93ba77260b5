// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/perf_map.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace dhpvm::codegen {
namespace {

void write_names(llvm::jitlink::LinkGraph& graph, int fd) {
  std::string lines;
  for (const llvm::jitlink::Symbol* symbol : graph.defined_symbols()) {
    if (!symbol->hasName() || !symbol->isCallable() || symbol->getSize() == 0) continue;
    lines += fmt::format("{:x} {:x} {}\n", symbol->getAddress().getValue(), symbol->getSize(),
                         std::string_view(symbol->getName()));
  }
  // In one piece, so that the lines of several threads do not mix. A name that is not written is only missed.
  if (::write(fd, lines.data(), lines.size()) < 0) return;
}

}  // namespace

Result<std::shared_ptr<PerfMap>> PerfMap::open() {
  const std::string path = fmt::format("/tmp/perf-{}.map", ::getpid());
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return error(ErrorCode::kIo, "cannot write '{}' for perf: {}", path, std::strerror(errno));
  std::shared_ptr<PerfMap> map(new PerfMap(fd));
  struct stat info{};
  // perf does not read what another user has put there.
  if (::fstat(fd, &info) != 0 || info.st_uid != ::geteuid()) {
    return error(ErrorCode::kIo, "cannot write '{}' for perf: it belongs to another user; remove it", path);
  }
  return map;
}

PerfMap::~PerfMap() { ::close(fd_); }

void PerfMap::modifyPassConfig(llvm::orc::MaterializationResponsibility& /*responsibility*/,
                               llvm::jitlink::LinkGraph& /*graph*/,
                               llvm::jitlink::PassConfiguration& passes) {
  passes.PostFixupPasses.push_back([this](llvm::jitlink::LinkGraph& graph) {
    write_names(graph, fd_);
    return llvm::Error::success();
  });
}

llvm::Error PerfMap::notifyFailed(llvm::orc::MaterializationResponsibility& /*failed*/) {
  return llvm::Error::success();
}

llvm::Error PerfMap::notifyRemovingResources(llvm::orc::JITDylib& /*library*/,
                                             llvm::orc::ResourceKey /*key*/) {
  return llvm::Error::success();
}

}  // namespace dhpvm::codegen
