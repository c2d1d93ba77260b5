// SPDX-License-Identifier: Apache-2.0
// Programs that allocate all the time, with a collection before each allocation and the heap checked around
// it; and several isolates on several threads.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "vm/test_program.h"
#include "vm/test_programs.h"

namespace dhpvm::vm {
namespace {

// Sum over a complete tree of the lengths of names that grow by one on the way to the right.
std::uint64_t expected_tree(int depth, std::uint64_t length) {
  std::uint64_t sum = length + 1;
  if (depth == 0) return sum;
  sum += expected_tree(depth - 1, length);
  return sum + expected_tree(depth - 1, length + 1);
}

std::uint64_t expected_tables(std::uint64_t n) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = n - 50; i < n; ++i) sum += 1 + i + 4;
  return sum;
}

TEST(GcStress, TreesAndTables) {
  for (const std::uint32_t stress : {1u, 3u, 17u}) {
    IsolateOptions options;
    options.gc_stress = stress;
    options.gc_verify = true;
    Program program(kAllocations, options);
    EXPECT_EQ(program.run("tree", {5}), expected_tree(5, 1));
    EXPECT_EQ(program.run("tables", {120}), expected_tables(120));
    EXPECT_TRUE(program->heap().check().ok());
    EXPECT_GT(program->stats().heap.minor_collections + program->stats().heap.full_collections, 20u);
  }
}

TEST(GcStress, WithoutIt) {
  Program program(kAllocations);
  EXPECT_EQ(program.run("tree", {12}), expected_tree(12, 1));
  EXPECT_EQ(program.run("tables", {50'000}), expected_tables(50'000));
}

// Registers above a call's window may hold stale references of a deeper call. The collector must neither follow dead
// ones, nor lose live ones.
TEST(GcStress, WindowsBelowLiveRegisters) {
  IsolateOptions options;
  options.gc_stress = 1;
  options.gc_verify = true;
  Program program(R"(
type class Node
  field next: Node
function deep(i64) registers 2 9
  new r8, Node
  new r7, Node
  put.ref r7, 8, r8
  jump.eq.imm.i64 p0, 0, Done
  add.imm.i64 p1, p0, -1
  call p1, r3, deep
Done:
  return
end
function shallow(i64) registers 1 1
  new r0, Node
  new r0, Node
  return
end
function f(i64) -> i64 registers 4 6 exported
  imm p1, 0
Again:
  new r0, Node
  new r5, Node
  put.ref r0, 8, r5
  imm p2, 6
  call p2, r1, deep
  new r4, Node
  imm p2, 0
  call p2, r2, shallow
  new r5, Node
  imm p2, 2
  call p2, r1, deep
  get.ref r1, r0, 8
  null.check r1
  for.i64 p1, p0, Again
  return.p p1
end
)",
                  options);
  EXPECT_EQ(program.run("f", {20}), 20u);
}

TEST(Threads, IsolatesShareNothing) {
  auto module = bytecode::assemble(kAllocations);
  ASSERT_TRUE(module.ok());
  ASSERT_TRUE(bytecode::verify(*module).ok());
  const auto linked = *LinkedModule::link(std::make_shared<const bytecode::Module>(std::move(module).value()),
                                          NativeRegistry());
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      auto isolate = Isolate::create(linked);
      if (!isolate.ok()) return;
      for (int round = 0; round < 3; ++round) {
        std::uint64_t p[1] = {8};
        if (!(*isolate)->call(*(*isolate)->find_export("tree"), p, {}).ok()) return;
        if (p[0] != expected_tree(8, 1)) return;
      }
      ++right;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 4);
}

// An isolate may move between threads, as long as one at a time uses it.
TEST(Threads, AnIsolateMayMove) {
  Program program(kAllocations);
  program.run("tree", {6});
  std::thread other([&] { EXPECT_EQ(program.run("tree", {7}), expected_tree(7, 1)); });
  other.join();
  EXPECT_EQ(program.run("tree", {6}), expected_tree(6, 1));
}

}  // namespace
}  // namespace dhpvm::vm
