// SPDX-License-Identifier: Apache-2.0
// Programs in assembly for the tests of this room: loops and allocations.
#pragma once

#include <string_view>

namespace dhpvm::vm {

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

}  // namespace dhpvm::vm
