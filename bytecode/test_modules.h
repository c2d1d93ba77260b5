// SPDX-License-Identifier: Apache-2.0
// Modules in text form that the tests and the fuzzers' seed corpus share.
#pragma once

#include <string_view>

namespace dhpvm::bytecode {

// Verifies. Uses every section and every kind of type, local arrays, lines, odd names, calls of all four
// sorts, a kernel with reductions and hints.
inline constexpr std::string_view kTour = R"dasm(
module 1.0
string "tour.dhp"
string "hello, \"world\"\n\x00\xff"
string "unused"
string "unused"                       ; a duplicate: spelled $3 where it is meant
type string str
type resource resource
type class Node
  field left: Node
  field right: Node
  field name: str
  field key: i64
  field flag: bool
  field "weight (kg)": f32
  implements Shape: Node.area, "Node scale"
type interface Shape
  method area() -> f64
  method scale(f64, Node)
type struct Body
  field x: f32
  field y: f32
  field alive: bool
type struct Named
  field name: str
  field id: u16
type array [f64]: f64
type array [f32, 2]: f32 rank 2
type array [i64, 3]: i64 rank 3
type array [Body]: Body
type array [Named]: Named
type array [Node]: Node
type array [bool]: bool
type array [str]: str
type array [i32]: i32
type weak "weak Node": Node
type struct Mean
  field value: f64
  field count: i64
import io.write(str) -> i64
import host.open(str) -> resource

function Node.area(Node) -> f64 registers 2 1
  line "tour.dhp" 3:1
  get.i64 p0, r0, 32
  i64.to.f64 p0, p0
  line "tour.dhp" 4:9
  return.p p0
end

function "Node scale"(Node, f64, Node) registers 2 2
  get.f32 p1, r0, 40
  f64.to.f32 p0, p0
  mul.f32 p1, p1, p0
  put.f32 r0, 40, p1
  put.ref r0, 8, r1
  return
end

function fib(i64) -> i64 registers 4 0 exported
  jump.ge.imm.i64 p0, 2, L0
  return.p p0
L0:
  add.imm.i64 p2, p0, -1
  call p2, r0, fib
  move.p p1, p2
  add.imm.i64 p2, p0, -2
  call p2, r0, fib
  add.i64 p0, p1, p2
  return
end

function _(i64, [f64]) -> f64, i64 registers 4 1
  ; several results, in place
  struct 2 Mean
  imm p1, 0
  move.p p2, p0
  array.length p3, r0
  jump.le.i64 p3, p1, Done
  load.f64 p0, r0, p1
  move.p p1, p2
  return
Done:
  const p0, 0x3ff8000000000000
  return
end

function $3(i64, i64, f64, f64, i32, [f64], [f32, 2], [Body]) -> f64, i32 registers 12 3
  ; a kernel: indices p0 p1, captured p2, accumulators p3 (f64) and p4 (i32)
  local f32 16
  local u8 3
  index2 p5, r1, p0, p1
  load.f32 p6, r1, p5
  f32.to.f64 p6, p6
  load.field.f32 p7, r2, p0, 4:12
  store.field.u8 r2, p0, p0, 8:12
  and.imm.i64 p8, p0, 15
  local.zero l0
  local.store.f32 l0, p8, p7
  local.load.f32 p7, l0, p8
  local.store.u8 l1, p8, p8
  local.load.u8 p8, l1, p8
  f32.to.f64 p7, p7
  fma.f64 p3, p6, p7, p3
  move.p p9, p2
  call p9, r3, twice
  add.f64 p3, p3, p9
  imm p10, 1
  atomic.add.f64 p9, r0, p1, p3
  add.i32 p1, p4, p10
  move.p p0, p3
  return
end

function twice(f64) -> f64 registers 1 0
  add.f64 p0, p0, p0
  return
end

function main([str]) -> i32 registers 16 12
  line "tour.dhp" 20:1
  array.length p0, r0
  imm p1, 4
  new.array r1, p1, [f64]
  imm p2, 8
  new.array r2, p1, [f32, 2]
  imm p3, 2
  new.array r3, p1, [i64, 3]
  new.array r4, p1, [Body]
  new.array r5, p1, [Named]
  line "tour.dhp" 21:5
  imm p4, 0
Fill:
  i64.to.f64 p5, p4
  store.f64 r1, p4, p5
  load.field.ref r6, r5, p4, 0:16
  const.string r7, "hello, \"world\"\n\x00\xff"
  store.field.ref r5, p4, r7, 0:16
  string.length p6, r7
  string.compare p6, r7, r7
  string.eq p6, r6, r7
  for.i64 p4, p1, Fill
  line _ 22:0
  const.string r8, $3
  move.r r9, r7
  string.concat r8, r8, 2
  call.native p7, r8, io.write
  imm p6, 0
  imm p7, 0
  imm p8, 2
  imm p9, 0
  imm p10, 2
  imm p11, 3
  const p12, 1.5
  imm p13, 0
  move.r r8, r1
  move.r r9, r2
  move.r r10, r4
  parallel.for p7, r8, #0
  new r6, Node
  new.weak r7, r6, "weak Node"
  get.weak r8, r7
  jump.nonnull r8, Alive
  trap kUserTrap
Alive:
  upcast r8, r8, Shape
  is.type p5, r8, Node
  call.interface p7, r8, Shape::area
  cast r6, r6, Node
  move.r r9, r6
  upcast r8, r6, Shape
  call.interface p7, r8, Shape::scale
  imm p7, 0
  index3 p7, r3, p7, p7, p7
  load.i64 p7, r3, p7
  atomic.cas.i64 p7, r3, p7, p7, p7
  imm p7, 0
  imm p8, 0
  imm p9, 1
  array.copy r1, r1, p7
  array.close r1
  array.dim p7, r2, 1
  imm p10, 12
  call p10, r8, fib
  jump.eq.imm.i64 p10, 144, Good
  const.string r8, "bad fib"
  trap.message r8
Good:
  null r8
  jump.null r8, End
  null.check r8
End:
  imm p0, 0
  return.p p0
end

function odd() registers 1 0
Again:
  nop
  imm p0, 1
  jump.if p0, Out
  loop Again
Out:
  return
end

kernel unused dims 2 reduce add:f64 reduce max:i32 device "gpu" batch 4096 fastmath
entry main
)dasm";

// Small ones, each about one thing: what a fuzzer changes in them matters more often.
struct NamedText {
  std::string_view name;
  std::string_view text;
};
inline constexpr NamedText kSmallModules[] = {
    {"empty", ""},
    {"return", "function main() registers 0 0\n  return\nend\nentry main\n"},
    {"loop", R"dasm(function sum(i64) -> i64 registers 3 0 exported
  imm p1, 0
  imm p2, 0
  jump.le.i64 p0, p1, Out
Again:
  add.i64 p2, p2, p1
  for.i64 p1, p0, Again
Out:
  return.p p2
end
)dasm"},
    {"fields", R"dasm(type class Node
  field next: Node
  field value: i32
function last(Node) -> i32 registers 1 2
Again:
  get.ref r1, r0, 8
  jump.null r1, Found
  move.r r0, r1
  loop Again
Found:
  get.i32 p0, r0, 16
  return.p p0
end
)dasm"},
    {"interface", R"dasm(type interface Shape
  method area() -> f64
type class Square
  field side: f64
  implements Shape: Square.area
function Square.area(Square) -> f64 registers 1 1
  get.f64 p0, r0, 8
  mul.f64 p0, p0, p0
  return
end
function main() -> i32 registers 1 1
  new r0, Square
  upcast r0, r0, Shape
  call.interface p0, r0, Shape::area
  f64.to.i32 p0, p0
  return
end
entry main
)dasm"},
    {"arrays", R"dasm(type struct Pair
  field name: str
  field count: u16
type array [Pair]: Pair
type array [str]: str
function main([str]) registers 3 4
  array.length p0, r0
  new.array r1, p0, [Pair]
  imm p1, 0
  jump.le.i64 p0, p1, Out
Again:
  load.ref r2, r0, p1
  store.field.ref r1, p1, r2, 0:16
  store.field.u16 r1, p1, p1, 8:16
  for.i64 p1, p0, Again
Out:
  return
end
entry main
)dasm"},
    {"kernel", R"dasm(type array [f32]: f32
function body(i64, f32, f32, [f32]) -> f32 registers 4 1
  load.f32 p3, r0, p0
  fma.f32 p3, p3, p1, p3
  store.f32 r0, p0, p3
  add.f32 p2, p2, p3
  return.p p2
end
function main() registers 4 1
  imm p0, 0
  imm p1, 100
  new.array r0, p1, [f32]
  const p2, 2.0f
  imm p3, 0
  parallel.for p0, r0, #0
  return
end
kernel body dims 1 reduce add:f32 device "gpu"
entry main
)dasm"},
    {"strings", R"dasm(import io.write(str) -> i64
function main() registers 1 2
  line "strings.dhp" 1:1
  const.string r0, "a"
  const.string r1, "b"
  string.concat r0, r0, 2
  line "strings.dhp" 2:1
  call.native p0, r0, io.write
  return
end
entry main
)dasm"},
};

}  // namespace dhpvm::bytecode
