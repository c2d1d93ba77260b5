// SPDX-License-Identifier: Apache-2.0
// Consecutive loops over arrays larger than the device run as one chain, with the interpreter's results.
#include "base/test_effort.h"
#include "vm/api/chain_programs.h"
#include "vm/api/test_program.h"

namespace dhpvm {
namespace {

class Chains : public ::testing::Test {
 protected:
  Chains() : engine_({.threads = 2, .code_cache_directory = ::testing::TempDir() + "dhpvm-devices-test"}) {}

  static IsolateOptions on(std::string device, std::size_t device_bytes, std::uint64_t batch = 0) {
    IsolateOptions options;
    options.jit_wait = true;
    options.device = std::move(device);
    options.batch = batch;
    options.limits.device_bytes = device_bytes;
    return options;
  }
  static Result<std::int64_t> run(const Isolate& isolate, std::int64_t n) {
    return need(isolate.function<std::int64_t(std::int64_t)>("run"))(n);
  }

  // A new device each time: a lost device stays lost.
  std::string lost(std::uint64_t operations) {
    return "sim?lost=" + std::to_string(operations) + "&units=" + std::to_string(++number_);
  }

  const Engine engine_;
  unsigned number_ = 0;
};

TEST_F(Chains, RandomOnesComputeWhatTheInterpreterComputes) {
  std::uint64_t chained = 0;
  for (std::uint64_t seed = 0; seed < test_effort(25); ++seed) {
    const std::string program = ChainPrograms(seed).make();
    auto module = Module::compile(engine_, program);
    ASSERT_TRUE(module.ok()) << module.error().to_string() << program;
    std::mt19937_64 random(seed);
    for (int round = 0; round < 4; ++round) {
      const auto n = static_cast<std::int64_t>(16'500 + random() % 25'000);
      IsolateOptions options = on("sim", 60'000 + random() % 250'000);
      if (random() % 2 == 0) options.batch = 1 + random() % static_cast<std::uint64_t>(n);
      if (options.batch != 0 && options.batch < 200) options.batch += 200;
      if (round == 2) options.device = lost(random() % 300);
      if (round == 3) options.gc_stress = 1 + static_cast<std::uint32_t>(random() % 3);
      const Isolate interpreter = need(Isolate::create(*module, {.jit = Jit::kOff}));
      const Isolate device = need(Isolate::create(*module, options));
      const auto expected = run(interpreter, n);
      const auto computed = run(device, n);
      const std::string what = "seed " + std::to_string(seed) + ", n " + std::to_string(n) + " on " +
                               options.device + ", batch " + std::to_string(options.batch) + ", memory " +
                               std::to_string(options.limits.device_bytes) + "\n" + program;
      ASSERT_TRUE(expected.ok()) << expected.error().to_string() << what;
      ASSERT_TRUE(computed.ok()) << computed.error().to_string() << what;
      ASSERT_EQ(*computed, *expected) << what << device.explain_loops();
      chained += device.statistics().device_chained;
    }
  }
  EXPECT_GT(chained, test_effort(200)) << "or nothing has been tested";
}

constexpr std::string_view kThree = R"(
fn run(n: i64) -> i64 {
    let a = [f32](n);
    let b = [f32](n);
    let c = [f32](n);
    let d = [f32](n);
    for i in 0..n { a[i] = (i % 1000) as f32; }
    parallel for i in 0..n { b[i] = 0.5 * a[i] + 1.0; }
    parallel for i in 0..n { c[i] = b[i] * a[i]; }
    parallel for i in 0..n { d[i] = c[i] - b[i]; }
    CLOSE
    var sum = 0.0;
    for i in 0..n { sum += d[i] as f64; }
    for i in 0..n / 2 { sum += CHECK; }
    return sum as i64;
})";

std::string three(std::string_view close, std::string_view check) {
  std::string text(kThree);
  text.replace(text.find("CLOSE"), 5, close);
  return text.replace(text.find("CHECK"), 5, check);
}

TEST_F(Chains, EachArrayTravelsOnceEachWay) {
  const std::int64_t n = 500'000;
  const std::uint64_t bytes = 4 * static_cast<std::uint64_t>(n);
  const Module module = need(Module::compile(engine_, three("", "b[i] as f64 + c[i] as f64")));
  const Isolate interpreter = need(Isolate::create(module, {.jit = Jit::kOff}));
  for (const std::uint64_t batch : {0u, 1000u, 12'345u}) {
    const Isolate isolate = need(Isolate::create(module, on("sim", bytes / 2, batch)));
    EXPECT_EQ(need(run(isolate, n)), need(run(interpreter, n)));
    const Statistics statistics = isolate.statistics();
    EXPECT_EQ(statistics.device_loops, 3u);
    EXPECT_EQ(statistics.device_chained, 3u);
    EXPECT_EQ(statistics.device_launches, 3 * statistics.device_chunks);
    EXPECT_EQ(statistics.device_upload_bytes, bytes) << "a alone";
    EXPECT_EQ(statistics.device_download_bytes, 3 * bytes) << "b, c and d";
    EXPECT_NE(isolate.explain_loops().find("ran chunk by chunk together with that at"), std::string::npos);
  }
}

TEST_F(Chains, WhatIsDeadIsNotSentBack) {
  const std::int64_t n = 300'000;
  const std::uint64_t bytes = 4 * static_cast<std::uint64_t>(n);
  const Module module = need(Module::compile(engine_, three("a.close(); b.close(); c.close();", "0.0")));
  const Isolate interpreter = need(Isolate::create(module, {.jit = Jit::kOff}));
  const Isolate isolate = need(Isolate::create(module, on("sim", bytes / 2)));
  EXPECT_EQ(need(run(isolate, n)), need(run(interpreter, n)));
  EXPECT_EQ(isolate.statistics().device_upload_bytes, bytes);
  EXPECT_EQ(isolate.statistics().device_download_bytes, bytes) << "d";
}

TEST_F(Chains, SerialModesRunOneLoopAfterTheOther) {
  const Module module = need(Module::compile(engine_, three("", "b[i] as f64")));
  IsolateOptions options = on("sim", 300'000);
  options.batching = Batching::kSerial;
  const Isolate isolate = need(Isolate::create(module, options));
  ASSERT_TRUE(run(isolate, 200'000).ok());
  EXPECT_EQ(isolate.statistics().device_loops, 3u);
  EXPECT_EQ(isolate.statistics().device_chained, 0u);
}

// Values move from chunk to chunk: in one chain, the second loop would read elements that the first has not written
// yet, or has already overwritten.
TEST_F(Chains, LoopsThatMeetAcrossChunksStayApart) {
  for (const std::string_view second : {"if i < n - 1 { c[i] = b[i + 1]; }", "if i > 0 { c[i] = b[i - 1]; }",
                                        "c[i] = b[n - 1 - i];", "if i > 0 { a[i - 1] = c[i]; }"}) {
    const Module module = need(Module::compile(engine_, R"(
fn run(n: i64) -> i64 {
    let a = [i32](n);
    let b = [i32](n);
    let c = [i32](n);
    for i in 0..n { a[i] = i as i32; c[i] = 7; }
    parallel for i in 0..n { b[i] = a[i] * 3; }
    parallel for i in 0..n { )" + std::string(second) + R"( }
    var sum = 0;
    for i in 0..n { sum = sum * 31 + (a[i] + 5 * b[i] + 11 * c[i]) as i64; }
    return sum;
})"));
    const Isolate interpreter = need(Isolate::create(module, {.jit = Jit::kOff}));
    const Isolate isolate = need(Isolate::create(module, on("sim", 200'000, 3000)));
    EXPECT_EQ(need(run(isolate, 100'000)), need(run(interpreter, 100'000))) << second;
    EXPECT_EQ(isolate.statistics().device_loops, 2u);
    EXPECT_EQ(isolate.statistics().device_chained, 0u) << second;
    EXPECT_NE(isolate.explain_loops().find("not together with the loop before it: "), std::string::npos);
  }
}

TEST_F(Chains, WhatALostDeviceLeavesIsDoneByTheHost) {
  const Module module = need(Module::compile(engine_, R"(
fn run(n: i64) -> i64 {
    let a = [i32](n);
    let b = [i32](n);
    let c = [i32](n);
    for i in 0..n { a[i] = i as i32; }
    for round in 0..3 {
        parallel for i in 0..n { b[i] = a[i] * 3 + (round as i32); }
        parallel for i in 0..n { a[i] = a[i] + b[i]; }
        parallel for i in 0..n { c[i] = c[i] ^ (a[i] - b[i]); }
    }
    var sum = 0;
    for i in 0..n { sum = sum * 31 + (a[i] + 5 * b[i] + 11 * c[i]) as i64; }
    return sum;
})"));
  const std::int64_t n = 60'000;
  const Isolate interpreter = need(Isolate::create(module, {.jit = Jit::kOff}));
  const std::int64_t expected = need(run(interpreter, n));
  for (const unsigned operations :
       {0u, 1u, 2u, 3u, 5u, 8u, 13u, 21u, 34u, 55u, 89u, 144u, 233u, 377u, 610u}) {
    const Isolate isolate = need(Isolate::create(module, on(lost(operations), 150'000, 1500)));
    const auto computed = run(isolate, n);
    ASSERT_TRUE(computed.ok()) << operations << ": " << computed.error().to_string();
    EXPECT_EQ(*computed, expected) << operations;
  }
  // A device that fails unexpectedly may have held the only copy: then every access to it reports the error.
  for (const std::string_view device :
       {"sim?alloc_fail=2", "sim?alloc_fail=9", "sim?fail_launch=1", "sim?fail_launch=50"}) {
    const Isolate isolate = need(Isolate::create(module, on(std::string(device), 150'000, 1500)));
    const auto computed = run(isolate, n);
    if (computed.ok()) {
      EXPECT_EQ(*computed, expected) << device;
    } else {
      EXPECT_EQ(computed.error().code(), ErrorCode::kDeviceFailed) << computed.error().to_string();
    }
  }
}

// Buffers of arrays that are gone are held by deferred loops: those are run when memory is short.
TEST_F(Chains, WhoNeedsMemoryGetsIt) {
  const Module module = need(Module::compile(engine_, R"(
fn run(n: i64) -> i64 {
    let a = [i32](n);
    for i in 0..n { a[i] = i as i32; }
    for round in 0..12 {
        let b = [i32](n);
        parallel for i in 0..n { b[i] = a[i] * 3; }
        parallel for i in 0..n { a[i] = a[i] + b[i]; }
        b.close();
    }
    var sum = 0;
    for i in 0..n { sum = sum * 31 + (a[i] as i64); }
    return sum;
})"));
  const std::int64_t n = 250'000;
  const Isolate interpreter = need(Isolate::create(module, {.jit = Jit::kOff}));
  IsolateOptions options = on("sim", 400'000);
  options.limits.off_heap_bytes = 5'000'000;
  const Isolate isolate = need(Isolate::create(module, options));
  EXPECT_EQ(need(run(isolate, n)), need(run(interpreter, n)));
  EXPECT_GT(isolate.statistics().device_chained, 0u);
}

}  // namespace
}  // namespace dhpvm
