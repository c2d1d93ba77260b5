// SPDX-License-Identifier: Apache-2.0
// Instructions that compute a primitive from primitives: every one of them, at its corners.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "bytecode/isa_text.h"
#include "vm/invocation.h"
#include "vm/test_program.h"

namespace dhpvm::vm {
namespace {

using bytecode::info;
using bytecode::Op;
using bytecode::Operand;
using bytecode::OpInfo;

constexpr std::uint64_t kMin32 = 0x80000000;
constexpr std::uint64_t kMax32 = 0x7fffffff;
constexpr std::uint64_t kMinus1 = 0xffffffff;  // as an i32
constexpr std::uint64_t kMin64 = 0x8000000000000000;
constexpr std::uint64_t kMax64 = 0x7fffffffffffffff;
constexpr std::uint64_t kAll = ~std::uint64_t{0};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr float kInfinityF = std::numeric_limits<float>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr float kNaNF = std::numeric_limits<float>::quiet_NaN();

std::uint64_t f(float value) { return put(value); }
std::uint64_t d(double value) { return put(value); }

// Keeps the compiler from computing a function of this constant itself, with another library's rounding.
template <typename T>
T now(T value) {
  volatile T opaque = value;
  return opaque;
}

struct Case {
  const char* mnemonic;
  std::uint64_t x;
  std::uint64_t y;  // ignored by unary instructions; the immediate of others, as text below
  std::uint64_t expected;
};

// Garbage in the upper halves of x and y must not show in 32-bit instructions.
constexpr std::uint64_t kDirt = 0xdeadbeef00000000;

const Case kCases[] = {
    {"add.i32", kDirt | kMax32, kDirt | 1, kMin32},
    {"add.i64", kMax64, 1, kMin64},
    {"sub.i32", 0, 1, kMinus1},
    {"sub.i32", kDirt | kMin32, kDirt | 1, kMax32},
    {"sub.i64", kMin64, 1, kMax64},
    {"mul.i32", kDirt | 0x10000, kDirt | 0x10001, 0x10000},
    {"mul.i64", 0x100000001, 0x100000001, 0x200000001},
    {"add.imm.i32", kDirt | kMax32, 1, kMin32},
    {"add.imm.i32", 0, kAll, kMinus1},
    {"add.imm.i64", 5, static_cast<std::uint64_t>(-32768), static_cast<std::uint64_t>(-32763)},
    {"mul.imm.i32", kDirt | 3, static_cast<std::uint64_t>(-2), 0xfffffffa},
    {"mul.imm.i64", 3, static_cast<std::uint64_t>(-2), static_cast<std::uint64_t>(-6)},
    {"div.i32", kDirt | 7, kDirt | 2, 3},
    {"div.i32", static_cast<std::uint32_t>(-7), 2, static_cast<std::uint32_t>(-3)},
    {"div.i32", kMin32, kMinus1, kMin32},
    {"div.i64", static_cast<std::uint64_t>(-7), 2, static_cast<std::uint64_t>(-3)},
    {"div.i64", kMin64, kAll, kMin64},
    {"div.u32", kDirt | kMinus1, kDirt | 2, kMax32},
    {"div.u64", kAll, 2, kMax64},
    {"rem.i32", static_cast<std::uint32_t>(-7), 2, kMinus1},
    {"rem.i32", kMin32, kMinus1, 0},
    {"rem.i64", static_cast<std::uint64_t>(-7), 2, kAll},
    {"rem.i64", 7, static_cast<std::uint64_t>(-2), 1},
    {"rem.i64", kMin64, kAll, 0},
    {"rem.u32", kDirt | kMinus1, 10, 5},
    {"rem.u64", kAll, 10, 5},
    {"neg.i32", kDirt | kMin32, 0, kMin32},
    {"neg.i32", 1, 0, kMinus1},
    {"neg.i64", kMin64, 0, kMin64},
    {"and.i64", 0xff00ff, 0x0ff0f0f0, 0xf000f0},
    {"or.i64", 0xf0, 0x0f, 0xff},
    {"xor.i64", kAll, 1, kAll - 1},
    {"not.i32", kDirt | 1, 0, 0xfffffffe},
    {"not.i64", 1, 0, kAll - 1},
    {"not.bool", 0, 0, 1},
    {"not.bool", 1, 0, 0},
    {"and.imm.i64", kAll, kAll, kAll},
    {"and.imm.i64", kAll, 15, 15},
    {"shl.i32", kDirt | 3, kDirt | 33, 6},
    {"shl.i64", 3, 63 + 64, kMin64},
    {"shr.i32", kMin32, 31, kMinus1},
    {"shr.i64", kMin64, 63 + 64, kAll},
    {"shr.u32", kDirt | kMin32, 31 + 32, 1},
    {"shr.u64", kMin64, 63, 1},
    {"shl.imm.i32", kDirt | 3, 33, 6},
    {"shl.imm.i64", 3, 65, 6},
    {"shr.imm.i32", kDirt | kMin32, 31, kMinus1},
    {"shr.imm.i64", kMin64, 127, kAll},
    {"shr.imm.u32", kDirt | kMin32, 63, 1},
    {"shr.imm.u64", kMin64, 63, 1},
    {"min.i32", kDirt | 1, kMinus1, kMinus1},
    {"min.i64", 1, kAll, kAll},
    {"min.u32", kDirt | 1, kMinus1, 1},
    {"min.u64", 1, kAll, 1},
    {"max.i32", kDirt | 1, kMinus1, 1},
    {"max.i64", 1, kAll, 1},
    {"max.u32", kDirt | 1, kMinus1, kMinus1},
    {"max.u64", 1, kAll, kAll},
    {"mul.high.u64", kAll, kAll, kAll - 1},
    {"popcount.i32", kDirt | 0xff, 0, 8},
    {"popcount.i64", kAll, 0, 64},
    {"clz.i32", kDirt, 0, 32},
    {"clz.i32", kDirt | 1, 0, 31},
    {"clz.i64", 0, 0, 64},
    {"ctz.i32", kDirt, 0, 32},
    {"ctz.i64", 8, 0, 3},
    {"ctz.i64", 0, 0, 64},

    {"add.f32", f(16777216.0f), f(1.0f), f(16777216.0f)},
    {"add.f64", d(0.1), d(0.2), d(0.30000000000000004)},
    {"sub.f32", f(1.0f), f(3.0f), f(-2.0f)},
    {"sub.f64", d(kInfinity), d(1.0), d(kInfinity)},
    {"mul.f32", f(3e38f), f(10.0f), f(kInfinityF)},
    {"mul.f64", d(-0.0), d(2.0), d(-0.0)},
    {"div.f32", f(1.0f), f(-0.0f), f(-kInfinityF)},
    {"div.f64", d(1.0), d(3.0), d(1.0 / 3.0)},
    {"rem.f32", f(-7.5f), f(2.0f), f(-1.5f)},
    {"rem.f64", d(7.5), d(-2.0), d(1.5)},
    {"neg.f32", f(0.0f), 0, f(-0.0f)},
    {"neg.f64", d(-1.0), 0, d(1.0)},
    {"min.f32", f(1.0f), f(kNaNF), f(1.0f)},
    {"min.f64", d(kNaN), d(1.0), d(kNaN)},
    {"min.f64", d(-0.0), d(0.0), d(-0.0)},
    {"max.f32", f(2.0f), f(3.0f), f(3.0f)},
    {"max.f64", d(1.0), d(kNaN), d(1.0)},
    {"abs.f32", f(-0.0f), 0, f(0.0f)},
    {"abs.f64", d(-2.5), 0, d(2.5)},
    {"sqrt.f32", f(2.0f), 0, f(1.41421354f)},
    {"sqrt.f64", d(2.0), 0, d(1.4142135623730951)},
    {"floor.f32", f(-1.5f), 0, f(-2.0f)},
    {"floor.f64", d(1.5), 0, d(1.0)},
    {"ceil.f32", f(-1.5f), 0, f(-1.0f)},
    {"ceil.f64", d(-0.5), 0, d(-0.0)},
    {"trunc.f32", f(-1.5f), 0, f(-1.0f)},
    {"trunc.f64", d(1e300), 0, d(1e300)},
    {"round.f32", f(2.5f), 0, f(3.0f)},
    {"round.f64", d(-2.5), 0, d(-3.0)},
    {"round.f64", d(0.49999999999999994), 0, d(0.0)},
    // The transcendental functions are the C library's, in the width of the instruction.
    {"exp.f32", f(0.5f), 0, f(std::exp(now(0.5f)))},
    {"exp.f64", d(0.5), 0, d(std::exp(now(0.5)))},
    {"exp2.f32", f(0.5f), 0, f(std::exp2(now(0.5f)))},
    {"exp2.f64", d(10.0), 0, d(1024.0)},
    {"expm1.f32", f(1e-6f), 0, f(std::expm1(now(1e-6f)))},
    {"expm1.f64", d(1e-12), 0, d(std::expm1(now(1e-12)))},
    {"log.f32", f(0.5f), 0, f(std::log(now(0.5f)))},
    {"log.f64", d(-0.0), 0, d(-kInfinity)},
    {"log2.f32", f(8.0f), 0, f(3.0f)},
    {"log2.f64", d(8.0), 0, d(3.0)},
    {"log10.f32", f(1000.0f), 0, f(3.0f)},
    {"log10.f64", d(1000.0), 0, d(3.0)},
    {"log1p.f32", f(1e-6f), 0, f(std::log1p(now(1e-6f)))},
    {"log1p.f64", d(1e-12), 0, d(std::log1p(now(1e-12)))},
    {"sin.f32", f(1.0f), 0, f(std::sin(now(1.0f)))},
    {"sin.f64", d(1.0), 0, d(std::sin(now(1.0)))},
    {"cos.f32", f(1.0f), 0, f(std::cos(now(1.0f)))},
    {"cos.f64", d(1.0), 0, d(std::cos(now(1.0)))},
    {"tan.f32", f(1.0f), 0, f(std::tan(now(1.0f)))},
    {"tan.f64", d(1.0), 0, d(std::tan(now(1.0)))},
    {"asin.f32", f(0.5f), 0, f(std::asin(now(0.5f)))},
    {"asin.f64", d(0.5), 0, d(std::asin(now(0.5)))},
    {"acos.f32", f(0.5f), 0, f(std::acos(now(0.5f)))},
    {"acos.f64", d(0.5), 0, d(std::acos(now(0.5)))},
    {"atan.f32", f(0.5f), 0, f(std::atan(now(0.5f)))},
    {"atan.f64", d(0.5), 0, d(std::atan(now(0.5)))},
    {"sinh.f32", f(0.5f), 0, f(std::sinh(now(0.5f)))},
    {"sinh.f64", d(0.5), 0, d(std::sinh(now(0.5)))},
    {"cosh.f32", f(0.5f), 0, f(std::cosh(now(0.5f)))},
    {"cosh.f64", d(0.5), 0, d(std::cosh(now(0.5)))},
    {"tanh.f32", f(0.5f), 0, f(std::tanh(now(0.5f)))},
    {"tanh.f64", d(0.5), 0, d(std::tanh(now(0.5)))},
    {"cbrt.f32", f(27.0f), 0, f(3.0f)},
    {"cbrt.f64", d(27.0), 0, d(std::cbrt(now(27.0)))},
    {"erf.f32", f(0.5f), 0, f(std::erf(now(0.5f)))},
    {"erf.f64", d(0.5), 0, d(std::erf(now(0.5)))},
    {"pow.f32", f(2.0f), f(0.5f), f(std::pow(now(2.0f), now(0.5f)))},
    {"pow.f64", d(2.0), d(10.0), d(1024.0)},
    {"atan2.f32", f(1.0f), f(-1.0f), f(std::atan2(now(1.0f), now(-1.0f)))},
    {"atan2.f64", d(-0.0), d(-1.0), d(std::atan2(now(-0.0), now(-1.0)))},
    {"hypot.f32", f(3.0f), f(4.0f), f(5.0f)},
    {"hypot.f64", d(3e200), d(4e200), d(std::hypot(now(3e200), now(4e200)))},

    {"eq.i32", kDirt | 5, 5, 1},
    {"eq.i64", kDirt | 5, 5, 0},
    {"eq.f32", f(0.0f), f(-0.0f), 1},
    {"eq.f64", d(kNaN), d(kNaN), 0},
    {"ne.i32", kDirt | 5, 5, 0},
    {"ne.i64", kDirt | 5, 5, 1},
    {"ne.f32", f(kNaNF), f(kNaNF), 1},
    {"ne.f64", d(1.0), d(1.0), 0},
    {"lt.i32", kMinus1, 0, 1},
    {"lt.i64", kMin64, 0, 1},
    {"lt.f32", f(1.0f), f(kNaNF), 0},
    {"lt.f64", d(1.0), d(2.0), 1},
    {"lt.u32", kDirt | kMinus1, 0, 0},
    {"lt.u64", kMin64, 0, 0},
    {"le.i32", kMinus1, kMinus1, 1},
    {"le.i64", 1, 0, 0},
    {"le.f32", f(1.0f), f(1.0f), 1},
    {"le.f64", d(kNaN), d(1.0), 0},
    {"le.u32", 0, kDirt, 1},
    {"le.u64", kMin64, kMin64, 1},

    {"sext8.i32", kDirt | 0x1234ff80, 0, 0xffffff80},
    {"zext8.i32", kDirt | 0x1234ff80, 0, 0x80},
    {"sext16.i32", 0x18000, 0, 0xffff8000},
    {"zext16.i32", 0x18000, 0, 0x8000},
    {"i32.to.i64", kDirt | kMin32, 0, 0xffffffff80000000},
    {"u32.to.u64", kDirt | kMin32, 0, kMin32},
    {"i64.to.i32", kDirt | 7, 0, 7},
    {"i32.to.f32", kDirt | 16777217, 0, f(16777216.0f)},
    {"i32.to.f64", kMinus1, 0, d(-1.0)},
    {"i64.to.f32", kMin64, 0, f(-9223372036854775808.0f)},
    {"i64.to.f64", kMax64, 0, d(9223372036854775808.0)},
    {"u32.to.f32", kDirt | kMinus1, 0, f(4294967296.0f)},
    {"u32.to.f64", kDirt | kMinus1, 0, d(4294967295.0)},
    {"u64.to.f32", kAll, 0, f(18446744073709551616.0f)},
    {"u64.to.f64", kMin64 + 1025, 0, d(9223372036854777856.0)},
    {"f32.to.i32", f(-1.9f), 0, kMinus1},
    {"f32.to.i32", f(kInfinityF), 0, kMax32},
    {"f32.to.i32", f(-3e9f), 0, kMin32},
    {"f32.to.i32", f(kNaNF), 0, 0},
    {"f32.to.i64", f(9.3e18f), 0, kMax64},
    {"f32.to.i64", f(-kInfinityF), 0, kMin64},
    {"f32.to.u32", f(-1.0f), 0, 0},
    {"f32.to.u32", f(4294967296.0f), 0, kMinus1},
    {"f32.to.u64", f(18446744073709551616.0f), 0, kAll},
    {"f32.to.u64", f(18446742974197923840.0f), 0, 18446742974197923840u},
    {"f64.to.i32", d(2147483647.9), 0, kMax32},
    {"f64.to.i32", d(-2147483648.9), 0, kMin32},
    {"f64.to.i32", d(-2147483649.0), 0, kMin32},
    {"f64.to.i64", d(-1.5), 0, kAll},
    {"f64.to.i64", d(9223372036854775808.0), 0, kMax64},
    {"f64.to.i64", d(kNaN), 0, 0},
    {"f64.to.u32", d(-0.9), 0, 0},
    {"f64.to.u32", d(4294967295.5), 0, kMinus1},
    {"f64.to.u64", d(1.8e19), 0, 18000000000000000000u},
    {"f64.to.u64", d(-kInfinity), 0, 0},
    {"f32.to.f64", f(0.1f), 0, d(0.10000000149011612)},
    {"f64.to.f32", d(0.1), 0, f(0.1f)},
    {"f64.to.f32", d(1e300), 0, f(kInfinityF)},
};

// Whether an opcode belongs here: P[a] from P[b], and P[c] or an immediate.
bool is_computation(const OpInfo& row) {
  return row.a == Operand::kPd && row.b == Operand::kPs && row.x == Operand::kNone &&
         (row.c == Operand::kPs || row.c == Operand::kNone || row.c == Operand::kImm) &&
         row.result.has_value();
}

std::string program_for(const Case& test, const OpInfo& row) {
  std::string text =
      fmt::format("function f(i64, i64) -> i64 registers 3 0 exported\n  {} p2, p0", test.mnemonic);
  if (row.c == Operand::kPs) text += ", p1";
  if (row.c == Operand::kImm) text += fmt::format(", {}", static_cast<std::int64_t>(test.y));
  return text + "\n  return.p p2\nend\n";
}

TEST(Arithmetic, GivesTheExpectedBits) {
  for (const Case& test : kCases) {
    const Op op = bytecode::find_mnemonic(test.mnemonic);
    ASSERT_LT(static_cast<unsigned>(op), bytecode::kOpCount) << test.mnemonic;
    Program program(program_for(test, info(op)));
    EXPECT_EQ(program.run("f", {test.x, test.y}), test.expected)
        << test.mnemonic << std::hex << " of " << test.x << " and " << test.y;
  }
}

TEST(Arithmetic, EveryInstructionIsTested) {
  std::set<std::string_view> tested;
  for (const Case& test : kCases) tested.insert(test.mnemonic);
  for (unsigned op = 0; op < bytecode::kOpCount; ++op) {
    const OpInfo& row = info(static_cast<Op>(op));
    const std::string_view mnemonic = bytecode::mnemonic_of(static_cast<Op>(op));
    if (is_computation(row)) {
      EXPECT_TRUE(tested.contains(mnemonic)) << mnemonic;
    }
  }
}

TEST(Arithmetic, FusedMultiplyAddRoundsOnce) {
  Program program(R"(
function single(f32, f32, f32) -> f32 registers 3 0 exported
  fma.f32 p0, p0, p1, p2
  return
end
function double(f64, f64, f64) -> f64 registers 3 0 exported
  fma.f64 p0, p0, p1, p2
  return
end
)");
  // (1 + e)(1 - e) - 1 is -e * e exactly, and 0 if the product is rounded first.
  const double e = std::numeric_limits<double>::epsilon();
  EXPECT_EQ(program.run("double", {d(1 + e), d(1 - e), d(-1.0)}), d(-e * e));
  const float e32 = std::numeric_limits<float>::epsilon();
  EXPECT_EQ(program.run("single", {f(1 + e32), f(1 - e32), f(-1.0f)}), f(-e32 * e32));
}

TEST(Arithmetic, DivisionByZeroTraps) {
  for (const char* op :
       {"div.i32", "div.i64", "div.u32", "div.u64", "rem.i32", "rem.i64", "rem.u32", "rem.u64"}) {
    Program program(
        fmt::format("function f(i64, i64) -> i64 registers 3 0 exported\n  line \"a.dhp\" 4:1\n"
                    "  {} p2, p0, p1\n  return.p p2\nend\n",
                    op));
    const bool is32 = std::string_view(op).ends_with("32");
    const Error error = program.trap("f", {5, is32 ? kDirt : 0});
    EXPECT_EQ(error.code(), ErrorCode::kDivisionByZero) << op;
    EXPECT_EQ(error.message(), std::string_view(op).starts_with("rem") ? "5 % 0" : "5 / 0");
    ASSERT_EQ(error.frames().size(), 1u);
    EXPECT_EQ(error.frames()[0].line, 4u);
  }
}

TEST(Arithmetic, MovesAndConstants) {
  Program program(R"(
function f() -> i64, i64, i64 registers 4 0 exported
  nop
  imm p0, -2147483648
  const p1, 0x123456789abcdef0
  move.p p2, p1
  return
end
)");
  Invocation call(program.isolate(), program.find("f"));
  ASSERT_TRUE(call.run().ok());
  EXPECT_EQ(call.p()[0], static_cast<std::uint64_t>(-2147483648LL));
  EXPECT_EQ(call.p()[1], 0x123456789abcdef0u);
  EXPECT_EQ(call.p()[2], 0x123456789abcdef0u);
}

struct BranchCase {
  const char* mnemonic;
  std::uint64_t x;
  std::uint64_t y;
  bool taken;
};

const BranchCase kBranches[] = {
    {"jump.if", kDirt | 1, 0, true},
    {"jump.if", kDirt, 0, false},
    {"jump.ifnot", kDirt, 0, true},
    {"jump.ifnot", 1, 0, false},
    {"jump.eq.i32", kDirt | 5, 5, true},
    {"jump.eq.i32", 5, 6, false},
    {"jump.ne.i32", kDirt | 5, 5, false},
    {"jump.ne.i32", 5, 6, true},
    {"jump.lt.i32", kMinus1, 0, true},
    {"jump.lt.i32", 0, 0, false},
    {"jump.le.i32", 0, 0, true},
    {"jump.le.i32", 1, kMinus1, false},
    {"jump.eq.i64", kDirt, 0, false},
    {"jump.eq.i64", kDirt, kDirt, true},
    {"jump.ne.i64", kDirt, 0, true},
    {"jump.ne.i64", 0, 0, false},
    {"jump.lt.i64", kMin64, 0, true},
    {"jump.lt.i64", 0, kMin64, false},
    {"jump.le.i64", kMin64, kMin64, true},
    {"jump.le.i64", 1, 0, false},
    {"jump.lt.u32", 0, kMinus1, true},
    {"jump.lt.u32", kMinus1, 0, false},
    {"jump.le.u32", kDirt, 0, true},
    {"jump.le.u32", 1, 0, false},
    {"jump.lt.u64", 0, kMin64, true},
    {"jump.lt.u64", kMin64, 0, false},
    {"jump.le.u64", kAll, kAll, true},
    {"jump.le.u64", kAll, 0, false},
    {"jump.eq.f32", f(0.0f), f(-0.0f), true},
    {"jump.eq.f32", f(kNaNF), f(kNaNF), false},
    {"jump.ne.f32", f(kNaNF), f(kNaNF), true},
    {"jump.ne.f32", f(1.0f), f(1.0f), false},
    {"jump.lt.f32", f(1.0f), f(2.0f), true},
    {"jump.lt.f32", f(1.0f), f(kNaNF), false},
    {"jump.le.f32", f(1.0f), f(1.0f), true},
    {"jump.le.f32", f(kNaNF), f(1.0f), false},
    {"jump.nlt.f32", f(1.0f), f(kNaNF), true},
    {"jump.nlt.f32", f(1.0f), f(2.0f), false},
    {"jump.nle.f32", f(kNaNF), f(1.0f), true},
    {"jump.nle.f32", f(1.0f), f(1.0f), false},
    {"jump.eq.f64", d(0.0), d(-0.0), true},
    {"jump.eq.f64", d(kNaN), d(kNaN), false},
    {"jump.ne.f64", d(kNaN), d(kNaN), true},
    {"jump.ne.f64", d(1.0), d(1.0), false},
    {"jump.lt.f64", d(1.0), d(2.0), true},
    {"jump.lt.f64", d(1.0), d(kNaN), false},
    {"jump.le.f64", d(1.0), d(1.0), true},
    {"jump.le.f64", d(kNaN), d(1.0), false},
    {"jump.nlt.f64", d(1.0), d(kNaN), true},
    {"jump.nlt.f64", d(1.0), d(2.0), false},
    {"jump.nle.f64", d(kNaN), d(1.0), true},
    {"jump.nle.f64", d(1.0), d(1.0), false},
    {"jump.eq.imm.i32", kDirt | kMinus1, kAll, true},
    {"jump.eq.imm.i32", 1, 2, false},
    {"jump.ne.imm.i32", 1, 2, true},
    {"jump.ne.imm.i32", kDirt | 2, 2, false},
    {"jump.lt.imm.i32", kMin32, static_cast<std::uint64_t>(-32768), true},
    {"jump.lt.imm.i32", 2, 2, false},
    {"jump.le.imm.i32", 2, 2, true},
    {"jump.le.imm.i32", 3, 2, false},
    {"jump.gt.imm.i32", 3, 2, true},
    {"jump.gt.imm.i32", kMinus1, 2, false},
    {"jump.ge.imm.i32", 2, 2, true},
    {"jump.ge.imm.i32", kMinus1, 2, false},
    {"jump.eq.imm.i64", kAll, kAll, true},
    {"jump.eq.imm.i64", kMinus1, kAll, false},
    {"jump.ne.imm.i64", kMinus1, kAll, true},
    {"jump.ne.imm.i64", 2, 2, false},
    {"jump.lt.imm.i64", kMin64, 0, true},
    {"jump.lt.imm.i64", 0, 0, false},
    {"jump.le.imm.i64", 0, 0, true},
    {"jump.le.imm.i64", 1, 0, false},
    {"jump.gt.imm.i64", 1, 0, true},
    {"jump.gt.imm.i64", kAll, 0, false},
    {"jump.ge.imm.i64", 0, 0, true},
    {"jump.ge.imm.i64", kAll, 0, false},
};

TEST(Branches, AreTakenWhenTheyShould) {
  for (const BranchCase& test : kBranches) {
    const OpInfo& row = info(bytecode::find_mnemonic(test.mnemonic));
    std::string operands = "p0";
    if (row.b == Operand::kPs) operands += ", p1";
    if (row.b == Operand::kImm) operands += fmt::format(", {}", static_cast<std::int64_t>(test.y));
    Program program(
        fmt::format("function f(i64, i64) -> i64 registers 2 0 exported\n  {} {}, Taken\n"
                    "  imm p0, 0\n  return\nTaken:\n  imm p0, 1\n  return\nend\n",
                    test.mnemonic, operands));
    EXPECT_EQ(program.run("f", {test.x, test.y}), test.taken ? 1u : 0u)
        << test.mnemonic << std::hex << " " << test.x << " " << test.y;
  }
}

TEST(Branches, EveryInstructionIsTested) {
  std::set<std::pair<std::string_view, bool>> tested;
  for (const BranchCase& test : kBranches) tested.insert({test.mnemonic, test.taken});
  for (unsigned op = 0; op < bytecode::kOpCount; ++op) {
    const OpInfo& row = info(static_cast<Op>(op));
    if ((row.flags & bytecode::kBranch) == 0 || (row.flags & bytecode::kBackEdge) != 0 ||
        row.a != Operand::kPs)
      continue;
    const std::string_view mnemonic = bytecode::mnemonic_of(static_cast<Op>(op));
    EXPECT_TRUE(tested.contains({mnemonic, true})) << mnemonic;
    EXPECT_TRUE(tested.contains({mnemonic, false})) << mnemonic;
  }
}

TEST(Branches, LoopsCount) {
  Program program(R"(
function sum32(i32) -> i32 registers 3 0 exported
  imm p1, 0
  imm p2, 0
Again:
  add.i32 p2, p2, p1
  for.i32 p1, p0, Again
  return.p p2
end
function sum64(i64) -> i64 registers 3 0 exported
  imm p1, 0
  imm p2, 0
  jump Test
Again:
  add.i64 p2, p2, p1
  add.imm.i64 p1, p1, 1
Test:
  jump.le.i64 p0, p1, Done
  loop Again
Done:
  return.p p2
end
)");
  EXPECT_EQ(program.run("sum32", {1000}), 499500u);
  EXPECT_EQ(program.run("sum64", {100000}), 4999950000u);
  EXPECT_EQ(program.run("sum64", {0}), 0u);
  // The counter wraps to the most negative value and counts up to 0.
  IsolateOptions options;
  options.limits.fuel = 5000;
  Program limited(R"(
function wrap() -> i32 registers 2 0 exported
  const p0, 0x7fffffff
  imm p1, 0
Again:
  for.i32 p0, p1, Again
  return
end
)",
                  options);
  EXPECT_EQ(limited.trap("wrap").code(), ErrorCode::kOutOfFuel);
}

}  // namespace
}  // namespace dhpvm::vm
