// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/guard.h"

#include <llvm/Support/ErrorHandling.h>

#include <csetjmp>
#include <cstdio>
#include <new>
#include <utility>

#include "base/error.h"

namespace dhpvm::codegen {
namespace {

// The target of a handler's jump, and its message. A fixed buffer, because memory may be exhausted.
struct Landing {
  std::jmp_buf jump;
  Landing* outer = nullptr;
  bool out_of_memory = false;
  char reason[512] = "";
};

// LLVM's handlers are process-wide, but they are called on the thread that failed.
thread_local Landing* innermost = nullptr;

void leave(const char* reason, bool out_of_memory) {
  Landing* landing = innermost;
  if (landing == nullptr) {
    std::fprintf(stderr, "dhpvm: LLVM: %s\n", reason);
    return;  // to LLVM, which ends the process
  }
  std::snprintf(landing->reason, sizeof landing->reason, "%s", reason);
  landing->out_of_memory = out_of_memory;
  // LLVM itself abandons failed compilations this way (CrashRecoveryContext), and holds no lock when it calls a
  // handler. An exception would do no better: LLVM is compiled without them and would not run destructors either.
  std::longjmp(landing->jump, 1);
}

void on_fatal_error(void* /*user*/, const char* reason, bool /*crash_diagnostics*/) { leave(reason, false); }
void on_bad_alloc(void* /*user*/, const char* reason, bool /*crash_diagnostics*/) { leave(reason, true); }

bool install_handlers() {
  llvm::install_fatal_error_handler(on_fatal_error);
  llvm::install_bad_alloc_error_handler(on_bad_alloc);
  return true;
}

// LLVM's malloc calls the handler; its `new` throws, through frames without destructors, up to here.
Status run(llvm::function_ref<Status()> work, Landing& landing, Status& lack) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    landing.out_of_memory = true;
    return std::move(lack);
  }
}

}  // namespace

Status guarded(llvm::function_ref<Status()> work, bool* abandoned) {
  static const bool installed = install_handlers();
  static_cast<void>(installed);
  // Made in advance: afterwards there may be no memory, and making an error would throw.
  Status lack = error(ErrorCode::kOutOfMemory, "no memory is left for compiling");
  Landing landing;
  landing.outer = innermost;
  innermost = &landing;
  if (setjmp(landing.jump) == 0) {
    Status status = run(work, landing, lack);
    innermost = landing.outer;
    if (landing.out_of_memory) *abandoned = true;
    return status;
  }
  innermost = landing.outer;
  *abandoned = true;
  if (landing.out_of_memory) return lack;
  return error(ErrorCode::kInternal, "LLVM cannot compile this: {}", landing.reason);
}

}  // namespace dhpvm::codegen
