// SPDX-License-Identifier: Apache-2.0
#include "bytecode/builder.h"

#include <gtest/gtest.h>

#include <limits>

#include "bytecode/isa_text.h"

namespace dhpvm::bytecode {
namespace {

const ValueType kI64Value{Kind::kI64, kNoIndex};

std::vector<Word> body(const Module& m, std::uint32_t function) {
  const Function& f = m.functions[function];
  return {m.code.begin() + f.code_offset, m.code.begin() + f.code_offset + f.code_size};
}

Word bc(Op op, std::uint16_t a, std::int32_t offset) {
  return encode32(op, a, static_cast<std::uint32_t>(offset));
}

TEST(Builder, InternsStringsAndTypes) {
  ModuleBuilder m;
  EXPECT_EQ(m.string("a"), m.string("a"));
  EXPECT_NE(m.string("a"), m.string("b"));
  const std::uint32_t floats = m.array_type({Kind::kF32, kNoIndex}, 2);
  EXPECT_EQ(floats, m.array_type({Kind::kF32, kNoIndex}, 2));
  EXPECT_NE(floats, m.array_type({Kind::kF32, kNoIndex}, 1));
  EXPECT_EQ(m.type(floats).name, "[f32, 2]");
  EXPECT_EQ(m.type(m.array_type({Kind::kRef, kStringType})).name, "[str]");
  EXPECT_EQ(m.weak_type(kStringType), m.weak_type(kStringType));
  EXPECT_EQ(m.import_function("io.write", {}), m.import_function("io.write", {}));
}

TEST(Builder, CountsRegistersAndWindows) {
  ModuleBuilder m;
  const ValueType str{Kind::kRef, kStringType};
  const std::uint32_t callee = m.declare_function("f", {{kI64Value, kI64Value, str}, {kI64Value}});
  const std::uint32_t caller = m.declare_function("g", {});
  FunctionBuilder f(m, caller);
  f.emit(Op::kCall, 4, 2, static_cast<std::uint16_t>(callee));
  f.emit(Op::kStringConcat, 0, 5, 3);
  f.emit(Op::kReturn);
  ASSERT_TRUE(f.finish().ok());
  EXPECT_EQ(m.module().functions[caller].primitive_registers, 6);
  EXPECT_EQ(m.module().functions[caller].reference_registers, 8);
}

TEST(Builder, JumpsForwardAndLoopsBackward) {
  ModuleBuilder m;
  const std::uint32_t id = m.declare_function("f", {});
  FunctionBuilder f(m, id);
  const Label top = f.new_label();
  const Label out = f.new_label();
  f.bind(top);
  f.branch(Op::kJLtI32, 0, 1, out);
  f.branch(Op::kJumpIf, 2, top);  // backward: inverted over a loop
  f.branch(Op::kForI64, 0, 1, top);
  EXPECT_TRUE(f.reachable());
  f.jump(top);
  EXPECT_FALSE(f.reachable());
  f.bind(out);
  f.jump(out);
  ASSERT_TRUE(f.finish().ok());
  EXPECT_EQ(body(m.module(), id),
            (std::vector<Word>{encode(Op::kJLtI32, 0, 1, 5), bc(Op::kJumpIfNot, 2, 2), bc(Op::kLoop, 0, -2),
                               encode(Op::kForI64, 0, 1, static_cast<std::uint16_t>(-3)),
                               bc(Op::kLoop, 0, -4), bc(Op::kLoop, 0, 0)}));
}

TEST(Builder, RelaxesBranchesThatAreTooFar) {
  ModuleBuilder m;
  const std::uint32_t id = m.declare_function("f", {});
  FunctionBuilder f(m, id);
  const Label top = f.new_label();
  const Label out = f.new_label();
  f.bind(top);
  f.mark_line(0, 1, 1);
  f.branch(Op::kJLtI64, 3, 4, out);
  f.mark_line(0, 2, 1);
  constexpr int kPadding = 40000;
  for (int i = 0; i < kPadding; ++i) f.emit(Op::kNop);
  f.mark_line(0, 3, 1);
  f.branch(Op::kForI32, 5, 6, top);
  f.bind(out);
  f.mark_line(0, 4, 1);
  f.emit(Op::kReturn);
  f.mark_line(0, 5, 1);  // marks nothing
  ASSERT_TRUE(f.finish().ok());
  const std::vector<Word> code = body(m.module(), id);
  ASSERT_EQ(code.size(), 2u + kPadding + 3 + 1);
  EXPECT_EQ(code[0], encode(Op::kJLeI64, 4, 3, 2));
  EXPECT_EQ(code[1], bc(Op::kJump, 0, kPadding + 4));
  EXPECT_EQ(code[kPadding + 2], encode(Op::kAddImmI32, 5, 5, 1));
  EXPECT_EQ(code[kPadding + 3], encode(Op::kJLeI32, 6, 5, 2));
  EXPECT_EQ(code[kPadding + 4], bc(Op::kLoop, 0, -(kPadding + 4)));
  const std::vector<Line>& lines = m.module().functions[id].lines;
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[1].pc, 2u);
  EXPECT_EQ(lines[2].pc, kPadding + 2u);
  EXPECT_EQ(lines[3].pc, kPadding + 5u);
}

TEST(Builder, RelaxingOneBranchMayPushAnotherOutOfReach) {
  ModuleBuilder m;
  const std::uint32_t id = m.declare_function("f", {});
  FunctionBuilder f(m, id);
  const Label near = f.new_label();
  const Label far = f.new_label();
  f.branch(Op::kJEqI32, 0, 0, near);  // exactly in reach, until the next branch grows
  f.branch(Op::kJEqI32, 0, 0, far);
  for (int i = 0; i < 32765; ++i) f.emit(Op::kNop);
  f.bind(near);
  for (int i = 0; i < 10; ++i) f.emit(Op::kNop);
  f.bind(far);
  f.emit(Op::kReturn);
  ASSERT_TRUE(f.finish().ok());
  const std::vector<Word> code = body(m.module(), id);
  ASSERT_EQ(code.size(), 2 + 32765u + 10 + 1 + 2);
  EXPECT_EQ(code[1], bc(Op::kJump, 0, 32765 + 3));
  EXPECT_EQ(code[3], bc(Op::kJump, 0, 32765 + 11));
}

TEST(Builder, EveryInverseInvertsBack) {
  int conditions = 0;
  for (std::uint16_t i = 0; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    if ((info(op).flags & (kBranch | kBackEdge)) != kBranch || op == Op::kProtect) continue;
    ++conditions;
    bool swap = false;
    bool swap_back = false;
    const Op other = inverse(op, swap);
    EXPECT_NE(other, op) << mnemonic_of(op);
    EXPECT_EQ(inverse(other, swap_back), op);
    EXPECT_EQ(swap, swap_back);
    EXPECT_EQ(info(op).a, info(other).a);
    EXPECT_EQ(info(op).b, info(other).b);
  }
  EXPECT_GT(conditions, 30);
}

TEST(Builder, ReportsTheFirstMistake) {
  ModuleBuilder m;
  const std::uint32_t unbound = m.declare_function("unbound", {});
  FunctionBuilder f(m, unbound);
  f.jump(f.new_label());
  const Status status = f.finish();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::kInternal);
  EXPECT_NE(status.error().message().find("never bound"), std::string::npos);

  FunctionBuilder g(m, m.declare_function("g", {}));
  g.emit(Op::kNew, 0);
  EXPECT_NE(g.finish().error().message().find("second word"), std::string::npos);
  FunctionBuilder h(m, m.declare_function("h", {}));
  h.branch(Op::kForI32, 0, 1, h.new_label());
  EXPECT_NE(h.finish().error().message().find("back-edge"), std::string::npos);
}

TEST(Builder, FinishOrdersCodeByFunction) {
  ModuleBuilder m;
  const std::uint32_t outer = m.declare_function("outer", {});
  const std::uint32_t inner = m.declare_function("inner", {});
  FunctionBuilder o(m, outer);
  FunctionBuilder i(m, inner);
  o.emit(Op::kNop);
  i.emit(Op::kReturn);
  ASSERT_TRUE(i.finish().ok());
  o.emit(Op::kReturn);
  ASSERT_TRUE(o.finish().ok());
  const Module done = std::move(m).finish();
  EXPECT_EQ(done.functions[outer].code_offset, 0u);
  EXPECT_EQ(done.functions[inner].code_offset, 2u);
  EXPECT_EQ(done.code, (std::vector<Word>{encode(Op::kNop), encode(Op::kReturn), encode(Op::kReturn)}));
}

TEST(Builder, ConstantsTakeTheShortestForm) {
  ModuleBuilder m;
  const std::uint32_t id = m.declare_function("f", {});
  FunctionBuilder f(m, id);
  f.load_integer(0, -5);
  f.load_integer(1, std::int64_t{1} << 40);
  f.load_f64(2, 0.0);
  f.load_f64(3, -0.0);
  ASSERT_TRUE(f.finish().ok());
  EXPECT_EQ(body(m.module(), id),
            (std::vector<Word>{bc(Op::kImm, 0, -5), encode(Op::kConst, 1), Word{1} << 40, bc(Op::kImm, 2, 0),
                               encode(Op::kConst, 3), Word{1} << 63}));
}

}  // namespace
}  // namespace dhpvm::bytecode
