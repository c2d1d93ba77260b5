// SPDX-License-Identifier: Apache-2.0
// Loops on workers that come and go while a program runs: results equal the interpreter's.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <future>
#include <map>
#include <optional>
#include <thread>

#include <nlohmann/json.hpp>

#include "vm/api/test_program.h"

namespace dhpvm {
namespace {

using namespace std::chrono_literals;

// Only a hang takes that long.
constexpr auto kPatience = 60s;

constexpr std::string_view kProgram = R"(
// Long enough on any machine that sharing it pays, with elements that are read and written.
fn shared(n: i64, rounds: i64) -> i64 {
    let x = [i64](n);
    for i in 0..n { x[i] = i; }
    for round in 0..rounds {
        parallel for i in 0..n {
            var v = x[i];
            for k in 0..2000 { v = (v * 31 + k) % 1000003; }
            x[i] = v;
        }
    }
    var h = 7;
    for i in 0..n { h = (h * 31 + x[i]) % 1000000007; }
    return h;
}
fn small(n: i64) -> i64 {
    let x = [i64](n);
    parallel for i in 0..n { x[i] = i * 3; }
    var h = 7;
    for i in 0..n { h = (h * 31 + x[i]) % 1000000007; }
    return h;
}
)";

class Workers : public ::testing::Test {
 protected:
  static std::string cache() { return ::testing::TempDir() + "dhpvm-workers-test"; }
  static Engine plain_engine() { return Engine({.threads = 2, .code_cache_directory = cache()}); }

  static Worker start(const std::string& listen) {
    WorkerOptions options;
    options.devices = {"host"};
    options.listen = {listen};
    return need(Worker::start(plain_engine(), options));
  }
  static Worker start() { return start("127.0.0.1:0"); }
  // An address where nothing listens any more.
  static std::string free_address() { return start().addresses()[0]; }

  static Engine client(std::vector<std::string> workers) {
    EngineOptions options{.threads = 2, .code_cache_directory = cache()};
    options.remote.workers = std::move(workers);
    return Engine(std::move(options));
  }
  static Isolate isolate(const Engine& engine, Policy policy = Policy::kRemote,
                         std::string device = "host,remote") {
    IsolateOptions options;
    options.jit_wait = true;
    options.device = std::move(device);
    options.policy = policy;
    options.policy_factor = 1e9;
    return need(Isolate::create(need(Module::compile(engine, kProgram)), options));
  }
  static std::int64_t small(const Isolate& isolate) {
    return need(need(isolate.function<std::int64_t(std::int64_t)>("small"))(50'000));
  }
  static std::int64_t shared(const Isolate& isolate, std::int64_t rounds) {
    return need(need(isolate.function<std::int64_t(std::int64_t, std::int64_t)>("shared"))(40'000, rounds));
  }
  template <typename Predicate>
  static bool eventually(Predicate&& predicate) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!predicate()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(20ms);
    }
    return true;
  }
  // Runs small loops until `predicate` holds after one; every result must be right.
  template <typename Predicate>
  bool loops_until(const Isolate& isolate, Predicate&& predicate) const {
    return eventually([&] {
      EXPECT_EQ(small(isolate), expected_small_);
      return predicate();
    });
  }
  static bool uses(const Isolate& isolate, const std::string& worker) {
    for (const DeviceUse& device : isolate.devices()) {
      if (device.name == "remote/" + worker + "/host") return true;
    }
    return false;
  }

  const Engine engine_ = plain_engine();
  const std::int64_t expected_small_ = small(isolate(engine_, Policy::kFastest, "host"));
};

TEST_F(Workers, ShareALoopWithTheHost) {
  const std::int64_t expected = shared(isolate(engine_, Policy::kFastest, "host"), 4);
  const Worker one = start();
  const Worker two = start();
  const Engine engine = client({one.addresses()[0], two.addresses()[0]});
  const Isolate all = isolate(engine, Policy::kFastest);
  const std::string all_three =
      "ran on host and remote/" + one.addresses()[0] + "/host and remote/" + two.addresses()[0] + "/host";
  std::string story;
  // One that is slow for a moment, on a busy machine, is left out for as long.
  for (int round = 0; round < 20 && story.find(all_three) == std::string::npos; ++round) {
    EXPECT_EQ(shared(all, 4), expected);
    story = all.explain_loops();
  }
  EXPECT_NE(story.find(all_three), std::string::npos) << story;
  EXPECT_NE(story.find("the last decision of policy fastest: sharing it is expected to be quicker"),
            std::string::npos)
      << story;
}

TEST_F(Workers, OneThatIsNamedTwiceIsUsedOnce) {
  const std::int64_t expected = shared(isolate(engine_, Policy::kFastest, "host"), 4);
  const Worker worker = start();
  const std::string address = "remote/" + worker.addresses()[0];
  for (const std::string& first : {address + "/host", address, std::string("remote")}) {
    const Engine engine = client(worker.addresses());
    const Isolate isolate = this->isolate(engine, Policy::kFastest, first + "," + address + "/host");
    EXPECT_EQ(shared(isolate, 4), expected) << first;
    const std::string story = isolate.explain_loops();
    EXPECT_NE(story.find("ran on " + address + "/host: 4 executions"), std::string::npos) << story;
  }
}

TEST_F(Workers, WhatALostOneLeavesIsDoneByTheOthers) {
  const std::int64_t expected = shared(isolate(engine_, Policy::kFastest, "host"), 12);
  const Worker one = start();
  std::optional<Worker> two = start();
  const Engine engine = client({one.addresses()[0], two->addresses()[0]});
  const Isolate all = isolate(engine, Policy::kFastest);
  auto computed = std::async(std::launch::async, [&] { return shared(all, 12); });
  std::this_thread::sleep_for(100ms);  // wherever it is by then
  two.reset();
  EXPECT_EQ(computed.get(), expected) << all.explain_loops();
}

TEST_F(Workers, AreUsedWhenTheyComeUp) {
  const std::string address = free_address();
  const Engine engine = client({address});
  const Isolate isolate = this->isolate(engine);
  EXPECT_EQ(small(isolate), expected_small_);
  EXPECT_FALSE(uses(isolate, address));
  EXPECT_NE(isolate.explain_loops().find("missing at the last execution: the worker " + address),
            std::string::npos)
      << isolate.explain_loops();
  const Worker worker = start(address);
  EXPECT_TRUE(loops_until(isolate, [&] { return uses(isolate, address); }));
}

TEST_F(Workers, AreUsedAgainWhenTheyComeBack) {
  std::optional<Worker> worker = start();
  const std::string address = worker->addresses()[0];
  const Engine engine = client({address});
  const Isolate isolate = this->isolate(engine);
  for (int times = 0; times < 2; ++times) {
    EXPECT_TRUE(loops_until(isolate, [&] { return uses(isolate, address); }));
    worker.reset();
    EXPECT_TRUE(loops_until(isolate, [&] { return !uses(isolate, address); }));
    worker = start(address);
  }
  EXPECT_TRUE(loops_until(isolate, [&] { return uses(isolate, address); }));
  // Two of the three devices used so far are lost; the totals still count their launches.
  EXPECT_GT(2 * isolate.statistics().device_launches, isolate.statistics().device_chunks);
}

TEST_F(Workers, AreLeftWhenTheyWantToEnd) {
  Worker leaving = start();
  const Worker staying = start();
  const Engine engine = client({leaving.addresses()[0], staying.addresses()[0]});
  const Isolate isolate = this->isolate(engine);
  EXPECT_TRUE(loops_until(isolate, [&] { return uses(isolate, leaving.addresses()[0]); }));
  auto drained = std::async(std::launch::async, [&] { return leaving.drain(kPatience); });
  EXPECT_TRUE(loops_until(isolate, [&] { return drained.wait_for(0s) == std::future_status::ready; }));
  EXPECT_TRUE(drained.get());
  EXPECT_FALSE(uses(isolate, leaving.addresses()[0]));
  EXPECT_TRUE(uses(isolate, staying.addresses()[0]));
}

TEST_F(Workers, MayDialInWhileAProgramRuns) {
  EngineOptions options{.threads = 2, .code_cache_directory = cache()};
  options.remote.listen = free_address();
  options.remote.arrival = 10ms;
  const Engine engine(options);
  const Isolate isolate = this->isolate(engine);
  EXPECT_EQ(small(isolate), expected_small_);
  EXPECT_TRUE(isolate.devices().empty());
  WorkerOptions dialling;
  dialling.devices = {"host"};
  dialling.clients = {options.remote.listen};
  {
    const Worker worker = need(Worker::start(plain_engine(), dialling));
    EXPECT_TRUE(loops_until(isolate, [&] { return isolate.devices().size() == 1; }));
  }
  EXPECT_TRUE(loops_until(isolate, [&] { return isolate.devices().empty(); }));
  const Worker again = need(Worker::start(plain_engine(), dialling));
  EXPECT_TRUE(loops_until(isolate, [&] { return isolate.devices().size() == 1; }));
}

TEST_F(Workers, AreCountedForGood) {
  std::optional<Worker> worker = start();
  const std::string address = worker->addresses()[0];
  const Engine engine = client({address});
  EXPECT_TRUE(engine.workers().empty()) << "nobody has asked for it";
  const Isolate isolate = this->isolate(engine);
  // A loop counts as the device's when it is queued, and as the worker's when its answer has come.
  EXPECT_TRUE(loops_until(isolate, [&] {
    return uses(isolate, address) && engine.workers().at(0).bytes_received >= 50'000u * 8;
  }));
  const WorkerUse before = engine.workers().at(0);
  EXPECT_EQ(before.name, "remote/" + address);
  EXPECT_EQ(before.state, "ready");
  EXPECT_EQ(before.seal, "no key");
  EXPECT_NE(before.host, "");
  EXPECT_GE(before.jobs, 1u);
  EXPECT_LE(before.bytes_sent, 128u << 10) << "probes of the link alone";
  EXPECT_GT(before.round_trip.count(), 0);
  worker.reset();
  EXPECT_TRUE(eventually([&] {
    return engine.workers().at(0).state.find("shutting down") != std::string::npos ||
           engine.workers().at(0).state.find("refused") != std::string::npos;
  })) << engine.workers().at(0).state;
  EXPECT_TRUE(eventually([&] { return engine.workers().at(0).jobs == before.jobs; }));
  worker = start(address);
  EXPECT_TRUE(loops_until(isolate, [&] { return engine.workers().at(0).jobs > before.jobs; }));
  EXPECT_EQ(engine.workers().size(), 1u);
}

// A trace shows what happened at the worker as it would show a local device: rows of its own, in the client's
// time, with arrows from the loops.
TEST_F(Workers, AreSeenInTheTrace) {
  const Worker worker = start();
  const std::string device = "remote/" + worker.addresses()[0] + "/host";
  EngineOptions options{.threads = 2, .code_cache_directory = cache()};
  options.remote.workers = worker.addresses();
  options.trace = true;
  const Engine engine(options);
  {
    const Isolate isolate = this->isolate(engine, Policy::kRemote, "remote");
    EXPECT_EQ(shared(isolate, 3), shared(this->isolate(engine_, Policy::kFastest, "host"), 3));
  }
  const std::string path = ::testing::TempDir() + "dhpvm-workers-trace.json";
  ASSERT_TRUE(engine.write_trace(path).ok());
  std::ifstream file(path);
  const auto events = nlohmann::json::parse(file)["traceEvents"];
  std::map<std::string, int> tracks;
  for (const auto& event : events) {
    if (event["ph"] == "M") tracks[event["args"]["name"]] = event["tid"];
  }
  struct Slice {
    double begin, end;
  };
  std::map<int, std::vector<Slice>> slices;
  for (const auto& event : events) {
    if (event["ph"] != "X") continue;
    const double begin = event["ts"];
    slices[event["tid"]].push_back({begin, begin + event["dur"].get<double>()});
  }
  for (const char* const row : {" upload", " compute", " download", " compiler"}) {
    ASSERT_TRUE(tracks.contains(device + row)) << row;
    EXPECT_FALSE(slices[tracks[device + row]].empty()) << row;
  }
  const int loops = tracks["loops on devices"];
  ASSERT_EQ(slices[loops].size(), 3u);
  // Chunks are computed while their loop runs, by the client's clock: loops on workers end before the program goes on.
  // Both clocks are the same one here, so that they are off by the estimate alone.
  constexpr double kOff = 20'000;  // us: only a gross mistake is that large
  for (const Slice& slice : slices[tracks[device + " compute"]]) {
    EXPECT_TRUE(std::ranges::any_of(slices[loops], [&](const Slice& loop) {
      return loop.begin - kOff <= slice.begin && slice.end <= loop.end + kOff;
    }));
  }
  const Slice compilation = slices[tracks[device + " compiler"]][0];
  EXPECT_LE(compilation.end, slices[loops][0].begin + kOff);
  std::map<int, std::string> flows;
  for (const auto& event : events) {
    const std::string phase = event["ph"];
    if (phase != "s" && phase != "t") continue;
    flows[event["id"]] += phase;
    const double at = event["ts"];
    EXPECT_TRUE(std::ranges::any_of(slices[event["tid"]], [&](const Slice& slice) {
      return slice.begin <= at + 0.002 && at <= slice.end + 0.002;  // written with three digits
    })) << event;
  }
  EXPECT_GE(flows.size(), 3u);
  for (const auto& [id, phases] : flows) {
    EXPECT_EQ(std::ranges::count(phases, 's'), 1) << phases;
    EXPECT_GE(std::ranges::count(phases, 't'), 2) << phases;
  }
}

TEST_F(Workers, ThatAreNotThereAreNoReasonToFailUnlessNothingElseIs) {
  const Engine engine = client({free_address()});
  const Module module = need(Module::compile(engine, kProgram));
  EXPECT_TRUE(Isolate::create(module, {.device = "host,remote"}).ok());
  const auto alone = Isolate::create(module, {.device = "remote"});
  ASSERT_FALSE(alone.ok());
  EXPECT_EQ(alone.error().code(), ErrorCode::kDeviceLost);
  const auto mistake = Isolate::create(module, {.device = "host,remote/nonsense:x"});
  ASSERT_FALSE(mistake.ok());
  EXPECT_EQ(mistake.error().code(), ErrorCode::kInvalidArgument);
}

TEST_F(Workers, APolicyNeedsAFactor) {
  const auto isolate = Isolate::create(need(Module::compile(engine_, kProgram)),
                                       {.policy = Policy::kRemote, .policy_factor = 0});
  ASSERT_FALSE(isolate.ok());
  EXPECT_EQ(isolate.error().code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace dhpvm
