// SPDX-License-Identifier: Apache-2.0
// Malicious workers and clients: forbidden requests are refused and logged, and another client at the same time notices
// nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "offload/remote/worker/client_for_tests.h"

namespace dhpvm::offload::hostile {
namespace {

using ::testing::HasSubstr;

// Memory of all sizes is used again by the allocator, and so by the next session.
TEST(Hostile, MemoryOfOthersIsNotSeen) {
  Site site;
  for (const std::uint64_t device : {kHost, kSim}) {
    for (const std::uint64_t bytes : {64, 4096, 100'000}) {
      for (int session = 0; session < 3; ++session) {
        const auto client = Client::open(site);
        client->say({wire::CreateQueue{3, 7, device, false, "another"}, wire::Allocate{4, device, 8, bytes}});
        ASSERT_EQ(client->answer(3), "");
        ASSERT_EQ(client->answer(4), "");
        EXPECT_EQ(client->read(7, 8, bytes), Bytes(bytes)) << bytes << " bytes of device " << device;
        client->say({wire::Fill{{7, {}, {}}, {8, 0, bytes}, 0xa5}});
        EXPECT_EQ(client->read(7, 8, bytes), Bytes(bytes, std::byte{0xa5}));
        client->leave();
      }
    }
  }
}

// ---- The protocol ---------------------------------------------------------------------------------------------------

// Records of a client, and why they end its session.
using Breaches = std::vector<std::pair<Records, const char*>>;

// A launch of a kernel that does not exist.
wire::Launch bad_launch() {
  wire::Launch launch;
  launch.order = on_queue(1);
  launch.kernel = 99;
  launch.space = {{0, 1}};
  return launch;
}

Breaches breaches() {
  Records many;
  for (wire::Id n = 0; n < 70; ++n) many.emplace_back(wire::Allocate{100 + n, kHost, 100 + n, 64});
  const wire::Digest digest{};
  return {
      {{wire::Hello{"again", "0"}}, "greets twice"},
      {{wire::Allocate{9, 7, 9, 64}}, "a device that does not exist"},
      {{wire::Allocate{9, kHost, 2, 64}}, "allocated twice"},
      {{wire::Free{99}}, "frees memory that does not exist"},
      {{wire::Allocate{9, kHost, 9, 64}, wire::Free{9}}, "frees memory that does not exist"},
      {{wire::Free{2}, wire::Free{2}}, "frees memory that does not exist"},
      {{wire::CreateQueue{9, 1, kHost, false, ""}}, "a queue is made twice"},
      {{wire::CreateQueue{9, 9, 99, false, ""}}, "a device that does not exist"},
      {{wire::DestroyQueue{99}}, "a queue that does not exist"},
      {{wire::Fill{{1, {{3, 5}}, {}}, {2, 0, 1}, 0}, wire::DestroyQueue{1}}, "has operations waiting"},
      {{wire::CreateSemaphore{3, kHost, 0}}, "a semaphore is made twice"},
      {{wire::CreateSemaphore{4, 99, 0}}, "a device that does not exist"},
      {{wire::DestroySemaphore{99}}, "a semaphore that does not exist"},
      {{wire::Signal{99, 1}}, "a semaphore that does not exist"},
      {{wire::FailSemaphore{99, {}}}, "a semaphore that does not exist"},
      {{wire::UnloadKernel{99}}, "a kernel that does not exist"},
      {{wire::LoadKernel{9, kHost, 9, digest, 100, 0, {}, ""},
        wire::LoadSmall{{10, kHost, 9, digest, 100, 0, {}, ""}}},
       "a kernel is loaded twice"},
      {{wire::LoadKernel{9, kHost, 9, digest, 100, 0, {}, ""}, wire::ModulePart{digest, Bytes(101)}},
       "more code than it has announced"},
      {{wire::ModulePart{digest, Bytes(10)}}, "code that nobody has asked for"},
      {{wire::Fill{on_queue(99), {2, 0, 1}, 0}}, "a queue that does not exist"},
      {{wire::Fill{on_queue(1), {99, 0, 1}, 0}}, "memory that its device does not have"},
      {{wire::Fill{on_queue(1), {2, 4096, 1}, 0}}, "beyond the end of its memory"},
      {{wire::Upload{on_queue(1), {2, ~std::uint64_t{0}, 2}}}, "beyond the end of its memory"},
      {{wire::Download{on_queue(1), {2, 1, ~std::uint64_t{0}}}}, "beyond the end of its memory"},
      {{wire::Write{on_queue(99), 2, 0, Bytes(8)}}, "a queue that does not exist"},
      {{wire::Write{on_queue(1), 99, 0, Bytes(8)}}, "memory that its device does not have"},
      {{wire::Write{on_queue(1), 2, 4089, Bytes(8)}}, "beyond the end of its memory"},
      {{wire::Write{on_queue(1), 2, ~std::uint64_t{0}, Bytes(8)}}, "beyond the end of its memory"},
      {{wire::Write{on_queue(1), 2, 0, {}}}, "a write of no bytes"},
      {{wire::Write{on_queue(1), 2, 0, Bytes(wire::kMaxElements + 1)}}, "more than 12288 bytes"},
      {{wire::Copy{{1, {{99, 1}}, {}}, {2, 0, 8}, {2, 8, 8}}}, "a semaphore that its device does not have"},
      {{wire::CreateSemaphore{4, 1, 0}, wire::Fill{{1, {}, {{4, 1}}}, {2, 0, 8}, 0}},
       "a semaphore that its device does not have"},
      {{bad_launch()}, "a kernel that its device does not have"},
      {{wire::HostCallDone{1}}, "nobody has asked for"},
      {{wire::HostCallDone{99}}, "a queue that does not exist"},
      {{wire::StopLaunches{99}}, "a queue that does not exist"},
      {many, "too many requests"},
  };
}

Breaches breaches_by_batches() {
  const wire::Work work = bad_launch();
  const wire::Batch kept{on_queue(1), 3, {wire::Elements{2, 0, Bytes(8)}, wire::Span{2, 0, 8}}};
  return {
      {{wire::Batch{on_queue(1), {}, {}}}, "a batch of nothing"},
      {{wire::Batch{on_queue(99), {}, {wire::Span{2, 0, 8}}}}, "a queue that does not exist"},
      {{wire::Batch{on_queue(1), 32, {wire::Span{2, 0, 8}}}}, "32 where less than 32 is allowed"},
      {{wire::Batch{on_queue(1), {}, std::vector<wire::Step>(257, wire::Span{2, 0, 8})}}, "more than 256"},
      {{wire::Batch{on_queue(1), {}, {wire::Span{2, 4090, 8}}}}, "beyond the end of its memory"},
      {{wire::Batch{on_queue(1), {}, {wire::Span{2, 0, 0}}}}, "does not fit into an answer"},
      {{wire::Batch{on_queue(1), {}, {wire::Span{2, 0, wire::kMaxElements + 1}}}},
       "does not fit into an answer"},
      {{wire::Batch{on_queue(1), {}, {wire::Elements{2, 0, {}}}}}, "a write of no bytes"},
      {{wire::Batch{on_queue(1), {}, {wire::Elements{2, 4089, Bytes(8)}}}}, "beyond the end of its memory"},
      {{wire::Batch{on_queue(1), {}, {work}}}, "a kernel that its device does not have"},
      {{wire::Batch{{1, {{99, 1}}, {}}, {}, {wire::Span{2, 0, 8}}}},
       "a semaphore that its device does not have"},
      {{wire::Replay{on_queue(1), 0, {}, {}}}, "a batch again that is not kept"},
      {{wire::Replay{on_queue(1), 32, {}, {}}}, "32 where less than 32 is allowed"},
      {{kept, wire::Replay{on_queue(1), 2, {}, {}}}, "a batch again that is not kept"},
      {{kept, wire::Replay{on_queue(99), 3, {}, {Bytes(8)}}}, "a queue that does not exist"},
      {{kept, wire::Replay{on_queue(1), 3, {}, {}}}, "lacks elements to write"},
      {{kept, wire::Replay{on_queue(1), 3, {}, {Bytes()}}}, "a write of no bytes"},
      {{kept, wire::Replay{on_queue(1), 3, {}, {Bytes(8), Bytes(8)}}}, "changes what a batch does not have"},
      {{kept, wire::Replay{on_queue(1), 3, {}, {Bytes(4097)}}}, "beyond the end of its memory"},
      {{kept, wire::Replay{on_queue(1), 3, {{0, 1}}, {Bytes(8)}}}, "changes what a batch does not have"},
      // A kept batch names memory as the client does, and is looked up again.
      {{kept, wire::Free{2}, wire::Replay{on_queue(1), 3, {}, {Bytes(8)}}},
       "memory that its device does not have"},
  };
}

TEST(Hostile, BreachesOfTheProtocolEndTheSession) {
  Site site;
  const auto neighbour = Client::open(site);
  Breaches cases = breaches();
  std::ranges::move(breaches_by_batches(), std::back_inserter(cases));
  for (const auto& [records, expected] : cases) {
    const auto client = Client::open(site);
    client->say(records);
    EXPECT_THAT(client->end(), HasSubstr(expected));
    EXPECT_TRUE(site.wait_log(expected)) << site.log_;
    EXPECT_TRUE(neighbour->is_served()) << expected;
  }
  EXPECT_TRUE(site.wait_sessions(1));
}

TEST(Hostile, WhatIsNoRecordEndsTheSession) {
  Site site;
  const auto neighbour = Client::open(site);
  Bytes huge;
  wire::write(huge, wire::FromClient(wire::Ping{~std::uint64_t{0}}));
  Bytes list{std::byte{17}};  // a launch, and lengths that never come
  list.resize(40, std::byte{0xff});
  for (const Bytes& frame : {Bytes{std::byte{200}}, Bytes{std::byte{2}, std::byte{1}}, list,
                             Bytes(FrameLane::kLargestFrame, std::byte{0x80})}) {
    const auto client = Client::open(site);
    client->say(frame);
    EXPECT_NE(client->end(), "no end");
    EXPECT_TRUE(neighbour->is_served());
  }
  const auto client = Client::open(site);
  client->say(huge);
  EXPECT_TRUE(client->is_served());  // only odd
}

TEST(Hostile, EverythingInItsTime) {
  Site site;
  const auto eager = Client::dial(site);
  eager->say({wire::Ping{1}});
  EXPECT_THAT(eager->end(), HasSubstr("does not begin with a greeting"));
  const auto hasty = Client::greet(site);
  hasty->say({wire::CreateQueue{1, 1, kHost, false, ""}, wire::Allocate{2, kHost, 2, 64}});
  EXPECT_EQ(hasty->answer(1), "");
  EXPECT_EQ(hasty->answer(2), "");
  hasty->say({wire::Fill{on_queue(1), {2, 0, 64}, 0}});
  EXPECT_THAT(hasty->end(), HasSubstr("before the connection is ready"));
  EXPECT_TRUE(site.wait_sessions(0));
}

// ---- Limits ---------------------------------------------------------------------------------------------------------

TEST(Hostile, QuotasOfASession) {
  WorkerLimits limits;
  limits.memory_bytes = 10'000;
  limits.module_bytes = 1000;
  limits.objects = 32;
  limits.operations = 8;
  Site site(limits);
  const auto neighbour = Client::open(site);
  const auto client = Client::open(site);
  client->say({wire::Allocate{10, kHost, 10, 5000}, wire::Allocate{11, kHost, 11, 1000}});
  EXPECT_EQ(client->answer(10), "");
  EXPECT_THAT(client->answer(11), HasSubstr("may have 10000 bytes of memory, has 9096"));
  client->say({wire::Free{10}});
  client->say({wire::Allocate{12, kHost, 12, 5000}, wire::Allocate{13, kHost, 13, ~std::uint64_t{0}}});
  EXPECT_EQ(client->answer(12), "");
  EXPECT_THAT(client->answer(13), HasSubstr("may have 10000 bytes of memory"));
  // Memory that is freed while a pending operation uses it still counts.
  client->say(
      {wire::Fill{{1, {{3, 1}}, {}}, {12, 0, 8}, 0}, wire::Free{12}, wire::Allocate{14, kHost, 14, 5000}});
  EXPECT_THAT(client->answer(14), HasSubstr("has 9096"));
  client->say({wire::LoadKernel{15, kHost, 15, {}, 1001, 0, {}, ""},
               wire::LoadKernel{16, kHost, 16, {}, 0, 0, {}, ""}});
  EXPECT_THAT(client->answer(15), HasSubstr("may have 1000 bytes of code"));
  EXPECT_THAT(client->answer(16), HasSubstr("empty"));
  for (wire::Id n = 100; n < 132; ++n) client->say({wire::Allocate{n, kHost, n, 1}});
  EXPECT_EQ(client->answer(130), "");
  EXPECT_THAT(client->answer(131), HasSubstr("32 memories, which is the limit"));
  client->say({wire::CreateQueue{200, 200, kHost, false, ""}});
  EXPECT_EQ(client->answer(200), "");
  client->say({wire::CreateQueue{201, 201, kHost, false, ""}});
  EXPECT_THAT(client->answer(201), HasSubstr("2 queues, which is the limit"));
  EXPECT_TRUE(neighbour->is_served());
  // Where nothing can be answered, the session ends.
  for (int n = 0; n < 8; ++n) client->say({wire::Fill{{1, {{3, 1}}, {}}, {2, 0, 8}, 0}});
  EXPECT_THAT(client->end(), HasSubstr("8 operations that are not done, which is the limit"));
  const auto second = Client::open(site);
  for (wire::Id n = 100; n < 132; ++n) second->say({wire::CreateSemaphore{n, kHost, 0}});
  EXPECT_THAT(second->end(), HasSubstr("32 semaphores, which is the limit"));
  EXPECT_TRUE(neighbour->is_served());
  neighbour->leave();
  EXPECT_TRUE(site.wait_sessions(0));
}

TEST(Hostile, TimeOfASession) {
  WorkerLimits limits;
  limits.time = 100ms;
  Site site(limits);
  const auto neighbour = Client::open(site);
  const auto client = Client::open(site);
  client->say({wire::Fill{{1, {{3, 1}}, {}}, {2, 0, 8}, 0}});
  EXPECT_THAT(client->end(), HasSubstr("for 100 ms, which is the limit"));
  EXPECT_TRUE(neighbour->is_served());
}

TEST(Hostile, Sessions) {
  WorkerLimits limits;
  limits.sessions = 2;
  limits.waiting = 0;
  Site site(limits);
  const auto first = Client::open(site);
  const auto second = Client::open(site);
  const auto third = Client::dial(site);
  EXPECT_THAT(third->end(), HasSubstr("2 sessions, which is its limit"));
  EXPECT_TRUE(site.wait_log("refused")) << site.log_;
  second->leave();
  EXPECT_TRUE(site.wait_sessions(1));
  EXPECT_TRUE(Client::open(site)->is_served());
  EXPECT_TRUE(first->is_served());
}

// ---- Bulk data ------------------------------------------------------------------------------------------------------

TEST(Hostile, DataThatNobodyHasAPlaceFor) {
  Site site;
  const auto neighbour = Client::open(site);
  const std::vector<std::tuple<Bytes, std::size_t, const char*>> cases = {
      {wire::write_run_header({0, 0}), 101, "no place for"},
      {wire::write_run_header({0, 1}), 50, "no place for"},
      {wire::write_run_header({0, 0}), 0, "no bytes"},
      {Bytes(3, std::byte{0xff}), 10, ""},
  };
  for (const auto& [header, size, expected] : cases) {
    const auto client = Client::open(site);
    client->say({wire::Upload{on_queue(1), {2, 0, 100}}});
    client->send_run(header, size);
    EXPECT_THAT(client->end(), HasSubstr(expected));
    EXPECT_TRUE(neighbour->is_served()) << expected;
  }
  // Data of an operation that never comes waits in the network, and ends with the session.
  const auto client = Client::open(site);
  client->send_run(wire::write_run_header({1000, 0}), 1 << 20);
  EXPECT_TRUE(client->is_served());
  client->leave();
  neighbour->leave();
  EXPECT_TRUE(site.wait_sessions(0));
}

TEST(Hostile, LanesOfOthers) {
  Site site;
  const auto victim = Client::open(site);
  const auto thief = Client::dial(site);
  thief->dial_bulk(Bytes(16, std::byte{1}));
  EXPECT_THAT(thief->bulk_end(), HasSubstr("closed"));
  // Not even with the right token, once the session has its lane.
  const auto second = Client::dial(site);
  second->dial_bulk({victim->welcome_->token.begin(), victim->welcome_->token.end()});
  EXPECT_THAT(second->bulk_end(), HasSubstr("closed"));
  EXPECT_TRUE(victim->is_served());
}

}  // namespace
}  // namespace dhpvm::offload::hostile
