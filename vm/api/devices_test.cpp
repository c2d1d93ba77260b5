// SPDX-License-Identifier: Apache-2.0
// Loops on devices give the interpreter's results, for all
// sizes of arrays, chunks and device memory.
#include <chrono>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "vm/api/device_programs.h"
#include "vm/api/test_program.h"

namespace dhpvm {
namespace {

struct Setting {
  std::string device;
  std::uint64_t batch = 0;
  std::size_t device_bytes = Limits::kUnlimitedBytes;
  Batching batching = Batching::kOverlapped;
};

class Devices : public ::testing::Test {
 protected:
  Devices()
      : engine_({.threads = 2, .code_cache_directory = ::testing::TempDir() + "dhpvm-devices-test"}),
        module_(need(Module::compile(engine_, source()))) {}

  static std::string source() { return std::string(kDevicePrograms); }

  // No memory is leaked once the isolates are gone.
  void TearDown() override {
    const Leftovers left = engine_.leftovers();
    EXPECT_EQ(left.buffer_bytes, 0u);
    EXPECT_EQ(left.device_bytes, 0u);
    EXPECT_EQ(left.registrations, 0u);
  }

  Isolate reference() const { return need(Isolate::create(module_, {.jit = Jit::kOff})); }
  // The interpreter's result. It takes long, so all tests share the results for each function and size.
  std::int64_t expected(std::string_view function, std::int64_t n) {
    const auto [place, is_new] = expected_.try_emplace({std::string(function), n});
    if (is_new) place->second = need(run(reference(), function, n));
    return place->second;
  }
  Isolate isolate(const Setting& setting) const {
    IsolateOptions options;
    options.jit_wait = true;
    options.device = setting.device;
    options.batch = setting.batch;
    options.batching = setting.batching;
    options.limits.device_bytes = setting.device_bytes;
    return need(Isolate::create(module_, options));
  }
  static Result<std::int64_t> run(const Isolate& isolate, std::string_view function, std::int64_t n) {
    return need(isolate.function<std::int64_t(std::int64_t)>(function))(n);
  }

  void compare(const Setting& setting, std::string_view function, std::int64_t n) {
    const Isolate device = isolate(setting);
    const auto computed = run(device, function, n);
    ASSERT_TRUE(computed.ok()) << computed.error().to_string();
    EXPECT_EQ(*computed, expected(function, n))
        << function << "(" << n << ") on " << setting.device << ", batch " << setting.batch << ", memory "
        << setting.device_bytes << "\n"
        << device.explain_loops();
  }

  const Engine engine_;
  const Module module_;

 private:
  static inline std::map<std::pair<std::string, std::int64_t>, std::int64_t> expected_;
};

TEST_F(Devices, ComputeWhatTheInterpreterComputes) {
  for (const std::string_view function : device_functions(0)) {
    for (const std::string_view device : {"host", "host?inline", "sim"}) {
      for (const std::int64_t n : {10, 1000, 40'000}) compare({std::string(device)}, function, n);
    }
  }
}

TEST_F(Devices, ChunksMayHaveAnySize) {
  std::mt19937_64 random(1);
  for (const std::string_view function : device_functions(1)) {
    const auto few = static_cast<std::int64_t>(20 + random() % 300);
    const auto many = static_cast<std::int64_t>(17'000 + random() % 20'000);
    for (const std::uint64_t batch : {1u, 7u, 64u, 4096u, 5000u, 1'000'000u}) {
      compare({random() % 2 == 0 ? "sim" : "host", batch}, function, batch < 64 ? few : many);
    }
  }
}

TEST_F(Devices, ArraysMayBeLargerThanTheDevice) {
  std::mt19937_64 random(2);
  for (const std::string_view function : device_functions(2)) {
    const auto n = static_cast<std::int64_t>(20'000 + random() % 60'000);
    for (const std::size_t kilobytes : {100u, 300u, 700u, 1500u}) {
      compare({"sim", random() % 2 * 3000, kilobytes << 10}, function, n);
    }
  }
}

TEST_F(Devices, AKernelThatCouldNotBeLoadedIsTriedAgain) {
  const Module module = need(Module::compile(engine_, R"(
fn f() -> f64 {
    let a = [f64](1000);
    parallel for i in 0..1000 { a[i] = i as f64; }
    return a[999];
})"));
  const Isolate isolate = need(Isolate::create(module, {.jit_wait = true, .device = "sim?load_fail=2"}));
  const auto f = need(isolate.function<double()>("f"));
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t calls = 0;
  const auto has_run = [&] { return isolate.explain_loops().find("ran on sim") != std::string::npos; };
  while (!has_run() && std::chrono::steady_clock::now() - begin < std::chrono::seconds(30)) {
    EXPECT_EQ(need(f()), 999.0);
    ++calls;
  }
  EXPECT_TRUE(has_run()) << isolate.explain_loops();
  // 100 ms after the first failure, and 200 ms after the second; the loops between them ran on the host.
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(300));
  EXPECT_GT(calls, 3U);
}

// A device that is required does all, or the program fails with the reason.
TEST_F(Devices, ARequiredOneIsNotReplacedByTheHost) {
  const auto with = [](std::string device) {
    IsolateOptions options = {.jit_wait = true, .device = std::move(device), .require_device = true};
    return options;
  };
  const std::string_view function = device_functions(1).front();
  Isolate able = need(Isolate::create(module_, with("sim")));
  EXPECT_EQ(need(run(able, function, 1000)), expected(function, 1000));
  EXPECT_NE(able.explain_loops().find("ran on sim"), std::string::npos);
  able.set_fuel(1 << 30);
  const auto interpreted = run(able, function, 1000);
  ASSERT_FALSE(interpreted.ok()) << "only the interpreter counts fuel";
  EXPECT_EQ(interpreted.error().code(), ErrorCode::kDeviceFailed);

  const Isolate unable = need(Isolate::create(module_, with("sim?load_fail=1000")));
  const auto refused = run(unable, function, 1000);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kDeviceFailed);
  EXPECT_NE(refused.error().message().find("does not run on sim"), std::string::npos)
      << refused.error().message();

  const auto code_of = [&](const IsolateOptions& options) {
    const auto made = Isolate::create(module_, options);
    return made.ok() ? std::string("none") : std::string(to_string(made.error().code()));
  };
  EXPECT_EQ(code_of(with("sim,cuda:99")), "none") << "one of them is there";
  EXPECT_EQ(code_of(with("cuda:99")), "device failed");
  for (const char* const nothing : {"auto", "host", "host,sim", ""})
    EXPECT_EQ(code_of(with(nothing)), "invalid argument") << nothing;
  IsolateOptions interpreting = with("sim");
  interpreting.jit = Jit::kOff;
  EXPECT_EQ(code_of(interpreting), "invalid argument");
}

TEST_F(Devices, SeveralShareALoop) {
  for (const std::string_view function : device_functions(3)) {
    for (const std::string_view devices :
         {"host,sim", "sim,sim?launch=1us", "host,sim?mem=1MB,sim?engines=1"}) {
      for (const std::uint64_t batch : {0u, 5000u}) {
        compare({std::string(devices), batch}, function, 60'000);
      }
    }
  }
}

TEST_F(Devices, WhatALostOneLeavesIsDoneElsewhere) {
  unsigned number = 1;
  for (const std::string_view function : device_functions(4)) {
    for (std::uint64_t operations = 0; operations < 100; operations += 1 + operations / 2) {
      // A new device each time: a lost device stays lost.
      const auto lost = [&] {
        return "sim?lost=" + std::to_string(operations) + "&units=" + std::to_string(number++);
      };
      compare({lost(), 3000}, function, 40'000);
      if (operations % 2 == 0) compare({"sim," + lost(), 3000}, function, 40'000);
    }
  }
}

// The results of a loop in place go to other memory first on a device that may be lost. There is room for small chunks
// only, or for none.
TEST_F(Devices, AChunkWithoutRoomForItsResultsHasNotBegun) {
  const Module module = need(Module::compile(engine_, R"(
fn f(n: i64) -> i64 {
    let a = [i64](n);
    for round in 0..3 {
        parallel for i in 0..n { a[i] = a[i] * 31 + i + 1; }
    }
    var h = 7;
    for i in 0..n { h = (h ^ a[i]) * 1099511628211 + (h >> 29); }
    return h;
})"));
  const std::int64_t n = 500'000;
  const std::int64_t expected = need(run(need(Isolate::create(module, {.device = "host"})), "f", n));
  for (const std::uint64_t room : {0u, 200'000u, 1'000'000u, 3'000'000u}) {
    IsolateOptions options = {.jit_wait = true, .device = "sim?lost=1000000000"};
    options.limits.off_heap_bytes = 4'000'000 + (64 << 10) + room;
    const Isolate isolate = need(Isolate::create(module, options));
    EXPECT_EQ(need(run(isolate, "f", n)), expected) << room << "\n" << isolate.explain_loops();
  }
}

// Where a loop finds out, too: it says which of its arrays is lost.
TEST_F(Devices, ALossSaysWhichArrayIsLost) {
  const Module module = need(Module::compile(engine_, R"(
fn f(n: i64) -> i64 {
    let a = [i64](n);
    let b = [i64](n);
    for round in 0..2 {
        parallel for i in 0..n { a[i] = a[i] * 31 + i; }
        parallel for i in 0..n { b[i] = b[i] + a[i * 37 % 1000]; }
    }
    return b[77];
})"));
  for (const std::uint64_t operations : {300u, 500u, 700u, 900u}) {
    const std::string device = "sim?lazy=1&lost=" + std::to_string(operations);
    IsolateOptions options = {.jit_wait = true, .device = device, .batch = 50};
    const auto lost = run(need(Isolate::create(module, options)), "f", 20'000);
    ASSERT_FALSE(lost.ok()) << device;
    EXPECT_EQ(lost.error().code(), ErrorCode::kDeviceLost);
    EXPECT_NE(lost.error().to_string().find("an array of 160000 bytes is lost"), std::string::npos)
        << lost.error().to_string();
  }
}

TEST_F(Devices, WhatIsReducedSurvivesTheLoss) {
  const Module module = need(Module::compile(engine_, R"(
fn sum(n: i64) -> f64 {
    let a = [f64](n);
    let b = [f32](n);
    for i in 0..n { a[i] = ((i * 7919) % 1000) as f64 * 0.37; }
    var sum = 0.25;
    parallel for i in 0..n reduce(+: sum) { b[i] = a[i] as f32; sum += a[i]; }
    for i in 0..n { sum += b[i] as f64; }
    return sum;
})"));
  // With many chunks, some are known to be done before the device is lost.
  const std::int64_t n = 500'000;
  IsolateOptions options;
  options.jit_wait = true;
  options.batch = 4096;
  const auto sum = [&](std::string_view device) {
    options.device = device;
    const Isolate isolate = need(Isolate::create(module, options));
    return need(need(isolate.function<double(std::int64_t)>("sum"))(n));
  };
  const double expected = sum("host");
  unsigned number = 0;  // a new device each time: a lost device stays lost
  for (const int lost : {0, 5, 100, 200, 300, 400, 450}) {
    for (const std::string_view with : {"", "sim,", "host,"})
      EXPECT_EQ(
          sum(std::string(with) + "sim?lost=" + std::to_string(lost) + "&units=" + std::to_string(++number)),
          expected)
          << with << lost;
  }
}

TEST_F(Devices, SerialBatchingChangesNothing) {
  for (const std::string_view function : device_functions(5)) {
    for (const Batching batching : {Batching::kSerial, Batching::kSerialPageable}) {
      compare({"sim", 5000, 300 << 10, batching}, function, 60'000);
    }
  }
}

TEST_F(Devices, WhatTheyDoIsCounted) {
  std::vector<DeviceOperation> operations;
  IsolateOptions options;
  options.jit_wait = true;
  options.device = "sim?h2d=1GB/s&copy=0us";
  options.batch = 10'000;
  options.device_observer = [&](const DeviceOperation& operation) {
    EXPECT_EQ(operation.device, options.device);
    operations.push_back(operation);
  };
  const Isolate isolate = need(Isolate::create(module_, options));
  EXPECT_TRUE(isolate.devices().empty());
  ASSERT_TRUE(run(isolate, "twins", 100'000).ok());
  const Statistics statistics = isolate.statistics();
  EXPECT_EQ(statistics.device_loops, 1u);
  EXPECT_EQ(statistics.device_chunks, 10u);
  EXPECT_EQ(statistics.device_launches, 10u);
  EXPECT_EQ(statistics.device_uploads, 10u);
  EXPECT_EQ(statistics.device_upload_bytes, 400'000u);
  EXPECT_EQ(statistics.device_upload_time, 400'000u) << "a byte takes a nanosecond";
  EXPECT_EQ(statistics.device_download_bytes, 400'000u);
  EXPECT_EQ(statistics.device_registrations, 1u);
  ASSERT_EQ(isolate.devices().size(), 1u);
  const DeviceUse device = isolate.devices()[0];
  EXPECT_TRUE(device.is_simulated);
  EXPECT_FALSE(device.shares_host_memory);
  EXPECT_EQ(device.copy_engines, 2u);
  std::uint64_t bytes = 0;
  for (const DeviceOperation& operation : operations) {
    if (operation.kind == DeviceOperation::Kind::kUpload) bytes += operation.bytes;
    EXPECT_LE(operation.begin, operation.end);
    EXPECT_LE(operation.end, device.clock);
  }
  EXPECT_EQ(bytes, 400'000u);
}

TEST_F(Devices, WhatNobodyLooksAtIsNotSentBack) {
  const Isolate device = isolate({"sim"});
  ASSERT_TRUE(run(device, "chain", 100'000).ok());
  // b and c are copied back in the first round only: in later ones, the host had not read them.
  EXPECT_EQ(device.statistics().device_download_bytes, (2u + 3u) * 400'000u);
}

TEST_F(Devices, WhatIsLookedAtEveryTimeIsSentBackInChunks) {
  const Module module = need(Module::compile(engine_, R"(
fn sums(n: i64, rounds: i64) -> f64 {
    let a = [f32](n);
    let b = [f32](n);
    for i in 0..n { a[i] = i as f32; }
    var total = 0.0;
    for round in 0..rounds {
        a[0] = round as f32;
        parallel for i in 0..n reduce(+: total) { b[i] = a[i] + 1.0; total += b[i] as f64; }
        total += b[0] as f64;
    }
    return total;
})"));
  IsolateOptions options;
  options.jit_wait = true;
  options.device = "sim";
  options.batch = 10'000;
  const Isolate isolate = need(Isolate::create(module, options));
  const auto sums = need(isolate.function<double(std::int64_t, std::int64_t)>("sums"));
  std::uint64_t before = 0;
  std::uint64_t first = 0;
  for (const std::int64_t rounds : {1, 2, 3}) {
    ASSERT_TRUE(sums(100'000, rounds).ok());
    const std::uint64_t downloads = isolate.statistics().device_downloads;
    // At least ten chunks: they end where blocks of the reduction do.
    if (rounds == 1) first = downloads;
    EXPECT_GE(first, 10u);
    EXPECT_EQ(downloads - before, static_cast<std::uint64_t>(rounds) * first);
    before = downloads;
  }
}

TEST_F(Devices, TrapsAreTheSame) {
  for (const std::string_view name : {"host", "sim"}) {
    for (const std::uint64_t batch : {0u, 100u, 7000u}) {
      const Isolate device = isolate({std::string(name), batch});
      for (const std::int64_t n : {50, 30'000}) {
        const auto expected = run(reference(), "trap", n);
        const auto found = run(device, "trap", n);
        ASSERT_FALSE(found.ok());
        EXPECT_EQ(found.error().to_string(), expected.error().to_string());
      }
    }
  }
}

TEST_F(Devices, ASmallLoopStaysOnTheHostWhichSaysWhy) {
  const Module module = need(Module::compile(engine_, R"(
fn saxpy(n: i64) -> f64 {
    let x = [f32](n);
    let y = [f32](n);
    for i in 0..n { x[i] = i as f32; }
    for round in 0..200 {
        parallel for i in 0..n { y[i] += 0.5 * x[i]; }
    }
    return y[n - 1] as f64;
})"));
  const Isolate isolate = need(Isolate::create(module, {.jit_wait = true, .device = "host,sim"}));
  const auto sum = need(isolate.function<double(std::int64_t)>("saxpy"))(1000);
  ASSERT_TRUE(sum.ok());
  EXPECT_EQ(*sum, 200 * 0.5 * 999);
  const std::string story = isolate.explain_loops();
  EXPECT_NE(story.find(": the host is expected to be quicker\n"), std::string::npos) << story;
  EXPECT_NE(story.find("expected: host: "), std::string::npos) << story;
  EXPECT_NE(story.find("; sim: "), std::string::npos) << story;
}

TEST_F(Devices, WhatIsHeldIsCountedUntilTheIsolateEnds) {
  {
    const Isolate device = isolate({"sim"});
    ASSERT_TRUE(run(device, "twins", 100'000).ok());
    EXPECT_GE(engine_.leftovers().device_bytes, 400'000u);
    EXPECT_GE(engine_.leftovers().registrations, 1u);
  }
  EXPECT_TRUE(engine_.leftovers().none());
}

TEST_F(Devices, AHundredThousandChunks) {
  const auto expected = run(reference(), "twins", 100'000);
  for (const std::string_view name : {"sim", "host"}) {
    const Isolate device = isolate({std::string(name) + (name == "host" ? "?inline" : ""), 1});
    const auto computed = run(device, "twins", 100'000);
    ASSERT_TRUE(computed.ok()) << computed.error().to_string();
    EXPECT_EQ(*computed, *expected) << name;
    EXPECT_EQ(device.statistics().device_chunks, 100'000u) << name;
  }
}

// Elements far behind 2^32 are reached, by slices: the memory of the rest is never touched.
TEST_F(Devices, AnArrayMayHaveTwoToThe33Elements) {
  const Module module = need(Module::compile(engine_, R"(
fn corners(rows: i64) -> i64 {
    let cols = (1 << 33) / rows;
    let a = [u8, 2](rows, cols);
    for r in 0..rows { a[r, cols - 1] = (r * 7) as u8; }
    parallel for r in 0..rows, c in cols - 50..cols { a[r, c] = a[r, c] + ((r + c) % 251) as u8; }
    parallel for r in 0..rows, c in cols - 50..cols { a[r, c] = a[r, c] * 3u8 + 1u8; }
    var sum = a.len;
    for r in 0..rows { for c in cols - 60..cols { sum = sum * 31 + a[r, c] as i64; } }
    return sum;
})"));
  const auto corners = [&](Jit jit, std::string device) {
    IsolateOptions options;
    options.jit = jit;
    options.jit_wait = true;
    options.device = std::move(device);
    options.limits.off_heap_bytes = std::uint64_t{16} << 30;
    options.limits.device_bytes = std::uint64_t{1} << 30;
    const Isolate isolate = need(Isolate::create(module, options));
    const auto sum = need(isolate.function<std::int64_t(std::int64_t)>("corners"))(16);
    EXPECT_TRUE(sum.ok()) << sum.error().to_string();
    if (options.device == "sim") {
      EXPECT_EQ(isolate.statistics().device_loops, 2u) << isolate.explain_loops();
      EXPECT_LT(isolate.statistics().device_upload_bytes, 1'000'000u);
    }
    return sum.ok() ? *sum : 0;
  };
  const std::int64_t expected = corners(Jit::kOff, "host");
  EXPECT_EQ(corners(Jit::kOn, "sim"), expected);
  EXPECT_EQ(corners(Jit::kOn, "host"), expected);
}

TEST_F(Devices, ALoopMayHaveTwoToThe33Iterations) {
  const Module module = need(Module::compile(engine_, R"(
fn odd(n: i64) -> i64 {
    var count = 0;
    parallel for i in 0..n reduce(+: count) { count += i & 1; }
    return count;
})"));
  IsolateOptions options;
  options.jit_wait = true;
  options.device = "sim";
  const Isolate isolate = need(Isolate::create(module, options));
  constexpr std::int64_t kIterations = std::int64_t{1} << 33;
  const auto count = need(isolate.function<std::int64_t(std::int64_t)>("odd"))(kIterations);
  ASSERT_TRUE(count.ok()) << count.error().to_string();
  EXPECT_EQ(*count, kIterations / 2);
  EXPECT_EQ(isolate.statistics().device_loops, 1u);
}

TEST_F(Devices, AtomicUpdatesAreNotShared) {
  for (const std::string_view devices : {"host,sim", "sim,sim?launch=1us"}) {
    const Isolate device = isolate({std::string(devices), 5000});
    for (int round = 0; round < 3; ++round) {
      const auto expected = run(reference(), "histogram", 300'000);
      const auto computed = run(device, "histogram", 300'000);
      ASSERT_TRUE(computed.ok()) << computed.error().to_string();
      EXPECT_EQ(*computed, *expected);
    }
    const std::string story = device.explain_loops();
    EXPECT_NE(story.find("only as a whole: its chunks may write the same elements"), std::string::npos)
        << story;
    EXPECT_EQ(story.find(" and sim"), std::string::npos) << story;
  }
}

// Two threads would use it at once if a loop were split between its names.
TEST_F(Devices, OneThatIsNamedTwiceIsUsedOnce) {
  const Module module = need(Module::compile(engine_, R"(
fn f(n: i64) -> i64 {
    let x = [i64](n);
    for round in 0..8 {
        parallel for i in 0..n {
            var v = x[i] + i;
            for k in 0..200 { v = (v * 31 + k) % 1000003; }
            x[i] = v;
        }
    }
    var h = 7;
    for i in 0..n { h = (h * 31 + x[i]) % 1000000007; }
    return h;
})"));
  constexpr std::int64_t kElements = 20'000;
  const Isolate interpreter = need(Isolate::create(module, {.jit = Jit::kOff}));
  const std::int64_t expected = need(run(interpreter, "f", kElements));
  for (const std::string_view devices : {"host,host", "cpu,host", "sim,host,sim,cpu"}) {
    IsolateOptions options = {.jit_wait = true, .device = std::string(devices), .batch = 100};
    const Isolate isolate = need(Isolate::create(module, options));
    const auto computed = run(isolate, "f", kElements);
    ASSERT_TRUE(computed.ok()) << devices << ": " << computed.error().to_string();
    EXPECT_EQ(*computed, expected) << devices;
    EXPECT_EQ(isolate.explain_loops().find("host and host"), std::string::npos) << isolate.explain_loops();
  }
}

TEST_F(Devices, AnUnknownOneIsRefusedAtOnce) {
  const auto isolate = Isolate::create(module_, {.device = "simm"});
  ASSERT_FALSE(isolate.ok());
  EXPECT_EQ(isolate.error().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace dhpvm
