// SPDX-License-Identifier: Apache-2.0
// The code that lowering generates: the instructions of loops and calls, and refused programs. Tests in tests/ run the
// code.
#include "compiler/lower/lowering.h"

#include <gtest/gtest.h>

#include <string>

#include "bytecode/disassembler.h"
#include "bytecode/isa_text.h"
#include "bytecode/verifier.h"
#include "compiler/hir/hir_builder.h"

namespace dhpvm::compiler::hir {
namespace {

// The mnemonics of the first function, separated by blanks, the labels as ":".
std::string code_of(const HirBuilder& b) {
  const Result<bytecode::Module> module = lower(b.program);
  if (!module.ok()) return module.error().to_string();
  if (const Status status = bytecode::verify(*module); !status.ok()) return status.error().to_string();
  std::string text;
  const bytecode::Function& function = module->functions[0];
  for (std::uint32_t pc = 0; pc < function.code_size;) {
    const auto op = static_cast<bytecode::Op>(bytecode::op_of(module->code[function.code_offset + pc]));
    if (!text.empty()) text += ' ';
    text += bytecode::mnemonic_of(op);
    pc += bytecode::info(op).words();
  }
  return text;
}

TEST(LoweredCode, OfFibHasNoNeedlessMoves) {
  HirBuilder b;
  Function* fib = b.function("fib", {b.i64()}, b.i64());
  Local* n = fib->parameters[0];
  fib->body = {b.when(b.less(b.use(n), b.integer(2)), {b.ret(b.use(n))}),
               b.ret(b.add(b.call(fib, {b.sub(b.use(n), b.integer(1))}),
                           b.call(fib, {b.sub(b.use(n), b.integer(2))})))};
  EXPECT_EQ(code_of(b), "jump.ge.imm.i64 return.p add.imm.i64 call add.imm.i64 call add.i64 return.p");
}

TEST(LoweredCode, OfALoopOverAnArrayIsThreeInstructionsAnIteration) {
  HirBuilder b;
  const Type* array = b.program.types.array(b.f64(), 1);
  Function* f = b.function("sum", {array}, b.f64());
  Local* sum = b.local(b.f64());
  Local* i = b.local(b.i64());
  f->body = {b.let(sum, b.number(0)),
             b.range(i, b.integer(0), b.make(ExprKind::kArrayLength, b.i64(), {b.use(f->parameters[0])}),
                     {b.update(b.use(sum), Binary::kAdd, b.index(b.use(f->parameters[0]), {b.use(i)}))}),
             b.ret(b.use(sum))};
  EXPECT_EQ(code_of(b),
            "imm imm array.length jump.le.i64 "
            "load.f64 add.f64 for.i64 "
            "return.p");
}

TEST(LoweredCode, LoadsConstantsOutsideOfNestedLoops) {
  HirBuilder b;
  Function* f = b.function("f", {b.i64()}, b.f64());
  Local* x = b.local(b.f64());
  f->body = {
      b.let(x, b.number(1)),
      b.range(b.local(b.i64()), b.integer(0), b.use(f->parameters[0]),
              {b.loop(b.less(b.use(x), b.number(8)), {b.update(b.use(x), Binary::kMul, b.number(1.5))}),
               b.update(b.use(x), Binary::kSub, b.number(8))}),
      b.ret(b.use(x))};
  EXPECT_EQ(code_of(b),
            "const imm jump.le.i64 const const "
            "jump.nlt.f64 mul.f64 loop sub.f64 for.i64 "
            "return.p");
}

TEST(LoweredCode, BranchesInsteadOfComputingConditions) {
  HirBuilder b;
  Function* f = b.function("f", {b.i64(), b.f64()}, b.i64());
  Expr* condition =
      b.make(ExprKind::kAnd, b.boolean(),
             {b.less(b.use(f->parameters[0]), b.integer(3)),
              b.make(ExprKind::kOr, b.boolean(),
                     {b.equal(b.binary(Binary::kRem, b.use(f->parameters[0]), b.integer(8)), b.integer(0)),
                      b.less(b.number(0), b.use(f->parameters[1]))})});
  f->body = {b.when(condition, {b.ret(b.integer(1))}), b.ret(b.integer(0))};
  EXPECT_EQ(code_of(b),
            "jump.ge.imm.i64 and.imm.i64 jump.eq.imm.i32 imm jump.nlt.f64 imm return.p imm return.p");
}

TEST(LoweredCode, LeavesResultsOfCallsWhereTheyAreWanted) {
  HirBuilder b;
  Function* f = b.function("f", {b.i64()}, b.i64());
  Function* g = b.function("g", {b.i64(), b.i64()}, b.i64());
  g->body = {b.ret(b.binary(Binary::kDiv, b.use(g->parameters[0]), b.use(g->parameters[1])))};
  Local* x = b.local(b.i64());
  Expr* inner = b.call(g, {b.use(f->parameters[0]), b.integer(1)});
  f->body = {b.let(x, b.call(g, {inner, b.integer(2)})), b.ret(b.use(x))};
  EXPECT_EQ(code_of(b), "move.p imm call imm call return.p");
}

TEST(LoweredCode, PutsSmallFunctionsInPlaceOfCalls) {
  HirBuilder b;
  Function* f = b.function("f", {b.i64()}, b.i64());
  Function* g = b.function("g", {b.i64(), b.i64()}, b.i64());
  Local* sum = b.local(b.i64());
  g->body = {b.let(sum, b.add(b.use(g->parameters[0]), b.use(g->parameters[1]))),
             b.when(b.less(b.use(sum), b.integer(0)), {b.ret(b.sub(b.integer(0), b.use(sum)))}),
             b.ret(b.use(sum))};
  // The inner call is an argument of the outer one; constants stay constants.
  f->body = {b.ret(b.call(g, {b.use(f->parameters[0]), b.call(g, {b.use(f->parameters[0]), b.integer(1)})}))};
  EXPECT_EQ(code_of(b),
            "add.imm.i64 jump.ge.imm.i64 imm sub.i64 jump move.p "
            "add.i64 jump.ge.imm.i64 imm sub.i64 jump move.p return.p");
}

TEST(LoweredCode, KeepsCallsThatMayTrapOrRecurse) {
  HirBuilder b;
  Function* f = b.function("f", {b.i64()}, b.i64());
  Function* g = b.function("g", {b.i64()}, b.i64());
  Function* h = b.function("h", {b.i64()}, b.i64());
  g->body = {b.ret(b.binary(Binary::kRem, b.integer(7), b.use(g->parameters[0])))};
  h->body = {b.ret(b.call(h, {b.use(h->parameters[0])}))};
  f->body = {b.run(b.call(g, {b.integer(1)})), b.ret(b.call(h, {b.integer(1)}))};
  EXPECT_EQ(code_of(b), "imm call imm call return.p");
}

TEST(LoweredCode, InlinesTheLibraryWithItsTrapsAndLoops) {
  HirBuilder b;
  b.program.files.push_back("stdlib/list.dhp");
  const Type* array = b.program.types.array(b.i64(), 1);
  Function* f = b.function("f", {array, b.i64()}, b.i64());
  Function* get = b.function("List.get", {array, b.i64()}, b.i64());
  get->position.file = 1;
  get->body = {b.ret(b.index(b.use(get->parameters[0]), {b.use(get->parameters[1])}))};
  get->body[0]->value->position.file = 1;
  Expr* call = b.call(get, {b.use(f->parameters[0]), b.use(f->parameters[1])});
  f->body = {b.ret(call)};
  EXPECT_EQ(code_of(b), "load.i64 return.p");
  const Result<bytecode::Module> module = lower(b.program);
  ASSERT_EQ(module->functions[0].lines.size(), 1u);
  EXPECT_EQ(module->functions[0].lines[0].line, call->position.line);
  EXPECT_EQ(module->strings[module->functions[0].lines[0].file], "test.dhp");
}

// Inlining would compile the message wherever a list is read, though it hardly ever runs.
TEST(LoweredCode, KeepsCallsThatMakeTheMessageOfATrap) {
  HirBuilder b;
  Function* f = b.function("f", {b.str()}, nullptr);
  Function* message = b.function("message", {b.str()}, b.str());
  message->body = {b.ret(b.use(message->parameters[0]))};
  f->body = {b.run(b.call(message, {b.use(f->parameters[0])}))};
  EXPECT_EQ(code_of(b), "move.r return");
  Stmt* trap = b.run(b.call(message, {b.use(f->parameters[0])}));
  trap->kind = StmtKind::kTrap;
  f->body = {trap};
  EXPECT_EQ(code_of(b), "move.r call trap.message");
}

TEST(LoweredCode, KeepsCallsOfTheLibraryThatGiveErrors) {
  HirBuilder b;
  b.program.files.emplace_back("stdlib/errors.dhp");
  const Type* error = b.program.types.nominal(TypeKind::kClass, "Error");
  Function* f = b.function("f", {error}, error);
  Function* passed_on = b.function("errors.passed_on", {error}, error);
  passed_on->position.file = 1;
  passed_on->body = {b.ret(b.use(passed_on->parameters[0]))};
  f->body = {b.ret(b.call(passed_on, {b.use(f->parameters[0])}))};
  EXPECT_EQ(code_of(b), "move.r call return.r");
}

TEST(LoweredCode, HasNoJumpsToJumps) {
  HirBuilder b;
  Function* f = b.function("f", {b.i64()}, b.i64());
  Local* x = b.local(b.i64());
  const auto at_least = [&](std::int64_t n) { return b.less(b.use(x), b.integer(n)); };
  f->body = {b.let(x, b.integer(0)),
             b.loop(b.less(b.use(x), b.use(f->parameters[0])),
                    {b.when(at_least(5),
                            {b.when(at_least(2), {b.update(b.use(x), Binary::kAdd, b.integer(1))},
                                    {b.update(b.use(x), Binary::kAdd, b.integer(2))})},
                            {b.update(b.use(x), Binary::kAdd, b.integer(3))}),
                     b.when(b.equal(b.use(x), b.integer(40)), {b.stmt(StmtKind::kBreak)})}),
             b.ret(b.use(x))};
  EXPECT_EQ(code_of(b),
            "imm jump.le.i64 jump.ge.imm.i64 jump.ge.imm.i64 add.imm.i64 jump add.imm.i64 jump add.imm.i64 "
            "jump.eq.imm.i64 loop return.p");
}

TEST(LoweredCode, OfNumbersBetweenTextsMakesOneText) {
  HirBuilder b;
  hir::Native from{"str.from_i64", {b.i64()}, b.str()};
  Function* f = b.function("f", {b.i64(), b.str()}, b.str());
  const auto number = [&] {
    Expr* e = b.make(ExprKind::kCallNative, b.str(), {b.use(f->parameters[0])});
    e->native = &from;
    return e;
  };
  const auto code_of_join = [&](std::vector<Expr*> operands) {
    f->body = {b.ret(b.make(ExprKind::kStringConcat, b.str(), std::move(operands)))};
    return code_of(b);
  };
  const auto text = [&] { return b.use(f->parameters[1]); };
  EXPECT_EQ(code_of_join({b.text("a"), number(), b.text("b")}),
            "const.string move.p const.string call.native return.r");
  EXPECT_EQ(code_of_join({text(), number()}), "move.r move.p const.string call.native return.r");
  EXPECT_EQ(code_of_join({number(), b.text(","), number(), text()}),
            "const.string move.p const.string call.native move.p move.r call.native return.r");
  // A text that may be long is copied only once.
  const std::string joined = code_of_join({text(), number(), b.text(","), number()});
  EXPECT_NE(joined.find("string.concat"), std::string::npos) << joined;
  EXPECT_EQ(code_of_join({text(), b.text(","), text()}), "move.r const.string move.r string.concat return.r");
}

TEST(LoweredCode, KnowsItsSourceLines) {
  HirBuilder b;
  Function* f = b.function("f", {b.i64(), b.i64()}, b.i64());
  Expr* division = b.binary(Binary::kDiv, b.use(f->parameters[0]), b.use(f->parameters[1]));
  f->body = {b.ret(division)};
  const Result<bytecode::Module> module = lower(b.program);
  ASSERT_TRUE(module.ok());
  ASSERT_EQ(module->functions[0].lines.size(), 1u);
  EXPECT_EQ(module->functions[0].lines[0].line, division->position.line);
  EXPECT_EQ(module->strings[module->functions[0].lines[0].file], "test.dhp");
}

void expect_unsupported(const HirBuilder& b, const std::string& text) {
  const Result<bytecode::Module> module = lower(b.program);
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code(), ErrorCode::kUnsupported);
  EXPECT_NE(module.error().message().find(text), std::string::npos) << module.error().message();
}

TEST(LoweredCode, IsRefusedBeyondTheRegisters) {
  HirBuilder b;
  Function* f = b.function("f", {}, b.i64());
  for (int i = 0; i < 60000; ++i) f->body.push_back(b.let(b.local(b.i64()), b.integer(i)));
  f->body.push_back(b.ret(b.integer(0)));
  expect_unsupported(b, "'f' needs too many registers");
}

TEST(LoweredCode, IsRefusedBeyondTheLocalMemory) {
  HirBuilder b;
  Function* f = b.function("f", {}, b.void_type());
  for (int i = 0; i < 3; ++i)
    f->body.push_back(b.let(b.local(b.program.types.fixed_array(b.i64(), 4096)), nullptr));
  expect_unsupported(b, "98304 bytes");
}

TEST(LoweredCode, IsRefusedBeyondTheObjectSize) {
  HirBuilder b;
  Type* inner = b.program.types.nominal(TypeKind::kStruct, "Inner");
  for (int i = 0; i < 100; ++i) inner->fields.push_back({"f", b.i64()});
  Type* outer = b.program.types.nominal(TypeKind::kClass, "Outer");
  for (int i = 0; i < 100; ++i) outer->fields.push_back({"f", inner});
  Function* f = b.function("f", {outer}, b.void_type());
  (void)f;
  expect_unsupported(b, "'Outer' has fields of 80008 bytes");
}

}  // namespace
}  // namespace dhpvm::compiler::hir
