// SPDX-License-Identifier: Apache-2.0
// Arrays: elements of every kind, bounds, ranks, copying, closing, atomics, local arrays, loans.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "vm/invocation.h"
#include "vm/test_program.h"
#include "vm/test_programs.h"

namespace dhpvm::vm {
namespace {

using bytecode::Kind;
using bytecode::ValueType;

struct KindCase {
  const char* op;    // as in load.<op>
  const char* type;  // as in [type]
  std::uint64_t stored;
  std::uint64_t loaded;
};

const KindCase kKinds[] = {
    {"i8", "i8", 0x1ff80, 0xffffff80},
    {"u8", "u8", 0x1ff80, 0x80},
    {"u8", "bool", 1, 1},
    {"i16", "i16", 0x18000, 0xffff8000},
    {"u16", "u16", 0x18000, 0x8000},
    {"i32", "i32", 0x1ffffffff, 0xffffffff},
    {"i32", "u32", 0x1ffffffff, 0xffffffff},
    {"i64", "i64", 0x123456789abcdef0, 0x123456789abcdef0},
    {"i64", "u64", 0x123456789abcdef0, 0x123456789abcdef0},
    {"f32", "f32", put(1.5f), put(1.5f)},
    {"f64", "f64", put(0.1), put(0.1)},
};

// Small arrays live in the heap, large ones in a buffer; the instructions do not tell them apart.
TEST(Arrays, ElementsOfEveryKind) {
  for (const KindCase& kind : kKinds) {
    Program program(fmt::format(R"(
type array A: {1}
function f(i64, i64, {1}) -> {1}, {1} registers 4 1 exported
  new.array r0, p0, A
  store.{0} r0, p1, p2
  load.{0} p3, r0, p1
  imm p0, 0
  load.{0} p1, r0, p0
  move.p p0, p3
  return
end
)",
                                kind.op, kind.type));
    for (const std::uint64_t length : {std::uint64_t{10}, std::uint64_t{100'000}}) {
      Invocation call(program.isolate(), program.find("f"));
      call.p()[0] = length;
      call.p()[1] = length - 1;
      call.p()[2] = kind.stored;
      const Status status = call.run();
      ASSERT_TRUE(status.ok()) << status.error().to_string();
      EXPECT_EQ(call.p()[0], kind.loaded) << kind.type;
      EXPECT_EQ(call.p()[1], 0u) << kind.type;
    }
  }
}

TEST(Arrays, FieldsOfStructsOfEveryKind) {
  for (const KindCase& kind : kKinds) {
    // The field behind a first one of eight bytes; the struct is 16 bytes long.
    Program program(fmt::format(R"(
type struct S
  field first: i64
  field second: {1}
type array A: S
function f(i64, i64, {1}) -> {1}, i64 registers 4 1 exported
  new.array r0, p0, A
  store.field.i64 r0, p1, p1, 0:16
  store.field.{0} r0, p1, p2, 8:16
  load.field.{0} p3, r0, p1, 8:16
  load.field.i64 p1, r0, p1, 0:16
  move.p p0, p3
  return
end
)",
                                kind.op, kind.type));
    for (const std::uint64_t length : {std::uint64_t{10}, std::uint64_t{100'000}}) {
      Invocation call(program.isolate(), program.find("f"));
      call.p()[0] = length;
      call.p()[1] = length - 1;
      call.p()[2] = kind.stored;
      ASSERT_TRUE(call.run().ok());
      EXPECT_EQ(call.p()[0], kind.loaded) << kind.type;
      EXPECT_EQ(call.p()[1], length - 1) << kind.type;
    }
  }
}

TEST(Arrays, BoundsAreChecked) {
  Program program(kAccess);
  EXPECT_EQ(program.run("read", {5, 4}), 0u);
  for (const std::uint64_t index : {std::uint64_t{5}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    const Error read = program.trap("read", {5, index});
    EXPECT_EQ(read.code(), ErrorCode::kIndexOutOfRange);
    EXPECT_EQ(read.message(),
              fmt::format("index {} is out of range for length 5", static_cast<std::int64_t>(index)));
    EXPECT_EQ(read.frames()[0].line, 2u);
    EXPECT_EQ(read.frames()[0].file, "a.dhp");
    EXPECT_EQ(read.frames()[0].function, "read");
    const Error write = program.trap("write", {5, index});
    EXPECT_EQ(write.code(), ErrorCode::kIndexOutOfRange);
    EXPECT_EQ(write.frames()[0].line, 3u);
  }
  EXPECT_EQ(program.trap("read", {0, 0}).message(), "index 0 is out of range for length 0");
  const Error null = program.trap("read_null", {0});
  EXPECT_EQ(null.code(), ErrorCode::kNullReference);
  EXPECT_EQ(null.message(), "an element of a null array was read");
}

TEST(Arrays, SeveralDimensions) {
  Program program(kAccess);
  Invocation matrix(program.isolate(), program.find("matrix"));
  const std::array<std::uint64_t, 4> arguments = {3, 7, 2, 5};
  std::copy(arguments.begin(), arguments.end(), matrix.p());
  ASSERT_TRUE(matrix.run().ok());
  EXPECT_EQ(std::vector(matrix.p(), matrix.p() + 4), (std::vector<std::uint64_t>{2 * 7 + 5, 21, 3, 7}));
  Invocation cube(program.isolate(), program.find("cube"));
  const std::array<std::uint64_t, 6> sizes = {3, 7, 4, 2, 5, 3};
  std::copy(sizes.begin(), sizes.end(), cube.p());
  ASSERT_TRUE(cube.run().ok());
  EXPECT_EQ(std::vector(cube.p(), cube.p() + 4), (std::vector<std::uint64_t>{(2 * 7 + 5) * 4 + 3, 3, 7, 4}));
}

TEST(Arrays, EachDimensionIsChecked) {
  Program program(kAccess);
  EXPECT_EQ(program.trap("matrix", {3, 7, 3, 0}).message(),
            "index 3 is out of range for dimension 0 of size 3");
  EXPECT_EQ(program.trap("matrix", {3, 7, 0, 7}).message(),
            "index 7 is out of range for dimension 1 of size 7");
  EXPECT_EQ(program.trap("matrix", {3, 7, 0, ~std::uint64_t{0}}).message(),
            "index -1 is out of range for dimension 1 of size 7");
  EXPECT_EQ(program.trap("cube", {3, 7, 4, 0, 0, 4}).message(),
            "index 4 is out of range for dimension 2 of size 4");
}

TEST(Arrays, EmptyDimensionsKeepTheOthers) {
  Program program(kAccess);
  Invocation call(program.isolate(), program.find("sizes"));
  call.p()[0] = 1'000'000'000'000;
  call.p()[1] = 0;
  ASSERT_TRUE(call.run().ok());
  EXPECT_EQ(std::vector(call.p(), call.p() + 3), (std::vector<std::uint64_t>{1'000'000'000'000, 0, 0}));
}

TEST(Arrays, ImpossibleSizesTrap) {
  Program program(kAccess);
  EXPECT_EQ(program.trap("read", {~std::uint64_t{0}, 0}).code(), ErrorCode::kNegativeLength);
  EXPECT_EQ(program.trap("read", {std::uint64_t{1} << 62, 0}).code(), ErrorCode::kNegativeLength);
  EXPECT_EQ(program.trap("sizes", {std::uint64_t{1} << 32, std::uint64_t{1} << 32}).code(),
            ErrorCode::kNegativeLength);
  EXPECT_EQ(program.trap("sizes", {5, static_cast<std::uint64_t>(-1)}).code(), ErrorCode::kNegativeLength);
}

TEST(Arrays, References) {
  Program program(R"(
type array S: str
type struct Entry
  field name: str
  field value: i32
type array E: Entry
function f(i64) -> str, str, str registers 2 4 exported
  new.array r0, p0, S
  new.array r1, p0, E
  imm p1, 3
  const.string r2, "three"
  store.ref r0, p1, r2
  const.string r2, "entry"
  store.field.ref r1, p1, r2, 0:16
  imm p0, 2
  load.ref r2, r0, p0
  load.ref r3, r0, p1
  load.field.ref r1, r1, p1, 0:16
  move.r r0, r3
  return
end
)");
  for (const std::uint64_t length : {std::uint64_t{4}, std::uint64_t{50'000}}) {
    Invocation call(program.isolate(), program.find("f"));
    call.p()[0] = length;
    ASSERT_TRUE(call.run().ok());
    EXPECT_EQ(reinterpret_cast<gc::String*>(call.r()[0])->view(), "three");
    EXPECT_EQ(reinterpret_cast<gc::String*>(call.r()[1])->view(), "entry");
    EXPECT_EQ(call.r()[2], nullptr);
  }
}

struct HostArrays : testing::Test {
  Status call(std::string_view name, std::initializer_list<gc::Ref> references,
              std::vector<std::uint64_t> p) {
    std::vector<gc::Ref> r(references);
    return program->call(program.find(name), p, r);
  }
  gc::Array* make(std::int64_t length) {
    gc::Array* array = *program->new_array(*program->linked().find_array_type({Kind::kI32}), length);
    for (std::int64_t i = 0; i < length; ++i) elements(array)[i] = static_cast<std::int32_t>(i);
    return array;
  }
  static std::int32_t* elements(gc::Array* array) { return reinterpret_cast<std::int32_t*>(array->data); }
  static gc::Ref ref(gc::Array* array) { return reinterpret_cast<gc::Ref>(array); }

  Program program{kCopy};
};

TEST_F(HostArrays, Copy) {
  const gc::Root<gc::Array> a(program->heap(), make(10));
  ASSERT_TRUE(call("copy", {ref(a.get()), ref(a.get())}, {3, 0, 5}).ok());  // overlapping, upwards
  EXPECT_EQ(std::vector(elements(a.get()), elements(a.get()) + 10),
            (std::vector<std::int32_t>{0, 1, 2, 0, 1, 2, 3, 4, 8, 9}));
  EXPECT_TRUE(call("copy", {ref(a.get()), ref(a.get())}, {10, 0, 0}).ok());
  EXPECT_EQ(call("copy", {ref(a.get()), ref(a.get())}, {6, 0, 5}).error().code(),
            ErrorCode::kIndexOutOfRange);
  EXPECT_EQ(call("copy", {ref(a.get()), ref(a.get())}, {0, 11, 0}).error().code(),
            ErrorCode::kIndexOutOfRange);
  EXPECT_EQ(call("copy", {ref(a.get()), ref(a.get())}, {0, 5, std::uint64_t{1} << 62}).error().code(),
            ErrorCode::kIndexOutOfRange);
  EXPECT_EQ(call("copy", {ref(a.get()), ref(a.get())}, {0, static_cast<std::uint64_t>(-1), 1}).error().code(),
            ErrorCode::kIndexOutOfRange);
  EXPECT_EQ(call("copy", {ref(a.get()), ref(a.get())}, {0, 0, static_cast<std::uint64_t>(-1)}).error().code(),
            ErrorCode::kNegativeLength);
  EXPECT_EQ(call("copy", {ref(a.get()), nullptr}, {0, 0, 1}).error().code(), ErrorCode::kNullReference);
}

TEST_F(HostArrays, CopiedReferencesStayAlive) {
  const gc::TypeId type = *program->linked().find_array_type({Kind::kRef, bytecode::kStringType});
  const gc::Root<gc::Array> old(program->heap(), *program->new_array(type, 3));
  program->heap().collect(gc::CollectionKind::kFull);
  gc::Root<gc::Array> young(program->heap(), *program->new_array(type, 3));
  gc::String* string = *program->new_string("young");
  reinterpret_cast<gc::Ref*>(young->data)[1] = reinterpret_cast<gc::Ref>(string);
  ASSERT_TRUE(call("copy_strings", {ref(old.get()), ref(young.get())}, {0, 0, 3}).ok());
  young.set(nullptr);
  program->heap().collect(gc::CollectionKind::kMinor);
  EXPECT_EQ(reinterpret_cast<gc::String**>(old->data)[1]->view(), "young");
  EXPECT_TRUE(program->heap().check().ok());
}

TEST_F(HostArrays, ClosedArraysTrap) {
  for (const std::int64_t length : {10, 100'000}) {
    const gc::Root<gc::Array> a(program->heap(), make(length));
    const std::size_t before = program->stats().off_heap_bytes;
    ASSERT_TRUE(call("close", {ref(a.get())}, {}).ok());
    if (length > 10) {
      EXPECT_LT(program->stats().off_heap_bytes, before);
    }
    EXPECT_EQ(call("get", {ref(a.get())}, {3}).error().code(), ErrorCode::kClosed);
    EXPECT_EQ(call("set", {ref(a.get())}, {3}).error().code(), ErrorCode::kClosed);
    EXPECT_EQ(call("copy", {ref(a.get()), ref(a.get())}, {0, 5, 2}).error().code(), ErrorCode::kClosed);
    // An index that never was in range stays out of range.
    EXPECT_EQ(call("get", {ref(a.get())}, {static_cast<std::uint64_t>(length)}).error().code(),
              ErrorCode::kIndexOutOfRange);
  }
}

TEST_F(HostArrays, LoansAreReadAndWrittenInPlace) {
  std::array<std::int32_t, 4> memory = {10, 20, 30, 40};
  const std::int64_t size = 4;
  const gc::TypeId type = *program->linked().find_array_type({Kind::kI32});
  auto loan = program->lend_array(type, memory.data(), {&size, 1}, true);
  ASSERT_TRUE(loan.ok());
  std::vector<std::uint64_t> p = {2};
  std::vector<gc::Ref> r = {loan->array()};
  ASSERT_TRUE(program->call(program.find("get"), p, r).ok());
  EXPECT_EQ(p[0], 30u);
  ASSERT_TRUE(call("set", {loan->array()}, {3}).ok());
  EXPECT_EQ(memory[3], 3);
  EXPECT_EQ(call("get", {loan->array()}, {4}).error().code(), ErrorCode::kIndexOutOfRange);
}

TEST_F(HostArrays, LoansEnd) {
  std::array<std::int32_t, 4> memory = {};
  const std::int64_t size = 4;
  const gc::TypeId type = *program->linked().find_array_type({Kind::kI32});
  auto loan = program->lend_array(type, memory.data(), {&size, 1}, true);
  const gc::Root<gc::Array> kept(program->heap(), reinterpret_cast<gc::Array*>(loan->array()));
  loan->end();
  EXPECT_EQ(loan->array(), nullptr);
  const Error error = call("get", {ref(kept.get())}, {2}).error();
  EXPECT_EQ(error.code(), ErrorCode::kBorrowEnded);
  EXPECT_EQ(call("set", {ref(kept.get())}, {2}).error().code(), ErrorCode::kBorrowEnded);
}

TEST_F(HostArrays, ReadOnlyLoansCannotBeWritten) {
  const std::array<std::int32_t, 4> memory = {1, 2, 3, 4};
  const std::int64_t size = 4;
  const gc::TypeId type = *program->linked().find_array_type({Kind::kI32});
  auto loan = program->lend_array(type, const_cast<std::int32_t*>(memory.data()), {&size, 1}, false);
  EXPECT_TRUE(call("get", {loan->array()}, {3}).ok());
  const Error error = call("set", {loan->array()}, {3}).error();
  EXPECT_EQ(error.code(), ErrorCode::kBorrowEnded);
  EXPECT_NE(error.message().find("reading only"), std::string::npos);
  EXPECT_EQ(call("copy", {loan->array(), loan->array()}, {0, 1, 1}).error().code(), ErrorCode::kBorrowEnded);
}

TEST_F(HostArrays, ALoanMayBeClosedByTheProgram) {
  std::array<std::int32_t, 4> memory = {};
  const std::int64_t size = 4;
  auto loan =
      program->lend_array(*program->linked().find_array_type({Kind::kI32}), memory.data(), {&size, 1}, true);
  ASSERT_TRUE(call("close", {loan->array()}, {}).ok());
  const gc::Root<gc::Array> kept(program->heap(), reinterpret_cast<gc::Array*>(loan->array()));
  loan->end();
  EXPECT_EQ(call("get", {ref(kept.get())}, {2}).error().code(), ErrorCode::kClosed);
}

TEST_F(HostArrays, EmptyMemoryCanBeLent) {
  const std::int64_t size = 0;
  auto loan =
      program->lend_array(*program->linked().find_array_type({Kind::kI32}), nullptr, {&size, 1}, true);
  ASSERT_TRUE(loan.ok());
  EXPECT_EQ(call("get", {loan->array()}, {0}).error().code(), ErrorCode::kIndexOutOfRange);
}

TEST_F(HostArrays, OnlyPrimitivesCanBeLent) {
  gc::Ref memory[2] = {};
  const std::int64_t size = 2;
  const gc::TypeId type = *program->linked().find_array_type({Kind::kRef, bytecode::kStringType});
  EXPECT_EQ(program->lend_array(type, memory, {&size, 1}, true).error().code(), ErrorCode::kInvalidArgument);
}

// A loan that outlives a collection of everything else, with the handle only in the Loan.
TEST_F(HostArrays, LoansKeepTheirHandle) {
  std::array<std::int32_t, 4> memory = {1, 2, 3, 4};
  const std::int64_t size = 4;
  auto loan =
      program->lend_array(*program->linked().find_array_type({Kind::kI32}), memory.data(), {&size, 1}, true);
  program->heap().collect(gc::CollectionKind::kFull);
  std::vector<std::uint64_t> p = {3};
  std::vector<gc::Ref> r = {loan->array()};
  ASSERT_TRUE(program->call(program.find("get"), p, r).ok());
  EXPECT_EQ(p[0], 4u);
}

struct AtomicCase {
  const char* op;
  const char* type;
  std::uint64_t element;
  std::uint64_t operand;
  std::uint64_t after;
};

const AtomicCase kAtomics[] = {
    {"add.i32", "i32", 0xffffffff, 2, 1},
    {"add.i64", "i64", ~std::uint64_t{0}, 2, 1},
    {"add.f32", "f32", put(1.5f), put(2.0f), put(3.5f)},
    {"add.f64", "f64", put(0.1), put(0.2), put(0.30000000000000004)},
    {"min.i32", "i32", 1, 0xffffffff, 0xffffffff},
    {"min.i64", "i64", 1, ~std::uint64_t{0}, ~std::uint64_t{0}},
    {"min.u32", "u32", 1, 0xffffffff, 1},
    {"min.u64", "u64", 1, ~std::uint64_t{0}, 1},
    {"max.i32", "i32", 1, 0xffffffff, 1},
    {"max.i64", "i64", 1, ~std::uint64_t{0}, 1},
    {"max.u32", "u32", 1, 0xffffffff, 0xffffffff},
    {"max.u64", "u64", 1, ~std::uint64_t{0}, ~std::uint64_t{0}},
    {"and.i32", "i32", 6, 3, 2},
    {"and.i64", "i64", 6, 3, 2},
    {"or.i32", "i32", 6, 3, 7},
    {"or.i64", "i64", 6, 3, 7},
    {"xor.i32", "i32", 6, 3, 5},
    {"xor.i64", "i64", 6, 3, 5},
    {"exchange.i32", "i32", 6, 3, 3},
    {"exchange.i64", "i64", 6, 3, 3},
};

TEST(Atomics, ReturnTheOldElement) {
  for (const AtomicCase& test : kAtomics) {
    const std::string kind = std::string(test.op).substr(std::string(test.op).find('.') + 1);
    const std::string access = kind[0] == 'u' ? fmt::format("i{}", kind.substr(1)) : kind;
    Program program(fmt::format(R"(
type array A: {1}
function f({1}, {1}) -> {1}, {1} registers 4 1 exported
  imm p2, 5
  new.array r0, p2, A
  imm p2, 3
  store.{2} r0, p2, p0
  atomic.{0} p0, r0, p2, p1
  load.{2} p1, r0, p2
  return
end
)",
                                test.op, test.type, access));
    Invocation call(program.isolate(), program.find("f"));
    call.p()[0] = test.element;
    call.p()[1] = test.operand;
    ASSERT_TRUE(call.run().ok());
    EXPECT_EQ(call.p()[0], test.element) << test.op;
    EXPECT_EQ(call.p()[1], test.after) << test.op;
  }
}

TEST(Atomics, CompareAndSwap) {
  for (const char* kind : {"i32", "i64"}) {
    Program program(fmt::format(R"(
type array A: {0}
function f(i64, {0}, {0}) -> {0}, {0} registers 5 1 exported
  imm p3, 4
  new.array r0, p3, A
  imm p3, 3
  store.{0} r0, p3, p3
  atomic.cas.{0} p4, r0, p0, p1, p2
  load.{0} p1, r0, p3
  move.p p0, p4
  return
end
)",
                                kind));
    const auto run = [&](std::uint64_t expected, std::uint64_t desired) {
      Invocation call(program.isolate(), program.find("f"));
      call.p()[0] = 3;
      call.p()[1] = expected;
      call.p()[2] = desired;
      EXPECT_TRUE(call.run().ok());
      EXPECT_EQ(call.p()[0], 3u);
      return call.p()[1];
    };
    EXPECT_EQ(run(3, 8), 8u);
    EXPECT_EQ(run(4, 8), 3u);
    EXPECT_EQ(program.trap("f", {4, 0, 0}).message(), "index 4 is out of range for length 4");
  }
}

// Between two other local arrays, which must not change.
TEST(LocalArrays, OfEveryKind) {
  for (const KindCase& kind : kKinds) {
    Program program(fmt::format(R"(
function f(i64, {1}) -> {1}, {1}, i64 registers 6 0 exported
  local i64 1
  local {1} 7
  local i64 1
  imm p3, 0
  imm p4, -1
  local.store.i64 l0, p3, p4
  local.store.i64 l2, p3, p4
  local.store.{0} l1, p0, p1
  local.load.{0} p5, l1, p0
  local.zero l1
  local.load.{0} p1, l1, p0
  move.p p0, p5
  local.load.i64 p2, l0, p3
  local.load.i64 p3, l2, p3
  and.i64 p2, p2, p3
  return
end
)",
                                kind.op, kind.type));
    Invocation call(program.isolate(), program.find("f"));
    call.p()[0] = 6;
    call.p()[1] = kind.stored;
    ASSERT_TRUE(call.run().ok());
    EXPECT_EQ(call.p()[0], kind.loaded) << kind.type;
    EXPECT_EQ(call.p()[1], 0u) << kind.type;
    EXPECT_EQ(call.p()[2], ~std::uint64_t{0}) << kind.type;
    for (const std::uint64_t index : {std::uint64_t{7}, ~std::uint64_t{0}}) {
      const Error error = program.trap("f", {index, 0});
      EXPECT_EQ(error.code(), ErrorCode::kIndexOutOfRange);
      EXPECT_EQ(error.message(), fmt::format("index {} is out of range for the local array of length 7",
                                             static_cast<std::int64_t>(index)));
    }
  }
}

// A recursive function: each call has its own, and it is zero.
TEST(LocalArrays, BelongToTheCall) {
  Program program(R"(
function f(i64) -> i64 registers 4 0 exported
  local i64 100
  imm p1, 99
  local.load.i64 p2, l0, p1
  jump.eq.imm.i64 p2, 0, Fresh
  trap kUserTrap
Fresh:
  local.store.i64 l0, p1, p0
  jump.eq.imm.i64 p0, 0, Done
  add.imm.i64 p2, p0, -1
  call p2, r0, f
  local.load.i64 p3, l0, p1
  jump.eq.i64 p3, p0, Intact
  trap kUserTrap
Intact:
  add.i64 p0, p2, p0
Done:
  return.p p0
end
)");
  EXPECT_EQ(program.run("f", {1000}), 500500u);
  EXPECT_EQ(program.run("f", {1000}), 500500u);
}

}  // namespace
}  // namespace dhpvm::vm
