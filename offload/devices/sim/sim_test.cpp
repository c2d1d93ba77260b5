// SPDX-License-Identifier: Apache-2.0
// The clock of the simulation: exact times for patterns of overlap. A byte and an iteration take 1 ns each, a
// copy 100 ns more, a launch 200 ns more.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "base/error.h"
#include "offload/devices/sim/sim_device.h"

namespace dhpvm::offload {
namespace {

using Times = std::vector<std::pair<std::int64_t, std::int64_t>>;

codegen::KernelStatus do_nothing(const codegen::KernelCall*, codegen::KernelChunk*) {
  return codegen::KernelStatus::kDone;
}

class Sim : public testing::Test {
 protected:
  static constexpr std::string_view kRates =
      "sim?h2d=1GB/s&d2h=1GB/s&d2d=1GB/s&copy=100ns&launch=200ns&rate=1e9/s";
  struct Stream {
    std::unique_ptr<Queue> queue;
    Times times;  // of its operations
  };

  explicit Sim(std::string_view more = "") {
    auto opened = sim_factory(std::make_shared<ThreadPool>(1))->open(std::string(kRates) + std::string(more));
    EXPECT_TRUE(opened.ok()) << opened.error().to_string();
    device = std::move(opened).value();
    KernelImage image;
    image.host_code = do_nothing;
    kernel = *device->load(image);
    host = {*device->import_host(bytes, HostMemory::kPinned), 0, bytes.size()};
    memory = {*device->allocate(bytes.size()), 0, bytes.size()};
  }

  std::unique_ptr<Stream> stream() {
    auto made = std::make_unique<Stream>();
    made->queue = *device->create_queue({"stream", [times = &made->times](const OperationRecord& record) {
                                           times->emplace_back(record.begin.count(), record.end.count());
                                         }});
    return made;
  }
  std::shared_ptr<Semaphore> semaphore() { return *device->create_semaphore(0); }

  using Values = std::vector<SemaphoreValue>;
  Status upload(Stream& on, std::size_t size, const Values& waits = {}, const Values& signals = {}) {
    return on.queue->copy({memory.memory, 0, size}, {host.memory, 0, size}, {waits, signals});
  }
  Status download(Stream& on, std::size_t size, const Values& waits = {}, const Values& signals = {}) {
    return on.queue->copy({host.memory, 0, size}, {memory.memory, 0, size}, {waits, signals});
  }
  Status launch(Stream& on, std::int64_t iterations, const Values& waits = {}, const Values& signals = {}) {
    return on.queue->launch({kernel, {1, {0}, {iterations}}, {}, {}, {}, {}}, {waits, signals});
  }
  std::int64_t now() const { return device->now().count(); }
  bool wait(Semaphore& on, std::uint64_t value) { return on.wait(value).value_or(false); }

  // Chunks of 1000 bytes and 900 iterations, each stage of which takes 1100 ns; submitted chunk by chunk.
  void submit_chunks(Stream& up, Stream& run, Stream& down, std::uint64_t chunks, std::uint64_t slots) {
    const auto uploaded = semaphore();
    const auto ran = semaphore();
    done = semaphore();
    for (std::uint64_t n = 1; n <= chunks; ++n) {
      const std::uint64_t is_free = n > slots ? n - slots : 0;
      ASSERT_TRUE(upload(up, 1000, {{done, is_free}}, {{uploaded, n}}).ok());
      ASSERT_TRUE(launch(run, 900, {{uploaded, n}}, {{ran, n}}).ok());
      ASSERT_TRUE(download(down, 1000, {{ran, n}}, {{done, n}}).ok());
    }
  }

  std::vector<std::byte> bytes = std::vector<std::byte>(10'000);
  std::unique_ptr<Device> device;
  std::shared_ptr<Kernel> kernel;
  MemorySpan host;
  MemorySpan memory;
  std::shared_ptr<Semaphore> done;
};

TEST_F(Sim, OneQueueDoesOneThingAfterTheOther) {
  const auto one = stream();
  done = semaphore();
  ASSERT_TRUE(upload(*one, 1000).ok());
  ASSERT_TRUE(launch(*one, 500).ok());
  ASSERT_TRUE(one->queue->fill({memory.memory, 0, 50}, {}, {}).ok());
  ASSERT_TRUE(one->queue->host_call([] {}, {}).ok());
  ASSERT_TRUE(download(*one, 0, {}, {{done, 1}}).ok());
  EXPECT_EQ(one->times, (Times{{0, 1100}, {1100, 1800}, {1800, 1950}, {1950, 1950}, {1950, 2050}}));
  EXPECT_EQ(now(), 0) << "the host has only submitted";
  EXPECT_TRUE(wait(*done, 1));
  EXPECT_EQ(now(), 2050);
}

TEST_F(Sim, ThreeQueuesOverlap) {
  const auto up = stream();
  const auto run = stream();
  const auto down = stream();
  submit_chunks(*up, *run, *down, 4, 3);
  EXPECT_EQ(up->times, (Times{{0, 1100}, {1100, 2200}, {2200, 3300}, {3300, 4400}}));
  EXPECT_EQ(run->times, (Times{{1100, 2200}, {2200, 3300}, {3300, 4400}, {4400, 5500}}));
  EXPECT_EQ(down->times, (Times{{2200, 3300}, {3300, 4400}, {4400, 5500}, {5500, 6600}}));
  EXPECT_TRUE(wait(*done, 2));
  EXPECT_EQ(now(), 4400);
  EXPECT_TRUE(wait(*done, 1));
  EXPECT_EQ(now(), 4400) << "the host's time does not go back";
}

TEST_F(Sim, SlotsHoldUploadsBack) {
  const auto up = stream();
  const auto run = stream();
  const auto down = stream();
  submit_chunks(*up, *run, *down, 4, 1);
  EXPECT_EQ(up->times, (Times{{0, 1100}, {3300, 4400}, {6600, 7700}, {9900, 11000}}));
  submit_chunks(*up, *run, *down, 3, 2);
  EXPECT_EQ(up->times.back(), (std::pair<std::int64_t, std::int64_t>{14'300, 15'400}));
}

TEST_F(Sim, QueuesOfOneEngineTakeTurns) {
  const auto first = stream();
  const auto second = stream();
  ASSERT_TRUE(launch(*first, 100).ok());
  ASSERT_TRUE(launch(*second, 100).ok());
  ASSERT_TRUE(upload(*first, 100).ok());
  ASSERT_TRUE(upload(*second, 100).ok());
  EXPECT_EQ(first->times, (Times{{0, 300}, {300, 500}}));
  EXPECT_EQ(second->times, (Times{{300, 600}, {600, 800}}));
}

TEST_F(Sim, AnOperationWaitsForTheLatest) {
  const auto slow = stream();
  const auto quick = stream();
  const auto last = stream();
  const auto a = semaphore();
  const auto b = semaphore();
  ASSERT_TRUE(launch(*slow, 5000, {}, {{a, 1}}).ok());
  ASSERT_TRUE(upload(*quick, 10, {}, {{b, 1}}).ok());
  ASSERT_TRUE(download(*last, 10, {{b, 1}, {a, 1}}).ok());
  EXPECT_EQ(last->times, (Times{{5200, 5310}}));
}

TEST_F(Sim, NothingBeginsBeforeItIsSubmitted) {
  const auto one = stream();
  const auto other = stream();
  done = semaphore();
  ASSERT_TRUE(launch(*one, 800, {}, {{done, 1}}).ok());
  EXPECT_TRUE(wait(*done, 1));
  ASSERT_TRUE(upload(*other, 100).ok());
  EXPECT_EQ(other->times, (Times{{1000, 1200}}));
}

TEST_F(Sim, AValueIsReachedWithTheFirstThatIsNotBelowIt) {
  const auto slow = stream();
  const auto quick = stream();
  const auto both = semaphore();
  ASSERT_TRUE(launch(*slow, 5000, {}, {{both, 1}}).ok());
  ASSERT_TRUE(upload(*quick, 10, {}, {{both, 2}}).ok());
  const auto third = stream();
  ASSERT_TRUE(download(*third, 10, {{both, 1}}).ok());
  EXPECT_EQ(third->times, (Times{{110, 220}}));
  EXPECT_TRUE(wait(*both, 1));
  EXPECT_EQ(now(), 110);
}

TEST_F(Sim, SignalsOfTheHostHaveItsTime) {
  const auto one = stream();
  const auto other = stream();
  done = semaphore();
  const auto gate = semaphore();
  ASSERT_TRUE(launch(*one, 800, {}, {{done, 1}}).ok());
  EXPECT_TRUE(wait(*done, 1));
  ASSERT_TRUE(gate->signal(4).ok());
  ASSERT_TRUE(upload(*other, 0, {{gate, 4}}).ok());
  EXPECT_EQ(other->times, (Times{{1000, 1100}}));
}

TEST_F(Sim, LookingTakesAMoment) {
  const auto one = stream();
  done = semaphore();
  for (std::uint64_t n = 1; n <= 3; ++n) ASSERT_TRUE(launch(*one, 1400, {}, {{done, n}}).ok());
  EXPECT_EQ(done->value().value_or(9), 0U);
  EXPECT_EQ(now(), 1000);
  EXPECT_EQ(done->value().value_or(9), 1U) << "1600 has passed";
  EXPECT_FALSE(done->wait(2, {}).value_or(true)) << "that would be at 3200";
  EXPECT_TRUE(done->wait(2, {}).value_or(false));
  EXPECT_EQ(now(), 4000);
  EXPECT_EQ(done->value().value_or(9), 3U);
  EXPECT_EQ(now(), 5000);
}

TEST_F(Sim, AQueueThatGoesIsWaitedFor) {
  auto one = stream();
  ASSERT_TRUE(launch(*one, 800).ok());
  one.reset();
  EXPECT_EQ(now(), 1000);
}

TEST_F(Sim, ALongTimelineKeepsItsTimes) {
  const auto one = stream();
  done = semaphore();
  for (std::uint64_t n = 1; n <= 1000; ++n) {
    ASSERT_TRUE(launch(*one, 100, {}, {{done, n}}).ok());
    if (n % 10 == 0) {
      EXPECT_TRUE(wait(*done, n - 5));
    }
    EXPECT_EQ(one->times.back().second, static_cast<std::int64_t>(300 * n));
  }
  EXPECT_TRUE(wait(*done, 999));
  EXPECT_EQ(now(), 299'700);
}

TEST_F(Sim, CopiesOfPageableMemoryAreWaitedFor) {
  const auto opened = sim_factory(std::make_shared<ThreadPool>(1))->open("sim?copy=100ns&pageable=500MB/s");
  ASSERT_TRUE(opened.ok());
  Times times;
  {
    const MemorySpan from{*(*opened)->import_host(bytes, HostMemory::kPageable), 0, bytes.size()};
    const MemorySpan to{*(*opened)->allocate(bytes.size()), 0, bytes.size()};
    const auto queue =
        *(*opened)->create_queue({"stream", [&times](const OperationRecord& record) {
                                    times.emplace_back(record.begin.count(), record.end.count());
                                  }});
    ASSERT_TRUE(queue->copy({to.memory, 0, 1000}, {from.memory, 0, 1000}, {}).ok());
    EXPECT_EQ((*opened)->now().count(), 2100);
    ASSERT_TRUE(queue->copy({from.memory, 0, 500}, {to.memory, 0, 500}, {}).ok());
  }
  EXPECT_EQ(times, (Times{{0, 2100}, {2100, 3200}}));
}

class SimOneEngine : public Sim {
 protected:
  SimOneEngine() : Sim("&engines=1") {}
};

TEST_F(SimOneEngine, CopiesOfBothDirectionsTakeTurns) {
  const auto up = stream();
  const auto run = stream();
  const auto down = stream();
  submit_chunks(*up, *run, *down, 3, 3);
  EXPECT_EQ(up->times, (Times{{0, 1100}, {3300, 4400}, {6600, 7700}}));
  EXPECT_EQ(down->times, (Times{{2200, 3300}, {5500, 6600}, {8800, 9900}}));
  EXPECT_EQ(device->info().copy_engines, 1U);
}

class SimNoEngine : public Sim {
 protected:
  SimNoEngine() : Sim("&engines=0") {}
};

TEST_F(SimNoEngine, NothingOverlaps) {
  const auto up = stream();
  const auto run = stream();
  const auto down = stream();
  submit_chunks(*up, *run, *down, 4, 3);
  EXPECT_EQ(down->times.back().second, 12 * 1100);
}

class SimFailures : public Sim {
 protected:
  SimFailures() : Sim("&mem=20KB&lost=5&alloc_fail=3&fail_launch=2") {}
};

TEST_F(SimFailures, HappenWhenTheyAreAskedFor) {
  EXPECT_EQ(device->stats().bytes_allocated, 10'000U);
  {
    const auto second = device->allocate(10'000);
    EXPECT_TRUE(second.ok());
    const auto third = device->allocate(1);
    EXPECT_EQ(third.error().code(), ErrorCode::kDeviceExhausted);
    EXPECT_NE(third.error().message().find("alloc_fail"), std::string::npos);
    const auto fourth = device->allocate(1);
    EXPECT_EQ(fourth.error().code(), ErrorCode::kDeviceExhausted);
    EXPECT_NE(fourth.error().message().find("has 0 bytes of its"), std::string::npos)
        << fourth.error().message();
  }
  EXPECT_TRUE(device->allocate(10'000).ok());

  const auto failing = stream();
  const auto other = stream();
  done = semaphore();
  ASSERT_TRUE(launch(*failing, 10, {}, {{done, 1}}).ok());
  ASSERT_TRUE(launch(*failing, 10, {}, {{done, 2}}).ok()) << "what goes wrong later is no refusal";
  EXPECT_TRUE(wait(*done, 1));
  const auto failed = done->wait(2);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code(), ErrorCode::kDeviceFailed);
  EXPECT_NE(failed.error().to_string().find("while running kernel"), std::string::npos);
  EXPECT_EQ(now(), 210);

  // Two operations are over, three are left; what a failed queue does not do is none.
  const auto after = semaphore();
  ASSERT_TRUE(launch(*failing, 10, {}, {{semaphore(), 1}}).ok());
  for (std::uint64_t n = 1; n <= 4; ++n) ASSERT_TRUE(upload(*other, 10, {}, {{after, n}}).ok());
  EXPECT_TRUE(wait(*after, 3));
  EXPECT_EQ(after->wait(4).error().code(), ErrorCode::kDeviceLost);
  EXPECT_EQ(device->allocate(1).error().code(), ErrorCode::kDeviceLost);
  EXPECT_EQ(device->create_queue({}).error().code(), ErrorCode::kDeviceLost);
  EXPECT_EQ(device->stats().launches, 1U);
  EXPECT_EQ(device->stats().copies, 3U);
}

}  // namespace
}  // namespace dhpvm::offload
