// SPDX-License-Identifier: Apache-2.0
// Correct PTX gives the bits that IEEE and the manual promise; errors are found, with their line.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "offload/ptx/launch.h"

namespace dhpvm::ptx {
namespace {

constexpr char kHead[] = ".version 7.0\n.target sm_80\n.address_size 64\n";

std::shared_ptr<Allocation> written(const std::vector<std::uint64_t>& values) {
  auto memory = Allocation::create(values.size() * 8);
  std::memcpy(memory->bytes(), values.data(), memory->size());
  memory->mark_written(0, memory->size());
  return memory;
}

struct Ran {
  std::string problem;  // of the assembler, or of the launch
  FaultKind kind = FaultKind::kTrap;
  std::vector<std::uint64_t> values;
  Counts counts;
};

// Runs kernel k(u64 memory) with the body; the memory holds the values.
Ran run_body(const std::string& body, const std::vector<std::uint64_t>& values, Extent block = {32, 1, 1},
             Extent grid = {1, 1, 1}, const std::string& before = "") {
  Ran ran;
  const std::string text = std::string(kHead) + before +
                           ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<9>; .reg .b16 %h<9>; .reg "
                           ".b32 %r<9>; .reg .b64 %d<9>;"
                           " .reg .f32 %f<9>; .reg .f64 %e<9>;\nld.param.u64 %d0, [p];\n" +
                           body + "\nret;\n}\n";
  const auto program = assemble(text);
  if (!program.ok()) {
    ran.problem = program.error().message();
    return ran;
  }
  const auto memory = written(values);
  KernelLaunch launch;
  launch.program = program->get();
  launch.entry = (*program)->find_entry("k");
  launch.grid = grid;
  launch.block = block;
  launch.limit = 1 << 24;
  launch.is_metered = true;
  launch.memory = {memory};
  const std::uint64_t address = memory->address();
  launch.parameters.resize(8);
  std::memcpy(launch.parameters.data(), &address, 8);
  const LaunchOutcome outcome = run(launch);
  ran.counts = outcome.counts;
  if (outcome.fault) {
    ran.problem = outcome.fault->message;
    ran.kind = outcome.fault->kind;
  }
  ran.values.resize(values.size());
  std::memcpy(ran.values.data(), memory->bytes(), memory->size());
  return ran;
}

// The bits of the result of one instruction on d1, d2 and d3; sources and result have 64, 32 or 16 bits.
std::uint64_t one(const std::string& text, std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0) {
  const Ran ran = run_body(
      "ld.global.u64 %d1, [%d0];\nld.global.u64 %d2, [%d0+8];\nld.global.u64 %d3, [%d0+16];\n"
      "cvt.u32.u64 %r1, %d1; cvt.u32.u64 %r2, %d2; cvt.u32.u64 %r3, %d3; cvt.u16.u64 %h1, %d1; cvt.u16.u64 "
      "%h2, %d2;\n"
      "mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3; mov.b64 %e1, %d1; mov.b64 %e2, %d2; mov.b64 "
      "%e3, %d3;\n"
      "mov.u64 %d4, 0;\n" +
          text + "\nst.global.u64 [%d0+24], %d4;",
      {a, b, c, 0}, {1, 1, 1});
  EXPECT_EQ(ran.problem, "") << text;
  return ran.values.empty() ? 0 : ran.values[3];
}
std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }
std::uint64_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

TEST(Ptx, IntegersWrapAndSaturateAsTheManualSays) {
  EXPECT_EQ(one("add.s64 %d4, %d1, %d2;", ~0ULL, 2), 1U);
  EXPECT_EQ(one("mul.hi.u64 %d4, %d1, %d2;", ~0ULL, ~0ULL), ~0ULL - 1);
  EXPECT_EQ(one("mul.hi.s64 %d4, %d1, %d2;", ~0ULL, 5), ~0ULL);
  EXPECT_EQ(one("mul.wide.s32 %d4, %r1, %r2;", 0xffffffff, 3), static_cast<std::uint64_t>(-3));
  EXPECT_EQ(one("mad.wide.u32 %d4, %r1, %r2, %d3;", 0xffffffff, 2, 5), 0x200000003U);
  EXPECT_EQ(one("add.sat.s32 %r4, %r1, %r2; cvt.u64.u32 %d4, %r4;", 0x7fffffff, 1), 0x7fffffffU);
  EXPECT_EQ(one("div.s64 %d4, %d1, %d2;", static_cast<std::uint64_t>(-7), 2), static_cast<std::uint64_t>(-3));
  EXPECT_EQ(one("div.s64 %d4, %d1, %d2;", 1ULL << 63, ~0ULL), 1ULL << 63);
  EXPECT_EQ(one("rem.s32 %r4, %r1, %r2; cvt.s64.s32 %d4, %r4;", 0xfffffff9, 2), ~0ULL);
  EXPECT_EQ(one("shl.b64 %d4, %d1, %r2;", 1, 64), 0U);
  EXPECT_EQ(one("shr.s64 %d4, %d1, %r2;", 1ULL << 63, 99), ~0ULL);
  EXPECT_EQ(one("shf.l.wrap.b32 %r4, %r1, %r2, %r3; cvt.u64.u32 %d4, %r4;", 0x80000000, 1, 33), 3U);
  EXPECT_EQ(one("bfe.s32 %r4, %r1, %r2, %r3; cvt.s64.s32 %d4, %r4;", 0xf0, 4, 4), ~0ULL);
  EXPECT_EQ(one("bfe.u64 %d4, %d1, 61, 1;", 1ULL << 61), 1U);
  EXPECT_EQ(one("prmt.b32 %r4, %r1, %r2, 0x0123; cvt.u64.u32 %d4, %r4;", 0x04030201), 0x01020304U);
  EXPECT_EQ(one("clz.b64 %r4, %d1; cvt.u64.u32 %d4, %r4;", 1), 63U);
  EXPECT_EQ(one("popc.b32 %r4, %r1; cvt.u64.u32 %d4, %r4;", 0xf0f0), 8U);
  EXPECT_EQ(one("brev.b64 %d4, %d1;", 1), 1ULL << 63);
  EXPECT_EQ(one("add.cc.u32 %r4, %r1, %r2; addc.u32 %r5, %r3, 0; mov.b64 %d4, {%r4, %r5};", 0xffffffff, 1, 7),
            8ULL << 32);
  EXPECT_EQ(one("sub.cc.u32 %r4, %r1, %r2; subc.u32 %r5, %r3, 0; mov.b64 %d4, {%r4, %r5};", 0, 1, 7),
            6ULL << 32 | 0xffffffff);
  EXPECT_EQ(one("mad.lo.cc.u32 %r4, %r1, %r2, %r3; madc.hi.u32 %r5, %r1, %r2, 0; mov.b64 %d4, {%r4, %r5};",
                0xffffffff, 2, 5),
            0x200000003U);
  EXPECT_EQ(one("setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3; selp.u64 %d4, 1, 2, %p1;", 0xffffffff, 0), 1U);
}

TEST(Ptx, FloatsRoundOnceAndAsTheyAreTold) {
  const float a = 1 + std::numeric_limits<float>::epsilon();
  EXPECT_EQ(one("fma.rn.f32 %f4, %f1, %f2, %f3; mov.b32 %r4, %f4; cvt.u64.u32 %d4, %r4;", bits(a), bits(a),
                bits(-(a * a))),
            bits(std::fma(a, a, -(a * a))));
  EXPECT_NE(std::fma(a, a, -(a * a)), 0.0F);
  const double tiny = 0x1p-60;
  EXPECT_EQ(one("add.rn.f64 %e4, %e1, %e2; mov.b64 %d4, %e4;", bits(1.0), bits(tiny)), bits(1.0));
  EXPECT_EQ(one("add.rp.f64 %e4, %e1, %e2; mov.b64 %d4, %e4;", bits(1.0), bits(tiny)), bits(1.0 + 0x1p-52));
  EXPECT_EQ(one("sub.rm.f64 %e4, %e1, %e2; mov.b64 %d4, %e4;", bits(1.0), bits(tiny)), bits(1.0 - 0x1p-53));
  EXPECT_EQ(one("div.rz.f32 %f4, %f1, %f2; mov.b32 %r4, %f4; cvt.u64.u32 %d4, %r4;", bits(2.0F), bits(3.0F)),
            0x3f2aaaaaU);
  EXPECT_EQ(one("sqrt.rn.f64 %e4, %e1; mov.b64 %d4, %e4;", bits(2.0)), bits(std::sqrt(2.0)));
  const float denormal = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(one("add.rn.f32 %f4, %f1, %f2; mov.b32 %r4, %f4; cvt.u64.u32 %d4, %r4;", bits(denormal),
                bits(denormal)),
            2U);
  EXPECT_EQ(one("add.rn.ftz.f32 %f4, %f1, %f2; mov.b32 %r4, %f4; cvt.u64.u32 %d4, %r4;", bits(denormal),
                bits(denormal)),
            0U);
  EXPECT_EQ(one("min.f64 %e4, %e1, %e2; mov.b64 %d4, %e4;", bits(0.0), bits(-0.0)), bits(-0.0));
  EXPECT_EQ(one("max.f64 %e4, %e1, %e2; mov.b64 %d4, %e4;", bits(std::nan("")), bits(3.0)), bits(3.0));
  EXPECT_EQ(one("add.sat.f32 %f4, %f1, %f2; mov.b32 %r4, %f4; cvt.u64.u32 %d4, %r4;", bits(3.0F), bits(1.0F)),
            bits(1.0F));
  // Half of the bits, with a relative error below 2^-20.
  const std::uint64_t rough = one("rcp.approx.ftz.f64 %e4, %e1; mov.b64 %d4, %e4;", bits(3.0));
  EXPECT_EQ(rough & 0xffffffff, 0U);
  EXPECT_NEAR(std::bit_cast<double>(rough), 1 / 3.0, 0x1p-20);
}

TEST(Ptx, ConversionsRoundAndClampToTheirRange) {
  EXPECT_EQ(one("cvt.rzi.s32.f64 %r4, %e1; cvt.s64.s32 %d4, %r4;", bits(-1e300)), 0xffffffff80000000U);
  EXPECT_EQ(one("cvt.rni.s64.f64 %d4, %e1;", bits(2.5)), 2U);
  EXPECT_EQ(one("cvt.rpi.u64.f64 %d4, %e1;", bits(-3.0)), 0U);
  EXPECT_EQ(one("cvt.rzi.u64.f32 %d4, %f1;", bits(std::nanf(""))), 1ULL << 63);
  EXPECT_EQ(one("cvt.rzi.s32.f32 %r4, %f1; cvt.u64.u32 %d4, %r4;", bits(std::nanf(""))), 0U);
  EXPECT_EQ(one("cvt.rn.f64.u64 %e4, %d1; mov.b64 %d4, %e4;", ~0ULL), bits(0x1p64));
  EXPECT_EQ(one("cvt.rz.f64.u64 %e4, %d1; mov.b64 %d4, %e4;", ~0ULL), bits(0x1.fffffffffffffp63));
  EXPECT_EQ(one("cvt.rm.f32.f64 %f4, %e1; mov.b32 %r4, %f4; cvt.u64.u32 %d4, %r4;", bits(1 + 0x1p-24)),
            bits(1.0F));
  EXPECT_EQ(one("cvt.s32.s8 %r4, %r1; cvt.s64.s32 %d4, %r4;", 0x80), 0xffffffffffffff80U);
  EXPECT_EQ(one("cvt.sat.u8.s32 %r4, %r1; cvt.u64.u32 %d4, %r4;", 300), 255U);
}

TEST(Ptx, LanesTalkAndMeetAgain) {
  Ran ran = run_body(
      "mov.u32 %r1, %tid.x;\nshfl.sync.bfly.b32 %r2|%p1, %r1, 1, 31, -1;\nvote.sync.ballot.b32 %r3, %p1, "
      "0xffffffff;\n"
      "setp.lt.u32 %p2, %r1, 7;\n@%p2 bra A;\nmov.u32 %r4, 1; bra.uni B;\nA: mov.u32 %r4, 2;\nB: "
      "vote.sync.any.pred %p3, %p2, -1;\n"
      "setp.ne.u32 %p4, %r1, 5;\n@%p4 bra C;\nmov.b64 %d1, {%r2, %r4};\nst.global.u64 [%d0], "
      "%d1;\ncvt.u64.u32 %d2, %r3;\nst.global.u64 [%d0+8], %d2;\nC:",
      {0, 0});
  EXPECT_EQ(ran.problem, "");
  EXPECT_EQ(ran.values[0], 2ULL << 32 | 4);
  EXPECT_EQ(ran.values[1], 0xffffffffU);
}

// Some lanes loop for long while others wait at the vote already.
TEST(Ptx, LanesThatAreEarlyWaitForTheOthers) {
  const Ran ran = run_body(
      "mov.u32 %r1, %tid.x; mov.u32 %r2, 0;\nL: add.s32 %r2, %r2, 1; shl.b32 %r3, %r1, 8; setp.lt.u32 %p1, "
      "%r2, %r3;\n"
      "@%p1 bra L;\nvote.sync.ballot.b32 %r4, %p2, -1;\nsetp.ne.u32 %p3, %r1, 0;\n@%p3 bra D;\n"
      "cvt.u64.u32 %d1, %r4; st.global.u64 [%d0], %d1;\nD:",
      {7});
  EXPECT_EQ(ran.problem, "");
  EXPECT_EQ(ran.values[0], 0U);
  const Ran alone = run_body(
      "mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 3;\n@%p1 ret;\nsetp.eq.u32 %p1, %r1, 4;\n@%p1 bra "
      "E;\nvote.sync.ballot.b32 %r4, %p2, -1;\nE: bar.sync 0;",
      {0});
  EXPECT_EQ(alone.kind, FaultKind::kBarrier) << alone.problem;
  EXPECT_EQ(alone.problem.find("12:1: "), 0U) << alone.problem;
}

TEST(Ptx, LanesThatWaitForOneAnotherGoOn) {
  const Ran ran = run_body(
      "TRY: atom.global.cas.b32 %r1, [%d0], 0, 1;\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra TRY;\n"
      "ld.volatile.global.u64 %d1, [%d0+8];\nadd.u64 %d1, %d1, 1;\nst.volatile.global.u64 [%d0+8], %d1;\n"
      "atom.global.exch.b32 %r1, [%d0], 0;",
      {0, 0}, {64, 1, 1}, {3, 1, 1});
  EXPECT_EQ(ran.problem, "");
  EXPECT_EQ(ran.values[1], 192U);
}

TEST(Ptx, FunctionsHaveTheirOwnRegistersAndMemory) {
  const std::string function =
      ".func (.param .b64 r) twice(.param .b64 a)\n{\n.local .align 8 .b8 depot[8];\n.reg .b64 %d<5>;\n"
      "ld.param.u64 %d1, [a]; mov.u64 %d2, depot; st.local.u64 [%d2], %d1; ld.local.u64 %d3, [%d2];\n"
      "add.u64 %d3, %d3, %d1; st.param.b64 [r+0], %d3; ret;\n}\n";
  const Ran ran = run_body(
      "mov.u32 %r1, %tid.x; cvt.u64.u32 %d1, %r1;\n{\n.param .b64 a; st.param.b64 [a+0], %d1; .param .b64 "
      "b;\n"
      "call.uni (b), twice, (a);\nld.param.b64 %d2, [b+0];\n}\nshl.b64 %d3, %d1, 3; add.s64 %d3, %d3, %d0; "
      "st.global.u64 [%d3], %d2;",
      std::vector<std::uint64_t>(32), {32, 1, 1}, {1, 1, 1}, function);
  EXPECT_EQ(ran.problem, "");
  EXPECT_EQ(ran.values[31], 62U);
}

constexpr char kExchange[] =
    ".shared .align 8 .b8 s[512];\nmov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 8; mov.u64 %d2, s; add.s64 "
    "%d2, %d2, %d1;\n"
    "cvt.u64.u32 %d3, %r1; st.shared.u64 [%d2], %d3;\nBARRIER\nxor.b32 %r2, %r1, 63; mul.wide.u32 %d4, %r2, "
    "8; mov.u64 %d5, s;\n"
    "add.s64 %d5, %d5, %d4; ld.shared.u64 %d6, [%d5]; add.s64 %d7, %d0, %d1; st.global.u64 [%d7], %d6;";

std::string exchange(const std::string& barrier) {
  std::string text = kExchange;
  return text.replace(text.find("BARRIER"), 7, barrier);
}

TEST(Ptx, ABarrierThatIsThereOrNot) {
  const std::vector<std::uint64_t> zeros(64);
  EXPECT_EQ(run_body(exchange("bar.sync 0;"), zeros, {64, 1, 1}).problem, "");
  EXPECT_EQ(run_body(exchange("bar.sync 0;"), zeros, {64, 1, 1}).values[0], 63U);
  const Ran missing = run_body(exchange(""), zeros, {64, 1, 1});
  EXPECT_NE(missing.problem, "");
  const Ran divergent = run_body(
      "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 9;\n@%p1 bra A;\nbar.sync 0; bra.uni B;\nA: bar.sync "
      "0;\nB:",
      zeros);
  EXPECT_EQ(divergent.kind, FaultKind::kBarrier) << divergent.problem;
  const Ran ended =
      run_body("mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 9;\n@%p1 bra A;\nbar.sync 0;\nA:", zeros);
  EXPECT_EQ(ended.kind, FaultKind::kBarrier) << ended.problem;
  EXPECT_NE(ended.problem.find("the others have ended"), std::string::npos) << ended.problem;
}

TEST(Ptx, RacesAreFoundWithBothLines) {
  const Ran both = run_body("mov.u64 %d1, 1;\nst.global.u64 [%d0], %d1;", {0});
  EXPECT_EQ(both.kind, FaultKind::kRace);
  EXPECT_EQ(both.problem.find("9:1: thread (1, 0, 0) of block (0, 0, 0) writes"), 0U) << both.problem;
  EXPECT_NE(both.problem.find("in line 9 writes"), std::string::npos) << both.problem;
  const Ran blocks =
      run_body("ld.global.u64 %d1, [%d0];\nst.global.u64 [%d0], %d1;", {0}, {1, 1, 1}, {2, 1, 1});
  EXPECT_EQ(blocks.kind, FaultKind::kRace);
  EXPECT_EQ(run_body("atom.global.add.u64 %d1, [%d0], 1;", {0}, {64, 1, 1}, {2, 1, 1}).values[0], 128U);
  EXPECT_EQ(
      run_body("mov.u32 %r1, %tid.x; cvt.u64.u32 %d1, %r1; add.s64 %d1, %d1, %d0; st.global.u8 [%d1], %r1;",
               {0, 0}, {16, 1, 1})
          .problem,
      "");
}

// Threads that access different halves of a word do not race; threads that access the same half do.
TEST(Ptx, NeighboursInAWordDoNotRace) {
  const std::string update =
      "mov.u32 %r1, %tid.x; INDEX\nmul.wide.u32 %d1, %r1, 2; add.s64 %d1, %d1, %d0;\nld.global.u16 %h1, "
      "[%d1];\nadd.u16 %h1, %h1, 1;\nst.global.u16 [%d1], %h1;";
  const auto with = [&](const std::string& index) {
    std::string text = update;
    return run_body(text.replace(text.find("INDEX"), 5, index), {0, 0}, {8, 1, 1});
  };
  EXPECT_EQ(with("").problem, "");
  EXPECT_EQ(with("").values[0], 0x0001000100010001U);
  const Ran meets = with("shr.u32 %r1, %r1, 1;");
  EXPECT_EQ(meets.kind, FaultKind::kRace) << meets.problem;
  const Ran writes = run_body(
      "mov.u32 %r1, %tid.x; and.b32 %r1, %r1, 1; mul.wide.u32 %d1, %r1, 2; add.s64 %d1, %d1, %d0; "
      "st.global.u16 "
      "[%d1], %h1;",
      {0}, {4, 1, 1});
  EXPECT_EQ(writes.kind, FaultKind::kRace) << writes.problem;
  EXPECT_NE(writes.problem.find("thread (2, 0, 0)"), std::string::npos) << writes.problem;
}

TEST(Ptx, NumbersOf16BitsRoundOnce) {
  EXPECT_EQ(one("cvt.rn.f16.f32 %h3, %f1; cvt.u64.u16 %d4, %h3;", bits(0.1F)), 0x2e66U);
  EXPECT_EQ(one("cvt.rz.f16.f32 %h3, %f1; cvt.u64.u16 %d4, %h3;", bits(70000.0F)), 0x7bffU);
  EXPECT_EQ(one("cvt.rn.f16.f32 %h3, %f1; cvt.u64.u16 %d4, %h3;", bits(65520.0F)), 0x7c00U);
  EXPECT_EQ(one("cvt.rn.f16.f32 %h3, %f1; cvt.u64.u16 %d4, %h3;", bits(0x1.8p-25F)), 1U);
  EXPECT_EQ(one("cvt.rn.bf16.f32 %h3, %f1; cvt.u64.u16 %d4, %h3;", bits(1.0F + 0x1p-8F)), 0x3f80U);
  EXPECT_EQ(one("cvt.rn.bf16.u64 %h3, %d1; cvt.u64.u16 %d4, %h3;", (257ULL << 54) + 1), 0x5e81U);
  EXPECT_EQ(one("cvt.f32.f16 %f4, %h1; mov.b32 %r4, %f4; cvt.u64.u32 %d4, %r4;", 0x8001), bits(-0x1p-24F));
  EXPECT_EQ(one("cvt.rzi.s32.f16 %r4, %h1; cvt.s64.s32 %d4, %r4;", 0xc580), static_cast<std::uint64_t>(-5));
  EXPECT_EQ(one("cvt.rn.f16x2.f32 %r4, %f1, %f2; cvt.u64.u32 %d4, %r4;", bits(1.0F), bits(2.0F)),
            0x3c004000U);
  EXPECT_EQ(one("add.rn.f16 %h3, %h1, %h2; cvt.u64.u16 %d4, %h3;", 0x6800, 0x3c00), 0x6800U);
  EXPECT_EQ(one("add.rn.f16x2 %r4, %r1, %r2; cvt.u64.u32 %d4, %r4;", 0x3c004000, 0x3c003c00), 0x40004200U);
  // The product alone is halfway between two numbers; the addend, too small for a double to keep, decides.
  EXPECT_EQ(
      one("mov.b16 %h4, 0x0001; mov.b16 %h5, 0x3fc0; fma.rn.bf16 %h3, %h5, %h1, %h4; cvt.u64.u16 %d4, %h3;",
          0x3f83),
      0x3fc5U);
  EXPECT_EQ(one("setp.lt.f16 %p1, %h1, %h2; selp.u64 %d4, 1, 2, %p1;", 0xbc00, 0x0000), 1U);
  EXPECT_EQ(one("max.NaN.f16 %h3, %h1, %h2; cvt.u64.u16 %d4, %h3;", 0x7e00, 0x3c00), 0x7fffU);
}

TEST(Ptx, RareInstructionsOfIntegers) {
  EXPECT_EQ(one("lop3.b32 %r4, %r1, %r2, %r3, 0x96; cvt.u64.u32 %d4, %r4;", 0xf0, 0xcc, 0xaa), 0x96U);
  EXPECT_EQ(one("dp4a.s32.s32 %r4, %r1, %r2, %r3; cvt.u64.u32 %d4, %r4;", 0xff020304, 0x01010101, 5), 13U);
  EXPECT_EQ(one("sad.s32 %r4, %r1, %r2, %r3; cvt.u64.u32 %d4, %r4;", 0xffffffff, 2, 5), 8U);
  EXPECT_EQ(one("mul24.lo.s32 %r4, %r1, %r2; cvt.u64.u32 %d4, %r4;", 0x00ffffff, 2), 0xfffffffeU);
  EXPECT_EQ(one("bfind.shiftamt.u32 %r4, %r1; cvt.u64.u32 %d4, %r4;", 1), 31U);
}

TEST(Ptx, ThreadsVoteAndMatch) {
  const Ran ran = run_body(
      "mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 1; match.any.sync.b32 %r3, %r2, -1; redux.sync.add.s32 %r4, "
      "%r1, -1;\n"
      "setp.lt.u32 %p1, %r1, 5;\nbar.red.popc.u32 %r5, 0, %p1;\nbar.red.or.pred %p2, 0, !%p1;\nbar.warp.sync "
      "-1;\n"
      "setp.ne.u32 %p3, %r1, 33;\n@%p3 bra E;\nmov.b64 %d1, {%r3, %r4}; st.global.u64 [%d0], %d1; "
      "cvt.u64.u32 %d2, "
      "%r5;\n"
      "st.global.u64 [%d0+8], %d2; selp.u64 %d3, 1, 0, %p2; st.global.u64 [%d0+16], %d3;\nE:",
      {0, 0, 0}, {64, 1, 1});
  EXPECT_EQ(ran.problem, "");
  EXPECT_EQ(ran.values[0], std::uint64_t{(32 + 63) * 16} << 32 | 0xaaaaaaaa);
  EXPECT_EQ(ran.values[1], 5U);
  EXPECT_EQ(ran.values[2], 1U);
}

constexpr char kFunctions[] =
    ".func (.param .b32 r) one(.param .b32 a)\n{\n.reg .b32 %r<3>; ld.param.u32 %r1, [a]; add.u32 %r1, %r1, "
    "1; "
    "st.param.b32 [r], %r1; ret;\n}\n"
    ".func (.param .b32 r) two(.param .b32 a)\n{\n.reg .b32 %r<3>; ld.param.u32 %r1, [a]; mul.lo.u32 %r1, "
    "%r1, 2; "
    "st.param.b32 [r], %r1; ret;\n}\n"
    ".func three()\n{\nret;\n}\n.global .align 8 .u64 table[3] = {one, two, three};\n.global .u64 where = "
    "generic(table)+8;\n";

TEST(Ptx, FunctionsAreCalledThroughRegisters) {
  const auto call = [](const std::string& choose) {
    return run_body(
        "mov.u32 %r1, %tid.x;\n" + choose +
            "\nmul.wide.u32 %d1, %r2, 8; mov.u64 %d2, table; add.s64 %d2, %d2, %d1; ld.global.u64 %d3, "
            "[%d2];\n{\n.param .b32 a; .param .b32 b; st.param.b32 [a], %r1;\n"
            "call (b), %d3, (a), proto;\nproto: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
            "ld.param.b32 %r3, [b];\n}\nmul.wide.u32 %d4, %r1, 4; add.s64 %d4, %d4, %d0; st.global.u32 "
            "[%d4], %r3;",
        {0, 0}, {4, 1, 1}, {1, 1, 1}, kFunctions);
  };
  const Ran ran = call("and.b32 %r2, %r1, 1;");
  EXPECT_EQ(ran.problem, "");
  EXPECT_EQ(ran.values, (std::vector<std::uint64_t>{std::uint64_t{2} << 32 | 1, std::uint64_t{6} << 32 | 3}));
  EXPECT_NE(call("mov.u32 %r2, 2;").problem.find("'three', which has other parameters"), std::string::npos);
  EXPECT_EQ(
      run_body("ld.global.u64 %d3, [where]; ld.global.u64 %d1, [%d3]; mov.u64 %d2, two; setp.ne.u64 %p1, "
               "%d1, %d2;\n@%p1 trap;",
               {0}, {1, 1, 1}, {1, 1, 1}, kFunctions)
          .problem,
      "");
}

TEST(Ptx, AddressesAndWhatWasNeverWritten) {
  const Ran behind = run_body("ld.global.u64 %d1, [%d0+8];", {0});
  EXPECT_EQ(behind.kind, FaultKind::kAddress) << behind.problem;
  const Ran before = run_body("ld.global.u64 %d1, [%d0+-8];", {0});
  EXPECT_EQ(before.kind, FaultKind::kAddress) << before.problem;
  EXPECT_EQ(run_body("ld.global.u64 %d1, [%d0+4];", {0, 0}).kind, FaultKind::kAlignment);
  EXPECT_EQ(run_body(".shared .b64 s; ld.shared.u64 %d1, [s];", {0}).kind, FaultKind::kUnwritten);
  EXPECT_EQ(run_body(".local .b64 s; mov.u64 %d1, s; ld.local.u64 %d2, [%d1];", {0}).kind,
            FaultKind::kUnwritten);
  EXPECT_EQ(run_body("A: bra.uni A;", {0}).kind, FaultKind::kLimit);
  EXPECT_EQ(run_body("trap;", {0}).kind, FaultKind::kTrap);
}

TEST(Ptx, CountsHowAccessesFallTogether) {
  // Thread n reads element `stride` * n mod 1024, of 8 bytes.
  const auto global = [](const char* stride) {
    return run_body(std::string("mov.u32 %r1, %tid.x; mul.lo.u32 %r1, %r1, ") + stride +
                        "; and.b32 %r1, %r1, 1023; mul.wide.u32 %d1, %r1, 8; add.s64 %d1, %d0, %d1;\n"
                        "ld.global.u64 %d2, [%d1];",
                    std::vector<std::uint64_t>(1024))
        .counts;
  };
  EXPECT_EQ(global("1").transactions, 8U);
  EXPECT_EQ(global("1").fewest_transactions, 8U);
  EXPECT_EQ(global("0").transactions, 1U);
  EXPECT_EQ(global("32").transactions, 32U);
  EXPECT_EQ(global("32").fewest_transactions, 8U);
  // Thread n writes a word of shared memory at `distance` * n bytes.
  const auto shared = [](const char* distance) {
    return run_body(std::string(".shared .b32 s[1024]; mov.u32 %r1, %tid.x; mul.lo.u32 %r2, %r1, ") +
                        distance + "; mov.u32 %r3, s; add.u32 %r3, %r3, %r2; st.shared.u32 [%r3], %r1;",
                    {0})
        .counts;
  };
  EXPECT_EQ(shared("4").passes, 1U);
  EXPECT_EQ(shared("8").passes, 2U);
  EXPECT_EQ(shared("128").passes, 32U);
  EXPECT_EQ(shared("128").fewest_passes, 1U);
}

TEST(Ptx, CountsThreadsThatWork) {
  const Counts counts = run_body(
                            "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 5; mul.wide.u32 %d1, %r1, 4;\n"
                            "add.s64 %d1, %d0, %d1; @%p1 st.global.u32 [%d1], %r1;",
                            {0, 0, 0}, {40, 1, 1})
                            .counts;
  EXPECT_EQ(counts.launched, 40U);
  EXPECT_EQ(counts.working, 5U);
  // Two warps, one of 8 lanes; the store is for five threads alone.
  EXPECT_EQ(counts.issued, 6U * 2 * 32);
  EXPECT_EQ(counts.active, 5U * 40 + 5);
}

TEST(Ptx, WrongTextIsRefusedWithItsPlace) {
  const auto refused = [](const std::string& text) {
    const auto program = assemble(text);
    return program.ok() ? std::string() : program.error().message();
  };
  EXPECT_EQ(refused("hello"), "1:1: PTX begins with .version, as in '.version 7.0'");
  EXPECT_EQ(run_body("wgmma.fence.sync.aligned;", {}).problem,
            "8:1: 'wgmma.fence.sync.aligned' is not supported");
  EXPECT_EQ(run_body("cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;", {}).problem,
            "8:1: 'cvt.rn.satfinite.e4m3x2.f32' is not supported: .satfinite is unknown");
  EXPECT_EQ(run_body("add.s64 %d1, %d2, %nothing;", {}).problem, "8:19: '%nothing' is no register");
  EXPECT_EQ(run_body("add.s64 %d1, %d2, %r1;", {}).problem,
            "8:19: the register '%r1' of type b32 is too narrow");
  EXPECT_EQ(run_body("bra NOWHERE;", {}).problem, "8:1: label 'NOWHERE' is not declared");
  EXPECT_EQ(run_body("div.f32 %f1, %f2, %f3;", {}).problem, "8:1: 'div.f32' is not supported");
  EXPECT_EQ(run_body("add.s64 %d1, %d2", {}).problem, "9:1: ';' is missing before 'ret'");
  EXPECT_EQ(refused(std::string(kHead) + ".entry k()\n{"), "5:2: the function has no '}' at its end");
}

// Every prefix of a text is refused or accepted, without a crash.
TEST(Ptx, TextThatIsCutOff) {
  const std::string text =
      std::string(kHead) +
      ".global .align 8 .b8 t[3] = {1, 2, 3};\n.visible .entry k(.param .u64 p)\n{\n.reg .b64 %d<3>;\n"
      "ld.param.u64 %d0, [p+0];\n{ .reg .b32 lo; mov.b64 {lo, _}, %d0; }\nL: @!%p1 bra L;\n/* x */ ret;\n}\n";
  for (std::size_t length = 0; length < text.size(); ++length) {
    const auto program = assemble(text.substr(0, length));
    if (program.ok()) continue;
    EXPECT_NE(program.error().message().find(':'), std::string::npos);
  }
}

}  // namespace
}  // namespace dhpvm::ptx
