// SPDX-License-Identifier: Apache-2.0
// Checked programs, written by hand, lowered, verified and run: what single instructions of the module look
// like is tested in compiler/, what programs in the language do by tests/programs.
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "bytecode/disassembler.h"
#include "bytecode/verifier.h"
#include "compiler/hir/hir_builder.h"
#include "compiler/lower/lowering.h"
#include "vm/invocation.h"
#include "vm/isolate.h"

namespace dhpvm::compiler::hir {
namespace {

using bytecode::Op;

// The result of calling the exported function `name`: its registers, or the trap.
struct Outcome {
  std::vector<std::uint64_t> p;
  Error error{ErrorCode::kInternal, ""};
  bool ok = false;
  std::int64_t integer() const { return ok ? static_cast<std::int64_t>(p[0]) : -987654321; }
  std::int32_t narrow() const { return static_cast<std::int32_t>(integer()); }
  double number() const { return ok ? std::bit_cast<double>(p[0]) : -987654321; }
};

Outcome run(const HirBuilder& b, const std::string& name, std::vector<std::uint64_t> arguments = {}) {
  Outcome outcome;
  Result<bytecode::Module> module = lower(b.program);
  if (!module.ok()) {
    ADD_FAILURE() << module.error().to_string();
    return outcome;
  }
  const Status verified = bytecode::verify(*module);
  if (!verified.ok()) {
    ADD_FAILURE() << verified.error().to_string() << "\n" << bytecode::disassemble(*module);
    return outcome;
  }
  auto shared = std::make_shared<const bytecode::Module>(*module);
  auto linked = vm::LinkedModule::link(shared, {});
  if (!linked.ok()) {
    ADD_FAILURE() << linked.error().to_string();
    return outcome;
  }
  vm::IsolateOptions options;
  options.gc_stress = 1;
  auto isolate = vm::Isolate::create(*linked, options);
  const auto function = (*isolate)->find_export(name);
  arguments.resize(std::max<std::size_t>(arguments.size(), 8));
  vm::Invocation call(**isolate, *function);
  const auto& signature = shared->functions[*function].signature;
  for (std::size_t i = 0; i < signature.parameters.size(); ++i) call.p()[i] = arguments[i];
  const Status status = call.run();
  outcome.ok = status.ok();
  if (!status.ok()) {
    outcome.error = status.error();
  } else {
    outcome.p.assign(call.p(), call.p() + std::max<std::size_t>(1, signature.results.size()));
  }
  return outcome;
}

TEST(LoweredFunction, CallsItself) {
  HirBuilder b;
  Function* fib = b.function("fib", {b.i64()}, b.i64());
  Local* n = fib->parameters[0];
  fib->body = {b.when(b.less(b.use(n), b.integer(2)), {b.ret(b.use(n))}),
               b.ret(b.add(b.call(fib, {b.sub(b.use(n), b.integer(1))}),
                           b.call(fib, {b.sub(b.use(n), b.integer(2))})))};
  EXPECT_EQ(run(b, "fib", {20}).integer(), 6765);
}

TEST(LoweredFunction, ReturnsStructsInTheRightRegisters) {
  HirBuilder b;
  Type* pair = b.program.types.nominal(TypeKind::kStruct, "Pair");
  pair->fields = {{"a", b.i64()}, {"b", b.i64()}};
  Function* swap = b.function("swap", {pair}, pair);
  Local* p = swap->parameters[0];
  swap->body = {b.ret(b.make(ExprKind::kMakeStruct, pair, {b.field(b.use(p), 1), b.field(b.use(p), 0)}))};
  Function* f = b.function("f", {}, b.i64());
  Local* x = b.local(pair);
  f->body = {
      b.let(x, b.call(swap, {b.make(ExprKind::kMakeStruct, pair, {b.integer(3), b.integer(10)})})),
      b.assign(b.use(x), b.make(ExprKind::kMakeStruct, pair, {b.field(b.use(x), 1), b.field(b.use(x), 0)})),
      b.ret(b.sub(b.mul(b.field(b.use(x), 0), b.integer(100)), b.field(b.use(x), 1)))};
  EXPECT_EQ(run(b, "f").integer(), 290);
}

// The sum of the indices, weighed so that order and number of iterations show.
class Ranges : public testing::Test {
 protected:
  std::int64_t total(TypeKind kind, std::int64_t low, std::int64_t limit, bool inclusive,
                     Expr* step = nullptr, std::int64_t stop_after = 100) {
    // Bounds as parameters, so that nothing is known of them.
    const Type* t = b.type(kind);
    Function* f = b.function("f" + std::to_string(++functions_), {t, t}, b.i64());
    Local* sum = b.local(b.i64(), "sum");
    Local* count = b.local(b.i64(), "count");
    Local* i = b.local(t, "i");
    Stmt* loop =
        b.range(i, b.use(f->parameters[0]), b.use(f->parameters[1]),
                {b.assign(b.use(sum), b.add(b.mul(b.use(sum), b.integer(3)), b.convert(b.i64(), b.use(i)))),
                 b.update(b.use(count), Binary::kAdd, b.integer(1)),
                 b.when(b.equal(b.use(count), b.integer(stop_after)), {b.stmt(StmtKind::kBreak)})});
    loop->inclusive = inclusive;
    loop->step = step;
    f->body = {b.let(sum, b.integer(0)), b.let(count, b.integer(0)), loop,
               b.ret(b.add(b.mul(b.use(sum), b.integer(1000)), b.use(count)))};
    return run(b, f->name, {static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(limit)}).integer();
  }
  static std::int64_t expected(std::initializer_list<std::int64_t> indices) {
    std::uint64_t sum = 0;
    for (const std::int64_t i : indices) sum = sum * 3 + static_cast<std::uint64_t>(i);
    return static_cast<std::int64_t>(sum * 1000 + indices.size());
  }
  HirBuilder b;

 private:
  int functions_ = 0;
};

TEST_F(Ranges, CountByOne) {
  EXPECT_EQ(total(TypeKind::kI64, 2, 5, false), expected({2, 3, 4}));
  EXPECT_EQ(total(TypeKind::kI64, 2, 5, true), expected({2, 3, 4, 5}));
  EXPECT_EQ(total(TypeKind::kI64, 5, 5, false), expected({}));
  EXPECT_EQ(total(TypeKind::kI64, 5, 5, true), expected({5}));
  EXPECT_EQ(total(TypeKind::kI64, 6, 5, true), expected({}));
  EXPECT_EQ(total(TypeKind::kI32, -2, 1, false), expected({-2, -1, 0}));
  EXPECT_EQ(total(TypeKind::kU64, 1, 3, true), expected({1, 2, 3}));
  EXPECT_EQ(total(TypeKind::kU32, 1, 3, false), expected({1, 2}));
}

TEST_F(Ranges, EndAtTheLargestNumber) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(total(TypeKind::kI64, kMax - 1, kMax, true), expected({kMax - 1, kMax}));
  EXPECT_EQ(total(TypeKind::kI64, kMax, kMax, true), expected({kMax}));
  EXPECT_EQ(total(TypeKind::kI32, 0x7ffffffe, 0x7fffffff, true), expected({0x7ffffffe, 0x7fffffff}));
  EXPECT_EQ(total(TypeKind::kU32, 0xfffffffe, 0xffffffff, true), expected({0xfffffffe, 0xffffffff}));
  EXPECT_EQ(total(TypeKind::kU32, 0x7fffffff, 0x80000001, false), expected({0x7fffffff, 0x80000000}));
  EXPECT_EQ(total(TypeKind::kU8, 254, 255, true), expected({254, 255}));
  EXPECT_EQ(total(TypeKind::kI8, 126, 127, true), expected({126, 127}));
  EXPECT_EQ(total(TypeKind::kU64, -2, -1, true), expected({-2, -1}));
}

TEST_F(Ranges, StepWithoutOverflow) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(total(TypeKind::kI64, 0, 7, false, b.integer(3)), expected({0, 3, 6}));
  EXPECT_EQ(total(TypeKind::kI64, 0, 6, false, b.integer(3)), expected({0, 3}));
  EXPECT_EQ(total(TypeKind::kI64, 0, 6, true, b.integer(3)), expected({0, 3, 6}));
  EXPECT_EQ(total(TypeKind::kI64, 5, -1, false, b.integer(-1)), expected({5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(total(TypeKind::kI64, 5, 0, true, b.integer(-2)), expected({5, 3, 1}));
  EXPECT_EQ(total(TypeKind::kI64, 0, 5, false, b.integer(-1)), expected({}));
  EXPECT_EQ(total(TypeKind::kI64, kMax - 3, kMax, false, b.integer(2)), expected({kMax - 3, kMax - 1}));
  EXPECT_EQ(total(TypeKind::kI64, kMin, kMax, false, b.integer(2), 2), expected({kMin, kMin + 2}));
  EXPECT_EQ(total(TypeKind::kI64, kMax, kMin, false, b.integer(-1), 2), expected({kMax, kMax - 1}));
  EXPECT_EQ(total(TypeKind::kI8, 100, 127, false, b.integer(20, b.type(TypeKind::kI8))),
            expected({100, 120}));
  EXPECT_EQ(total(TypeKind::kU32, 0, 0xffffffff, false, b.integer(0x7fffffff, b.type(TypeKind::kU32))),
            expected({0, 0x7fffffff, 0xfffffffe}));
}

TEST_F(Ranges, VariableStepsMustBePositive) {
  for (const std::int64_t step : {2, 0, -1}) {
    HirBuilder h;
    Function* f = h.function("f", {h.i64()}, h.i64());
    Local* sum = h.local(h.i64());
    Stmt* loop = h.range(h.local(h.i64()), h.integer(0), h.integer(5),
                         {h.update(h.use(sum), Binary::kAdd, h.integer(1))});
    loop->step = h.use(f->parameters[0]);
    f->body = {h.let(sum, h.integer(0)), loop, h.ret(h.use(sum))};
    const Outcome outcome = run(h, "f", {static_cast<std::uint64_t>(step)});
    EXPECT_EQ(outcome.ok, step > 0);
    if (outcome.ok) {
      EXPECT_EQ(outcome.integer(), 3);
    } else {
      EXPECT_EQ(outcome.error.code(), ErrorCode::kUserTrap);
      EXPECT_NE(outcome.error.message().find("step must be positive"), std::string::npos);
    }
  }
}

TEST(LoweredArithmetic, KeepsSmallIntegersInRange) {
  HirBuilder b;
  const Type* u8 = b.type(TypeKind::kU8);
  const Type* i8 = b.type(TypeKind::kI8);
  const auto binary = [&](std::string name, const Type* t, Binary op) {
    Function* f = b.function(std::move(name), {t, t}, t);
    f->body = {b.ret(b.binary(op, b.use(f->parameters[0]), b.use(f->parameters[1])))};
  };
  binary("add_u8", u8, Binary::kAdd);
  binary("sub_u8", u8, Binary::kSub);
  binary("mul_i8", i8, Binary::kMul);
  binary("div_i8", i8, Binary::kDiv);
  binary("shl_i8", i8, Binary::kShl);
  binary("shr_u8", u8, Binary::kShr);
  const auto minus = [](int n) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(-n)); };
  EXPECT_EQ(run(b, "add_u8", {200, 100}).narrow(), 44);
  EXPECT_EQ(run(b, "sub_u8", {1, 2}).narrow(), 255);
  EXPECT_EQ(run(b, "mul_i8", {100, 3}).narrow(), 44);
  EXPECT_EQ(run(b, "div_i8", {minus(128), minus(1)}).narrow(), -128);
  EXPECT_EQ(run(b, "shl_i8", {3, 9}).narrow(), 6);
  EXPECT_EQ(run(b, "shr_u8", {128, 15}).narrow(), 1);
}

TEST(LoweredArithmetic, ConvertsLikeTheLanguageSays) {
  HirBuilder b;
  const auto conversion = [&](TypeKind from, TypeKind to, std::uint64_t bits) {
    const std::string name = "f" + std::to_string(b.program.functions.size());
    Function* f = b.function(name, {b.type(from)}, b.type(to));
    f->body = {b.ret(b.convert(b.type(to), b.use(f->parameters[0])))};
    return run(b, name, {bits}).integer();
  };
  const auto real = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  EXPECT_EQ(static_cast<std::int32_t>(conversion(TypeKind::kI64, TypeKind::kU8, 0x1ff)), 255);
  EXPECT_EQ(static_cast<std::int32_t>(conversion(TypeKind::kI64, TypeKind::kI8, 0x1ff)), -1);
  EXPECT_EQ(conversion(TypeKind::kU32, TypeKind::kI64, 0xffffffff), 0xffffffff);
  EXPECT_EQ(conversion(TypeKind::kI32, TypeKind::kI64, 0xffffffff), -1);
  EXPECT_EQ(conversion(TypeKind::kI8, TypeKind::kU64, static_cast<std::uint64_t>(-1)), -1);
  EXPECT_EQ(static_cast<std::int32_t>(conversion(TypeKind::kF64, TypeKind::kI8, real(1000))), 127);
  EXPECT_EQ(static_cast<std::int32_t>(conversion(TypeKind::kF64, TypeKind::kU8, real(-3))), 0);
  EXPECT_EQ(static_cast<std::int32_t>(conversion(TypeKind::kF64, TypeKind::kU16, real(1e9))), 65535);
  EXPECT_EQ(conversion(TypeKind::kF64, TypeKind::kI64, real(-2.9)), -2);
  EXPECT_EQ(std::bit_cast<double>(conversion(TypeKind::kU64, TypeKind::kF64, 1u << 31)), 2147483648.0);
}

TEST(LoweredArrays, OfEveryShape) {
  HirBuilder b;
  Type* point = b.program.types.nominal(TypeKind::kStruct, "Point");
  Type* inner = b.program.types.nominal(TypeKind::kStruct, "Inner");
  inner->fields = {{"u", b.type(TypeKind::kU8)}, {"name", b.program.types.nullable(b.str())}};
  point->fields = {{"x", b.f64()}, {"in", inner}, {"y", b.i32()}};
  const Type* optional = b.program.types.nullable(b.i64());
  Function* f = b.function("f", {}, b.i64());
  Local* points = b.local(b.program.types.array(point, 2));
  Local* numbers = b.local(b.program.types.array(optional, 1));
  Local* sum = b.local(b.i64());
  Expr* fill = b.make(ExprKind::kWrap, optional, {b.integer(7)});
  Expr* make_numbers = b.make(ExprKind::kNewArray, numbers->type, {b.integer(4), fill});
  make_numbers->has_fill = true;
  const auto at = [&](std::int64_t i, std::int64_t j) {
    return b.index(b.use(points), {b.integer(i), b.integer(j)});
  };
  f->body = {
      b.let(points, b.make(ExprKind::kNewArray, points->type, {b.integer(2), b.integer(3)})),
      b.let(numbers, make_numbers),
      b.assign(b.index(b.use(numbers), {b.integer(2)}), b.make(ExprKind::kNull, optional)),
      b.assign(b.field(b.field(at(1, 2), 1), 0), b.integer(200, b.type(TypeKind::kU8))),
      b.update(b.field(b.field(at(1, 2), 1), 0), Binary::kAdd, b.integer(60, b.type(TypeKind::kU8))),
      b.assign(b.field(b.field(at(1, 2), 1), 1), b.text("abc")), b.assign(at(0, 0), at(1, 2)),
      b.let(sum, b.convert(b.i64(), b.field(b.field(at(0, 0), 1), 0))),
      // == on structs, by field, strings by content.
      b.when(b.equal(at(0, 0), at(1, 2)), {b.update(b.use(sum), Binary::kAdd, b.integer(10))}),
      b.when(b.equal(at(0, 0), at(0, 1)), {b.update(b.use(sum), Binary::kAdd, b.integer(10000))}),
      b.when(b.make(ExprKind::kIsNull, b.boolean(), {b.index(b.use(numbers), {b.integer(2)})}),
             {b.update(b.use(sum), Binary::kAdd,
                       b.make(ExprKind::kCheckNonNull, b.i64(), {b.index(b.use(numbers), {b.integer(3)})}))}),
      b.update(b.use(sum), Binary::kAdd,
               b.mul(b.make(ExprKind::kArrayLength, b.i64(), {b.use(points)}), b.integer(100))),
      b.ret(b.use(sum))};
  EXPECT_EQ(run(b, "f").integer(), 4 + 10 + 7 + 600);
}

TEST(LoweredClosures, ShareTheirVariables) {
  HirBuilder b;
  const Type* counter_type = b.program.types.function({b.i64()}, b.i64());
  Function* closure = b.function("f.closure#1", {b.i64()}, b.i64());
  closure->exported = false;
  closure->closure_type = counter_type;
  Local* outer_count = b.local(b.i64(), "count", true);
  Local* inner_count = b.local(b.i64(), "count", true);
  Local* outer_scale = b.local(b.i64(), "scale");
  Local* inner_scale = b.local(b.i64(), "scale");
  closure->captures = {{outer_count, inner_count}, {outer_scale, inner_scale}};
  closure->body = {
      b.update(b.use(inner_count), Binary::kAdd, b.mul(b.use(closure->parameters[0]), b.use(inner_scale))),
      b.ret(b.use(inner_count))};
  Function* f = b.function("f", {}, b.i64());
  Local* fn = b.local(counter_type, "fn");
  Expr* make = b.make(ExprKind::kClosure, counter_type);
  make->function = closure;
  const auto invoke = [&](std::int64_t x) {
    return b.make(ExprKind::kCallClosure, b.i64(), {b.use(fn), b.integer(x)});
  };
  f->body = {b.let(outer_count, b.integer(5)),
             b.let(outer_scale, b.integer(10)),
             b.let(fn, make),
             b.run(invoke(1)),
             b.update(b.use(outer_count), Binary::kAdd, b.integer(100)),
             b.ret(b.add(b.mul(invoke(2), b.integer(1000)), b.use(outer_count)))};
  EXPECT_EQ(run(b, "f").integer(), 135 * 1000 + 135);
}

TEST(LoweredClosures, AreMadeOfFunctions) {
  HirBuilder b;
  const Type* type = b.program.types.function({b.str(), b.i64()}, b.str());
  Function* join = b.function("join", {b.str(), b.i64()}, b.str());
  join->body = {b.ret(b.make(
      ExprKind::kStringConcat, b.str(),
      {b.use(join->parameters[0]),
       b.conditional(b.less(b.use(join->parameters[1]), b.integer(5)), b.text("<5"), b.text(">=5"))}))};
  Function* f = b.function("f", {}, b.i64());
  Expr* value = b.make(ExprKind::kFunctionValue, type);
  value->function = join;
  Local* fn = b.local(type, "fn");
  Expr* invoked = b.make(ExprKind::kCallClosure, b.str(), {b.use(fn), b.text("n"), b.integer(3)});
  f->body = {b.let(fn, value), b.ret(b.convert(b.i64(), b.equal(invoked, b.text("n<5"))))};
  EXPECT_EQ(run(b, "f").integer(), 1);
}

TEST(LoweredUse, ClosesOnEveryWayOut) {
  HirBuilder b;
  Type* log = b.program.types.nominal(TypeKind::kClass, "Log");
  log->fields = {{"text", b.i64()}};
  Function* close = b.function("close", {log, b.i64()}, b.void_type());
  Local* self = close->parameters[0];
  close->body = {b.update(b.field(b.use(self), 0), Binary::kMul, b.integer(10)),
                 b.update(b.field(b.use(self), 0), Binary::kAdd, b.use(close->parameters[1]))};
  // 0: falls through, 1: break, 2: continue, 3: return. Digits of the result: who was closed.
  Function* work = b.function("work", {log, b.i64()}, b.i64());
  Local* target = work->parameters[0];
  Local* how = work->parameters[1];
  const auto use = [&](std::int64_t digit, std::vector<Stmt*> body) {
    Stmt* s = b.stmt(StmtKind::kUse);
    s->local = b.local(log);
    s->value = b.use(target);
    s->body = std::move(body);
    s->close = b.call(close, {b.use(s->local), b.integer(digit)});
    return s;
  };
  Stmt* brk = b.stmt(StmtKind::kBreak);
  Stmt* cont = b.stmt(StmtKind::kContinue);
  Stmt* loop = b.range(
      b.local(b.i64()), b.integer(0), b.integer(2),
      {use(2, {use(3, {b.when(b.equal(b.use(how), b.integer(1)), {brk}),
                       b.when(b.equal(b.use(how), b.integer(2)), {cont}),
                       b.when(b.equal(b.use(how), b.integer(3)), {b.ret(b.field(b.use(target), 0))})})})});
  work->body = {use(1, {loop}), b.ret(b.integer(-1))};
  Function* f = b.function("f", {b.i64()}, b.i64());
  Local* l = b.local(log);
  Local* r = b.local(b.i64());
  f->body = {b.let(l, b.make(ExprKind::kNew, log, {b.integer(0)})),
             b.let(r, b.call(work, {b.use(l), b.use(f->parameters[0])})),
             b.ret(b.add(b.mul(b.use(r), b.integer(1000000)), b.field(b.use(l), 0)))};
  EXPECT_EQ(run(b, "f", {0}).integer(), -1000000 + 32321);
  EXPECT_EQ(run(b, "f", {1}).integer(), -1000000 + 321);
  EXPECT_EQ(run(b, "f", {2}).integer(), -1000000 + 32321);
  EXPECT_EQ(run(b, "f", {3}).integer(), 321);  // the value was computed before anything was closed
}

TEST(LoweredObjects, DispatchCastAndDie) {
  HirBuilder b;
  Type* shape = b.program.types.nominal(TypeKind::kInterface, "Shape");
  shape->methods = {{"area", {b.i64()}, b.i64()}};
  Type* classes[2];
  for (int k = 0; k < 2; ++k) {
    classes[k] = b.program.types.nominal(TypeKind::kClass, k == 0 ? "Square" : "Circle");
    classes[k]->fields = {{"side", b.i64()}};
    Function* area = b.function(classes[k]->name + ".area", {classes[k], b.i64()}, b.i64());
    area->exported = false;
    area->body = {b.ret(
        b.add(b.mul(b.field(b.use(area->parameters[0]), 0), b.integer(k + 2)), b.use(area->parameters[1])))};
    classes[k]->implementations = {{shape, {area}}};
  }
  Function* f = b.function("f", {b.boolean()}, b.i64());
  Local* s = b.local(shape);
  const auto make = [&](int k) {
    return b.make(ExprKind::kUpcast, shape, {b.make(ExprKind::kNew, classes[k], {b.integer(10)})});
  };
  Expr* area = b.make(ExprKind::kCallInterface, b.i64(), {b.use(s), b.integer(1)});
  Expr* is_square = b.make(ExprKind::kIsType, b.boolean(), {b.use(s)});
  is_square->tested = classes[0];
  const Type* maybe_circle = b.program.types.nullable(classes[1]);
  Local* circle = b.local(maybe_circle);
  f->body = {b.let(s, b.conditional(b.use(f->parameters[0]), make(0), make(1))),
             b.let(circle, b.make(ExprKind::kCastOrNull, maybe_circle, {b.use(s)})),
             b.when(is_square, {b.ret(area)}), b.ret(b.add(b.integer(1000), b.field(b.use(circle), 0)))};
  EXPECT_EQ(run(b, "f", {1}).integer(), 21);
  EXPECT_EQ(run(b, "f", {0}).integer(), 1010);
  Function* g = b.function("g", {}, b.i64());
  g->body = {b.ret(b.field(b.make(ExprKind::kCast, classes[0], {make(1)}), 0))};
  const Outcome bad = run(b, "g");
  EXPECT_FALSE(bad.ok);
  EXPECT_EQ(bad.error.code(), ErrorCode::kBadCast);
}

TEST(LoweredParallelFor, ReducesAndWrites) {
  HirBuilder b;
  const Type* array = b.program.types.array(b.f64(), 1);
  Function* f = b.function("f", {b.i64()}, b.f64());
  Local* n = f->parameters[0];
  Local* data = b.local(array, "data");
  Local* sum = b.local(b.f64(), "sum");
  Local* top = b.local(b.i64(), "top");
  Stmt* s = b.stmt(StmtKind::kParallelFor);
  s->loop = std::make_unique<ParallelLoop>();
  Local* i = b.local(b.i32(), "i");
  Local* in_data = b.local(array, "data");
  Local* in_scale = b.local(b.f64(), "scale");
  Local* in_sum = b.local(b.f64(), "sum");
  Local* in_top = b.local(b.i64(), "top");
  s->loop->dimensions = {{i, b.integer(1, b.i32()), b.convert(b.i32(), b.use(n))}};
  s->loop->captures = {{in_data, b.use(data)}, {in_scale, b.number(0.5)}};
  s->loop->reductions = {{bytecode::ReductionOp::kAdd, sum, in_sum},
                         {bytecode::ReductionOp::kMax, top, in_top}};
  Expr* index = b.convert(b.i64(), b.use(i));
  s->loop->body = {
      b.when(b.equal(b.use(i), b.integer(3, b.i32())), {b.stmt(StmtKind::kContinue)}),
      b.assign(b.index(b.use(in_data), {index}), b.mul(b.convert(b.f64(), b.use(i)), b.use(in_scale))),
      b.update(b.use(in_sum), Binary::kAdd, b.index(b.use(in_data), {index})),
      b.update(b.use(in_top), Binary::kMax, index)};
  f->body = {b.let(data, b.make(ExprKind::kNewArray, array, {b.use(n)})), b.let(sum, b.number(100)),
             b.let(top, b.integer(-5)), s,
             b.ret(b.add(b.use(sum), b.mul(b.convert(b.f64(), b.use(top)), b.number(1000))))};
  EXPECT_EQ(run(b, "f", {6}).number(), 100 + (1 + 2 + 4 + 5) * 0.5 + 5000);
}

TEST(LoweredConstants, AreLoadedBeforeTheLoop) {
  HirBuilder b;
  Function* f = b.function("f", {b.i64()}, b.f64());
  Local* x = b.local(b.f64(), "x");
  Local* i = b.local(b.i64(), "i");
  Local* j = b.local(b.i64(), "j");
  f->body = {b.let(x, b.number(0)),
             b.range(i, b.integer(0), b.use(f->parameters[0]),
                     {b.range(j, b.integer(0), b.integer(100000),
                              {b.update(b.use(x), Binary::kAdd, b.number(0.25)),
                               b.when(b.less(b.integer(1), b.use(j)), {b.stmt(StmtKind::kBreak)})})}),
             b.ret(b.use(x))};
  EXPECT_EQ(run(b, "f", {2}).number(), 2 * 3 * 0.25);
}

}  // namespace
}  // namespace dhpvm::compiler::hir
