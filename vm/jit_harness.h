// SPDX-License-Identifier: Apache-2.0
// Runs random modules on every executor of the host and compares them: the heart of the fuzzer of native code, and of
// the test that runs it on a fixed set of seeds.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/thread_pool.h"
#include "vm/alarm.h"
#include "vm/compile_service.h"

namespace dhpvm::vm {

class JitHarness {
 public:
  // `library`: the code generator's.
  explicit JitHarness(std::string library);

  // Why native code cannot be tested in this build; empty if it can.
  std::string unavailable();

  // Makes a module of `input`, whose first bytes choose limits and sizes, and calls each of its functions: in the
  // interpreter, all compiled, compiled while they run and continued at loop headers, with parallel loops on 1, 2 and 7
  // threads. Describes the differences (results, trap, stack trace, fuel, memory reachable from arguments and results);
  // empty if there are none.
  std::string compare(std::span<const std::byte> input);

 private:
  std::shared_ptr<CompileService> service_;
  std::shared_ptr<ThreadPool> pools_[3];
  std::shared_ptr<Alarm> alarm_;
};

}  // namespace dhpvm::vm
