// SPDX-License-Identifier: Apache-2.0
// Loops on the host with kernels written in C++ in place of compiled ones, on pools of several sizes.
#include "offload/devices/host/host_loop.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "bytecode/reduction.h"
#include "bytecode/registers.h"
#include "offload/devices/host/open_block.h"

namespace dhpvm::offload {
namespace {

using bytecode::Kind;
using bytecode::put;
using bytecode::Reduction;
using bytecode::ReductionOp;
using codegen::KernelArray;
using codegen::KernelCall;
using codegen::KernelChunk;
using codegen::KernelStatus;
using Index = std::array<std::int64_t, 3>;

// Calls f(index) for each iteration, until it returns a status other than kDone.
template <typename F>
KernelStatus for_each(const KernelChunk& chunk, F&& f) {
  const auto end = [&](int d) { return std::max(chunk.high[d], chunk.low[d] + 1); };
  Index i;
  for (i[0] = chunk.low[0]; i[0] < end(0); ++i[0]) {
    for (i[1] = chunk.low[1]; i[1] < end(1); ++i[1]) {
      for (i[2] = chunk.low[2]; i[2] < end(2); ++i[2]) {
        if (const KernelStatus status = f(i); status != KernelStatus::kDone) return status;
      }
    }
  }
  return KernelStatus::kDone;
}

KernelArray array_of(auto& values) {
  const auto length = static_cast<std::int64_t>(values.size());
  return {reinterpret_cast<std::byte*>(values.data()), {length, length, length, {length}}};
}

// Stated speeds of a kernel: they decide, with the size of the space, into how many chunks it is cut.
constexpr double kSpeeds[] = {0, 1e-12, 1e-9, 1e-7, 1e-4, 1};

class HostLoops : public testing::TestWithParam<unsigned> {
 protected:
  LoopOutcome run(const HostLoop& loop, double speed) {
    LoopProfile profile{speed};
    Result<LoopOutcome> outcome = run_on_host(pool, loop, profile);
    EXPECT_TRUE(outcome.ok());
    return *outcome;
  }
  ThreadPool pool{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Threads, HostLoops, testing::Values(1u, 2u, 7u));

// element(i, j, k) += 1, in an array of extent scalars[0] by scalars[1] by scalars[2] with the lows behind
// them.
KernelStatus count_visits(const KernelCall* call, KernelChunk* chunk) {
  return for_each(*chunk, [&](const Index& i) {
    std::uint64_t linear = 0;
    for (unsigned d = 0; d < 3; ++d)
      linear = linear * call->scalars[d] + static_cast<std::uint64_t>(i[d]) - call->scalars[3 + d];
    ++reinterpret_cast<int*>(call->arrays[0].data)[linear];
    return KernelStatus::kDone;
  });
}

TEST_P(HostLoops, EveryIterationRunsOnce) {
  const IterationSpace spaces[] = {
      {1, {0}, {1}},           {1, {-5}, {100'003}},         {2, {3, -2}, {20, 5000}},
      {2, {0, 0}, {3000, 7}},  {3, {1, 2, 3}, {30, 40, 50}}, {3, {0, 0, 0}, {2, 3, 20'000}},
      {2, {0, 0}, {1, 70'000}}};
  for (const IterationSpace& space : spaces) {
    for (const double speed : kSpeeds) {
      std::vector<int> visits(*space.count());
      std::uint64_t scalars[6] = {1, 1, 1};
      for (unsigned d = 0; d < space.dimensions; ++d) {
        scalars[d] = space.extent(d);
        scalars[3 + d] = static_cast<std::uint64_t>(space.low[d]);
      }
      const KernelArray array = array_of(visits);
      const LoopOutcome outcome = run({count_visits, scalars, &array, space, {}, {}, nullptr}, speed);
      EXPECT_EQ(outcome.status, KernelStatus::kDone);
      EXPECT_EQ(outcome.iterations, visits.size());
      EXPECT_EQ(std::count(visits.begin(), visits.end(), 1), std::ssize(visits));
      if (speed == 1 && visits.size() > 5000) {
        EXPECT_EQ(outcome.parallel, GetParam() > 1);
      }
    }
  }
}

// The memory of a chunk is its own while it runs.
KernelStatus use_panels(const KernelCall*, KernelChunk* chunk) {
  const auto mark = static_cast<std::uint64_t>(chunk->low[0]) + 1;
  std::memcpy(chunk->panels, &mark, sizeof mark);
  std::this_thread::sleep_for(std::chrono::microseconds(50));
  std::uint64_t found = 0;
  std::memcpy(&found, chunk->panels, sizeof found);
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(chunk->panels) % 64 == 0;
  return found == mark && is_aligned ? KernelStatus::kDone : KernelStatus::kTrapped;
}

TEST_P(HostLoops, ChunksHavePanelsOfTheirOwn) {
  HostLoop loop{use_panels, nullptr, nullptr, {1, {0}, {100'000}}, {}, {}, nullptr};
  loop.panel_bytes = 4096;
  EXPECT_EQ(run(loop, 1e-6).status, KernelStatus::kDone);
}

// Adds to an element of the first array and keeps the least of the second, plainly if nobody else does.
KernelStatus update(const KernelCall* call, KernelChunk* chunk) {
  auto* const counts = reinterpret_cast<std::int32_t*>(call->arrays[0].data);
  auto* const least = reinterpret_cast<std::int64_t*>(call->arrays[1].data);
  auto& lone_chunks = *reinterpret_cast<std::atomic<int>*>(call->arrays[2].data);
  if (chunk->alone != 0) ++lone_chunks;
  for (std::int64_t i = chunk->low[0]; i < chunk->high[0]; ++i) {
    const std::int64_t value = (i * 7919) % 100'003 - 40'000;
    if (chunk->alone != 0) {
      ++counts[i % 5];
      least[i % 3] = std::min(least[i % 3], value);
    } else {
      std::atomic_ref(counts[i % 5]).fetch_add(1);
      std::atomic_ref<std::int64_t> place(least[i % 3]);
      for (std::int64_t seen = place; value < seen && !place.compare_exchange_weak(seen, value);) {
      }
    }
  }
  return KernelStatus::kDone;
}

TEST_P(HostLoops, ThreadsUpdateCopies) {
  constexpr std::int64_t kIterations = 100'000;
  const UpdatedArray updated[] = {{0, {ReductionOp::kAdd, Kind::kI32}}, {1, {ReductionOp::kMin, Kind::kI64}}};
  for (const bool may_copy : {false, true}) {
    for (const double speed : kSpeeds) {
      std::vector<std::int32_t> counts(5, -7);
      std::vector<std::int64_t> least = {5, -50'000, 1'000'000};
      std::vector<std::int32_t> lone_chunks(1);
      const KernelArray arrays[] = {array_of(counts), array_of(least), array_of(lone_chunks)};
      HostLoop loop{update, nullptr, arrays, {1, {0}, {kIterations}}, {}, {}, nullptr};
      loop.array_count = 3;
      if (may_copy) loop.updated = updated;
      const LoopOutcome outcome = run(loop, speed);
      EXPECT_EQ(counts, std::vector<std::int32_t>(5, kIterations / 5 - 7));
      EXPECT_EQ(least[1], -50'000);
      EXPECT_EQ(least[0] < 5 && least[2] < 5, true);
      // Some are alone before the speed is known.
      if (may_copy || !outcome.parallel)
        EXPECT_EQ(static_cast<std::uint64_t>(lone_chunks[0]), outcome.chunks);
      if (!may_copy && outcome.parallel)
        EXPECT_LT(static_cast<std::uint64_t>(lone_chunks[0]), outcome.chunks);
    }
  }
}

KernelStatus never(const KernelCall*, KernelChunk*) {
  ADD_FAILURE() << "called for a loop that does not run";
  return KernelStatus::kDone;
}

TEST_P(HostLoops, PanelsThatTheSystemRefusesAreAnError) {
  LoopProfile profile;
  HostLoop loop{never, nullptr, nullptr, {1, {0}, {100}}, {}, {}, nullptr};
  loop.panel_bytes = std::size_t{1} << 58;
  const Result<LoopOutcome> outcome = run_on_host(pool, loop, profile);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code(), ErrorCode::kOutOfMemory);
}

TEST_P(HostLoops, AnEmptySpaceLeavesTheAccumulators) {
  std::uint64_t accumulator = 42;
  const Reduction reduction{ReductionOp::kAdd, Kind::kI64};
  for (const IterationSpace& space : {IterationSpace{1, {4}, {4}}, IterationSpace{1, {4}, {-4}},
                                      IterationSpace{3, {0, 0, 0}, {1000, 0, 1000}}}) {
    const LoopOutcome outcome =
        run({never, nullptr, nullptr, space, {&reduction, 1}, {&accumulator, 1}, nullptr}, 0);
    EXPECT_EQ(outcome.status, KernelStatus::kDone);
    EXPECT_EQ(outcome.iterations, 0u);
    EXPECT_EQ(accumulator, 42u);
  }
}

TEST_P(HostLoops, ASpaceTooLargeToCountIsRefused) {
  LoopProfile profile;
  const HostLoop loop{never, nullptr, nullptr, {2, {0, 0}, {1ll << 40, 1ll << 40}}, {}, {}, nullptr};
  const Result<LoopOutcome> outcome = run_on_host(pool, loop, profile);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code(), ErrorCode::kUnsupported);
}

// ---- Reductions

constexpr Reduction kSumAndLargest[] = {{ReductionOp::kAdd, Kind::kF32}, {ReductionOp::kMax, Kind::kI64}};

// The terms that iteration i adds: numbers whose sum depends on the order.
std::array<std::uint64_t, 2> contribution(const Index& i) {
  const std::int64_t mixed = (i[0] * 7919 + i[1] * 104729 + i[2] * 1299709) % 10007;
  return {put(static_cast<float>(1.0 / (1.0 + static_cast<double>(mixed)))), put(mixed)};
}

// The blocks of one row of a chunk.
void reduce_row(const Index& row, unsigned inner, std::int64_t low, std::int64_t high,
                std::uint64_t*& partials) {
  for (std::int64_t block = low; block < high; block += bytecode::kReductionBlock) {
    const std::int64_t end = std::min<std::int64_t>(high, block + bytecode::kReductionBlock);
    for (unsigned r = 0; r < 2; ++r) {
      std::array<std::uint64_t, bytecode::kReductionLanes> lanes;
      lanes.fill(identity(kSumAndLargest[r]));
      for (std::int64_t i = block; i < end; ++i) {
        Index index = row;
        index[inner] = i;
        std::uint64_t& lane = lanes[static_cast<std::size_t>(i - block) % bytecode::kReductionLanes];
        lane = combine(kSumAndLargest[r], lane, contribution(index)[r]);
      }
      for (std::size_t distance = bytecode::kReductionLanes / 2; distance > 0; distance /= 2) {
        for (std::size_t lane = 0; lane < distance; ++lane)
          lanes[lane] = combine(kSumAndLargest[r], lanes[lane], lanes[lane + distance]);
      }
      *partials++ = lanes[0];
    }
  }
}

// A part of a block.
void reduce_part(unsigned inner, KernelChunk& chunk) {
  Index index;
  std::ranges::copy(chunk.low, index.begin());
  for (std::uint64_t lane = 0; index[inner] < chunk.high[inner]; ++index[inner], ++lane) {
    for (unsigned r = 0; r < 2; ++r) {
      std::uint64_t& value = chunk.lanes[r * bytecode::kReductionLanes + lane % bytecode::kReductionLanes];
      value = combine(kSumAndLargest[r], value, contribution(index)[r]);
    }
  }
}

KernelStatus reduce(const KernelCall* call, KernelChunk* chunk) {
  const auto inner = static_cast<unsigned>(call->scalars[0]);
  if (chunk->lanes != nullptr) {
    reduce_part(inner, *chunk);
    return KernelStatus::kDone;
  }
  KernelChunk rows = *chunk;
  rows.high[inner] = rows.low[inner];
  std::uint64_t* partials = chunk->partials;
  return for_each(rows, [&](const Index& row) {
    reduce_row(row, inner, chunk->low[inner], chunk->high[inner], partials);
    return KernelStatus::kDone;
  });
}

// All partials of a space at once, folded from the left.
std::array<std::uint64_t, 2> expected_reduction(const IterationSpace& space,
                                                std::array<std::uint64_t, 2> values) {
  const std::uint64_t row = space.extent(space.inner());
  const std::uint64_t blocks =
      *space.count() / row * ((row + bytecode::kReductionBlock - 1) / bytecode::kReductionBlock);
  std::vector<std::uint64_t> partials(2 * blocks);
  KernelChunk chunk;
  std::ranges::copy(space.low, chunk.low);
  std::ranges::copy(space.high, chunk.high);
  chunk.partials = partials.data();
  const std::uint64_t inner = space.inner();
  const KernelCall call{&inner, nullptr, nullptr};
  reduce(&call, &chunk);
  for (std::size_t i = 0; i < partials.size(); ++i)
    values[i % 2] = combine(kSumAndLargest[i % 2], values[i % 2], partials[i]);
  return values;
}

TEST_P(HostLoops, ReductionsHaveTheSameBitsHoweverTheLoopIsCut) {
  const IterationSpace spaces[] = {{1, {0}, {1}},
                                   {1, {-100}, {4096}},
                                   {1, {17}, {60'000}},
                                   {2, {0, 5}, {10, 9000}},
                                   {2, {0, 0}, {9000, 3}},
                                   {3, {0, 0, 0}, {3, 4, 5000}},
                                   {3, {0, 0, 0}, {20, 30, 40}}};
  for (const IterationSpace& space : spaces) {
    const std::array<std::uint64_t, 2> initial{put(0.25f), put(std::int64_t{-3})};
    const auto expected = expected_reduction(space, initial);
    for (const double speed : kSpeeds) {
      for (const unsigned width : {1u, 8u, 32u}) {
        std::array<std::uint64_t, 2> accumulators = initial;
        const std::uint64_t inner = space.inner();
        const LoopOutcome outcome = run(
            {reduce, &inner, nullptr, space, kSumAndLargest, accumulators, nullptr, nullptr, width}, speed);
        EXPECT_EQ(outcome.status, KernelStatus::kDone);
        EXPECT_EQ(outcome.iterations, *space.count());
        EXPECT_EQ(accumulators, expected) << space.high[space.inner()] << " at " << speed << " by " << width;
      }
    }
  }
}

TEST_P(HostLoops, PartialResultsAreLeftWhereTheyAreWanted) {
  const IterationSpace spaces[] = {
      {1, {0}, {1}}, {1, {17}, {60'000}}, {2, {0, 5}, {10, 9000}}, {3, {0, 0, 0}, {20, 30, 40}}};
  for (const IterationSpace& space : spaces) {
    const std::array<std::uint64_t, 2> initial{put(0.25f), put(std::int64_t{-3})};
    for (const double speed : kSpeeds) {
      constexpr std::uint64_t kUntouched = 0x5555555555555555;
      std::vector<std::uint64_t> partials(2 * reduction_blocks(space) + 1, kUntouched);
      const std::uint64_t inner = space.inner();
      const LoopOutcome outcome =
          run({reduce, &inner, nullptr, space, kSumAndLargest, {}, nullptr, partials.data(), 8}, speed);
      EXPECT_EQ(outcome.status, KernelStatus::kDone);
      EXPECT_EQ(partials.back(), kUntouched);
      std::array<std::uint64_t, 2> folded = initial;
      for (std::size_t i = 0; i + 1 < partials.size(); ++i)
        folded[i % 2] = combine(kSumAndLargest[i % 2], folded[i % 2], partials[i]);
      EXPECT_EQ(folded, expected_reduction(space, initial)) << space.high[space.inner()] << " at " << speed;
    }
  }
}

TEST_P(HostLoops, AReductionGoesOnWhereABlockWasLeft) {
  const std::array<std::uint64_t, 2> initial{put(0.25f), put(std::int64_t{-3})};
  const std::uint64_t inner = 1;
  for (const std::int64_t extent : {2, 45, 4096, 20'000, 60'000}) {
    const IterationSpace space{2, {7, -30}, {8, extent - 30}};
    const auto expected = expected_reduction(space, initial);
    for (const std::int64_t done : {1, 31, 32, 77, 4095}) {
      if (done >= extent) continue;
      OpenBlock open;
      open.begin(kSumAndLargest);
      open.done = static_cast<std::uint64_t>(done);
      KernelChunk begun;
      std::ranges::copy(space.low, begun.low);
      begun.high[1] = begun.low[1] + done;
      begun.lanes = open.lanes.data();
      reduce_part(1, begun);
      IterationSpace rest = space;
      rest.low[1] += done;
      for (const double speed : kSpeeds) {
        for (const unsigned width : {1u, 8u, 32u}) {
          std::array<std::uint64_t, 2> accumulators = initial;
          HostLoop loop{reduce, &inner, nullptr, rest, kSumAndLargest, accumulators, nullptr};
          loop.width = width;
          loop.open = &open;
          EXPECT_EQ(run(loop, speed).iterations, *rest.count());
          EXPECT_EQ(accumulators, expected) << done << " of " << extent << " at " << speed << " by " << width;
        }
      }
    }
  }
}

// A thread's part of one block: `width` neighbouring lanes at once.
KernelStatus long_sum(const KernelCall* call, KernelChunk* chunk) {
  EXPECT_NE(chunk->lanes, nullptr);
  for (std::int64_t i = chunk->low[0]; i < chunk->high[0]; ++i) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(call->scalars[0]);
    while (std::chrono::steady_clock::now() < end) {
    }
    chunk->lanes[i - chunk->low[0]] += static_cast<std::uint64_t>(i);
  }
  return KernelStatus::kDone;
}

TEST_P(HostLoops, FewLongIterationsOfAReductionAreShared) {
  if (GetParam() == 1) return;
  const std::uint64_t nanoseconds = 100'000;
  const Reduction sum{ReductionOp::kAdd, Kind::kI64};
  for (const double known : {0.0, 1e-4}) {
    LoopProfile profile{known};
    std::uint64_t total = 1000;
    HostLoop loop{long_sum, &nanoseconds, nullptr, {1, {0}, {40}}, {&sum, 1}, {&total, 1}, nullptr};
    loop.width = 8;
    const Result<LoopOutcome> outcome = run_on_host(pool, loop, profile);
    ASSERT_TRUE(outcome.ok());
    EXPECT_TRUE(outcome->parallel);
    EXPECT_EQ(outcome->chunks, known == 0 ? 5u : 4u);  // four groups of lanes, and the trial
    EXPECT_EQ(total, 1000u + 780u);
    EXPECT_GE(profile.seconds_per_iteration, 0.9e-4);
  }
}

// ---- Traps

// Traps in all iterations whose index is in the array; their operand is the index.
KernelStatus trap_at(const KernelCall* call, KernelChunk* chunk) {
  const auto* const traps = reinterpret_cast<const std::int64_t*>(call->arrays[0].data);
  return for_each(*chunk, [&](const Index& i) {
    for (std::int64_t t = 0; t < call->arrays[0].shape.length; ++t) {
      if (traps[t] != i[0]) continue;
      chunk->trap = {7, 0, {i[0], i[1], i[2]}, {static_cast<std::uint64_t>(i[0])}};
      return KernelStatus::kTrapped;
    }
    reinterpret_cast<std::atomic<int>*>(call->arrays[1].data)[i[0]].store(1, std::memory_order_relaxed);
    return KernelStatus::kDone;
  });
}

TEST_P(HostLoops, TheFirstTrapIsReportedAndEverythingBeforeItIsDone) {
  for (const double speed : kSpeeds) {
    std::vector<std::int64_t> traps{90'000, 60'001, 99'999, 60'002, 70'000};
    std::vector<int> done(100'000);
    const KernelArray arrays[] = {array_of(traps), array_of(done)};
    const LoopOutcome outcome = run({trap_at, nullptr, arrays, {1, {0}, {100'000}}, {}, {}, nullptr}, speed);
    ASSERT_EQ(outcome.status, KernelStatus::kTrapped);
    EXPECT_EQ(outcome.trap.site, 7u);
    EXPECT_EQ(outcome.trap.index[0], 60'001);
    EXPECT_EQ(outcome.trap.operands[0], 60'001u);
    EXPECT_EQ(std::count(done.begin(), done.begin() + 60'001, 1), 60'001);
  }
}

// Iteration 10 traps; the last chunk goes on until it is stopped.
KernelStatus trap_or_hang(const KernelCall* call, KernelChunk* chunk) {
  if (chunk->high[0] == 1000) {
    while (call->stop->load() == 0) std::this_thread::yield();
    return KernelStatus::kStopped;
  }
  if (chunk->low[0] > 10 || chunk->high[0] <= 10) return KernelStatus::kDone;
  chunk->trap.index[0] = 10;
  return KernelStatus::kTrapped;
}

TEST_P(HostLoops, ATrapEndsALaterIterationThatNeverWould) {
  if (GetParam() == 1) return;  // goes in order, as one chunk
  std::atomic<std::uint32_t> stop{0};
  const HostLoop loop{trap_or_hang, nullptr, nullptr, {1, {0}, {1000}}, {}, {}, &stop};
  const LoopOutcome outcome = run(loop, 1);
  ASSERT_EQ(outcome.status, KernelStatus::kTrapped);
  EXPECT_EQ(outcome.trap.index[0], 10);
  EXPECT_EQ(stop.load(), 0u);
}

// Traps in the same iterations as trap_at, in reductions; what is done is counted in the second array.
KernelStatus trap_in_lanes(const KernelCall* call, KernelChunk* chunk) {
  KernelChunk row = *chunk;
  const KernelStatus status = trap_at(call, &row);
  chunk->trap = row.trap;
  return status;
}

TEST_P(HostLoops, TheFirstTrapOfSharedLanesIsReported) {
  const Reduction sum{ReductionOp::kAdd, Kind::kI64};
  const std::vector<std::int64_t> cases[] = {
      {4100, 37, 70, 5000}, {4100, 8190, 4101}, {999, 36, 35, 34}, {0, 1}, {8191}};
  for (std::vector<std::int64_t> traps : cases) {
    for (const unsigned width : {1u, 4u, 16u}) {
      for (const std::uint64_t begun : {0u, 5u}) {
        const std::int64_t first = std::ranges::min(traps);
        if (first < static_cast<std::int64_t>(begun)) continue;
        OpenBlock open;
        open.begin({&sum, 1});
        open.done = begun;
        std::vector<int> done(8192);
        std::fill_n(done.begin(), begun, 1);
        const KernelArray arrays[] = {array_of(traps), array_of(done)};
        std::uint64_t total = 0;
        HostLoop loop{trap_in_lanes, nullptr,     arrays, {1, {static_cast<std::int64_t>(begun)}, {8192}},
                      {&sum, 1},     {&total, 1}, nullptr};
        loop.width = width;
        if (begun != 0) loop.open = &open;
        const LoopOutcome outcome = run(loop, 1e-4);
        ASSERT_EQ(outcome.status, KernelStatus::kTrapped);
        EXPECT_EQ(outcome.trap.index[0], first);
        EXPECT_EQ(std::count(done.begin(), done.begin() + first, 1), first);
        EXPECT_EQ(total, 0u);
      }
    }
  }
}

// Iteration 10 traps, those from 11 on never end, and those before it take their time.
KernelStatus trap_among_lanes(const KernelCall* call, KernelChunk* chunk) {
  for (std::int64_t i = chunk->low[0]; i < chunk->high[0]; ++i) {
    if (i < 10) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      reinterpret_cast<std::atomic<int>*>(call->arrays[0].data)->fetch_add(1);
      continue;
    }
    chunk->trap.index[0] = i;
    if (i == 10) return KernelStatus::kTrapped;
    while (call->stop->load() == 0) std::this_thread::yield();
    return KernelStatus::kStopped;
  }
  return KernelStatus::kDone;
}

TEST_P(HostLoops, ATrapEndsALaneBehindItThatNeverWould) {
  if (GetParam() == 1) return;  // goes in order
  const Reduction sum{ReductionOp::kAdd, Kind::kI64};
  for (const unsigned width : {1u, 2u, 4u}) {
    std::vector<int> before(1);
    const KernelArray array = array_of(before);
    std::uint64_t total = 0;
    std::atomic<std::uint32_t> stop{0};
    HostLoop loop{trap_among_lanes, nullptr, &array, {1, {0}, {64}}, {&sum, 1}, {&total, 1}, &stop};
    loop.width = width;
    const LoopOutcome outcome = run(loop, 1);
    ASSERT_EQ(outcome.status, KernelStatus::kTrapped);
    EXPECT_EQ(outcome.trap.index[0], 10);
    EXPECT_EQ(before[0], 10);
    EXPECT_EQ(stop.load(), 0u);
  }
}

// ---- Stopping

KernelStatus wait_for_stop(const KernelCall* call, KernelChunk*) {
  while (call->stop->load() == 0) std::this_thread::yield();
  return KernelStatus::kStopped;
}

TEST_P(HostLoops, TheStopFlagEndsALoop) {
  for (const double speed : {0.0, 1.0}) {
    std::atomic<std::uint32_t> stop{0};
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      stop.store(1);
    });
    const LoopOutcome outcome =
        run({wait_for_stop, nullptr, nullptr, {1, {0}, {100'000}}, {}, {}, &stop}, speed);
    stopper.join();
    EXPECT_EQ(outcome.status, KernelStatus::kStopped);
    EXPECT_EQ(outcome.iterations, 0u);
    EXPECT_EQ(stop.load(), 1u);
  }
}

TEST_P(HostLoops, TheStopFlagEndsSharedLanes) {
  const Reduction sum{ReductionOp::kAdd, Kind::kI64};
  for (const double speed : {0.0, 1.0}) {
    std::uint64_t total = 5;
    std::atomic<std::uint32_t> stop{0};
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      stop.store(1);
    });
    const LoopOutcome outcome =
        run({wait_for_stop, nullptr, nullptr, {1, {0}, {1000}}, {&sum, 1}, {&total, 1}, &stop}, speed);
    stopper.join();
    EXPECT_EQ(outcome.status, KernelStatus::kStopped);
    EXPECT_EQ(total, 5u);
    EXPECT_EQ(stop.load(), 1u);
  }
}

TEST_P(HostLoops, AStopThatCameBeforeNothingRuns) {
  std::atomic<std::uint32_t> stop{1};
  EXPECT_EQ(run({never, nullptr, nullptr, {1, {0}, {100}}, {}, {}, &stop}, 0).status, KernelStatus::kStopped);
}

// ---- Sizes

KernelStatus busy(const KernelCall* call, KernelChunk* chunk) {
  return for_each(*chunk, [&](const Index&) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(call->scalars[0]);
    while (std::chrono::steady_clock::now() < end) {
    }
    return KernelStatus::kDone;
  });
}

TEST_P(HostLoops, TheProfileLearns) {
  LoopProfile profile;
  const std::uint64_t nanoseconds = 2000;
  const HostLoop loop{busy, &nanoseconds, nullptr, {1, {0}, {4000}}, {}, {}, nullptr};
  const Result<LoopOutcome> outcome = run_on_host(pool, loop, profile);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->parallel, GetParam() > 1);
  EXPECT_GE(profile.seconds_per_iteration, 2e-6);
}

TEST_P(HostLoops, FewLongIterationsAreShared) {
  const std::uint64_t nanoseconds = 300'000;
  for (const double known : {0.0, 3e-4}) {
    LoopProfile profile{known};
    HostLoop loop{busy, &nanoseconds, nullptr, {1, {0}, {6}}, {}, {}, nullptr};
    const Result<LoopOutcome> outcome = run_on_host(pool, loop, profile);
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(outcome->parallel, GetParam() > 1);
    EXPECT_EQ(outcome->chunks, GetParam() > 1 ? 6u : known == 0 ? 2u : 1u);
    // Iterations that the code does at once stay together.
    loop.space.high[0] = 48;
    loop.width = 16;
    const Result<LoopOutcome> wide = run_on_host(pool, loop, profile);
    ASSERT_TRUE(wide.ok());
    EXPECT_EQ(wide->chunks, GetParam() > 1 ? 3u : 1u);
  }
}

TEST_P(HostLoops, ShortLoopsStayOnTheirThread) {
  const std::uint64_t nanoseconds = 1;
  const HostLoop loop{busy, &nanoseconds, nullptr, {1, {0}, {10}}, {}, {}, nullptr};
  EXPECT_FALSE(run(loop, 1e-9).parallel);
}

TEST_P(HostLoops, ALoopThatWasTakenForShortIsSharedAfterAll) {
  LoopProfile profile{1e-9};
  const std::uint64_t nanoseconds = 10'000;
  const HostLoop loop{busy, &nanoseconds, nullptr, {1, {0}, {4000}}, {}, {}, nullptr};
  const Result<LoopOutcome> outcome = run_on_host(pool, loop, profile);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->parallel, GetParam() > 1);
}

}  // namespace
}  // namespace dhpvm::offload
