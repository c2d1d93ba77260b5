// SPDX-License-Identifier: Apache-2.0
// Compiled code that forgets to tell the collector of one reference must be noticed: each store of a root and each
// write barrier of a few programs that need them is left out in turn, and the program must then fail.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "vm/compile_service.h"
#include "vm/test_program.h"

namespace dhpvm::vm {
namespace {

#ifdef DHPVM_CODEGEN_LIBRARY

// Every program has `run() -> i64`, which gives 42. `churn` occupies the freed places.
constexpr std::string_view kRuntime = R"(
type class Node
  field next: Node
  field value: i64
type array Nodes: Node
type array Numbers: i64
function churn() registers 3 1
  imm p0, 0
  imm p1, 300
  imm p2, 7
Again:
  new r0, Node
  put.i64 r0, 16, p2
  for.i64 p0, p1, Again
  return
end
)";

// References that live across calls.
constexpr std::string_view kCalls = R"(
function run() -> i64 registers 2 3 exported
  imm p0, 40
  new r0, Node
  put.i64 r0, 16, p0
  call p1, r1, churn
  get.i64 p0, r0, 16
  imm p1, 2
  new r1, Node
  put.i64 r1, 16, p1
  call p1, r2, churn
  get.i64 p1, r1, 16
  add.i64 p0, p0, p1
  return
end
)";

constexpr std::string_view kParameters = R"(
function keep(Node) -> i64 registers 1 2
  call p0, r1, churn
  get.i64 p0, r0, 16
  return
end
function run() -> i64 registers 1 1 exported
  imm p0, 42
  new r0, Node
  put.i64 r0, 16, p0
  call p0, r0, keep
  return
end
)";

constexpr std::string_view kArrays = R"(
function run() -> i64 registers 4 2 exported
  imm p0, 8
  new.array r0, p0, Numbers
  imm p1, 42
  imm p2, 3
  store.i64 r0, p2, p1
  call p3, r1, churn
  load.i64 p0, r0, p2
  return
end
)";

// The holder is old by the time it is given something that nothing else refers to.
constexpr std::string_view kFields = R"(
function give(Node) registers 1 2
  imm p0, 42
  new r1, Node
  put.i64 r1, 16, p0
  put.ref r0, 8, r1
  return
end
function run() -> i64 registers 1 2 exported
  new r0, Node
  call p0, r1, churn
  move.r r1, r0
  call p0, r1, give
  call p0, r1, churn
  get.ref r1, r0, 8
  get.i64 p0, r1, 16
  return
end
)";

constexpr std::string_view kElements = R"(
function give(Nodes) registers 2 2
  imm p0, 42
  imm p1, 5
  new r1, Node
  put.i64 r1, 16, p0
  store.ref r0, p1, r1
  return
end
function run() -> i64 registers 1 2 exported
  imm p0, 8
  new.array r0, p0, Nodes
  call p0, r1, churn
  move.r r1, r0
  call p0, r1, give
  call p0, r1, churn
  imm p0, 5
  load.ref r1, r0, p0
  get.i64 p0, r1, 16
  return
end
)";

bool gives_42(std::string_view program, codegen::Mutation& mutation) {
  codegen::GeneratorOptions generator;
  generator.mutation = &mutation;
  IsolateOptions options;
  options.jit.mode = JitMode::kEager;
  options.compile_service = std::make_shared<CompileService>(generator, DHPVM_CODEGEN_LIBRARY);
  options.gc_stress = 1;
  options.gc_verify = true;
  Program running(std::string(kRuntime) + std::string(program), options);
  return running.run("run") == 42;
}

// In a process of its own, for it may well crash.
bool survives(std::string_view program, codegen::Mutation mutation) {
  const pid_t child = fork();
  if (child == 0) {
    static_cast<void>(std::freopen("/dev/null", "w", stdout));
    static_cast<void>(std::freopen("/dev/null", "w", stderr));
    const bool right = gives_42(program, mutation) && !testing::Test::HasFailure();
    _exit(right ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

using Mutation = testing::TestWithParam<std::string_view>;
class RootStore : public Mutation {};
class WriteBarrier : public Mutation {};

TEST_P(RootStore, LeftOutIsNoticed) {
  codegen::Mutation none;
  ASSERT_TRUE(gives_42(GetParam(), none));
  ASSERT_GT(none.mirror_stores, 0u);
  // The program itself survives in a process of its own: failures below come from the mutations.
  ASSERT_TRUE(survives(GetParam(), {}));
  for (std::uint32_t n = 0; n < none.mirror_stores; ++n) {
    EXPECT_FALSE(survives(GetParam(), {.mirror_store = n})) << "without store " << n << " of a root";
  }
}

TEST_P(WriteBarrier, LeftOutIsNoticed) {
  codegen::Mutation none;
  ASSERT_TRUE(gives_42(GetParam(), none));
  ASSERT_EQ(none.barriers, 1u);
  ASSERT_TRUE(survives(GetParam(), {}));
  EXPECT_FALSE(survives(GetParam(), {.barrier = 0}));
}

// In these every store of a root is needed: no caller and no earlier store keeps the same object alive.
INSTANTIATE_TEST_SUITE_P(Programs, RootStore, testing::Values(kCalls, kParameters, kArrays));
INSTANTIATE_TEST_SUITE_P(Programs, WriteBarrier, testing::Values(kFields, kElements));

#else

TEST(RootStore, NeedsNativeCode) {
  GTEST_SKIP() << "this build has no native code generator (DHPVM_CODEGEN is OFF)";
}

#endif

}  // namespace
}  // namespace dhpvm::vm
