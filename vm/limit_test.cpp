// SPDX-License-Identifier: Apache-2.0
// Limits: fuel, deadline, interrupts, memory. Each ends in a trap, after which the isolate can be used again.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "gc/poison.h"
#include "vm/test_program.h"
#include "vm/test_programs.h"

namespace dhpvm::vm {
namespace {

TEST(Fuel, IsExact) {
  IsolateOptions options;
  // `count(n)` takes n - 1 back-edges; a batch is 1024 ticks.
  for (const std::uint64_t fuel : {0, 1, 10, 1023, 1024, 1025, 5000}) {
    options.limits.fuel = fuel;
    Program program(kWork, options);
    EXPECT_EQ(program.run("count", {fuel + 1}), fuel + 1) << fuel;
    EXPECT_EQ(program->fuel_left(), 0u);
    EXPECT_EQ(program->stats().fuel_used, fuel);
    const Error error = program.trap("count", {2});
    EXPECT_EQ(error.code(), ErrorCode::kOutOfFuel);
    EXPECT_EQ(error.frames()[0].line, 3u);

    Program too_little(kWork, options);
    EXPECT_EQ(too_little.trap("count", {fuel + 2}).code(), ErrorCode::kOutOfFuel);
  }
}

TEST(Fuel, CountsCallsAndBackEdges) {
  Program program(kWork);
  program.run("calls", {100});
  EXPECT_EQ(program->stats().fuel_used, 100u + 99u);
  EXPECT_EQ(program->fuel_left(), Limits::kUnlimitedFuel);
}

TEST(Fuel, CanBeRefilled) {
  IsolateOptions options;
  options.limits.fuel = 10;
  Program program(kWork, options);
  EXPECT_EQ(program.trap("forever").code(), ErrorCode::kOutOfFuel);
  program->set_fuel(3000);
  EXPECT_EQ(program.run("count", {2001}), 2001u);
  EXPECT_EQ(program->fuel_left(), 1000u);
  EXPECT_EQ(program->stats().fuel_used, 2010u);
  program->set_fuel(Limits::kUnlimitedFuel);
  EXPECT_EQ(program.run("count", {100'000}), 100'000u);
}

TEST(Deadline, EndsEndlessLoops) {
  IsolateOptions options;
  options.limits.deadline = std::chrono::milliseconds(20);
  Program program(kWork, options);
  const auto begin = std::chrono::steady_clock::now();
  const Error error = program.trap("forever");
  EXPECT_EQ(error.code(), ErrorCode::kDeadline);
  EXPECT_EQ(error.message(), "the call took longer than 20 ms");
  EXPECT_EQ(error.frames()[0].line, 8u);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(20));
  // It counts per call.
  EXPECT_EQ(program.run("count", {1000}), 1000u);
  // Instructions that move much memory at once are no way around it.
  EXPECT_EQ(program.trap("copies").code(), ErrorCode::kDeadline);
  program->set_deadline(Limits::kNoDeadline);
  EXPECT_EQ(program.run("count", {1000}), 1000u);
}

// Between two looks at the clock at most 1024 ticks pass; where a tick may take long, there are more looks.
TEST(Deadline, IsLookedAtAfterEverythingThatTakesTime) {
  constexpr std::string_view kSlow = R"(
import work()
type class List
  field next: List
function collections(i64) registers 2 1 exported
  imm p1, 0
Again:
  new r0, List
  for.i64 p1, p0, Again
  return
end
function natives(i64) registers 2 0 exported
  imm p1, 0
Again:
  call.native p2, r0, work
  for.i64 p1, p0, Again
  return
end
function long_strings(i64) -> bool registers 3 2 exported
  const.string r0, "0123456789abcdef"
  imm p1, 0
  imm p2, 16
Double:
  move.r r1, r0
  string.concat r0, r0, 2
  for.i64 p1, p2, Double
  move.r r1, r0
  imm p1, 0
Again:
  string.eq p2, r0, r1
  string.compare p2, r0, r1
  for.i64 p1, p0, Again
  return.p p2
end
)";
  NativeRegistry natives;
  ASSERT_TRUE(natives.define("work", "()", [](NativeCall&) -> Status { return {}; }).ok());
  IsolateOptions options;
  options.gc_stress = 1;
  Program program(kSlow, options, natives);
  const auto looks = [&](std::string_view function, std::uint64_t count) {
    const std::uint64_t before = program->stats().safepoints;
    program.run(function, {count});
    return program->stats().safepoints - before;
  };
  // Under stress half of the collections are done in parts of a few objects.
  EXPECT_GE(looks("collections", 500), 250u);
  EXPECT_GE(looks("natives", 640), 10u);
  // Each string has 1 MiB.
  EXPECT_GE(looks("long_strings", 500), 100u);
  EXPECT_LE(looks("natives", 32), 3u);
}

TEST(Interrupt, StopsTheProgramFromAnotherThread) {
  Program program(kWork);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    program->interrupt();
  });
  const Error error = program.trap("forever");
  other.join();
  EXPECT_EQ(error.code(), ErrorCode::kInterrupted);
  EXPECT_EQ(program.run("count", {5000}), 5000u);
}

TEST(Interrupt, BeforeTheCallStopsTheNextOne) {
  Program program(kWork);
  program->interrupt();
  EXPECT_EQ(program.trap("count", {1}).code(), ErrorCode::kInterrupted);
  EXPECT_EQ(program.run("count", {1}), 1u);
}

TEST(Memory, HoardingObjectsTrapsWithACensus) {
  IsolateOptions options;
  options.limits.heap_bytes = std::size_t{4} << 20;
  Program program(kWork, options);
  const Error error = program.trap("hoard");
  EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
  EXPECT_NE(error.message().find("an object of class 'List'"), std::string::npos) << error.message();
  EXPECT_NE(error.message().find("limit of 4 MiB"), std::string::npos) << error.message();
  EXPECT_EQ(error.frames()[0].line, 30u);
  EXPECT_EQ(program.run("garbage", {1'000'000}), 1'000'000u) << "what the trap left is garbage";
  EXPECT_EQ(program.trap("ref_array", {10'000'000}).code(), ErrorCode::kOutOfMemory);
  EXPECT_EQ(program.trap("strings").code(), ErrorCode::kOutOfMemory);
  EXPECT_EQ(program.run("garbage", {1'000'000}), 1'000'000u);
}

// The control group allows less than the limits of heap and arrays: without our own limit the system kills us.
TEST(Memory, ReachingTheMemoryOfTheSystemIsATrapThatNamesIt) {
  IsolateOptions options;
  options.limits.memory = {std::size_t{64} << 20, "/sys/fs/cgroup/service/memory.max"};
  Program program(kWork, options);
  for (int round = 0; round < 2; ++round) {
    const Error objects = program.trap("hoard");
    EXPECT_EQ(objects.code(), ErrorCode::kOutOfMemory);
    EXPECT_NE(objects.message().find("64 MiB (/sys/fs/cgroup/service/memory.max)"), std::string::npos)
        << objects.message();
    EXPECT_EQ(program.trap("ref_array", {10'000'000}).code(), ErrorCode::kOutOfMemory);
    const Error arrays = program.trap("big_arrays", {std::uint64_t{60} << 20, 1});
    EXPECT_EQ(arrays.code(), ErrorCode::kOffHeapExhausted);
    EXPECT_NE(arrays.message().find("memory.max"), std::string::npos) << arrays.message();
    EXPECT_EQ(program.run("garbage", {1'000'000}), 1'000'000u);
    EXPECT_EQ(program.run("big_arrays", {std::uint64_t{16} << 20, 10}), 10u);
  }
}

std::size_t resident_bytes() {
  std::size_t virtual_pages = 0;
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> virtual_pages >> pages;
  return pages * 4096;
}

TEST(Memory, GoesBackToTheSystemWhenTheProgramIsIdle) {
  if (gc::kPoisoning) GTEST_SKIP() << "SKIP: the memory of AddressSanitizer is resident, too";
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  IsolateOptions options;
  options.limits.heap_bytes = 256 * kMiB;
  for (const std::string_view what : {"hoard", "strings", "big_arrays"}) {
    Program program(kWork, options);
    const std::size_t before = resident_bytes();
    if (what == "big_arrays") {
      program.run(what, {32 * kMiB, 4});
    } else {
      EXPECT_EQ(program.trap(what).code(), ErrorCode::kOutOfMemory);
    }
    EXPECT_GT(resident_bytes(), before + 30 * kMiB) << what;
    // As a native does that waits; for long, because machines that run tests are busy.
    for (int i = 0; i < 3000 && resident_bytes() > before + 16 * kMiB; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      program->rest({gc::IdleWatch::WaitKind::kAhead, std::chrono::hours(1)});
    }
    EXPECT_LE(resident_bytes(), before + 16 * kMiB) << what;
  }
}

TEST(Memory, LargeArraysAreLimitedSeparately) {
  IsolateOptions options;
  options.limits.off_heap_bytes = std::size_t{8} << 20;
  Program program(kWork, options);
  // Dropped arrays are collected before the limit counts.
  EXPECT_EQ(program.run("big_arrays", {std::uint64_t{1} << 20, 100}), 100u);
  EXPECT_LE(program->stats().off_heap_peak_bytes, std::size_t{8} << 20);
  const Error error = program.trap("big_arrays", {std::uint64_t{16} << 20, 1});
  EXPECT_EQ(error.code(), ErrorCode::kOffHeapExhausted);
  EXPECT_EQ(error.frames()[0].line, 50u);
  EXPECT_EQ(program.run("big_arrays", {std::uint64_t{4} << 20, 10}), 10u);
  program->heap().collect(gc::CollectionKind::kFull);
  EXPECT_EQ(program->stats().off_heap_bytes, 0u);
}

TEST(Memory, ArraysBelowTheThresholdStayInTheHeap) {
  Program program(kWork);
  program.run("big_arrays", {gc::kOffHeapThreshold - 1, 1});
  EXPECT_EQ(program->stats().off_heap_peak_bytes, 0u);
  program.run("big_arrays", {gc::kOffHeapThreshold, 1});
  EXPECT_GT(program->stats().off_heap_peak_bytes, 0u);
}

}  // namespace
}  // namespace dhpvm::vm
