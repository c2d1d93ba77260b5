// SPDX-License-Identifier: Apache-2.0
// Programs that the verifier must refuse, and some that it must accept, as text. kPrelude has the types and kOpen the
// registers of the bodies.
#include "bytecode/verifier.h"

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "bytecode/assembler.h"
#include "bytecode/test_modules.h"

namespace dhpvm::bytecode {
namespace {

constexpr std::string_view kPrelude = R"dasm(
type class Node
  field left: Node
  field name: str
  field key: i64
  field small: i8
  field flag: bool
  field "half": u16
type interface Shape
  method area(i64) -> f64
  method merge(Shape) -> Shape
type class Circle
  field radius: f64
  implements Shape: Circle.area, Circle.merge
type struct Body
  field x: f32
  field y: f32
  field alive: bool
type struct Named
  field name: str
  field id: u16
type array [f64]: f64
type array [Node]: Node
type array [Body]: Body
type array [Named]: Named
type array [f32, 2]: f32 rank 2
type array [bool]: bool
type array [i32]: i32
type array [i8]: i8
type array [u32]: u32
type array [Shape]: Shape
type array [i64, 3]: i64 rank 3
type weak weakNode: Node
type array [str]: str
import io.write(str, i64) -> i64
function Circle.area(Circle, i64) -> f64 registers 1 1
  get.f64 p0, r0, 8
  return.p p0
end
function Circle.merge(Circle, Shape) -> Shape registers 0 2
  return.r r0
end
function two(i64, Node, [f64]) -> i64, f64, str registers 2 2
  const p1, 1.0
  const.string r0, "two"
  return
end
function nothing() registers 0 0
  return
end
function kernel(i64, f64, f64, [f64]) -> f64 registers 6 1
  load.f64 p3, r0, p0
  fma.f64 p2, p3, p1, p2
  return.p p2
end
kernel kernel dims 1 reduce add:f64
)dasm";

// P0, P1: parameters. R0 Node, R1 [f64], R2 [Node], R3 [Body], R4 [Named], R5 str, R6 Shape, R7 [f32, 2],
// R8 weak Node, R9 [bool], R10 [i32], R11 Circle, R12 [i8], R13 [u32], R14 [Shape], R15 [i64, 3].
constexpr std::string_view kOpen =
    "function f(i64, i64, Node, [f64], [Node], [Body], [Named], str, Shape, [f32, 2], weakNode, [bool], "
    "[i32], "
    "Circle, [i8], [u32], [Shape], [i64, 3]) -> i64 registers 12 20\n"
    "  local f32 8\n"
    "  local bool 8\n";
constexpr std::string_view kClose = "\nEnd:\n  imm p0, 0\n  return.p p0\nend\n";

std::string with_body(std::string_view body) {
  std::string text(kPrelude);
  text += kOpen;
  text += body;
  text += kClose;
  return text;
}

Status verify_text(const std::string& text) {
  const Result<Module> module = assemble(text);
  if (!module.ok()) return module.error();
  return verify(*module);
}

struct Case {
  std::string_view text;
  std::string_view expected;
};

TEST(Verifier, AcceptsTheSharedModules) {
  EXPECT_TRUE(verify(*assemble(kTour)).ok());
  for (const NamedText& small : kSmallModules) {
    const Status status = verify_text(std::string(small.text));
    EXPECT_TRUE(status.ok()) << small.name << "\n" << status.error().to_string();
  }
}

TEST(Verifier, AcceptsGoodBodies) {
  const std::string_view bodies[] = {
      "",
      // Element kinds: bool as u8, unsigned 32-bit through i32, stores of either signedness.
      "load.u8 p2, r9, p0\n store.u8 r9, p0, p2\n store.i8 r9, p0, p2\n load.i8 p2, r12, p0",
      "store.u8 r12, p0, p0",
      "load.i32 p2, r13, p0\n store.i32 r13, p0, p2\n atomic.max.u32 p2, r13, p0, p2",
      "atomic.add.i32 p2, r13, p0, p0",
      "get.u8 p2, r0, 35\n put.i8 r0, 35, p2\n get.i8 p2, r0, 34\n get.u16 p2, r0, 32\n put.i16 r0, 32, p2",
      "local.load.u8 p2, l1, p0\n local.store.i8 l1, p0, p2\n local.zero l1",
      "load.field.u8 p2, r3, p0, 8:12\n store.field.i8 r3, p0, p2, 8:12",
      // Updates of fields, and of floats by their bits.
      "atomic.add.f32 p2, r3, p0, p1, 4:12\n atomic.cas.i32 p2, r3, p0, p1, p1, 0:12",
      "atomic.exchange.i64 p2, r1, p0, p0\n atomic.cas.i64 p2, r1, p0, p0, p0",
      "null r16\n atomic.add.i32 p2, r16, p0, p0, 8:4",
      // Null is accepted where an object is expected, and its parts count as null.
      "null r16\n get.ref r16, r16, 8\n load.ref r16, r16, p0\n get.ref r16, r16, 4000\n put.ref r0, 8, r16",
      "null r16\n put.i64 r16, 8, p0\n store.ref r16, p0, r5\n store.field.f32 r16, p0, p0, 99:7",
      "null r16\n load.f64 p2, r16, p0\n array.dim p2, r16, 2\n index2 p2, r16, p0, p0",
      "null r16\n string.length p2, r16",
      "null r16\n null r17\n move.r r18, r1\n call p0, r17, two\n add.i64 p0, p0, p0",
      // Merging null with an object gives the object's type; merging twice is no error unless it is read.
      "null r16\n jump.if p0, A\n move.r r16, r0\nA:\n get.i64 p2, r16, 24",
      "move.r r16, r0\n jump.if p0, A\n move.r r16, r1\nA:\n null r16\n get.ref r16, r16, 8",
      "jump.if p0, A\n imm p5, 1\nA:\n imm p5, 2\n add.i64 p5, p5, p5",
      // Loops: registers set before, and a reference that changes from null to an object.
      "null r16\n imm p2, 0\nA:\n move.r r17, r16\n move.r r16, r0\n for.i64 p2, p1, A\n get.i64 p3, r16, 24",
      "A:\n nop\n jump.if p0, End\n loop A",
      "A:\n loop A",
      // Classes stand for the interfaces that they implement.
      "upcast r16, r11, Shape\n upcast r16, r6, Shape\n store.ref r14, p0, r11\n store.ref r14, p0, r6",
      "move.r r16, r11\n move.p p2, p0\n call.interface p2, r16, Shape::area\n add.f64 p2, p2, p2",
      "move.r r16, r11\n move.r r17, r11\n call.interface p2, r16, Shape::merge\n upcast r1, r16, Shape",
      "cast r16, r6, Circle\n get.f64 p2, r16, 8\n cast r16, r0, Shape\n is.type p2, r16, Node",
      "new.weak r16, r0, weakNode\n get.weak r17, r16\n get.i64 p2, r17, 24",
      // Windows may be empty, and then start behind the bank.
      "call p12, r20, nothing",
      "imm p4, 0\n imm p5, 9\n imm p6, 0\n imm p7, 0\n parallel.for p4, r1, #0\n add.f64 p4, p4, p4",
      "move.r r16, r5\n move.r r17, r5\n string.concat r18, r16, 2\n string.eq p2, r18, r5",
      "null r16\n string.eq p2, r16, r16",
      "imm p3, 0\n imm p4, 0\n imm p5, 1\n array.copy r1, r1, p3\n array.close r1",
      "index2 p2, r7, p0, p1\n load.f32 p3, r7, p2\n index3 p2, r15, p0, p0, p0\n array.dim p3, r15, 2",
      // Unreachable code is not analysed.
      "jump End\n add.i64 p11, p11, p11\n move.r r19, r19",
      "trap kUserTrap\n jump End",
      "trap.text \"an assertion\"\n jump End",
      "jump.null r0, End\n null.check r0\n eq.ref p2, r0, r5\n is.null p2, r0",
      "null r16\n trap.message r16",
  };
  for (const std::string_view body : bodies) {
    const Status status = verify_text(with_body(body));
    EXPECT_TRUE(status.ok()) << body << "\n" << status.error().to_string();
  }
}

// Each module is refused with a message that its author can act on. `module_of` makes it from a case's text.
template <typename ModuleOf>
void expect_refused(std::span<const Case> cases, ModuleOf&& module_of) {
  for (const Case& c : cases) {
    const Status status = verify_text(module_of(c.text));
    ASSERT_FALSE(status.ok()) << c.text;
    EXPECT_EQ(status.error().code(), ErrorCode::kUnverified) << c.text << "\n" << status.error().to_string();
    EXPECT_NE(status.error().message().find(c.expected), std::string::npos) << c.text << "\n"
                                                                            << status.error().to_string();
  }
}

TEST(Verifier, RefusesBadOperands) {
  const Case cases[] = {
      {"word 0xffff", "unknown opcode 65535"},
      {"word 0x10000", "operand a is 1, and must be 0"},  // nop
      {"trap.text $99", "string 99 does not exist"},
      {"jump.if p0, End\n add.i64 p0, p0, p12", "P12 is outside the bank of 12"},
      {"move.r r20, r0", "R20 is outside the bank of 20"},
      {"move.r r16, r20", "R20 is outside the bank of 20"},
      {"store.f64 r21, p0, p0", "R21 is outside the bank of 20"},
      {"move.p p12, p0", "P12 is outside the bank of 12"},
      {"fma.f64 p0, p0, p0, p12", "second word 0xc is not a register of the bank"},
      {"fma.f64 p0, p0, p0, p65535", "second word 0xffff is not a register of the bank"},
      {"index3 p0, r15, p0, p0, p12", "does not name two registers"},
      {"index3 p0, r15, p0, p12, p0", "does not name two registers"},
      {"call p13, r0, nothing", "window P13 is outside the bank of 12"},
      {"call p0, r21, nothing", "window R21 is outside the bank of 20"},
      {"call p0, r0, #99", "function 99 does not exist"},
      {"call.native p0, r0, #1", "import 1 does not exist"},
      {"parallel.for p0, r0, #1", "kernel 1 does not exist"},
      {"call.interface p0, r6, Shape::#2", "method 2 of Shape does not exist"},
      {"call.interface p0, r6, Node::#0", "type 2 (Node) is not an interface"},
      {"const.string r16, $77", "string 77 does not exist"},
      {"local.load.f32 p2, l2, p0", "local array 2 does not exist"},
      {"local.load.f64 p2, l0, p0", "local array 0 holds other elements"},
      {"local.load.i8 p2, l1, p0", "local array 1 holds other elements"},
      {"local.store.u8 l0, p0, p0", "local array 0 holds other elements"},
      {"trap kIo", "2 is not the code of a trap"},
      {"trap kInternal", "is not the code of a trap"},
      {"trap 200", "200 is not the code of a trap"},
      {"trap 65535", "65535 is not the code of a trap"},
      {"new r16, Shape", "type 3 (Shape) is not a class"},
      {"new r16, #999", "type 999 does not exist"},
      {"new r16, str", "is not a class"},
      {"new.array r16, p0, Node", "type 2 (Node) is not an array"},
      {"imm p11, 1\n new.array r16, p11, [f32, 2]", "the sizes leave the bank"},
      {"upcast r16, r11, Circle", "is not an interface"},
      {"cast r16, r0, [f64]", "is not a class or interface"},
      {"is.type p2, r0, Body", "is not a class or interface"},
      {"new.weak r16, r0, Node", "is not a weak reference"},
      {"string.concat r16, r5, 0", "0 strings from R5 on are not a range of the bank"},
      {"string.concat r16, r5, -1", "-1 strings from R5 on"},
      {"string.concat r16, r19, 2", "2 strings from R19 on"},
      {"array.copy r1, r1, p10", "the three primitive operands leave the bank"},
  };
  expect_refused(cases, with_body);
}

TEST(Verifier, RefusesBadBranches) {
  const Case cases[] = {
      {"jump 0", "a branch may not lead backward"},
      {"jump -1", "a branch may not lead backward"},
      {"A:\n jump.if p0, A", "a branch may not lead backward"},
      {"A:\n nop\n jump.eq.i64 p0, p0, A", "a branch may not lead backward"},
      {"loop End", "a back-edge may not lead forward"},
      {"for.i64 p0, p1, End", "a back-edge may not lead forward"},
      {"jump 100", "the branch leads to word 100, outside the function"},
      {"loop -1", "the branch leads to word -1, outside the function"},
      {"jump.null r0, 2147483647", "outside the function"},
      {"loop -2147483648", "outside the function"},
      {"jump 2\n const p0, 5", "a branch leads into the middle of an instruction"},
  };
  expect_refused(cases, with_body);
}

TEST(Verifier, RefusesUnassignedRegisters) {
  const Case cases[] = {
      {"add.i64 p0, p2, p0", "P2 is not assigned on every path to here"},
      {"add.i64 p0, p0, p2", "P2 is not assigned on every path to here"},
      {"fma.f64 p0, p0, p0, p2", "P2 is not assigned on every path to here"},
      {"for.i64 p2, p0, 0", "P2 is not assigned on every path to here"},
      {"jump.if p2, End", "P2 is not assigned on every path to here"},
      {"move.r r17, r16", "R16 is not assigned on every path to here"},
      {"jump.if p0, A\n imm p2, 1\nA:\n move.p p3, p2", "P2 is not assigned on every path to here"},
      {"jump.if p0, A\n null r16\nA:\n move.r r17, r16", "R16 is not assigned on every path to here"},
      {"jump B\nA:\n move.p p3, p2\n jump End\nB:\n jump.if p0, A", "branch may not lead backward"},
      {"A:\n jump.if p0, B\n imm p2, 1\n loop A\nB:\n move.p p3, p2",
       "P2 is not assigned on every path to here"},
      {"local.store.f32 l0, p2, p0", "P2 is not assigned on every path to here"},
      {"new.array r16, p2, [f64]", "P2 is not assigned on every path to here"},
      {"new.array r16, p1, [f32, 2]", "size: P2 is not assigned"},
      {"array.copy r1, r1, p0", "position or count: P2 is not assigned"},
      {"call p2, r0, two", "argument: P2 is not assigned"},
      {"call p0, r16, two", "R16 is not assigned"},
  };
  expect_refused(cases, with_body);
}

TEST(Verifier, RefusesReferencesOfWrongTypes) {
  const Case cases[] = {
      {"jump.if p0, A\n move.r r0, r1\nA:\n move.r r16, r0",
       "R0 holds objects of different types on the paths to here"},
      {"move.r r16, r11\n jump.if p0, A\n move.r r16, r6\nA:\n jump.null r16, End",
       "R16 holds objects of different types"},
      {"A:\n get.i64 p2, r0, 24\n move.r r0, r1\n jump.if p0, End\n loop A",
       "R0 holds objects of different types"},
      {"load.f64 p2, r0, p0", "R0 is Node, not an array"},
      {"load.f64 p2, r7, p0", "R7 is [f32, 2], whose elements are of another kind"},
      {"load.f32 p2, r1, p0", "R1 is [f64], whose elements are of another kind"},
      {"load.i8 p2, r9, p0", "R9 is [bool], whose elements are of another kind"},
      {"load.u8 p2, r12, p0", "R12 is [i8], whose elements are of another kind"},
      {"load.i64 p2, r2, p0", "R2 is [Node], whose elements are of another kind"},
      {"load.ref r16, r3, p0", "R3 is [Body], whose elements are of another kind"},
      {"load.ref r16, r1, p0", "R1 is [f64], whose elements are of another kind"},
      {"store.i64 r10, p0, p0", "R10 is [i32], whose elements are of another kind"},
      {"store.ref r1, p0, r0", "R1 is [f64], whose elements are of another kind"},
      {"store.ref r2, p0, r5", "stored: R5 is str, wanted is Node"},
      {"store.ref r14, p0, r0", "stored: R0 is Node, wanted is Shape"},
      {"atomic.add.i64 p2, r10, p0, p0", "R10 is [i32], whose elements are of another kind"},
      {"atomic.add.f64 p2, r0, p0, p0", "R0 is Node, not an array"},
      {"atomic.add.i32 p2, r9, p0, p0", "R9 is [bool], whose elements are of another kind"},
      {"atomic.exchange.i64 p2, r2, p0, p0", "R2 is [Node], whose elements are of another kind"},
      {"atomic.cas.i32 p2, r1, p0, p0, p0", "R1 is [f64], whose elements are of another kind"},
      {"atomic.add.f32 p2, r3, p0, p0", "R3 is [Body], whose elements are of another kind"},
      {"atomic.add.f32 p2, r1, p0, p0, 4:12", "R1 is [f64], not an array of structs"},
      {"atomic.add.f32 p2, r3, p0, p0, 4:16", "elements of [Body] have 12 bytes, not 16"},
      {"atomic.add.f32 p2, r3, p0, p0, 8:12", "Body has no such field at offset 8"},
      {"atomic.add.i32 p2, r3, p0, p0, 4:12", "Body has no such field at offset 4"},
      {"atomic.add.i32 p2, r10, p0, p0, 4:0", "R10 is [i32], not an array of structs"},
      {"load.field.f32 p2, r1, p0, 0:12", "R1 is [f64], not an array of structs"},
      {"load.field.f32 p2, r2, p0, 8:40", "R2 is [Node], not an array of structs"},
      {"load.field.f32 p2, r3, p0, 0:16", "elements of [Body] have 12 bytes, not 16"},
      {"load.field.f32 p2, r3, p0, 2:12", "Body has no such field at offset 2"},
      {"load.field.f32 p2, r3, p0, 8:12", "Body has no such field at offset 8"},
      {"load.field.i64 p2, r4, p0, 0:16", "Named has no such field at offset 0"},
      {"load.field.ref r16, r4, p0, 8:16", "Named has no such field at offset 8"},
      {"load.field.f32 p2, r3, p0, 4294967292:12", "Body has no such field at offset 4294967292"},
      {"store.field.ref r4, p0, r0, 0:16", "stored: R0 is Node, wanted is str"},
      {"get.i64 p2, r1, 24", "R1 is [f64], not an instance of a class"},
      {"get.i64 p2, r6, 24", "R6 is Shape, not an instance of a class"},
      {"get.i64 p2, r0, 8", "Node has no such field at offset 8"},
      {"get.i64 p2, r0, 0", "Node has no such field at offset 0"},
      {"get.i64 p2, r0, 65535", "Node has no such field at offset 65535"},
      {"get.ref r16, r0, 24", "Node has no such field at offset 24"},
      {"get.u8 p2, r0, 34", "Node has no such field at offset 34"},
      {"put.f64 r0, 24, p0", "Node has no such field at offset 24"},
      {"put.ref r0, 8, r5", "stored: R5 is str, wanted is Node"},
      {"put.i64 r5, 8, p0", "R5 is str, not an instance of a class"},
      {"array.length p2, r5", "R5 is str, not an array"},
      {"array.close r0", "R0 is Node, not an array"},
      {"array.dim p2, r1, 1", "dimension 1 of [f64]"},
      {"array.dim p2, r7, -1", "dimension 65535 of [f32, 2]"},
      {"null r16\n array.dim p2, r16, 3", "dimension 3 of null"},
      {"index2 p2, r1, p0, p0", "[f64] has rank 1"},
      {"index3 p2, r7, p0, p0, p0", "[f32, 2] has rank 2"},
      {"imm p2, 0\n array.copy r1, r10, p0", "elements of [i32] cannot be copied into [f64]"},
      {"imm p2, 0\n array.copy r2, r14, p0", "elements of [Shape] cannot be copied into [Node]"},
      {"imm p2, 0\n array.copy r0, r1, p0", "R0 is Node, not an array"},
      {"upcast r16, r0, Shape", "upcast: R0 is Node, wanted is Shape"},
      {"new.weak r16, r5, weakNode", "target: R5 is str, wanted is Node"},
      {"get.weak r16, r0", "R0 is Node, not a weak reference"},
      {"string.length p2, r0", "a string: R0 is Node, wanted is str"},
      {"string.byte p2, r1, p0", "a string: R1 is [f64], wanted is str"},
      {"string.eq p2, r5, r0", "a string: R0 is Node, wanted is str"},
      {"string.concat r16, r4, 2", "a string: R4 is [Named], wanted is str"},
      {"string.concat r16, r5, 2", "a string: R6 is Shape, wanted is str"},
      {"trap.message r0", "a string: R0 is Node, wanted is str"},
  };
  expect_refused(cases, with_body);
}

TEST(Verifier, RefusesBadCalls) {
  const Case cases[] = {
      {"move.r r16, r0\n move.r r17, r0\n call p0, r16, two", "argument: R17 is Node, wanted is [f64]"},
      {"move.r r17, r1\n call p0, r16, two", "R16 is not assigned"},
      {"call p0, r19, two", "2 arguments or results in a window from R19 on leave the bank"},
      {"call p11, r0, two", "2 arguments or results in a window from P11 on leave the bank"},
      {"imm p5, 1\n call p2, r20, nothing\n move.p p2, p5", "P5 is not assigned"},
      {"move.r r16, r0\n move.r r17, r1\n call p0, r16, two\n move.r r0, r17", "R17 is not assigned"},
      {"call p12, r0, nothing\n move.r r16, r0", "R0 is not assigned"},
      {"move.r r16, r0\n move.r r17, r1\n call p0, r16, two\n get.i64 p0, r16, 24",
       "R16 is str, not an instance of a class"},
      {"move.r r16, r5\n call.native p1, r16, io.write\n move.p p0, p2", "P2 is not assigned"},
      {"move.r r16, r0\n call.native p0, r16, io.write", "argument: R16 is Node, wanted is str"},
      {"move.r r16, r0\n call.interface p0, r16, Shape::area", "argument: R16 is Node, wanted is Shape"},
      {"move.r r19, r6\n call.interface p0, r19, Shape::merge",
       "2 arguments or results in a window from R19 on"},
      {"move.r r16, r6\n move.r r17, r0\n call.interface p0, r16, Shape::merge",
       "argument: R17 is Node, wanted is Shape"},
      {"parallel.for p0, r1, #0", "argument: P2 is not assigned"},
      {"parallel.for p9, r1, #0", "4 arguments or results in a window from P9 on leave the bank"},
      {"imm p2, 0\n imm p3, 0\n parallel.for p0, r2, #0", "argument: R2 is [Node], wanted is [f64]"},
      {"imm p2, 0\n imm p3, 0\n parallel.for p0, r1, #0\n move.p p1, p3", "P3 is not assigned"},
  };
  expect_refused(cases, with_body);
}

TEST(Verifier, RefusesBadReturns) {
  const Case cases[] = {
      {"return.r r0", "the function does not have one reference result"},
      {"call p0, r20, nothing\n return", "result: P0 is not assigned"},
  };
  expect_refused(cases, with_body);
}

TEST(Verifier, RefusesBadFunctions) {
  const Case cases[] = {
      {"function f()\nend", "function 5 (f): has no code"},
      {"function f()\nnop\nend", "word 0, nop: control falls off the end of the function"},
      {"function f() registers 1 0\nimm p0, 0\njump.if p0, 1\nend", "outside the function"},
      {"function f() registers 1 0\nA:\nimm p0, 0\nfor.i64 p0, p0, A\nend", "control falls off the end"},
      {"function f() registers 1 0\nconst p0, 1\nend", "falls off the end"},
      {"function f()\nreturn\nword 0x0\nend", "control falls off the end"},
      {"function f(i64) registers 0 0\nreturn\nend", "0 primitive and 0 reference registers cannot hold"},
      {"function f() -> i64 registers 0 0\nreturn\nend", "0 primitive and 0 reference registers cannot hold"},
      {"function f(str)\nreturn\nend", "0 primitive and 0 reference registers cannot hold"},
      {"function f() -> str\nreturn\nend", "0 primitive and 0 reference registers cannot hold"},
      {"function f() -> i64 registers 1 0\nreturn\nend", "result: P0 is not assigned"},
      {"function f(str) -> Node registers 0 1\nreturn\nend", "result: R0 is str, wanted is Node"},
      {"function f(str) -> Node registers 0 1\nreturn.r r0\nend", "result: R0 is str, wanted is Node"},
      {"function f(Node) -> Shape registers 0 1\nreturn.r r0\nend", "result: R0 is Node, wanted is Shape"},
      {"function f() registers 1 0\nimm p0, 0\nreturn.p p0\nend", "does not have one primitive result"},
      {"function f() -> i64, str registers 1 1\nimm p0, 0\nreturn.p p0\nend",
       "does not have one primitive result"},
      {"function f() -> i64, i64 registers 2 1\nimm p0, 0\nreturn.p p0\nend",
       "does not have one primitive result"},
      {"function f() -> i64, i64 registers 2 1\nimm p0, 0\nreturn\nend", "result: P1 is not assigned"},
      {"function f(Body) registers 0 1\nreturn\nend",
       "function 5 (f), parameter 0: struct 5 is not an element"},
      {"function f(#77) registers 0 1\nreturn\nend", "parameter 0: type 77 does not exist"},
      {"function f() -> #77 registers 0 1\nreturn\nend", "result 0: type 77 does not exist"},
      {"import x(Body)", "import 1, parameter 0: struct 5 is not an element"},
      {"function f()\nlocal ref 1\nreturn\nend", "a local array of references"},
      {"function f()\nlocal f64 0\nreturn\nend", "a local array of 0 elements"},
      {"function f()\nlocal f64 8193\nreturn\nend", "more than 65536 bytes of local arrays"},
      {"function f()\nlocal u8 65536\nlocal u8 1\nreturn\nend", "more than 65536 bytes of local arrays"},
      {"function f()\nlocal f64 4294967295\nreturn\nend", "a local array of 4294967295 elements"},
      {"function $99()\nreturn\nend", "function 5: name 99 does not exist"},
      {"function _() exported\nreturn\nend", "function 5: exported without a name"},
      {"function f() exported\nreturn\nend\nfunction f() exported\nreturn\nend",
       "function 6 (f): a second export"},
      {"function f()\nline $99 1:1\nreturn\nend", "line entry 0: file 99 does not exist"},
      {"function f()\nline _ 1:1\nline _ 2:1\nreturn\nend", "line entry 1 is out of order"},
      {"function f()\nreturn\nline _ 1:1\nend", "line entry 0 is out of order or not at an instruction"},
      {"entry #99", "entry: function 99 does not exist"},
      {"function f(i64) registers 1 0\nreturn\nend\nentry f", "entry: function 5 (f) takes other than"},
      {"function f(str) registers 0 1\nreturn\nend\nentry f", "entry: function 5 (f) takes other than"},
      {"function f([Node]) registers 0 1\nreturn\nend\nentry f", "entry: function 5 (f) takes other than"},
      {"function f([str], [str]) registers 0 2\nreturn\nend\nentry f",
       "entry: function 5 (f) takes other than"},
      {"function f() -> i64 registers 1 0\nimm p0, 0\nreturn\nend\nentry f",
       "entry: function 5 (f) takes other than"},
      {"function f() -> i32, i32 registers 2 0\nimm p0, 0\nimm p1, 0\nreturn\nend\nentry f",
       "entry: function 5"},
      {"function \"a\\nb\"()\nnop\nend", "function 5 (a\\x0ab), word 0, nop: control falls off"},
  };
  for (const Case& c : cases) {
    const Status status = verify_text(std::string(kPrelude) + std::string(c.text) + "\n");
    ASSERT_FALSE(status.ok()) << c.text;
    EXPECT_EQ(status.error().code(), ErrorCode::kUnverified) << c.text << "\n" << status.error().to_string();
    EXPECT_NE(status.error().message().find(c.expected), std::string::npos) << c.text << "\n"
                                                                            << status.error().to_string();
    EXPECT_EQ(status.error().message().find('\n'), std::string::npos);
  }
  for (const std::string_view entry :
       {"function m() -> i32 registers 1 0\nimm p0, 0\nreturn\nend\nentry m",
        "function m([str]) -> i32 registers 1 1\nimm p0, 0\nreturn.p p0\nend\nentry m",
        "function m([str]) registers 0 1\nreturn\nend\nentry m", "function m()\nreturn\nend\nentry m"}) {
    const Status status = verify_text(std::string(kPrelude) + std::string(entry) + "\n");
    EXPECT_TRUE(status.ok()) << entry << "\n" << status.error().to_string();
  }
}

TEST(Verifier, RefusesStructsThatAreNotTheValues) {
  const Case cases[] = {
      {"function f(i64, i64) registers 2 0\nstruct 0 Node\nreturn\nend",
       "function 5 (f): type 2 is no struct"},
      {"function f(i64, i64) registers 2 0\nstruct 0 #99\nreturn\nend", "type 99 is no struct"},
      {"type struct T\nfield a: i64\nfield b: f64\nfunction f(i64, i64) registers 2 0\nstruct 0 "
       "T\nreturn\nend",
       "function 5 (f): its values from 0 on are no type"},
      {"type struct T\nfield a: i64\nfield b: i64\nfunction f(i64, i64) registers 2 0\nstruct 1 "
       "T\nreturn\nend",
       "its values from 1 on are no type"},
      {"type struct T\nfield a: i64\nfunction f(i64) registers 1 0\nstruct 4294967295 T\nreturn\nend",
       "its values from 4294967295 on are no type"},
      {"type struct T\nfield a: i64\nfunction f(i64) registers 1 0\nstruct 0 T\nstruct 0 T\nreturn\nend",
       "its values from 0 on are no type"},
      {"type struct T\nfunction f(i64) registers 1 0\nstruct 0 T\nreturn\nend",
       "its values from 0 on are no type"},
  };
  expect_refused(cases,
                 [](std::string_view text) { return std::string(kPrelude) + std::string(text) + "\n"; });
  const Status good =
      verify_text(std::string(kPrelude) +
                  "type struct T\nfield a: i64\nfield b: i64\n"
                  "function f(i64, i64) -> i64, i64 registers 2 0\nstruct 0 T\nstruct 2 T\nreturn\nend\n");
  EXPECT_TRUE(good.ok()) << good.error().to_string();
}

TEST(Verifier, RefusesBadTypes) {
  const std::string function = "\nfunction C.m(C, i64) -> f64 registers 1 1\nreturn\nend\n";
  const Case cases[] = {
      {"type string a\ntype string b", "types 0 and 1 must be the string and the resource type"},
      {"type string a", "types 0 and 1 must be the string and the resource type"},
      {"type string a\ntype class b", "types 0 and 1 must be the string and the resource type"},
      {"type string a\ntype resource b\ntype string c", "type 2 (c): a second string or resource type"},
      {"type string a\ntype resource b\ntype resource c", "type 2 (c): a second string or resource type"},
      {"type struct S\ntype class C\nfield s: S",
       "type 3 (C), field 0: struct 2 is not an element of an array"},
      {"type struct S\nfield s: S", "type 2 (S), field 0: struct 2 is not an element"},
      {"type class C\nfield s: #9", "type 2 (C), field 0: type 9 does not exist"},
      {"type array a: #9", "type 2 (a), element: type 9 does not exist"},
      {"type array a: i64 rank 0", "rank 0 is not 1 to 3"},
      {"type array a: i64 rank 4", "rank 4 is not 1 to 3"},
      {"type weak w: i64", "the target is not a reference"},
      {"type struct S\ntype weak w: S", "target: struct 2 is not an element"},
      {"type interface I\nmethod m(#9)", "type 2 (I), method 0, parameter 0: type 9 does not exist"},
      {"type string str\nfield x: i64\ntype resource r",
       "type 0 (str): has members that its kind does not use"},
      {"type array a: i64\nmethod m()", "type 2 (a): has members that its kind does not use"},
      {"type interface I\nfield x: i64", "has members that its kind does not use"},
      {"type interface I\ntype struct S\nimplements I", "has members that its kind does not use"},
      {"type class C\nimplements str", "type 2 (C): implements 0, which is not an interface"},
      {"type class C\nimplements #9", "implements 9, which is not an interface"},
      {"type interface I\ntype class C\nimplements I\nimplements I",
       "implementations are not sorted by interface"},
      {"type interface I\ntype interface J\ntype class C\nimplements J\nimplements I",
       "implementations are not sorted by interface"},
      {"type interface I\nmethod m()\ntype class C\nimplements I",
       "implements 0 of the 1 methods of type 2 (I)"},
      {"type interface I\nmethod m()\ntype class C\nimplements I: #9", "function 9 does not exist"},
      {"type interface I\nmethod m()\ntype class C\nimplements I: C.m",
       "function 0 (C.m) does not match method 0"},
      {"type interface I\nmethod m(i64)\ntype class C\nimplements I: C.m",
       "function 0 (C.m) does not match method 0"},
      {"type interface I\nmethod m(u64) -> f64\ntype class C\nimplements I: C.m", "does not match method 0"},
      {"type interface I\nmethod m(i64) -> f64\ntype class C\ntype class D\nimplements I: C.m",
       "does not match method 0"},
  };
  for (const Case& c : cases) {
    std::string text(c.text);
    if (text.find("C.m") != std::string::npos) text += function;
    const Status status = verify_text(text + "\n");
    ASSERT_FALSE(status.ok()) << c.text;
    EXPECT_EQ(status.error().code(), ErrorCode::kUnverified) << c.text << "\n" << status.error().to_string();
    EXPECT_NE(status.error().message().find(c.expected), std::string::npos) << c.text << "\n"
                                                                            << status.error().to_string();
  }
}

// The parameters and functions of the kernels below.
constexpr std::string_view kKernelTypes =
    "type struct Flat\nfield x: f32\ntype struct Deep\nfield s: str\n"
    "type array [f64]: f64\ntype array [Flat]: Flat\ntype array [Deep]: Deep\ntype array [str]: str\n"
    "type class C\nimport now() -> i64\n";

std::string with_kernel_types(std::string_view text) {
  return std::string(kKernelTypes) + std::string(text) + "\n";
}

TEST(Verifier, RefusesKernelsOfWrongTypes) {
  const Case cases[] = {
      {"kernel #9 dims 1", "kernel 0: function 9 does not exist"},
      {"function k(i64) registers 1 0\nreturn\nend\nkernel k dims 0", "kernel 0: 0 dimensions, not 1 to 3"},
      {"function k(i64) registers 1 0\nreturn\nend\nkernel k dims 4", "kernel 0: 4 dimensions, not 1 to 3"},
      {"function k(i64) registers 1 0\nreturn\nend\nkernel k dims 2",
       "too few parameters for 2 indices and 0"},
      {"function k(i64) registers 1 0\nreturn\nend\nkernel k dims 1 reduce add:f64",
       "too few parameters for 1 indices and 1"},
      {"function k(i32) registers 1 0\nreturn\nend\nkernel k dims 1", "index parameter 0 is not i64"},
      {"function k(i64) -> f64 registers 1 0\nreturn\nend\nkernel k dims 1", "0 reductions, but 1 results"},
      {"function k(i64, f64) registers 2 0\nreturn\nend\nkernel k dims 1 reduce add:f64",
       "1 reductions, but 0 results"},
      {"function k(i64, f64) -> f64 registers 2 0\nreturn.p p1\nend\nkernel k dims 1 reduce add:f32",
       "accumulator 0 is not f32"},
      {"function k(i64, f64) -> f32 registers 2 0\nreturn.p p1\nend\nkernel k dims 1 reduce add:f64",
       "accumulator 0 is not f64"},
      {"function k(i64, f64) -> f64 registers 2 0\nreturn.p p1\nend\nkernel k dims 1 reduce xor:f64",
       "reduction 0 does not exist"},
      {"function k(i64, bool) -> bool registers 2 0\nreturn.p p1\nend\nkernel k dims 1 reduce add:bool",
       "reduction 0 does not exist"},
      {"function k(i64, bool) -> bool registers 2 0\nreturn.p p1\nend\nkernel k dims 1 reduce add:ref",
       "reduction 0 does not exist"},
      {"function k(i64, C) registers 1 1\nreturn\nend\nkernel k dims 1",
       "function 0 (k) takes C, and parallel loops only arrays"},
      {"function k(i64, str) registers 1 1\nreturn\nend\nkernel k dims 1",
       "takes str, and parallel loops only arrays"},
      {"function k(i64, [str]) registers 1 1\nreturn\nend\nkernel k dims 1",
       "takes [str], and parallel loops only arrays"},
      {"function k(i64, [Deep]) registers 1 1\nreturn\nend\nkernel k dims 1",
       "takes [Deep], and parallel loops only arrays"},
  };
  expect_refused(cases, with_kernel_types);
}

TEST(Verifier, RefusesBadCodeInKernels) {
  const Case cases[] = {
      {"function k(i64) registers 1 1\nnew r0, C\nreturn\nend\nkernel k dims 1",
       "kernel 0: function 0 (k), word 0: new is not allowed in parallel loops: it makes an object"},
      {"function k(i64) registers 1 1\nnop\nline \"a.dhp\" 12:3\nconst.string r0, \"name\"\nreturn\nend\n"
       "kernel k dims 1",
       "kernel 0: function 0 (k), word 1, line 12: const.string is not allowed in parallel loops: it gives a "
       "text, and loops have only numbers and arrays"},
      {"function k(i64) registers 1 1\nnull r0\nreturn\nend\nkernel k dims 1",
       "null is not allowed in parallel loops"},
      {"function k(i64) registers 1 1\ncall.native p0, r0, now\nreturn\nend\nkernel k dims 1",
       "call.native is not allowed in parallel loops: loops may only call functions of the program"},
      {"function k(i64) registers 1 1\nreturn\nnull r0\nreturn\nend\nkernel k dims 1",
       "word 1: null is not allowed"},
      {"function k(i64) registers 2 1\ncall p1, r0, g\nreturn\nend\nfunction g() registers 1 1\nnull "
       "r0\nreturn\nend\nkernel k dims 1",
       "kernel 0: function 1 (g), word 0: null is not allowed in parallel loops"},
      {"function k(i64) registers 2 0\ncall p1, r0, k\nreturn\nend\nkernel k dims 1", "P1 is not assigned"},
      {"function k(i64) registers 2 0\nmove.p p1, p0\ncall p1, r0, k\nreturn\nend\nkernel k dims 1",
       "function 0 (k) is recursive"},
      {"function k(i64) registers 2 0\ncall p1, r0, g\nreturn\nend\nfunction g() registers 1 1\ncall p1, r0, "
       "h\nreturn\nend\n"
       "function h() registers 1 1\ncall p1, r0, g\nreturn\nend\nkernel k dims 1",
       "function 1 (g) is recursive"},
      {"function k(i64) registers 1 0\nimm p0, 0\nparallel.for p0, r0, #0\nreturn\nend\nkernel k dims 1",
       "leave the bank"},
      {"function k(i64, f64) registers 2 0\nimm p1, 0\nreturn\nend\nkernel k dims 1",
       "kernel 0: function 0 (k), word 0: imm overwrites a captured scalar"},
      {"function k(i64, i64) registers 2 0\nA:\nfor.i64 p1, p0, A\nreturn\nend\nkernel k dims 1",
       "for.i64 overwrites a captured scalar"},
      {"function k(i64, i64) registers 4 0\ncall p1, r0, g\nreturn\nend\nfunction g()\nreturn\nend\nkernel k "
       "dims 1",
       "call overwrites a captured scalar"},
      {"function k(i64, [f64], [f64]) registers 4 2\nmove.r r0, r1\nreturn\nend\nkernel k dims 1",
       "move.r overwrites a captured array"},
      {"function k(i64, [f64]) registers 4 2\ncall p1, r0, g\nreturn\nend\nfunction g()\nreturn\nend\nkernel "
       "k dims 1",
       "call overwrites a captured array"},
  };
  expect_refused(cases, with_kernel_types);
}

TEST(Verifier, RefusesBadNamesAndBlocksOfKernels) {
  const Case cases[] = {
      {"function k(i64, [f64]) registers 1 1\nreturn\nend\nkernel k dims 1 array \"x\" array \"y\"",
       "kernel 0: 2 names for 1 arrays"},
      {"function k(i64, [f64]) registers 1 1\nreturn\nend\nkernel k dims 1 parts $99",
       "kernel 0: string 99 does not exist"},
      {"function k(i64, i64, i64, i64) registers 5 0\nreturn\nend\nkernel k dims 1 counter 5 rows 1",
       "kernel 0: P5 counts no iterations, it is outside the bank"},
      {"function k(i64, i64, i64, i64) registers 5 0\nreturn\nend\nkernel k dims 1 counter 4 rows 2",
       "the bounds of its blocks are not three captured scalars"},
      {"function k(i64, i64, i64) registers 5 0\nreturn\nend\nkernel k dims 1 counter 4 rows 1",
       "the bounds of its blocks are not three captured scalars"},
      {"function k(i64, i64, i64, i64, i64) registers 5 0\nreturn\nend\nkernel k dims 2 counter 4 rows 2",
       "the bounds of its blocks are not three captured scalars"},
  };
  expect_refused(cases, with_kernel_types);
}

TEST(Verifier, AcceptsKernels) {
  for (const std::string_view good :
       {"function k(i64, i64, i64, i64, [f64], [f64]) registers 5 2\ntrap.text \"no\"\nend\n"
        "kernel k dims 1 array \"x\" parts \"sums\" counter 4 rows 1",
        "function k(i64, f64, f64, i32) -> f64, i32 registers 6 0\nmove.p p0, p2\nmove.p p1, "
        "p3\nreturn\nend\n"
        "kernel k dims 1 reduce min:f64 reduce xor:i32",  // results lie over the captured P1
        "function k(i64, bool) -> bool registers 2 0\nreturn.p p1\nend\nkernel k dims 1 reduce and:bool",
        "function k(i64, [f64], [Flat]) registers 3 4\nimm p0, 0\nmove.r r2, r0\nmove.p p1, p0\ncall p1, r2, "
        "g\nreturn\nend\n"
        "function g(i64, [f64]) registers 1 1\nstore.f64 r0, p0, p0\nreturn\nend\nkernel k dims 1"}) {
    const Status status = verify_text(with_kernel_types(good));
    EXPECT_TRUE(status.ok()) << good << "\n" << status.error().to_string();
  }
}

// Modules that text cannot express.
TEST(Verifier, RefusesInconsistentModules) {
  const Module good = assemble(kTour).value();
  const auto refused = [&](auto change, std::string_view expected) {
    Module module = good;
    change(module);
    const Status status = verify(module);
    ASSERT_FALSE(status.ok()) << expected;
    EXPECT_NE(status.error().message().find(expected), std::string::npos) << status.error().to_string();
  };
  refused([](Module& m) { m.types[2].fields[0].offset = 16; }, "offsets or size differ from the layout rule");
  refused([](Module& m) { m.types[2].size = 4096; }, "offsets or size differ from the layout rule");
  refused([](Module& m) { m.types[0].size = 8; }, "has members that its kind does not use");
  refused([](Module& m) { m.types[2].fields[3].type.type = 0; }, "a primitive has a type");
  refused([](Module& m) { m.types[2].fields[3].type.kind = static_cast<Kind>(99); }, "unknown kind 99");
  refused([](Module& m) { m.types[2].kind = static_cast<TypeKind>(99); }, "unknown kind of type");
  refused([](Module& m) { m.functions[1].code_offset = 0; }, "its code overlaps another's or lies outside");
  refused([](Module& m) { m.functions[1].code_offset = 0xffffffff; },
          "its code overlaps another's or lies outside");
  refused([](Module& m) { m.functions.back().code_size = 0xffffffff; },
          "its code overlaps another's or lies outside");
  refused([](Module& m) { m.functions[0].lines[0].pc = 0xfffffff0; }, "line entry 0 is out of order");
  refused([](Module& m) { m.kernels[0].reductions[0].op = static_cast<ReductionOp>(99); },
          "reduction 0 does not exist");
  refused(
      [](Module& m) {
        m.types[2].fields.resize(9000, {"big", {Kind::kI64, kNoIndex}, 0});
        layout(m.types[2]);
      },
      "the most is 65535");
  refused([](Module& m) { m.code[m.functions[2].code_offset] = encode(static_cast<Op>(kOpCount)); },
          "unknown opcode");
  refused([](Module& m) { m.code.back() = encode(Op::kConst); }, "the second word is cut off");
}

TEST(Verifier, AcceptsHandlers) {
  const std::string_view bodies[] = {
      // Registers set before the trap are set in the handler.
      "imm p2, 1\n protect H\n load.f64 p3, r1, p0\n jump End\nH:\n caught p3\n add.i64 p2, p2, p3",
      // A register that has another value, but one of the same type, behind an instruction that may trap.
      R"(null r16
      protect H
      null.check r0
      move.r r16, r0
      null.check r0
      jump End
    H:
      caught p2
      null.check r16)",
      // A protect inside another, and one inside the handler of another.
      R"(protect A
      protect B
      div.i64 p2, p0, p1
      jump End
    B:
      caught p2
      trap.again p2
    A:
      caught p2
      protect C
      div.i64 p3, p0, p1
      jump End
    C:
      caught p3)",
      // A protect in which nothing traps.
      "protect H\n jump End\nH:\n caught p2",
      "protect H\n call p8, r17, nothing\n jump End\nH:\n caught p2\n move.r r17, r1",
  };
  for (const std::string_view body : bodies) {
    const Status status = verify_text(with_body(body));
    EXPECT_TRUE(status.ok()) << body << "\n" << status.error().to_string();
  }
}

TEST(Verifier, RefusesBadHandlers) {
  const Case cases[] = {
      {"protect H\n imm p2, 1\n div.i64 p2, p2, p0\n jump End\nH:\n imm p3, 1", "does not lead to a caught"},
      {"protect H\n div.i64 p2, p0, p1\nH:\n caught p2", "control reaches this without a trap"},
      {"jump.if p0, H\n protect H\n jump End\nH:\n caught p2", "control reaches this without a trap"},
      {"jump End\n caught p2", "a caught that no protect leads to"},
      {"protect H\n protect H\n jump End\nH:\n caught p2", "it ends inside of a protect"},
      {"protect A\n protect B\n jump End\nA:\n caught p2\n jump End\nB:\n caught p2",
       "it ends inside of a protect"},
      // Assigned behind the instruction that may have trapped, or by it.
      {"protect H\n div.i64 p2, p0, p1\n jump End\nH:\n caught p3\n move.p p3, p2", "P2 is not assigned"},
      {"protect H\n null.check r0\n imm p2, 1\n jump End\nH:\n caught p3\n move.p p3, p2",
       "P2 is not assigned"},
      // A call clobbers everything behind its windows.
      {"imm p9, 1\n protect H\n call p8, r17, nothing\n jump End\nH:\n caught p2\n move.p p3, p9",
       "P9 is not assigned"},
      {"move.r r18, r0\n protect H\n call p8, r17, nothing\n jump End\nH:\n caught p2\n null.check r18",
       "R18 is not assigned"},
      // Another type behind the first of two instructions that may trap.
      {"move.r r16, r0\n protect H\n null.check r0\n move.r r16, r1\n null.check r0\n jump End\nH:\n caught "
       "p2\n"
       " null.check r16",
       "R16 holds objects of different types"},
      {"trap.again p2", "P2 is not assigned"},
  };
  for (const Case& c : cases) {
    const Status status = verify_text(with_body(c.text));
    ASSERT_FALSE(status.ok()) << c.text;
    EXPECT_NE(status.error().message().find(c.expected), std::string::npos) << c.text << "\n"
                                                                            << status.error().message();
  }
}

TEST(Verifier, BoundsItsOwnWork) {
  // Many targets times many registers.
  std::string text = "function f() registers 65535 65535\n";
  for (int i = 0; i < 200; ++i)
    text += "imm p0, 0\njump.if p0, L" + std::to_string(i) + "\nL" + std::to_string(i) + ":\n";
  Status status = verify_text(text + "return\nend\n");
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message().find("the function is too complex"), std::string::npos);
  // Many small functions with huge banks.
  Module module = assemble("function f() registers 65535 65535\nreturn\nend\n").value();
  module.code.assign(65536, encode(Op::kReturn));
  module.functions.resize(65536, module.functions[0]);
  for (std::uint32_t i = 0; i < 65536; ++i) module.functions[i].code_offset = i;
  status = verify(module);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message().find("too complex"), std::string::npos);
  // A loop whose header changes in each round by one register.
  text = "function f(str, i64) registers 2 300\n";
  for (int i = 1; i < 300; ++i) text += "null r" + std::to_string(i) + "\n";
  text += "A:\n";
  for (int i = 299; i > 0; --i) text += "move.r r" + std::to_string(i) + ", r" + std::to_string(i - 1) + "\n";
  text += "jump.if p0, B\nloop A\nB:\nstring.length p0, r299\nreturn\nend\n";
  status = verify_text(text);
  EXPECT_TRUE(status.ok()) << status.error().to_string();
}

}  // namespace
}  // namespace dhpvm::bytecode
