// SPDX-License-Identifier: Apache-2.0
// The options of a heap, and the statistics that it reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "gc/pause_histogram.h"

namespace dhpvm {
class ReservationPool;
class ThreadPool;
class Tracer;
}  // namespace dhpvm

namespace dhpvm::gc {

struct HeapOptions {
  // Blocks and large objects together may not exceed this many bytes, unless more than half of that is holes too small
  // for any object; 0: only the reservation limits them.
  std::size_t limit_bytes = 0;

  // The bytes that a heap with such holes may occupy (docs/decisions/0023). 0: 2.25 times the limit.
  std::size_t fragmented_limit_bytes = 0;

  // The bytes for blocks, large objects and external memory together, such as the memory of the machine. 0: unknown.
  std::size_t memory_bytes = 0;

  // Bytes allocated between two minor collections. 0 starts at 8 MiB and adapts between 4 and 64
  // MiB: survivors of a minor collection count as old at once, so a larger nursery pays whenever
  // many objects survive.
  std::size_t nursery_bytes = 0;

  // A full collection starts when the heap has grown by max(32 MiB, growth x live) since the last one.
  double growth = 1.0;

  // Collect before every n-th allocation (1: before each). 0 is off. Every eighth of these is
  // a full collection.
  std::uint32_t stress = 0;

  // After each collection compare the marks with an independent marker, check every header and reference,
  // look for old-to-young references that the write barrier missed, and fill freed memory with 0xDB. Slow.
  bool verify = false;

  // Receives a slice per collection. May be null. Must outlive the heap.
  Tracer* tracer = nullptr;

  // Its threads mark and sweep together while the program waits. May be null. Must outlive the heap.
  ThreadPool* thread_pool = nullptr;

  // Called after an idle program has been collected: to give back memory outside the heap that was kept for later.
  std::function<void()> release_memory = {};

  // Source of the heap's address space, which the heap returns there. May be null. Must outlive the heap.
  ReservationPool* address_space = nullptr;

  // Address space to reserve for blocks. Halved until the system agrees (RLIMIT_AS).
  std::size_t reservation_bytes = std::size_t{64} << 30;

  // Address space for the mark stack. A stack that overflows costs time, never correctness.
  std::size_t mark_stack_bytes = std::size_t{512} << 20;

  // The off-heap budget of the program, for the pressure rules. The heap does not enforce it. 0: unknown.
  std::size_t external_budget_bytes = 0;
};

enum class CollectionKind : std::uint8_t { kMinor, kFull };

// Why a collection ran; shown in traces and statistics.
enum class CollectionReason : std::uint8_t {
  kNursery,
  kGrowth,
  kLimit,
  kExternal,
  kStress,
  kIdle,
  kRequested
};

// Why an allocation failed.
enum class Shortfall : std::uint8_t {
  kLimit,   // HeapOptions::limit_bytes
  kMemory,  // HeapOptions::memory_bytes
  kSystem,  // the system refuses, although there should be room: a limit on address space, for example
};

const char* to_string(CollectionKind kind);
const char* to_string(CollectionReason reason);

struct HeapStats {
  std::uint64_t minor_collections = 0;
  std::uint64_t full_collections = 0;
  PauseHistogram minor_pauses;
  PauseHistogram full_pauses;
  std::uint64_t bytes_allocated = 0;  // since creation, large objects included
  std::size_t live_bytes = 0;         // in blocks and large objects, as of the last collection
  std::size_t block_bytes = 0;        // blocks that hold objects
  std::size_t peak_block_bytes = 0;
  std::size_t large_bytes = 0;  // large objects and their card tables
  std::size_t immortal_bytes = 0;
  std::size_t external_bytes = 0;
  std::size_t nursery_bytes = 0;  // the current budget
  std::uint64_t cleaners_run = 0;
};

}  // namespace dhpvm::gc
