// SPDX-License-Identifier: Apache-2.0
// The state of a running isolate in the interpreter. Internal to this room.
//
// While instructions run, the program counter, the register windows, the top frame and the ticks live in
// machine registers; the fields of the same names here are up to date only where C++ code can look: in slow
// paths, natives, collections, traps.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/reservation.h"
#include "base/stop_token.h"
#include "base/trace.h"
#include "codegen/runtime_table.h"
#include "dhpvm/result.h"
#include "gc/heap.h"
#include "vm/alarm.h"
#include "vm/catching.h"
#include "vm/frame.h"
#include "vm/linker.h"
#include "vm/profiler.h"
#include "vm/race.h"

namespace dhpvm::vm {

class Isolate;
class LoopTier;
class Tier;

// Opcodes that occur in no module: return addresses of calls that no call instruction made.
constexpr std::uint16_t kExitOp = bytecode::kOpCount;             // back to C++
constexpr std::uint16_t kIterateOp = bytecode::kOpCount + 1;      // the next iteration of the parallel loop
constexpr std::uint16_t kEnterNativeOp = bytecode::kOpCount + 2;  // the code of a compiled function
constexpr std::uint16_t kAnchorOp = bytecode::kOpCount + 3;       // never run: marks the frame of an Anchor
inline constexpr bytecode::Word kExitCode = kExitOp;
inline constexpr bytecode::Word kIterateCode = kIterateOp;
inline constexpr bytecode::Word kEnterNativeCode = kEnterNativeOp;
inline constexpr bytecode::Word kAnchorCode = kAnchorOp;
inline constexpr std::uint64_t kNoResume = ~std::uint64_t{0};

// The parallel loop being run. One at a time: kernels can neither contain another nor call natives.
struct InterpretedLoop {
  // Hot fields, used by every iteration, come first.
  std::uint64_t* p;  // the kernel's registers; null when a compiled kernel has trapped
  gc::Ref* r;
  Frame* frame;
  const bytecode::Word* code;
  std::int64_t index[3];
  std::int64_t inner_high;
  std::uint16_t inner;  // the innermost dimension: dimensions - 1
  bool simple;          // no reductions
  bool restore;         // scalars or local arrays must be set up again for every iteration
  bool begun;           // the first iteration has been started

  bool active = false;
  const LinkedKernel* kernel;
  std::int64_t low[3];
  std::int64_t high[3];
  const bytecode::Word* site;       // the parallel.for
  const bytecode::Word* resume_pc;  // where to go on behind the loop
  std::uint64_t* window;            // its argument window of primitives
  std::uint32_t block_position;     // iterations done in the current block of the reductions
  bool leaves_block_open;           // at the end of a row: the block goes on elsewhere
  std::byte* local_end;             // Context::local_end
  std::vector<std::uint64_t> accumulators;
  std::vector<std::uint64_t> lanes;  // by lane, then by reduction
  Tracer::Clock::time_point begin;

  // The number of iterations before the current one.
  std::uint64_t linear_index() const;
};

using TrapReason = codegen::TrapKind;

// A call at the time when the program trapped.
struct TracePosition {
  const LinkedFunction* function;
  const bytecode::Word* pc;
};

// A look at the clock every 1024 ticks costs less than 0.1 ns per tick, and is taken every few microseconds.
constexpr std::uint32_t kBatch = 1024;

struct Context {
  // Fields for the fast paths.
  const LinkedFunction* functions;
  gc::AllocationArea* area;
  const gc::TypeInfo* types;
  gc::Ref* strings;  // the string constants made so far
  const LinkedModule* linked;
  std::byte* local_end;  // see Frame::locals

  // The machine's registers, as of the last time they were saved.
  const bytecode::Word* pc = &kExitCode;
  std::uint64_t* p = nullptr;
  gc::Ref* r = nullptr;
  Frame* frame = nullptr;
  std::int64_t ticks = 0;  // the unused rest of the last batch

  InterpretedLoop loop;

  // Fields for compiled code, which uses no primitive registers: the registers that the interpreter would use for its
  // calls are free from here on.
  std::uint64_t* primitives = nullptr;
  const void* const* bodies = nullptr;  // by function: compiled code, or null
  std::uintptr_t native_limit = 0;      // how far the machine's own stack may be used
  std::uint64_t resume = kNoResume;  // set by a continuation whose loop has ended, see codegen::StateLayout
  std::uint64_t most_in_place = 0;   // iterations of a parallel loop that compiled functions run themselves
  Tier* tier = nullptr;              // null: everything is interpreted
  LoopTier* loops = nullptr;         // likewise, of parallel loops

  Isolate* isolate;
  gc::Heap* heap;
  std::unique_ptr<RaceDetector> races;  // null: races are not checked
  TrapReason reason{};
  std::optional<Error> trap;         // set when the interpreter stops early
  std::vector<TracePosition> trace;  // with it: the calls since the last entry from C++, innermost first

  // Fuel is taken in batches; between them, deadline and interrupts are checked.
  std::uint32_t batch = kBatch;
  std::uint64_t fuel_left = 0;     // not counting the batch
  std::uint64_t fuel_batched = 0;  // given out in batches so far
  bool fuel_limited = false;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::optional<Alarm::Setting> deadline_alarm;  // of this call; set by the first loop that needs it
  StopToken* stop;
  std::uint64_t bulk_bytes = 0;        // moved by single instructions since the last look at the clock
  std::uint64_t collections_seen = 0;  // of Heap::collections(), at that time

  std::uint32_t depth = 0;  // nested calls from C++
  std::uint64_t host_calls = 0;
  std::uint64_t safepoints = 0;
  std::uint64_t parallel_loops = 0;
  std::uint64_t parallel_iterations = 0;
  std::uint64_t slow_accesses = 0;
  std::uint64_t fetches = 0;
  std::size_t off_heap_bytes = 0;
  std::size_t off_heap_peak_bytes = 0;
  std::chrono::nanoseconds run_time{0};
  Tracer* tracer = nullptr;
  std::uint32_t track = 0;

  // Primitives, references, frames and local arrays, in one mapping: a process may have some 65,000 mappings, whatever
  // their size.
  Reservation stacks;
  std::byte* reference_stack = nullptr;
  std::vector<gc::Ref> string_constants;
  LinkedFunction outermost{};  // stands for "no function" in the frame at the bottom
  Catching catching;
  // For each word of the module's code, how often the instruction there was run. Empty unless executions are counted.
  std::vector<std::uint64_t> executions;
  std::unique_ptr<Profiler> profiler;  // null: no samples are taken
  std::uintptr_t native_entry =
      0;  // of the machine's own stack, where the innermost compiled code was entered
};

// Calls nested deeper than this from C++ into the program, through natives, would exhaust the C++ stack.
constexpr std::uint32_t kMaximumDepth = 200;

}  // namespace dhpvm::vm
