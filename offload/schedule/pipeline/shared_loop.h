// SPDX-License-Identifier: Apache-2.0
// A loop that several devices share, and the threads that keep these busy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "dhpvm/result.h"
#include "offload/loops/loop_progress.h"
#include "offload/schedule/pipeline/chunk_board.h"
#include "offload/schedule/pipeline/device_run.h"

namespace dhpvm::offload {

// A device's part in one execution of a loop.
struct PartRun {
  std::size_t part = 0;
  PipelineDevice* device = nullptr;
  std::unique_ptr<DeviceRun> run;
  std::uint64_t rows = 0;  // of a chunk
  std::uint64_t unit = 1;  // as Kernel::row_unit()
  Status status;
  std::optional<Error> exhausted;  // even the smallest chunk found no room; what was submitted is done
  std::uint64_t chunks = 0;
  std::uint64_t iterations = 0;
  bool is_shared = false;  // with others
  ChunkBoard::Facts facts;

  // The rows of the next chunk.
  std::uint64_t rows_now(const Loop& loop) const;
  // Whether the chunk found no room, so that nothing of it has begun: slices may be larger in one place than in
  // another.
  bool lacks_room(const Status& submitted) const;
};

// Runs the parts, which have joined the board, until all have ended, successfully or with an error. A device that works
// while it is given work, or whose semaphores notify nobody, has a thread of its own. Devices of workers share threads,
// because waking one thread for each of their chunks would cost more than all the rest. `progress` counts chunks that
// are done; it may be null.
void work_together(ChunkBoard& board, const Loop& loop, std::span<PartRun> parts, LoopProgress* progress);

}  // namespace dhpvm::offload
