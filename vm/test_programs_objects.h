// SPDX-License-Identifier: Apache-2.0
// Programs in assembly for the tests of this room: arrays, objects, texts.
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

}  // namespace dhpvm::vm
