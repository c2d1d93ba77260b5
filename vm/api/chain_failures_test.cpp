// SPDX-License-Identifier: Apache-2.0
// Chains of loops that are cut short: by a lost device, by lack of
// its memory, by a trap, a deadline, or an access to their arrays.
// Everything that can still be computed is, and no memory is leaked.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "vm/api/test_program.h"

namespace dhpvm {
namespace {

constexpr std::string_view kProgram = R"(
class Work { a: [i32]; b: [i32]; c: [i32]; where: [i32]; }
fn prepare(n: i64) -> Work {
    let work = Work([i32](n), [i32](n), [i32](n), [i32](n));
    for i in 0..n { work.a[i] = (i * 7919 % 1000) as i32; work.where[i] = (n - 1 - i) as i32; }
    return work;
}
// Three loops. The middle one takes as long as is wanted, changes what it reads, and needs the results of the
// first.
fn start(work: Work, turns: i64) {
    let a = work.a;
    let b = work.b;
    let c = work.c;
    parallel for i in 0..a.len { b[i] = a[i] * 3 + 1; }
    parallel for i in 0..a.len {
        var x = b[i];
        for k in 0..turns { x = x * 31 + (x >> 7); }
        a[i] = a[i] + x;
    }
    parallel for i in 0..a.len { c[i] = c[i] ^ (a[i] - b[i]); }
}
fn a(work: Work) -> [i32] { return work.a; }
fn b(work: Work) -> [i32] { return work.b; }
fn c(work: Work) -> [i32] { return work.c; }
fn where(work: Work) -> [i32] { return work.where; }
fn look(work: Work) -> i32 { return work.c[5]; }
fn hash(work: Work) -> i64 {
    var h = 1;
    for i in 0..work.a.len { h = h * 31 + (work.a[i] + 5 * work.b[i] + 11 * work.c[i]) as i64; }
    return h;
}
fn run(n: i64) -> i64 {
    let work = prepare(n);
    for round in 0..2 { start(work, 3); }
    let first = hash(work);
    start(work, 3);
    work.b.close();
    var h = first;
    for i in 0..n { h = h * 31 + (work.a[i] + 11 * work.c[i]) as i64; }
    return h;
}
// The third loop finds something that is not there.
fn trap(work: Work, bad: i64) {
    let a = work.a;
    let b = work.b;
    let where = work.where;
    where[bad] = -5;
    parallel for i in 0..a.len { b[i] = a[i] * 3 + 1; }
    parallel for i in 0..a.len { a[i] = a[i] - b[i]; }
    parallel for i in 0..a.len { b[i] = a[where[i] as i64]; }
}
fn hash_of_a(work: Work) -> i64 {
    var h = 1;
    for i in 0..work.a.len { h = h * 31 + (work.a[i] as i64); }
    return h;
}
// Keeps some of the device's memory.
fn occupy(n: i64) -> i64 {
    let a = [i32](n);
    parallel for i in 0..n { a[i] = (i * 3) as i32; }
    parallel for i in 0..n { a[i] = a[i] + 1; }
    return a[n - 1] as i64;
}
)";

constexpr std::int64_t kLength = 20'000;
constexpr std::size_t kArrayBytes = kLength * sizeof(std::int32_t);

class ChainFailures : public ::testing::Test {
 protected:
  ChainFailures()
      : engine_({.threads = 2, .code_cache_directory = ::testing::TempDir() + "dhpvm-devices-test"}),
        module_(need(Module::compile(engine_, kProgram))),
        interpreter_(std::make_unique<Isolate>(need(Isolate::create(module_, {.jit = Jit::kOff})))) {}

  void TearDown() override {
    interpreter_.reset();
    EXPECT_TRUE(engine_.leftovers().none());
  }

  // With room for about one of the three arrays.
  Isolate isolate(std::string device, std::uint64_t batch = 2500,
                  std::size_t device_bytes = kArrayBytes) const {
    IsolateOptions options;
    options.jit_wait = true;
    options.device = std::move(device);
    options.batch = batch;
    options.limits.device_bytes = device_bytes;
    return need(Isolate::create(module_, options));
  }
  template <typename R, typename... A>
  static Result<R> call(const Isolate& isolate, std::string_view function, const A&... arguments) {
    return need(isolate.function<R(A...)>(function))(arguments...);
  }
  static Result<std::int64_t> run(const Isolate& isolate) {
    return call<std::int64_t>(isolate, "run", kLength);
  }
  static Object prepare(const Isolate& isolate, std::int64_t length = kLength) {
    return need(call<Object>(isolate, "prepare", length));
  }

  const Engine engine_;
  const Module module_;
  std::unique_ptr<Isolate> interpreter_;
};

TEST_F(ChainFailures, ADeviceMayBeLostAfterAnyOperation) {
  const std::int64_t expected = need(run(*interpreter_));
  std::uint64_t chained = 0;
  bool is_lost = true;
  for (std::uint64_t operations = 0; is_lost; ++operations) {
    const std::string device = "sim?lost=" + std::to_string(operations);
    const Isolate lost = isolate(device);
    const auto computed = run(lost);
    ASSERT_TRUE(computed.ok()) << device << ": " << computed.error().to_string();
    ASSERT_EQ(*computed, expected) << device << "\n" << lost.explain_loops();
    chained += lost.statistics().device_chained;
    is_lost = lost.explain_loops().find("is lost after") != std::string::npos;
  }
  EXPECT_GT(chained, 1000u);
}

// A device that fails unexpectedly may have held the only copy: then the next access to the array reports it.
TEST_F(ChainFailures, AnyLaunchOrAllocationMayFail) {
  const std::int64_t expected = need(run(*interpreter_));
  for (const std::string_view what : {"sim?fail_launch=", "sim?alloc_fail="}) {
    bool has_failed = true;
    for (std::uint64_t number = 1; has_failed; ++number) {
      const std::string device = std::string(what) + std::to_string(number);
      const Isolate failing = isolate(device);
      const auto computed = run(failing);
      has_failed = !computed.ok() || failing.explain_loops().find(", as '") != std::string::npos;
      if (computed.ok()) {
        ASSERT_EQ(*computed, expected) << device << "\n" << failing.explain_loops();
      } else {
        ASSERT_EQ(computed.error().code(), ErrorCode::kDeviceFailed) << computed.error().to_string();
      }
    }
  }
}

// Programs share a device, and each assumes more free memory than there is.
TEST_F(ChainFailures, ItsMemoryMayBeTakenByOthers) {
  const std::int64_t expected = need(run(*interpreter_));
  for (std::uint64_t taken = 20; taken <= 100; taken += 4) {
    const Isolate other = isolate("sim?mem=100KB", 0, 100'000);
    const auto length = static_cast<std::int64_t>(taken) * 1000 / 4;
    EXPECT_EQ(need(call<std::int64_t>(other, "occupy", length)), (length - 1) * 3 + 1);
    const Isolate device = isolate("sim?mem=100KB", taken % 8 == 0 ? 0 : 2500);
    const auto computed = run(device);
    ASSERT_TRUE(computed.ok()) << taken << ": " << computed.error().to_string();
    EXPECT_EQ(*computed, expected) << taken << "\n" << device.explain_loops();
  }
}

TEST_F(ChainFailures, ATrapBehindLoopsThatWereLeftForLater) {
  for (const std::string_view device : {"sim", "sim?lost=30"}) {
    for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{7777}, kLength - 1}) {
      const Isolate isolate = this->isolate(std::string(device));
      const Object expected_work = prepare(*interpreter_);
      const Object work = prepare(isolate);
      const auto expected = call<void>(*interpreter_, "trap", expected_work, bad);
      const auto trapped = call<void>(isolate, "trap", work, bad);
      ASSERT_FALSE(expected.ok());
      ASSERT_FALSE(trapped.ok());
      EXPECT_EQ(trapped.error().to_string(), expected.error().to_string());
      EXPECT_EQ(need(call<std::int64_t>(isolate, "hash_of_a", work)),
                need(call<std::int64_t>(*interpreter_, "hash_of_a", expected_work)));
    }
  }
}

// An access to an array comes after all pending loops that use it.
TEST_F(ChainFailures, TheHostMayTouchAnyArrayBefore) {
  using Elements = std::span<std::int32_t>;
  using ConstElements = std::span<const std::int32_t>;
  for (const bool writes : {false, true}) {
    for (const std::string_view name : {"a", "b", "c", "where"}) {
      std::vector<std::int64_t> results;
      const Isolate device = isolate("sim");
      for (const Isolate* const one : {static_cast<const Isolate*>(interpreter_.get()), &device}) {
        const Object work = prepare(*one);
        ASSERT_TRUE(call<void>(*one, "start", work, std::int64_t{2}).ok());
        const Object array = need(call<Object>(*one, name, work));
        if (writes) {
          const Elements elements = need(array.elements<std::int32_t>());
          for (std::int32_t& element : elements) element ^= 0x5a5a;
        } else {
          const ConstElements elements = need(array.elements<const std::int32_t>());
          std::uint64_t hash = 0;
          for (const std::int32_t element : elements) hash = hash * 31 + static_cast<std::uint32_t>(element);
          results.push_back(static_cast<std::int64_t>(hash));
        }
        ASSERT_TRUE(call<void>(*one, "start", work, std::int64_t{2}).ok());
        results.push_back(need(call<std::int64_t>(*one, "hash", work)));
      }
      const std::size_t half = results.size() / 2;
      EXPECT_TRUE(std::equal(results.begin(), results.begin() + half, results.begin() + half))
          << name << (writes ? " is written" : " is read");
      EXPECT_GE(device.statistics().device_chained, 3u);
    }
  }
}

// The host's next step after a deadline has passed while chunks were in flight.
enum class Then { kLook, kStartAgain, kWrite, kLeave };

class ChainDeadlines : public ChainFailures {
 protected:
  // The interpreter would take too long for so many that all chunks together take a hundred times the deadline.
  ChainDeadlines() : host_(isolate("host")) {}
  void TearDown() override {
    host_.reset();
    ChainFailures::TearDown();
  }

  static constexpr std::int64_t kTurns = 60'000;
  std::optional<Isolate> host_;
};

TEST_F(ChainDeadlines, ADeadlineInTheMiddleLosesNothing) {
  for (const Then then : {Then::kLook, Then::kStartAgain, Then::kWrite, Then::kLeave}) {
    std::optional<Isolate> device = isolate("sim");
    const auto go_on = [&](const Isolate& one, const Object& work) {
      if (then == Then::kLook) need(call<std::int32_t>(one, "look", work));
      if (then == Then::kStartAgain) EXPECT_TRUE(call<void>(one, "start", work, std::int64_t{1}).ok());
      if (then == Then::kWrite)
        need(need(call<Object>(one, "b", work)).elements<std::int32_t>())[kLength - 1] = 77;
      return need(call<std::int64_t>(one, "hash", work));
    };
    {
      const Object work = prepare(*device);
      ASSERT_TRUE(call<void>(*device, "start", work, kTurns).ok());
      device->set_deadline(std::chrono::milliseconds(1));
      const auto late = call<std::int32_t>(*device, "look", work);
      device->set_deadline(Limits::kNoDeadline);
      ASSERT_FALSE(late.ok());
      EXPECT_EQ(late.error().code(), ErrorCode::kDeadline) << late.error().to_string();
      if (then == Then::kLeave) {
        device.reset();
        continue;
      }
      const Object expected = prepare(*host_);
      ASSERT_TRUE(call<void>(*host_, "start", expected, kTurns).ok());
      EXPECT_EQ(go_on(*device, work), go_on(*host_, expected));
      EXPECT_GE(device->statistics().device_chained, 3u);
    }
  }
}

// A little more each time, to the end.
TEST_F(ChainDeadlines, ManyDeadlinesLoseNothing) {
  Isolate device = isolate("sim");
  const Object work = prepare(device);
  ASSERT_TRUE(call<void>(device, "start", work, kTurns).ok());
  int times = 0;
  for (;; ++times) {
    // Longer each time: where everything is slow, a millisecond may not be enough to get anywhere.
    device.set_deadline(std::chrono::milliseconds(1 + times / 4));
    const auto looked = call<std::int32_t>(device, "look", work);
    if (looked.ok()) break;
    ASSERT_EQ(looked.error().code(), ErrorCode::kDeadline) << looked.error().to_string();
  }
  EXPECT_GT(times, 0);
  device.set_deadline(Limits::kNoDeadline);
  const Object expected = prepare(*host_);
  ASSERT_TRUE(call<void>(*host_, "start", expected, kTurns).ok());
  EXPECT_EQ(need(call<std::int64_t>(device, "hash", work)),
            need(call<std::int64_t>(*host_, "hash", expected)));
}

// The device is lost, and the deadline passes before the host has redone its work. If that was stopped in the middle,
// the results are lost, and each access to them reports why.
TEST_F(ChainDeadlines, ALossAndADeadline) {
  const Object expected = prepare(*host_);
  ASSERT_TRUE(call<void>(*host_, "start", expected, 3 * kTurns).ok());
  const std::int64_t hash = need(call<std::int64_t>(*host_, "hash", expected));
  for (const std::uint64_t operations : {1u, 5u, 20u, 35u}) {
    Isolate device = isolate("sim?lost=" + std::to_string(operations));
    const Object work = prepare(device);
    ASSERT_TRUE(call<void>(device, "start", work, 3 * kTurns).ok());
    device.set_deadline(std::chrono::milliseconds(1));
    const auto late = call<std::int32_t>(device, "look", work);
    ASSERT_FALSE(late.ok());
    EXPECT_EQ(late.error().code(), ErrorCode::kDeadline) << late.error().to_string();
    device.set_deadline(Limits::kNoDeadline);
    for (int time = 0; time < 2; ++time) {
      const auto computed = call<std::int64_t>(device, "hash", work);
      if (computed.ok()) {
        EXPECT_EQ(*computed, hash) << operations;
      } else {
        EXPECT_EQ(computed.error().code(), ErrorCode::kDeviceLost) << computed.error().to_string();
      }
    }
  }
}

}  // namespace
}  // namespace dhpvm
