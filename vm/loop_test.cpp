// SPDX-License-Identifier: Apache-2.0
// Parallel loops: iteration spaces, captures, reductions in their fixed order, traps, races.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "vm/invocation.h"
#include "vm/test_program.h"
#include "vm/test_programs.h"

namespace dhpvm::vm {
namespace {

using bytecode::Kind;
using bytecode::ReductionOp;

struct Loops : testing::Test {
  // An array that lives as long as the test.
  gc::Array* array(Kind kind, std::int64_t length) {
    gc::Array* made = *program->new_array(*program->linked().find_array_type({kind}), length);
    roots.emplace_back(program->heap(), made);
    return made;
  }
  static std::int64_t* i64(gc::Array* a) { return reinterpret_cast<std::int64_t*>(a->data); }
  static double* f64(gc::Array* a) { return reinterpret_cast<double*>(a->data); }
  Status call(std::string_view name, std::vector<std::uint64_t> p, gc::Array* a) {
    results = std::move(p);
    results.resize(std::max<std::size_t>(results.size(), 4));
    std::vector<gc::Ref> r(1, reinterpret_cast<gc::Ref>(a));
    return program->call(program.find(name), results, r);
  }

  Program program{kLoops};
  std::vector<gc::Root<gc::Array>> roots;
  std::vector<std::uint64_t> results;
};

TEST_F(Loops, RunEveryIteration) {
  gc::Array* a = array(Kind::kI64, 5000);
  ASSERT_TRUE(call("one", {0, 5000, 3}, a).ok());
  for (std::int64_t i = 0; i < 5000; ++i) ASSERT_EQ(i64(a)[i], 3 * i);
  EXPECT_EQ(program->stats().parallel_loops, 1u);
  EXPECT_EQ(program->stats().parallel_iterations, 5000u);
  EXPECT_EQ(program->stats().fuel_used, 5000u);
}

TEST_F(Loops, PartOfTheRange) {
  gc::Array* a = array(Kind::kI64, 10);
  ASSERT_TRUE(call("one", {3, 6, 1}, a).ok());
  EXPECT_EQ(std::vector(i64(a), i64(a) + 10), (std::vector<std::int64_t>{0, 0, 0, 3, 4, 5, 0, 0, 0, 0}));
}

TEST_F(Loops, EmptyRangesRunNothing) {
  gc::Array* a = array(Kind::kI64, 1);
  EXPECT_TRUE(call("one", {0, 0, 1}, a).ok());
  EXPECT_TRUE(call("one", {5, 3, 1}, a).ok());
  EXPECT_TRUE(call("one", {std::uint64_t{1} << 62, std::uint64_t{1} << 63, 1}, a).ok());
  EXPECT_TRUE(call("three", {0, 1, 0, 0, 0, 1}, a).ok());
  EXPECT_EQ(i64(a)[0], 0);
  EXPECT_EQ(program->stats().fuel_used, 0u);
  ASSERT_TRUE(call("reduce2", {0, 0, 0, 5, put(1.5), 7}, array(Kind::kF64, 5)).ok());
  EXPECT_EQ(get<double>(results[0]), 1.5);
  EXPECT_EQ(results[1], 7u);
}

// The order of iterations, outermost dimension first, and a local array that is zero in each.
TEST_F(Loops, ThreeDimensionsInOrder) {
  gc::Array* a = array(Kind::kI64, 100);
  ASSERT_TRUE(call("three", {1, 3, 4, 7, 8, 10}, a).ok());
  EXPECT_EQ(i64(a)[0], 12);
  std::vector<std::int64_t> expected;
  for (std::int64_t i = 1; i < 3; ++i) {
    for (std::int64_t j = 4; j < 7; ++j) {
      for (std::int64_t k = 8; k < 10; ++k) expected.push_back(1000 + i * 100 + j * 10 + k);
    }
  }
  EXPECT_EQ(std::vector(i64(a) + 1, i64(a) + 13), expected);
}

TEST_F(Loops, IndicesAtTheEndOfTheirRange) {
  gc::Array* a = array(Kind::kI64, 1);
  const auto lowest = std::numeric_limits<std::int64_t>::min();
  const Error error = call("one", {put(lowest), put(lowest + 2), 0}, a).error();
  EXPECT_EQ(
      error.message(),
      fmt::format("index {0} is out of range for length 1, in iteration {0} of the parallel loop", lowest));
  const Error last = call("one",
                          {put(std::numeric_limits<std::int64_t>::max() - 1),
                           put(std::numeric_limits<std::int64_t>::max()), 0},
                          a)
                         .error();
  EXPECT_EQ(last.code(), ErrorCode::kIndexOutOfRange);
}

TEST_F(Loops, TrapsNameTheIteration) {
  gc::Array* a = array(Kind::kI64, 100);
  const Error error = call("one", {0, 200, 1}, a).error();
  EXPECT_EQ(
      error.to_string(),
      "index out of range: index 100 is out of range for length 100, in iteration 100 of the parallel loop\n"
      "  at write_index (loop.dhp:3)\n"
      "  at one (loop.dhp:10)");
  EXPECT_EQ(i64(a)[99], 99);
  const Error three = call("three", {1, 9, 4, 9, 0, 1000}, a).error();
  EXPECT_EQ(three.message(),
            "index 100 is out of range for length 100, in iteration (1, 4, 99) of the parallel loop");
  // The next loop starts afresh.
  EXPECT_TRUE(call("one", {0, 100, 1}, a).ok());
}

TEST_F(Loops, TrapsInFunctionsCalledByTheKernel) {
  const Error error = call("with_calls", {0, 8}, array(Kind::kI64, 5)).error();
  ASSERT_EQ(error.frames().size(), 3u);
  EXPECT_EQ(error.frames()[0].line, 50u);
  EXPECT_EQ(error.frames()[1].line, 60u);
  EXPECT_EQ(error.frames()[2].line, 70u);
  EXPECT_EQ(call("with_calls", {0, 8}, nullptr).error().code(), ErrorCode::kNullReference);
}

TEST_F(Loops, FuelAndDeadline) {
  gc::Array* a = array(Kind::kI64, 10'000);
  program->set_fuel(5000);
  const Error fuel = call("one", {0, 10'000, 1}, a).error();
  EXPECT_EQ(fuel.code(), ErrorCode::kOutOfFuel);
  EXPECT_EQ(fuel.frames()[0].line, 10u);
  EXPECT_EQ(i64(a)[4999], 4999);
  EXPECT_EQ(i64(a)[5000], 0);
  program->set_fuel(5000);
  EXPECT_EQ(call("reduce2", {0, 100, 0, 100, 0, 0}, array(Kind::kF64, 100)).error().code(),
            ErrorCode::kOutOfFuel);
  program->set_fuel(Limits::kUnlimitedFuel);
  program->set_deadline(std::chrono::milliseconds(5));
  EXPECT_EQ(call("reduce2", {0, 1'000'000'000'000, 0, 100, 0, 0}, array(Kind::kF64, 100)).error().code(),
            ErrorCode::kDeadline);
}

TEST_F(Loops, ResultsMayOverwriteCaptures) {
  // Iterations 0 to 9 each add i + 100 + 7.
  ASSERT_TRUE(call("reduce4", {0, 10, 100, put(7.0)}, nullptr).ok());
  EXPECT_EQ(results, (std::vector<std::uint64_t>{1116, 1117, 1118, 1119}));
}

// ---- Reductions, against a second implementation that is written from the documentation alone.

template <typename T>
T reduce_by_the_book(const std::vector<std::vector<T>>& rows, T initial, T neutral,
                     const std::function<T(T, T)>& op) {
  T accumulator = initial;
  for (const std::vector<T>& row : rows) {
    for (std::size_t block = 0; block < row.size(); block += 4096) {
      T lanes[32];
      for (T& lane : lanes) lane = neutral;
      for (std::size_t j = 0; j < 4096 && block + j < row.size(); ++j)
        lanes[j % 32] = op(lanes[j % 32], row[block + j]);
      for (std::size_t distance : {16u, 8u, 4u, 2u, 1u}) {
        for (std::size_t lane = 0; lane < distance; ++lane)
          lanes[lane] = op(lanes[lane], lanes[lane + distance]);
      }
      accumulator = op(accumulator, lanes[0]);
    }
  }
  return accumulator;
}

template <typename T>
struct ReductionCase {
  const char* op;           // in the kernel record
  const char* kind;         // likewise
  const char* instruction;  // the kernel's
  T neutral;
  std::function<T(T, T)> apply;
};

// Values whose sum depends on the order of additions.
template <typename T>
T value_number(std::uint32_t number) {
  const std::uint32_t hash = (number + 1) * 2654435761u;
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(hash >> 8) * static_cast<T>(number % 3 == 0 ? 1e-6 : 1e-3) - static_cast<T>(1000);
  } else {
    return static_cast<T>(hash >> 3);
  }
}

template <typename T>
void check_reduction(const ReductionCase<T>& test, Kind kind, const char* load) {
  Program program(fmt::format(R"(
type array A: {0}
function body(i64, i64, i64, {0}, A) -> {0} registers 6 1
  mul.i64 p4, p0, p2
  add.i64 p4, p4, p1
  load.{1} p5, r0, p4
  {2}
  return
end
function reduce(i64, i64, i64, i64, i64, {0}, A) -> {0} registers 6 1 exported
  parallel.for p0, r0, #0
  return
end
kernel body dims 2 reduce {3}:{0}
)",
                              test.kind, load, test.instruction, test.op));
  for (const std::size_t columns : {1u, 2u, 31u, 32u, 33u, 1000u, 4095u, 4096u, 4097u, 9000u}) {
    const std::size_t rows = columns < 100 ? 5 : 2;
    std::vector<std::vector<T>> values(rows, std::vector<T>(columns));
    Invocation call(program.isolate(), program.find("reduce"));
    gc::Array* const array = *program->new_array(*program->linked().find_array_type({kind}),
                                                 static_cast<std::int64_t>(rows * columns));
    std::uint32_t number = 0;
    for (std::vector<T>& row : values) {
      for (T& value : row) {
        value = value_number<T>(number);
        reinterpret_cast<T*>(array->data)[number++] = value;
      }
    }
    const T initial = value_number<T>(999'999);
    call.p()[0] = 0;
    call.p()[1] = rows;
    call.p()[2] = 0;
    call.p()[3] = columns;
    call.p()[4] = columns;
    call.p()[5] = put(initial);
    call.r()[0] = reinterpret_cast<gc::Ref>(array);
    const Status status = call.run();
    ASSERT_TRUE(status.ok()) << status.error().to_string();
    EXPECT_EQ(call.p()[0], put(reduce_by_the_book(values, initial, test.neutral, test.apply)))
        << test.op << " of " << test.kind << ", " << columns << " columns";
  }
}

template <typename T>
T smaller(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
T larger(T a, T b) {
  return b > a ? b : a;
}

template <typename T>
void check_float(Kind kind, const char* name) {
  const std::string n = name;
  const auto instruction = [&](const char* op) { return fmt::format("{}.{} p0, p3, p5", op, n); };
  constexpr T kInf = std::numeric_limits<T>::infinity();
  check_reduction<T>({"add", name, instruction("add").c_str(), static_cast<T>(-0.0), std::plus<T>()}, kind,
                     name);
  check_reduction<T>({"mul", name, instruction("mul").c_str(), T{1}, std::multiplies<T>()}, kind, name);
  check_reduction<T>({"min", name, instruction("min").c_str(), kInf, smaller<T>}, kind, name);
  check_reduction<T>({"max", name, instruction("max").c_str(), -kInf, larger<T>}, kind, name);
}

TEST(Reductions, OfFloats) {
  check_float<float>(Kind::kF32, "f32");
  check_float<double>(Kind::kF64, "f64");
}

// `width` is that of the instructions, which for narrow kinds are those of i32 with an extension behind them.
template <typename T>
void check_integer(Kind kind, const char* name, const char* load, const char* width, const char* order,
                   const char* extend) {
  using U = std::make_unsigned_t<T>;
  const auto instruction = [&](std::string_view op, std::string_view of) {
    std::string text = fmt::format("{}.{} p0, p3, p5", op, of);
    if (*extend != 0) text += fmt::format("\n  {} p0, p0", extend);
    return text;
  };
  const auto wrap = [](auto value) { return static_cast<T>(static_cast<U>(value)); };
  const auto check = [&](const char* op, const std::string& text, T neutral, std::function<T(T, T)> apply) {
    check_reduction<T>({op, name, text.c_str(), neutral, std::move(apply)}, kind, load);
  };
  using Wide = std::uint64_t;
  check("add", instruction("add", width), 0,
        [&](T a, T b) { return wrap(static_cast<Wide>(a) + static_cast<Wide>(b)); });
  check("mul", instruction("mul", width), 1,
        [&](T a, T b) { return wrap(static_cast<Wide>(a) * static_cast<Wide>(b)); });
  check("min", instruction("min", order), std::numeric_limits<T>::max(), smaller<T>);
  check("max", instruction("max", order), std::numeric_limits<T>::min(), larger<T>);
  check("and", instruction("and", "i64"), static_cast<T>(~T{0}), [&](T a, T b) { return wrap(a & b); });
  check("or", instruction("or", "i64"), 0, [&](T a, T b) { return wrap(a | b); });
  check("xor", instruction("xor", "i64"), 0, [&](T a, T b) { return wrap(a ^ b); });
}

TEST(Reductions, OfIntegers) {
  check_integer<std::int8_t>(Kind::kI8, "i8", "i8", "i32", "i32", "sext8.i32");
  check_integer<std::uint8_t>(Kind::kU8, "u8", "u8", "i32", "u32", "zext8.i32");
  check_integer<std::int16_t>(Kind::kI16, "i16", "i16", "i32", "i32", "sext16.i32");
  check_integer<std::uint16_t>(Kind::kU16, "u16", "u16", "i32", "u32", "zext16.i32");
  check_integer<std::int32_t>(Kind::kI32, "i32", "i32", "i32", "i32", "");
  check_integer<std::uint32_t>(Kind::kU32, "u32", "i32", "i32", "u32", "");
  check_integer<std::int64_t>(Kind::kI64, "i64", "i64", "i64", "i64", "");
  check_integer<std::uint64_t>(Kind::kU64, "u64", "i64", "i64", "u64", "");
}

// ---- Races

std::string race_program(std::string_view body) {
  return fmt::format(R"(
type array A: i64
type struct S
  field left: i32
  field right: i32
type array B: S
function body(i64, A, B) registers 4 2
  line "race.dhp" 1:1
  nop
{}
  line "race.dhp" 9:1
  return
end
function run(i64, i64) registers 4 4 exported
  line "race.dhp" 20:1
  imm p2, 100
  new.array r0, p2, A
  new.array r1, p2, B
  move.p p2, p0
  move.p p3, p1
  move.r r2, r0
  move.r r3, r1
  parallel.for p2, r2, #0
  parallel.for p0, r0, #0
  return
end
kernel body dims 1
)",
                     body);
}

IsolateOptions checked() {
  IsolateOptions options;
  options.check_races = true;
  return options;
}

TEST(Races, IndependentIterationsDoNotConflict) {
  Program program(race_program(R"(
  load.i64 p1, r0, p0
  add.imm.i64 p1, p1, 1
  store.i64 r0, p0, p1
  imm p2, 7
  load.field.i32 p1, r1, p2, 0:8
  load.i64 p1, r0, p0)"),
                  checked());
  program.run("run", {0, 100});
}

TEST(Races, TwoWrites) {
  Program program(race_program(R"(
  imm p1, 5
  line "race.dhp" 3:1
  store.i64 r0, p1, p0)"),
                  checked());
  const Error error = program.trap("run", {10, 20});
  EXPECT_EQ(error.code(), ErrorCode::kRace);
  EXPECT_EQ(
      error.message(),
      "iteration 11 writes element 5 of an array 'A' at race.dhp:3, which iteration 10 writes at race.dhp:3");
  ASSERT_EQ(error.frames().size(), 2u);
  EXPECT_EQ(error.frames()[0].line, 3u);
  EXPECT_EQ(error.frames()[1].line, 20u);
}

TEST(Races, ReadAfterWriteAndWriteAfterRead) {
  Program after_write(race_program(R"(
  line "race.dhp" 3:1
  store.i64 r0, p0, p0
  add.imm.i64 p1, p0, -1
  jump.lt.imm.i64 p1, 0, First
  line "race.dhp" 5:1
  load.i64 p1, r0, p1
First:)"),
                      checked());
  EXPECT_EQ(
      after_write.trap("run", {0, 10}).message(),
      "iteration 1 reads element 0 of an array 'A' at race.dhp:5, which iteration 0 writes at race.dhp:3");
  Program before_write(race_program(R"(
  add.imm.i64 p1, p0, 1
  line "race.dhp" 3:1
  load.i64 p2, r0, p1
  line "race.dhp" 5:1
  store.i64 r0, p0, p2)"),
                       checked());
  EXPECT_EQ(
      before_write.trap("run", {0, 10}).message(),
      "iteration 1 writes element 1 of an array 'A' at race.dhp:5, which iteration 0 reads at race.dhp:3");
}

TEST(Races, ManyReadersThenAWriter) {
  Program program(race_program(R"(
  imm p1, 0
  jump.eq.imm.i64 p0, 9, Write
  load.i64 p2, r0, p1
  jump Done
Write:
  load.i64 p2, r0, p1
  store.i64 r0, p1, p2
Done:)"),
                  checked());
  EXPECT_NE(program.trap("run", {0, 10}).message().find("iteration 9 writes"), std::string::npos);
  program.run("run", {9, 10});
}

TEST(Races, AtomicsConflictOnlyWithOtherAccesses) {
  Program atomic(race_program("  imm p1, 0\n  atomic.add.i64 p2, r0, p1, p0"), checked());
  atomic.run("run", {0, 100});
  Program mixed(race_program(R"(
  imm p1, 0
  atomic.add.i64 p2, r0, p1, p0
  load.i64 p2, r0, p1)"),
                checked());
  EXPECT_NE(mixed.trap("run", {0, 100}).message().find("iteration 1 atomically updates"), std::string::npos);
}

TEST(Races, FieldsOfOneElementAreSeparate) {
  Program separate(race_program(R"(
  imm p1, 1
  and.i64 p2, p0, p1
  imm p3, 3
  jump.eq.imm.i64 p2, 0, Even
  store.field.i32 r1, p3, p0, 4:8
  jump Done
Even:
  store.field.i32 r1, p3, p0, 0:8
Done:)"),
                   checked());
  separate.run("run", {0, 2});
  EXPECT_NE(separate.trap("run", {0, 4})
                .message()
                .find("iteration 2 writes field 'left' of element 3 of an array 'B'"),
            std::string::npos);
}

TEST(Races, AreNotLookedForUnlessAsked) {
  Program program(race_program("  imm p1, 5\n  store.i64 r0, p1, p0"));
  program.run("run", {0, 100});
}

}  // namespace
}  // namespace dhpvm::vm
