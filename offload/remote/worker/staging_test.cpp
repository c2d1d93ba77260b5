// SPDX-License-Identifier: Apache-2.0
// The memory through which the elements of batches go to a device whose own the host does not see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "offload/devices/sim/sim_device.h"
#include "offload/remote/worker/client_for_tests.h"
#include "offload/remote/worker/staging.h"

namespace dhpvm::offload::hostile {
namespace {

// On a device whose memory the host does not see: a place has memory of its own, for all but large batches.
TEST(Hostile, BatchesWhoseElementsAreStaged) {
  Site site;
  const auto client = Client::open(site);
  constexpr std::uint64_t kLarge = 1 << 20;
  client->say({wire::CreateQueue{3, 7, kSim, false, "another"}, wire::Allocate{4, kSim, 8, 4096},
               wire::Allocate{5, kSim, 9, kLarge}});
  for (const wire::Id request : {3, 4, 5}) ASSERT_EQ(client->answer(request), "");
  client->say({wire::Fill{on_queue(7), {9, 0, kLarge}, 5}});
  constexpr std::size_t kBytes = 601;
  const wire::Span all{8, 0, kBytes};
  Records records{
      wire::Batch{on_queue(7), 3, {wire::Elements{8, 0, Bytes(kBytes)}, all, wire::Span{8, 300, 9}}}};
  std::vector<Bytes> expected{Bytes(kBytes), Bytes(9)};
  for (unsigned n = 1; n < 20; ++n) {
    const auto value = static_cast<std::byte>(n);
    records.emplace_back(wire::Replay{on_queue(7), 3, {}, {Bytes(kBytes, value)}});
    expected.emplace_back(kBytes, value);
    expected.emplace_back(9, value);
  }
  client->say(records);
  EXPECT_EQ(client->downloads(expected.size()), expected);
  // More than the memory of a place.
  const std::vector<wire::Step> many(6, wire::Span{9, 0, wire::kMaxElements});
  client->say({wire::Batch{on_queue(7), 4, many}});
  EXPECT_EQ(client->downloads(expected.size() + many.size()).back(), Bytes(wire::kMaxElements, std::byte{5}));
}

// The memory of a place keeps the elements of one execution until the device has done it: two are given to the device,
// and the others wait.
TEST(Hostile, StagedElementsStayUntilTheDeviceIsThroughWithThem) {
  Site site;
  const auto client = Client::open(site);
  client->say({wire::CreateQueue{3, 7, kLate, false, "a late one"}, wire::Allocate{4, kLate, 8, 4096}});
  ASSERT_EQ(client->answer(3), "");
  ASSERT_EQ(client->answer(4), "");
  constexpr std::size_t kBytes = 600;
  Records records{
      wire::Batch{on_queue(7), 3, {wire::Elements{8, 0, Bytes(kBytes)}, wire::Span{8, 0, kBytes}}}};
  std::vector<Bytes> expected{Bytes(kBytes)};
  for (unsigned n = 1; n < 6; ++n) {
    expected.emplace_back(kBytes, static_cast<std::byte>(n));
    records.emplace_back(wire::Replay{on_queue(7), 3, {}, {expected.back()}});
  }
  site.late_->hold(true);
  client->say(records);
  EXPECT_TRUE(client->is_served());  // behind all of them
  EXPECT_EQ(site.late_->waiting(OperationRecord::Kind::kUpload), 2U);
  site.late_->hold(false);
  EXPECT_EQ(client->downloads(expected.size()), expected);
}

// The device has computed the results, and fails before they are on their way: a client that was told that the
// operations are done would wait for them for ever.
TEST(Hostile, ResultsThatNeverLeaveAreNotDone) {
  const wire::Order order{7, {}, {{10, 1}}};
  for (const wire::FromClient& record :
       {wire::FromClient(wire::Batch{order, 3, {wire::Elements{8, 0, Bytes(600)}, wire::Span{8, 0, 600}}}),
        wire::FromClient(wire::Download{order, {8, 0, 600}}),
        wire::FromClient(wire::Download{order, {8, 0, 100'000}})}) {
    Site site;
    const auto client = Client::open(site);
    client->say({wire::CreateQueue{3, 7, kLate, false, "a late one"}, wire::Allocate{4, kLate, 8, 100'000},
                 wire::CreateSemaphore{10, kLate, 0}});
    ASSERT_EQ(client->answer(3), "");
    ASSERT_EQ(client->answer(4), "");
    site.late_->fail_at(OperationRecord::Kind::kHostCall);
    client->say({record});
    EXPECT_THAT(client->fares(7, 100), testing::HasSubstr("the late device has failed")) << record.index();
    EXPECT_EQ(client->done(), 0U) << record.index();
  }
}

// One for each of two executions that are under way; a third one waits.
TEST(Staging, APlaceHasBlocksOfItsOwn) {
  const std::unique_ptr<Device> device = *sim_factory(std::make_shared<ThreadPool>(1))->open("sim");
  unsigned freed = 0;
  {
    const std::shared_ptr<StagingPool> pool =
        *StagingPool::create(*device, {.blocks = 8, .block_bytes = 4096}, [&] { ++freed; });
    const auto first = pool->take(2, 2);
    auto second = pool->take(2, 2);
    ASSERT_TRUE(first != nullptr && second != nullptr);
    EXPECT_EQ(second->bytes(1).data() - first->bytes(1).data(), 4096);
    EXPECT_EQ(first->span(100).offset, 2 * 4096U);
    EXPECT_EQ(pool->take(2, 2), nullptr);
    EXPECT_NE(pool->take(4, 2), nullptr);
    second = nullptr;
    EXPECT_EQ(freed, 2U);
    EXPECT_NE(pool->take(2, 2), nullptr);
  }
  EXPECT_EQ(freed, 4U);
}

}  // namespace
}  // namespace dhpvm::offload::hostile
