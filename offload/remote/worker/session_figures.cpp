// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/session_figures.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/one_line.h"

namespace dhpvm::offload {
namespace {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<char>::is_always_lock_free);

Error no_memory() {
  return error(ErrorCode::kIo, "no memory to share with the process of a session: {}", std::strerror(errno));
}

}  // namespace

void SessionFigures::set_program(std::string_view name) {
  name = name.substr(0, kLongestName);
  std::ranges::copy(name, program_.begin());
}

std::string SessionFigures::program() const {
  std::string name;
  for (const std::atomic<char>& letter : program_) {
    if (const char value = letter.load(std::memory_order_relaxed); value != '\0') name += value;
  }
  return printable(name, kLongestName);
}

// Its size is fixed: a session that shrank it would end the worker with SIGBUS.
Result<SharedFigures> SharedFigures::create() {
  Descriptor memory(memfd_create("dhpvm-session", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.is_open() || ftruncate(memory.get(), sizeof(SessionFigures)) != 0 ||
      fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return no_memory();
  }
  return map(std::move(memory));
}

Result<SharedFigures> SharedFigures::adopt(Descriptor memory) { return map(std::move(memory)); }

// The zeros that the system provides are the figures of a session that has done nothing yet.
Result<SharedFigures> SharedFigures::map(Descriptor memory) {
  void* const place =
      mmap(nullptr, sizeof(SessionFigures), PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (place == MAP_FAILED) return no_memory();
  SharedFigures made;
  made.memory_ = std::move(memory);
  made.figures_ = std::shared_ptr<SessionFigures>(
      static_cast<SessionFigures*>(place), [](void* mapped) { munmap(mapped, sizeof(SessionFigures)); });
  return made;
}

}  // namespace dhpvm::offload
