// SPDX-License-Identifier: Apache-2.0
// Programs in assembly that the tests of this room and the seeds of its fuzzer share.
#pragma once

#include <string_view>

#include "vm/test_programs_loops.h"
#include "vm/test_programs_objects.h"

namespace dhpvm::vm {

inline constexpr std::string_view kRecursion = R"(
function fib(i32) -> i32 registers 3 0 exported
  jump.lt.imm.i32 p0, 2, Done
  add.imm.i32 p2, p0, -1
  call p2, r0, fib
  move.p p1, p2
  add.imm.i32 p2, p0, -2
  call p2, r0, fib
  add.i32 p0, p1, p2
Done:
  return
end
function deep(i64) -> i64 registers 2 0 exported
  line "deep.dhp" 5:1
  jump.eq.imm.i64 p0, 0, Done
  add.imm.i64 p1, p0, -1
  line "deep.dhp" 7:1
  call p1, r0, deep
  add.imm.i64 p0, p1, 1
Done:
  return
end
function fail_at(i64) -> i64 registers 3 0 exported
  line "deep.dhp" 20:1
  jump.eq.imm.i64 p0, 0, Fail
  line "deep.dhp" 21:1
  add.imm.i64 p1, p0, -1
  call p1, r0, fail_at
  return.p p1
Fail:
  line "deep.dhp" 24:1
  div.i64 p1, p0, p0
  return.p p1
end
function swap(i64, str, i64, str) -> str, i64, str, i64 registers 3 3 exported
  move.p p2, p0
  move.p p0, p1
  move.p p1, p2
  move.r r2, r0
  move.r r0, r1
  move.r r1, r2
  return
end
function twice(i64) -> i64 registers 2 0 exported
  move.p p1, p0
  call p1, r0, increment
  call p1, r0, increment
  return.p p1
end
function increment(i64) -> i64 registers 1 0
  add.imm.i64 p0, p0, 1
  return
end
)";

inline constexpr std::string_view kNatives = R"(
type array Bytes: u8
import add(i32, i64, f32, f64, bool) -> f64
import greet(str) -> str
import fail(i64)
import maybe(str) -> bool
import sum(Bytes) -> i64
import several(i64) -> i64, str, i64
import again(i64) -> i64
function call_add(i32, i64, f32, f64, bool) -> f64 registers 5 0 exported
  call.native p0, r0, add
  return
end
function call_greet(str) -> str registers 0 1 exported
  line "n.dhp" 3:1
  call.native p0, r0, greet
  return
end
function call_fail(i64) registers 2 0 exported
  line "n.dhp" 5:1
  move.p p1, p0
  line "n.dhp" 6:1
  call.native p1, r0, fail
  return
end
function call_maybe() -> bool registers 1 1 exported
  null r0
  call.native p0, r0, maybe
  return
end
function call_sum(i64) -> i64 registers 3 1 exported
  new.array r0, p0, Bytes
  imm p1, 3
  store.u8 r0, p1, p1
  call.native p0, r0, sum
  return
end
function call_several(i64) -> i64, str, i64 registers 2 1 exported
  call.native p0, r0, several
  return
end
function nested(i64) -> i64 registers 2 0 exported
  line "n.dhp" 40:1
  jump.eq.imm.i64 p0, 0, Done
  add.imm.i64 p1, p0, -1
  line "n.dhp" 42:1
  call.native p1, r0, again
  add.imm.i64 p0, p1, 1
Done:
  return.p p0
end
function nested_trap(i64) -> i64 registers 2 0 exported
  line "n.dhp" 50:1
  div.i64 p0, p0, p0
  return.p p0
end
)";

struct NamedProgram {
  std::string_view name;
  std::string_view text;
};
inline constexpr NamedProgram kPrograms[] = {
    {"access", kAccess},   {"copy", kCopy},           {"shapes", kShapes},
    {"strings", kStrings}, {"recursion", kRecursion}, {"natives", kNatives},
    {"work", kWork},       {"loops", kLoops},         {"allocations", kAllocations},
};

}  // namespace dhpvm::vm
