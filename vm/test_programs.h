// SPDX-License-Identifier: Apache-2.0
// Programs in assembly that the tests of this room and the seeds of its fuzzer share.
#pragma once

#include <string_view>

namespace dhpvm::vm {

inline constexpr std::string_view kAccess = R"(
type array A: i32
type array M: i32 rank 2
type array T: i32 rank 3
function read(i64, i64) -> i32 registers 2 1 exported
  line "a.dhp" 1:1
  new.array r0, p0, A
  line "a.dhp" 2:1
  load.i32 p0, r0, p1
  return
end
function write(i64, i64) registers 2 1 exported
  line "a.dhp" 1:1
  new.array r0, p0, A
  line "a.dhp" 3:1
  store.i32 r0, p1, p1
  return
end
function read_null(i64) -> i32 registers 1 1 exported
  null r0
  load.i32 p0, r0, p0
  return
end
function matrix(i64, i64, i64, i64) -> i64, i64, i64, i64 registers 8 1 exported
  new.array r0, p0, M
  index2 p4, r0, p2, p3
  array.length p5, r0
  array.dim p6, r0, 0
  array.dim p7, r0, 1
  store.i32 r0, p4, p4
  move.p p0, p4
  move.p p1, p5
  move.p p2, p6
  move.p p3, p7
  return
end
function cube(i64, i64, i64, i64, i64, i64) -> i64, i64, i64, i64 registers 8 1 exported
  new.array r0, p0, T
  index3 p6, r0, p3, p4, p5
  array.dim p1, r0, 0
  array.dim p2, r0, 1
  array.dim p3, r0, 2
  move.p p0, p6
  return
end
function sizes(i64, i64) -> i64, i64, i64 registers 4 1 exported
  new.array r0, p0, M
  array.length p2, r0
  array.dim p0, r0, 0
  array.dim p1, r0, 1
  return
end
)";

inline constexpr std::string_view kCopy = R"(
type array A: i32
type array S: str
function copy(A, A, i64, i64, i64) registers 3 2 exported
  array.copy r0, r1, p0
  return
end
function copy_strings(S, S, i64, i64, i64) registers 3 2 exported
  array.copy r0, r1, p0
  return
end
function close(A) registers 0 1 exported
  array.close r0
  array.close r0
  return
end
function get(A, i64) -> i32 registers 1 1 exported
  load.i32 p0, r0, p0
  return
end
function set(A, i64) registers 1 1 exported
  store.i32 r0, p0, p0
  return
end
)";

inline constexpr std::string_view kShapes = R"(
type interface Shape
  method area() -> f64
  method add(f64, i64) -> f64, i64
type class Square
  field side: f64
  implements Shape: Square.area, Square.add
type class Circle
  field radius: f64
  implements Shape: Circle.area, Circle.add
type class Other
  field x: i64

function Square.area(Square) -> f64 registers 1 1
  get.f64 p0, r0, 8
  mul.f64 p0, p0, p0
  return
end
function Square.add(Square, f64, i64) -> f64, i64 registers 3 1
  get.f64 p2, r0, 8
  add.f64 p0, p0, p2
  add.imm.i64 p1, p1, 1
  return
end
function Circle.area(Circle) -> f64 registers 2 1
  line "shapes.dhp" 20:1
  get.f64 p0, r0, 8
  mul.f64 p0, p0, p0
  const p1, 3.0
  mul.f64 p0, p0, p1
  return
end
function Circle.add(Circle, f64, i64) -> f64, i64 registers 2 1
  trap kUserTrap
end

function areas() -> f64, f64, f64, i64 registers 5 3 exported
  const p0, 2.0
  new r0, Square
  put.f64 r0, 8, p0
  new r1, Circle
  put.f64 r1, 8, p0
  upcast r2, r0, Shape
  call.interface p0, r2, Shape::area
  move.p p1, p0
  upcast r2, r1, Shape
  call.interface p2, r2, Shape::area
  move.p p1, p2
  upcast r2, r0, Shape
  const p3, 1.5
  imm p4, 41
  call.interface p3, r2, Shape::add
  move.p p2, p3
  move.p p3, p4
  return
end
function call_null() -> f64 registers 1 1 exported
  line "shapes.dhp" 40:1
  null r0
  upcast r0, r0, Shape
  line "shapes.dhp" 41:1
  call.interface p0, r0, Shape::area
  return
end
function make(i32) -> Shape registers 1 1
  jump.eq.imm.i32 p0, 0, Null
  jump.eq.imm.i32 p0, 1, S
  new r0, Circle
  upcast r0, r0, Shape
  return
S:
  new r0, Square
  upcast r0, r0, Shape
  return
Null:
  null r0
  return
end
function is_square(i32) -> bool registers 1 1 exported
  call p0, r0, make
  is.type p0, r0, Square
  return
end
function to_square(i32) -> bool registers 1 1 exported
  call p0, r0, make
  cast r0, r0, Square
  is.null p0, r0
  return
end
function other_is_shape() -> bool, bool registers 2 1 exported
  new r0, Other
  is.type p0, r0, Shape
  is.type p1, r0, Other
  return
end
function square_is_shape() -> bool, bool registers 2 2 exported
  new r0, Square
  is.type p0, r0, Shape
  cast r1, r0, Shape
  eq.ref p1, r0, r1
  return
end
function other_to_shape() registers 0 1 exported
  new r0, Other
  cast r0, r0, Shape
  return
end
)";

inline constexpr std::string_view kStrings = R"(
function length() -> i64 registers 1 1 exported
  const.string r0, "h\xc3\xa9llo"
  string.length p0, r0
  return
end
function byte(i64) -> i32 registers 1 1 exported
  line "s.dhp" 7:1
  const.string r0, "h\xc3\xa9llo"
  string.byte p0, r0, p0
  return
end
function compare(str, str) -> i32, bool registers 2 2 exported
  string.eq p1, r0, r1
  string.compare p0, r0, r1
  return
end
function equal(str, str) -> bool registers 1 2 exported
  string.eq p0, r0, r1
  return
end
function concat(str, str, str) -> str registers 0 3 exported
  string.concat r0, r0, 3
  return
end
function one(str) -> str registers 0 1 exported
  string.concat r0, r0, 1
  return
end
function constant() -> str registers 0 1 exported
  const.string r0, "constant"
  return
end
function fail(str) registers 0 1 exported
  line "s.dhp" 30:1
  trap.message r0
end
function code() registers 0 0 exported
  trap kUserTrap
end
)";

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

inline constexpr std::string_view kWork = R"(
type array Bytes: u8
type array Lists: List
type class List
  field next: List
  field pad: i64
function count(i64) -> i64 registers 2 0 exported
  line "w.dhp" 2:1
  imm p1, 0
Again:
  line "w.dhp" 3:1
  for.i64 p1, p0, Again
  return.p p1
end
function forever() registers 0 0 exported
Again:
  line "w.dhp" 8:1
  loop Again
end
function calls(i64) -> i64 registers 3 0 exported
  imm p1, 0
Again:
  call p2, r0, nothing
  for.i64 p1, p0, Again
  return.p p1
end
function nothing() registers 0 0
  return
end
function copies() registers 4 1 exported
  const p0, 67108864
  new.array r0, p0, Bytes
  imm p1, 0
  imm p2, 0
  const p3, 67108864
Again:
  array.copy r0, r0, p1
  loop Again
end
function hoard() registers 0 2 exported
  null r0
Again:
  line "w.dhp" 30:1
  new r1, List
  put.ref r1, 8, r0
  move.r r0, r1
  loop Again
end
function garbage(i64) -> i64 registers 2 1 exported
  imm p1, 0
Again:
  new r0, List
  for.i64 p1, p0, Again
  return.p p1
end
function big_arrays(i64, i64) -> i64 registers 3 1 exported
  imm p2, 0
Again:
  line "w.dhp" 50:1
  new.array r0, p0, Bytes
  for.i64 p2, p1, Again
  return.p p2
end
function ref_array(i64) registers 1 1 exported
  new.array r0, p0, Lists
  return
end
function strings() registers 0 2 exported
  const.string r0, "0123456789abcdef"
Again:
  move.r r1, r0
  string.concat r0, r0, 2
  loop Again
end
)";

inline constexpr std::string_view kLoops = R"(
type array A: i64
type array M: i64 rank 2
type array F: f64

function write_index(i64, i64, A) registers 3 1
  line "loop.dhp" 2:1
  mul.i64 p2, p0, p1
  line "loop.dhp" 3:1
  store.i64 r0, p0, p2
  return
end
function one(i64, i64, i64, A) registers 3 1 exported
  line "loop.dhp" 10:1
  parallel.for p0, r0, #0
  return
end

function visit(i64, i64, i64, A) registers 5 1
  local i64 1
  imm p3, 0
  local.load.i64 p4, l0, p3
  add.imm.i64 p4, p4, 1
  local.store.i64 l0, p3, p4
  load.i64 p4, r0, p3
  add.imm.i64 p4, p4, 1
  store.i64 r0, p3, p4
  mul.imm.i64 p0, p0, 100
  mul.imm.i64 p1, p1, 10
  add.i64 p0, p0, p1
  add.i64 p0, p0, p2
  local.load.i64 p1, l0, p3
  mul.imm.i64 p1, p1, 1000
  add.i64 p0, p0, p1
  store.i64 r0, p4, p0
  return
end
function three(i64, i64, i64, i64, i64, i64, A) registers 6 1 exported
  parallel.for p0, r0, #1
  return
end

function sum2(i64, i64, f64, i64, F) -> f64, i64 registers 6 1
  load.f64 p4, r0, p1
  mul.f64 p4, p4, p4
  add.f64 p2, p2, p4
  add.i64 p3, p3, p0
  move.p p0, p2
  move.p p1, p3
  return
end
function reduce2(i64, i64, i64, i64, f64, i64, F) -> f64, i64 registers 6 1 exported
  parallel.for p0, r0, #2
  return
end

function many(i64, i64, f64, i64, i64, i64, i64) -> i64, i64, i64, i64 registers 10 0
  ; index p0, captured p1 and p2, four accumulators whose results overwrite the captures
  f64.to.i64 p7, p2
  add.i64 p8, p1, p7
  add.i64 p9, p0, p8
  add.i64 p0, p3, p9
  add.i64 p1, p4, p9
  add.i64 p2, p5, p9
  add.i64 p3, p6, p9
  return
end
function reduce4(i64, i64, i64, f64) -> i64, i64, i64, i64 registers 8 0 exported
  imm p4, 1
  imm p5, 2
  imm p6, 3
  imm p7, 4
  parallel.for p0, r0, #3
  return
end

function helper(A, i64) registers 2 1
  line "loop.dhp" 50:1
  imm p1, 0
  load.i64 p1, r0, p0
  return
end
function calls(i64, A) registers 2 2
  line "loop.dhp" 60:1
  move.r r1, r0
  move.p p1, p0
  call p1, r1, helper
  return
end
function with_calls(i64, i64, A) registers 2 1 exported
  line "loop.dhp" 70:1
  parallel.for p0, r0, #4
  return
end
kernel write_index dims 1
kernel visit dims 3
kernel sum2 dims 2 reduce add:f64 reduce add:i64
kernel many dims 1 reduce add:i64 reduce add:i64 reduce add:i64 reduce add:i64
kernel calls dims 1
)";

inline constexpr std::string_view kAllocations = R"(
type class Node
  field left: Node
  field right: Node
  field name: str
  field depth: i32
type array Nodes: Node
type array Matrix: f64 rank 2
type struct Entry
  field key: str
  field node: Node
  field weight: f64
type array Entries: Entry
type weak WeakNode: Node

function make(i32, str) -> Node registers 3 4 exported
  new r1, Node
  put.i32 r1, 32, p0
  const.string r2, "."
  move.r r3, r0
  string.concat r2, r2, 2
  put.ref r1, 24, r2
  jump.eq.imm.i32 p0, 0, Leaf
  add.imm.i32 p1, p0, -1
  move.r r2, r0
  call p1, r2, make
  put.ref r1, 8, r2
  add.imm.i32 p1, p0, -1
  get.ref r2, r1, 24
  call p1, r2, make
  put.ref r1, 16, r2
Leaf:
  return.r r1
end
function count(Node) -> i64 registers 2 2 exported
  jump.nonnull r0, Inner
  imm p0, 0
  return
Inner:
  get.ref r1, r0, 24
  string.length p0, r1
  get.ref r1, r0, 8
  call p1, r1, count
  add.i64 p0, p0, p1
  get.ref r1, r0, 16
  call p1, r1, count
  add.i64 p0, p0, p1
  return
end
function tree(i32) -> i64 registers 1 1 exported
  const.string r0, "x"
  call p0, r0, make
  call p0, r0, count
  return
end
; Old arrays get young elements.
function tables(i64) -> i64 registers 8 7 exported
  imm p1, 50
  new.array r0, p1, Nodes
  new.array r1, p1, Entries
  imm p2, 0
Fill:
  rem.i64 p3, p2, p1
  new r2, Node
  i64.to.i32 p4, p2
  put.i32 r2, 32, p4
  store.ref r0, p3, r2
  store.field.ref r1, p3, r2, 8:24
  const.string r3, "key"
  const.string r4, "s"
  string.concat r3, r3, 2
  store.field.ref r1, p3, r3, 0:24
  i64.to.f64 p4, p2
  store.field.f64 r1, p3, p4, 16:24
  new.weak r4, r2, WeakNode
  get.weak r4, r4
  null.check r4
  imm p4, 3
  imm p5, 4
  new.array r5, p4, Matrix
  for.i64 p2, p0, Fill
  imm p2, 0
  imm p7, 0
Sum:
  load.ref r2, r0, p2
  load.field.ref r3, r1, p2, 8:24
  eq.ref p3, r2, r3
  u32.to.u64 p3, p3
  add.i64 p7, p7, p3
  get.i32 p3, r2, 32
  i32.to.i64 p3, p3
  add.i64 p7, p7, p3
  load.field.ref r3, r1, p2, 0:24
  string.length p3, r3
  add.i64 p7, p7, p3
  imm p3, 0
  imm p4, 0
  imm p5, 50
  array.copy r0, r0, p3
  for.i64 p2, p1, Sum
  return.p p7
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
