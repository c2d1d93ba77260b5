// SPDX-License-Identifier: Apache-2.0
// Arrays that a device holds or works on: an access on the host fetches the elements first, once, and only for the
// rights it needs. In the interpreter and in compiled code.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "vm/alarm.h"
#include "vm/compile_service.h"
#include "vm/test_copies.h"
#include "vm/test_program.h"

namespace dhpvm::vm {
namespace {

using Counts = std::pair<int, int>;  // for reading, for writing

constexpr std::string_view kProgram = R"(
type array A: i64
type struct S
  field first: i64
  field second: f64
type array Structs: S

function total(A) -> i64 registers 4 1 exported
  line "c.dhp" 1:1
  array.length p0, r0
  imm p1, 0
  imm p2, 0
Again:
  line "c.dhp" 2:1
  load.i64 p3, r0, p1
  add.i64 p2, p2, p3
  for.i64 p1, p0, Again
  return.p p2
end
function add_one(A) registers 3 1 exported
  array.length p0, r0
  imm p1, 0
Again:
  load.i64 p2, r0, p1
  add.imm.i64 p2, p2, 1
  store.i64 r0, p1, p2
  for.i64 p1, p0, Again
  return
end
function get(i64, A) -> i64 registers 2 1 exported
  load.i64 p0, r0, p0
  return
end
function put(i64, i64, A) registers 2 1 exported
  line "c.dhp" 8:1
  store.i64 r0, p0, p1
  return
end
function update(i64, i64, A) -> i64 registers 3 1 exported
  atomic.add.i64 p2, r0, p0, p1
  return.p p2
end
function copy(i64, i64, i64, A, A) registers 3 2 exported
  array.copy r0, r1, p0
  return
end
function close(A) registers 0 1 exported
  array.close r0
  return
end
function length(A) -> i64 registers 1 1 exported
  array.length p0, r0
  return
end
function get_second(i64, Structs) -> f64 registers 1 1 exported
  load.field.f64 p0, r0, p0, 8:16
  return
end
function put_second(i64, f64, Structs) registers 2 1 exported
  store.field.f64 r0, p0, p1, 8:16
  return
end

function writes(i64, A) registers 1 1
  line "c.dhp" 20:1
  store.i64 r0, p0, p0
  return
end
function reads(i64, i64, A) -> i64 registers 3 1
  load.i64 p2, r0, p0
  add.i64 p0, p1, p2
  return
end
function updates(i64, A, A) registers 3 2
  load.i64 p1, r0, p0
  imm p2, 0
  atomic.add.i64 p1, r1, p2, p1
  return
end
function ignores(i64, A, A) registers 2 2
  array.length p1, r0
  store.i64 r1, p0, p1
  return
end
function write_all(i64, i64, A) registers 2 1 exported
  line "c.dhp" 30:1
  parallel.for p0, r0, #0
  return
end
function sum_all(i64, i64, i64, A) -> i64 registers 3 1 exported
  parallel.for p0, r0, #1
  return
end
function update_all(i64, i64, A, A) registers 2 2 exported
  parallel.for p0, r0, #2
  return
end
function length_all(i64, i64, A, A) registers 2 2 exported
  parallel.for p0, r0, #3
  return
end
kernel writes dims 1
kernel reads dims 1 reduce add:i64
kernel updates dims 1
kernel ignores dims 1
)";

// Compiles everything before it is run, on whose behalf the tests here exist a second time.
enum class Executor : std::uint8_t { kInterpreter, kCompiled };

IsolateOptions options_for(Executor executor) {
  IsolateOptions options;
#ifdef DHPVM_CODEGEN_LIBRARY
  if (executor == Executor::kCompiled) {
    codegen::GeneratorOptions generator;
    generator.cache = false;
    options.jit.mode = JitMode::kEager;
    options.compile_service = std::make_shared<CompileService>(generator, DHPVM_CODEGEN_LIBRARY);
    options.thread_pool = std::make_shared<ThreadPool>(2);
    options.alarm = std::make_shared<Alarm>();
  }
#else
  static_cast<void>(executor);
#endif
  return options;
}

constexpr std::int64_t kLength = 10'000;
constexpr std::uint64_t kTotal = kLength * (kLength - 1) / 2;

class Coherence : public testing::TestWithParam<Executor> {
 protected:
  void SetUp() override {
#ifndef DHPVM_CODEGEN_LIBRARY
    if (GetParam() == Executor::kCompiled)
      GTEST_SKIP() << "this build has no native code generator (DHPVM_CODEGEN is OFF)";
#endif
    start(options_for(GetParam()));
  }
  void TearDown() override { roots_.clear(); }

  void start(const IsolateOptions& options) {
    roots_.clear();
    program_ = std::make_unique<Program>(kProgram, options);
  }
  Isolate& isolate() { return program_->isolate(); }

  // Element i is i.
  gc::Array* counting() {
    gc::Array* const made =
        *isolate().new_array(*isolate().linked().find_array_type({bytecode::Kind::kI64}), kLength);
    roots_.emplace_back(isolate().heap(), made);
    std::iota(elements(made).begin(), elements(made).end(), 0);
    return made;
  }
  static std::span<std::int64_t> elements(gc::Array* array) {
    return {reinterpret_cast<std::int64_t*>(array->data), static_cast<std::size_t>(array->length)};
  }

  Status try_call(std::string_view name, std::vector<std::uint64_t> p, std::vector<gc::Array*> arrays) {
    registers_ = std::move(p);
    registers_.resize(std::max<std::size_t>(registers_.size(), 4));
    std::vector<gc::Ref> r;
    for (gc::Array* array : arrays) r.push_back(reinterpret_cast<gc::Ref>(array));
    return isolate().call(program_->find(name), registers_, r);
  }
  std::uint64_t call(std::string_view name, std::vector<std::uint64_t> p, std::vector<gc::Array*> arrays) {
    const Status status = try_call(name, std::move(p), std::move(arrays));
    EXPECT_TRUE(status.ok()) << name << ": " << status.error().to_string();
    return registers_[0];
  }
  Error trap(std::string_view name, std::vector<std::uint64_t> p, std::vector<gc::Array*> arrays) {
    const Status status = try_call(name, std::move(p), std::move(arrays));
    EXPECT_FALSE(status.ok()) << name << " does not trap";
    return status.ok() ? Error(ErrorCode::kInternal, "no trap") : status.error();
  }
  std::uint64_t slow_accesses() { return isolate().stats().slow_accesses; }

 private:
  std::unique_ptr<Program> program_;
  std::vector<gc::Root<gc::Array>> roots_;
  std::vector<std::uint64_t> registers_;
};

TEST_P(Coherence, NobodyIsAskedForWhatTheHostHas) {
  gc::Array* const array = counting();
  const auto record = TestCopies::take(*array);
  ASSERT_TRUE(isolate().make_accessible(*array, true).ok());
  EXPECT_EQ(*record, Counts(0, 1));
  call("total", {}, {array});
  call("add_one", {}, {array});
  call("update", {5, 7}, {array});
  call("copy", {0, 1, 100}, {array, array});
  call("write_all", {0, kLength}, {array});
  EXPECT_EQ(*record, Counts(0, 1));
  EXPECT_EQ(slow_accesses(), 0u);
}

// A loop asks in its first turn alone.
TEST_P(Coherence, ReadingAsksOnce) {
  gc::Array* const array = counting();
  const auto record = TestCopies::take(*array);
  EXPECT_NE(elements(array)[3], 3);
  EXPECT_EQ(call("total", {}, {array}), kTotal);
  EXPECT_EQ(*record, Counts(1, 0));
  EXPECT_EQ(slow_accesses(), 1u);
  EXPECT_EQ(array->readable, kLength);
  EXPECT_EQ(array->writable, 0);
  EXPECT_EQ(call("total", {}, {array}), kTotal);
  EXPECT_EQ(*record, Counts(1, 0));
  EXPECT_EQ(slow_accesses(), 1u);
}

TEST_P(Coherence, WritingKeepsTheOtherElements) {
  gc::Array* const array = counting();
  const auto record = TestCopies::take(*array);
  call("put", {7, 1007}, {array});
  EXPECT_EQ(*record, Counts(0, 1));
  EXPECT_EQ(call("total", {}, {array}), kTotal + 1000);
  EXPECT_EQ(*record, Counts(0, 1));
  EXPECT_EQ(slow_accesses(), 1u);
}

TEST_P(Coherence, WhatADeviceReadsMayBeReadButNotWritten) {
  gc::Array* const array = counting();
  const auto record = TestCopies::take(*array, true);
  EXPECT_EQ(call("total", {}, {array}), kTotal);
  EXPECT_EQ(*record, Counts(0, 0));
  call("put", {0, 5}, {array});
  EXPECT_EQ(*record, Counts(0, 1));
  EXPECT_EQ(elements(array)[0], 5);
}

TEST_P(Coherence, ReadingAndWritingAskForEach) {
  gc::Array* const array = counting();
  const auto record = TestCopies::take(*array);
  call("add_one", {}, {array});
  EXPECT_EQ(*record, Counts(1, 1));
  EXPECT_EQ(slow_accesses(), 2u);
  EXPECT_EQ(call("total", {}, {array}), kTotal + kLength);
}

TEST_P(Coherence, AgainAfterEveryLoopOfADevice) {
  gc::Array* const array = counting();
  for (std::uint64_t n = 0; n < 5; ++n) {
    const auto record = TestCopies::take(*array);
    EXPECT_EQ(call("update", {0, 1}, {array}), n);
    EXPECT_EQ(*record, Counts(0, 1));
  }
  EXPECT_EQ(slow_accesses(), 5u);
}

TEST_P(Coherence, FieldsOfStructs) {
  const gc::TypeId type = [&] {
    const auto& types = isolate().module().types;
    const auto found = std::ranges::find(types, "Structs", &bytecode::Type::name);
    return static_cast<gc::TypeId>(found - types.begin());
  }();
  gc::Root<gc::Array> array(isolate().heap(), *isolate().new_array(type, kLength));
  call("put_second", {9, put(1.5)}, {array.get()});
  auto record = TestCopies::take(*array);
  EXPECT_EQ(call("get_second", {9}, {array.get()}), put(1.5));
  EXPECT_EQ(*record, Counts(1, 0));
  call("put_second", {10, put(2.5)}, {array.get()});
  EXPECT_EQ(*record, Counts(1, 1));
  record = TestCopies::take(*array);
  call("put_second", {9, put(3.5)}, {array.get()});
  EXPECT_EQ(*record, Counts(0, 1));
  EXPECT_EQ(call("get_second", {10}, {array.get()}), put(2.5));
}

TEST_P(Coherence, CopyingAsksForBothArrays) {
  gc::Array* const from = counting();
  gc::Array* const to = counting();
  const auto source = TestCopies::take(*from);
  const auto target = TestCopies::take(*to);
  call("copy", {5, 9, 0}, {to, from});  // nothing
  EXPECT_EQ(trap("copy", {0, 1, kLength}, {to, from}).code(), ErrorCode::kIndexOutOfRange);
  EXPECT_EQ(trap("copy", {0, 0, ~std::uint64_t{0}}, {to, from}).code(), ErrorCode::kNegativeLength);
  EXPECT_EQ(*source, Counts(0, 0));
  EXPECT_EQ(*target, Counts(0, 0));
  call("copy", {2, 10, 3}, {to, from});
  EXPECT_EQ(*source, Counts(1, 0));
  EXPECT_EQ(*target, Counts(0, 1));
  EXPECT_EQ(std::vector(elements(to).begin(), elements(to).begin() + 6),
            (std::vector<std::int64_t>{0, 1, 10, 11, 12, 5}));

  const auto both = TestCopies::take(*to);
  call("copy", {0, 5, 2}, {to, to});
  EXPECT_EQ(*both, Counts(1, 1));
  EXPECT_EQ(elements(to)[1], 6);
}

TEST_P(Coherence, AnIndexOutOfRangeAsksNobody) {
  gc::Array* const array = counting();
  const auto record = TestCopies::take(*array);
  EXPECT_EQ(trap("get", {kLength}, {array}).message(), "index 10000 is out of range for length 10000");
  EXPECT_EQ(trap("put", {~std::uint64_t{0}, 1}, {array}).code(), ErrorCode::kIndexOutOfRange);
  EXPECT_EQ(call("length", {}, {array}), std::uint64_t{kLength});
  EXPECT_EQ(*record, Counts(0, 0));
}

TEST_P(Coherence, AFailureIsATrapWhereTheElementsWereWanted) {
  gc::Array* const array = counting();
  const auto record = TestCopies::take(*array);
  record->failure = Error(ErrorCode::kDeviceLost, "gpubox has stopped answering");
  const Error lost = trap("total", {}, {array});
  EXPECT_EQ(lost.to_string(), "device lost: gpubox has stopped answering\n  at total (c.dhp:2)");
  EXPECT_EQ(*record, Counts(1, 0));
  EXPECT_EQ(array->readable, 0);
  record->failure = Error(ErrorCode::kDeadline, "the call took longer than 5 ms");
  EXPECT_EQ(trap("put", {0, 0}, {array}).to_string(),
            "deadline exceeded: the call took longer than 5 ms\n  at put (c.dhp:8)");
  // A failure of the device is never reported as a mistake of the program's author.
  record->failure = Error(ErrorCode::kUnsupported, "no such copy");
  const Error failed = trap("total", {}, {array});
  EXPECT_EQ(failed.code(), ErrorCode::kDeviceFailed);
  EXPECT_EQ(failed.message(), "no such copy");
  // Nothing is lost by asking.
  record->failure.reset();
  EXPECT_EQ(call("total", {}, {array}), kTotal);
}

TEST_P(Coherence, ClosingAsksNobody) {
  gc::Array* const array = counting();
  const auto record = TestCopies::take(*array);
  {
    const offload::BufferUse use(*static_cast<offload::Buffer*>(array->buffer));
    call("close", {}, {array});
    EXPECT_FALSE(record->gone);  // in quarantine
    EXPECT_EQ(trap("total", {}, {array}).code(), ErrorCode::kClosed);
    EXPECT_EQ(trap("put", {0, 0}, {array}).code(), ErrorCode::kClosed);
  }
  EXPECT_TRUE(record->gone);
  EXPECT_EQ(*record, Counts(0, 0));
}

TEST_P(Coherence, CollectingAsksNobody) {
  std::shared_ptr<TestCopies::Record> dead;
  {
    gc::Root<gc::Array> array(isolate().heap(), counting());
    dead = TestCopies::take(*array);
  }
  gc::Array* const live = counting();
  const auto record = TestCopies::take(*live);
  TearDown();
  gc::Root<gc::Array> kept(isolate().heap(), live);
  isolate().heap().collect(gc::CollectionKind::kFull);
  EXPECT_TRUE(dead->gone);
  EXPECT_FALSE(record->gone);
  EXPECT_EQ(*dead, Counts(0, 0));
  EXPECT_EQ(call("total", {}, {live}), kTotal);
  EXPECT_EQ(*record, Counts(1, 0));
}

// ---- Parallel loops on the host fetch the elements they need before they begin.

TEST_P(Coherence, LoopsThatWriteAskForWriting) {
  gc::Array* const array = counting();
  const auto record = TestCopies::take(*array);
  call("write_all", {100, 200}, {array});
  EXPECT_EQ(*record, Counts(0, 1));
  EXPECT_EQ(call("total", {}, {array}), kTotal);
  EXPECT_EQ(*record, Counts(0, 1));
}

TEST_P(Coherence, LoopsThatReadAskForReading) {
  gc::Array* const array = counting();
  const auto record = TestCopies::take(*array);
  EXPECT_EQ(call("sum_all", {0, kLength, 1}, {array}), kTotal + 1);
  EXPECT_EQ(*record, Counts(1, 0));
  EXPECT_EQ(array->writable, 0);
  EXPECT_EQ(call("sum_all", {0, kLength, 2}, {array}), kTotal + 2);
  EXPECT_EQ(*record, Counts(1, 0));
  const auto shared = TestCopies::take(*array, true);
  EXPECT_EQ(call("sum_all", {0, kLength, 2}, {array}), kTotal + 2);
  EXPECT_EQ(*shared, Counts(0, 0));
}

TEST_P(Coherence, LoopsAskForEachArrayWhatItIsUsedFor) {
  gc::Array* const from = counting();
  gc::Array* const to = counting();
  const auto source = TestCopies::take(*from);
  const auto target = TestCopies::take(*to);
  call("update_all", {0, kLength}, {from, to});
  EXPECT_EQ(*source, Counts(1, 0));
  EXPECT_EQ(*target, Counts(0, 1));
  EXPECT_EQ(elements(to)[0], static_cast<std::int64_t>(kTotal));

  const auto unused = TestCopies::take(*from);
  call("length_all", {0, kLength}, {from, to});
  EXPECT_EQ(*unused, Counts(0, 0));
  EXPECT_EQ(elements(to)[5], kLength);
}

TEST_P(Coherence, LoopsWithoutIterationsAskNobody) {
  gc::Array* const array = counting();
  const auto record = TestCopies::take(*array);
  call("write_all", {200, 100}, {array});
  EXPECT_EQ(call("sum_all", {5, 5, 1}, {array}), 1u);
  EXPECT_EQ(*record, Counts(0, 0));
}

TEST_P(Coherence, LoopsThatCannotHaveTheirArraysTrap) {
  gc::Array* const array = counting();
  const auto record = TestCopies::take(*array);
  record->failure = Error(ErrorCode::kDeviceLost, "gpubox has stopped answering");
  const Error lost = trap("write_all", {0, kLength}, {array});
  EXPECT_EQ(lost.code(), ErrorCode::kDeviceLost);
  EXPECT_TRUE(lost.message().starts_with("gpubox has stopped answering")) << lost.message();
  EXPECT_EQ(lost.frames().back().line, 30u);
  EXPECT_EQ(*record, Counts(0, 1));
  record->failure.reset();
  call("write_all", {0, kLength}, {array});
  EXPECT_EQ(*record, Counts(0, 2));
}

// Where fuel is counted, and where races are looked for, loops are interpreted.
TEST_P(Coherence, InterpretedLoopsAskInTheirFirstIteration) {
  for (const bool races : {false, true}) {
    IsolateOptions options = options_for(GetParam());
    options.limits.fuel = 1'000'000;
    options.check_races = races;
    start(options);
    gc::Array* const array = counting();
    auto record = TestCopies::take(*array);
    EXPECT_EQ(call("sum_all", {0, kLength, 0}, {array}), kTotal);
    EXPECT_EQ(*record, Counts(1, 0));
    EXPECT_EQ(slow_accesses(), 1u);
    record = TestCopies::take(*array);
    call("write_all", {0, kLength}, {array});
    EXPECT_EQ(*record, Counts(0, 1));
    EXPECT_EQ(slow_accesses(), 2u);
  }
}

TEST_P(Coherence, UnderTheStressedCollector) {
  IsolateOptions options = options_for(GetParam());
  options.gc_stress = 1;
  options.gc_verify = true;
  start(options);
  gc::Array* const from = counting();
  gc::Array* const to = counting();
  const auto source = TestCopies::take(*from);
  const auto target = TestCopies::take(*to);
  call("copy", {0, 0, kLength}, {to, from});
  call("update_all", {0, kLength}, {from, to});
  call("add_one", {}, {from});
  EXPECT_EQ(*source, Counts(1, 1));
  EXPECT_EQ(*target, Counts(0, 1));
  EXPECT_EQ(call("total", {}, {from}), kTotal + kLength);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Coherence, testing::Values(Executor::kInterpreter, Executor::kCompiled),
                         [](const testing::TestParamInfo<Executor>& test) {
                           return test.param == Executor::kInterpreter ? "Interpreter" : "Compiled";
                         });

// ---- Elements of every kind, one access each.

TEST(CoherenceOfKinds, EveryLoadAndStoreAsks) {
  struct Kind {
    const char* op;
    const char* type;
  };
  const Kind kinds[] = {{"i8", "i8"},   {"u8", "u8"},   {"i16", "i16"}, {"u16", "u16"},
                        {"i32", "i32"}, {"i64", "i64"}, {"f32", "f32"}, {"f64", "f64"}};
  for (const Kind& kind : kinds) {
    for (const Executor executor : {Executor::kInterpreter, Executor::kCompiled}) {
      Program program(fmt::format(R"(
type array A: {1}
function get(i64, A) -> {1} registers 1 1 exported
  load.{0} p0, r0, p0
  return
end
function put(i64, {1}, A) registers 2 1 exported
  store.{0} r0, p0, p1
  return
end
)",
                                  kind.op, kind.type),
                      options_for(executor));
      const auto type = program->linked().find_array_type({program->module().types.back().element.kind});
      gc::Root<gc::Array> array(program->heap(), *program->new_array(*type, 100'000));
      const auto call = [&](std::string_view name, std::uint64_t value) {
        std::uint64_t p[2] = {99'999, value};
        gc::Ref r[1] = {reinterpret_cast<gc::Ref>(array.get())};
        const Status status = program->call(program.find(name), p, r);
        EXPECT_TRUE(status.ok()) << status.error().to_string();
        return p[0];
      };
      call("put", 0x3f800000'00000041);
      const std::uint64_t before = call("get", 0);
      auto record = TestCopies::take(*array);
      EXPECT_EQ(call("get", 0), before) << kind.op;
      EXPECT_EQ(*record, Counts(1, 0)) << kind.op;
      record = TestCopies::take(*array);
      call("put", 0);
      EXPECT_EQ(*record, Counts(0, 1)) << kind.op;
      EXPECT_EQ(call("get", 0), 0u) << kind.op;
      EXPECT_EQ(program->stats().fetches, 2u);
    }
  }
}

}  // namespace
}  // namespace dhpvm::vm
