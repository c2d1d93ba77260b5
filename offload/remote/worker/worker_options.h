// SPDX-License-Identifier: Apache-2.0
// The options of a worker.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "codegen/codegen.h"
#include "dhpvm/worker_log.h"
#include "offload/remote/fabric/security.h"

namespace dhpvm::offload {

// The limits that a worker sets for its clients.
struct WorkerLimits {
  unsigned sessions = 16;
  // The sessions that may wait for a place.
  unsigned waiting = 16;
  // The memory that the sessions may have together; see worker_places.h.
  std::uint64_t total_memory_bytes = ~std::uint64_t{0};
  // Connections that have not authenticated themselves yet, or not sent their first record.
  unsigned strangers = 1024;
  // The limits below apply to each session. Operations that are submitted and not done.
  std::uint64_t operations = 4096;
  std::uint64_t memory_bytes = ~std::uint64_t{0};  // on all devices together, which have limits of their own
  std::uint64_t module_bytes = std::uint64_t{64} << 20;
  // Memories, semaphores, and kernels; queues: a sixteenth of it.
  std::uint64_t objects = 4096;
  // Total time with operations outstanding; 0: unlimited.
  std::chrono::milliseconds time{0};
  // Time without work; 0: unlimited.
  std::chrono::milliseconds idle{0};
};

struct WorkerOptions {
  std::string name;     // for the messages of clients
  std::string release;  // of DHPVM
  std::shared_ptr<Identity> identity;
  SealMode seal = SealMode::kFull;
  WorkerLimits limits;
  std::chrono::milliseconds handshake_deadline{5000};
  std::chrono::milliseconds silence_deadline{3000};
  // Returns the compiler of kernels, or the reason why there is none. Called on any thread.
  std::function<Result<codegen::CodeGenerator*>()> generator;
  WorkerLog log;  // called on any thread
};

}  // namespace dhpvm::offload
