// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "offload/remote/fabric/frame_lane.h"
#include "offload/remote/fabric/wire_examples.h"

namespace dhpvm::offload::wire {
namespace {

using ::testing::HasSubstr;

TEST(Protocol, RecordsSurviveTheWire) {
  std::vector<std::byte> frame;
  const std::vector<FromClient> client = client_examples();
  for (const FromClient& record : client) write(frame, record);
  const auto read = read_from_client(frame);
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  ASSERT_EQ(read->size(), client.size());
  // Records survive write, read and write again unchanged.
  for (std::size_t i = 0; i < client.size(); ++i) {
    EXPECT_EQ((*read)[i].index(), client[i].index());
    std::vector<std::byte> once;
    std::vector<std::byte> again;
    write(once, client[i]);
    write(again, (*read)[i]);
    EXPECT_EQ(once, again) << "record " << i;
  }
  EXPECT_EQ(std::variant_size_v<FromClient>, [&] {
    std::vector<bool> seen(std::variant_size_v<FromClient>);
    for (const FromClient& record : client) seen[record.index()] = true;
    return static_cast<std::size_t>(std::ranges::count(seen, true));
  }()) << "an example of every record";

  frame.clear();
  const std::vector<FromWorker> worker = worker_examples();
  for (const FromWorker& record : worker) write(frame, record);
  const auto heard = read_from_worker(frame);
  ASSERT_TRUE(heard.ok()) << heard.error().to_string();
  std::vector<std::byte> again;
  for (const FromWorker& record : *heard) write(again, record);
  EXPECT_EQ(again, frame);
}

TEST(Protocol, RecordsOfOperatorsSurviveTheWire) {
  std::vector<std::byte> frame;
  for (const FromOperator& record : operator_examples()) write(frame, record);
  const auto asked = read_from_operator(frame);
  ASSERT_TRUE(asked.ok()) << asked.error().to_string();
  EXPECT_EQ(std::get<EndSession>((*asked)[1]).reason, "lunch is over");
  std::vector<std::byte> again;
  for (const FromOperator& record : *asked) write(again, record);
  EXPECT_EQ(again, frame);
  frame.clear();
  again.clear();
  for (const ToOperator& record : operator_answer_examples()) write(frame, record);
  const auto answered = read_to_operator(frame);
  ASSERT_TRUE(answered.ok()) << answered.error().to_string();
  const auto& session = std::get<SessionFacts>((*answered)[2]);
  EXPECT_EQ(session.peer, "192.0.2.7:40112");
  EXPECT_EQ(session.devices, 5u);
  for (const ToOperator& record : *answered) write(again, record);
  EXPECT_EQ(again, frame);
  frame[0] = std::byte{9};
  EXPECT_FALSE(read_to_operator(frame).ok());
  EXPECT_FALSE(read_from_operator(frame).ok());
}

TEST(Protocol, FieldsArriveInTheirPlaces) {
  Launch launch;
  launch.order = {7, {{1, 2}, {3, 400}}, {{5, 6}}};
  launch.kernel = 9;
  launch.space = {{-5, 1'000'000'000'000}, {0, 3}};
  launch.scalars = {0, ~std::uint64_t{0}, 12345};
  launch.arrays = {{Span{1, 2, 3}, -64, {10, 0, 10, {10, 1, 1}}},
                   {{}, 0, {0, 0, -1, {0, 0, 0}}},
                   {Span{4, 0, 80}, 0, {4, 20, 20, {4, 5, 1}}}};
  launch.report = Span{8, 0, 96};
  std::vector<std::byte> frame;
  write(frame, FromClient(launch));
  const auto records = read_from_client(frame);
  ASSERT_TRUE(records.ok());
  const auto& read = std::get<Launch>(records->front());
  EXPECT_EQ(read.order.queue, 7u);
  ASSERT_EQ(read.order.waits.size(), 2u);
  EXPECT_EQ(read.order.waits[1].value, 400u);
  EXPECT_EQ(read.order.signals[0].semaphore, 5u);
  EXPECT_EQ(read.space, launch.space);
  EXPECT_EQ(read.scalars, launch.scalars);
  ASSERT_EQ(read.arrays.size(), 3u);
  EXPECT_EQ(read.arrays[0].first, -64);
  EXPECT_EQ(read.arrays[0].shape.readable, 10);
  EXPECT_EQ(read.arrays[0].shape.writable, 0);
  EXPECT_EQ(read.arrays[0].shape.dims[0], 10);
  EXPECT_FALSE(read.arrays[1].span);
  EXPECT_EQ(read.arrays[1].shape.length, -1);
  EXPECT_EQ(read.arrays[1].shape.dims[0], 0);
  EXPECT_EQ(read.arrays[2].shape.readable, 4);
  EXPECT_EQ(read.arrays[2].shape.writable, 20);
  EXPECT_EQ(read.arrays[2].shape.dims[1], 5);
  EXPECT_FALSE(read.partials);
  EXPECT_EQ(read.report->bytes, 96u);
}

// The bar is 128 bytes on top of the payload; this is a loop over three arrays in chunks.
TEST(Protocol, AJobIsShort) {
  Launch launch;
  launch.order = {3, {{1, 1000}, {2, 1000}}, {{3, 1000}}};
  launch.kernel = 12;
  launch.space = {{1'000'000, 2'000'000}};
  launch.scalars = {42};
  for (Id memory = 1; memory <= 3; ++memory)
    launch.arrays.push_back({Span{memory, 1 << 22, 4 << 20},
                             -4'000'000,
                             {10'000'000, 10'000'000, 10'000'000, {10'000'000, 1, 1}}});
  std::vector<std::byte> frame;
  write(frame, FromClient(launch));
  EXPECT_LE(frame.size(), 8 * launch.scalars.size() + 96);
}

TEST(Protocol, FramesThatAreCutOffAreRefused) {
  for (const FromClient& record : client_examples()) {
    std::vector<std::byte> frame;
    write(frame, record);
    for (std::size_t size = 1; size < frame.size(); ++size) {
      const auto read = read_from_client(ConstBytes(frame).first(size));
      ASSERT_FALSE(read.ok()) << "record " << record.index() << " cut to " << size;
      EXPECT_EQ(read.error().code(), ErrorCode::kProtocol);
    }
  }
}

TEST(Protocol, HostileLengthsAllocateNothing) {
  const auto refused = [](std::vector<int> values, const char* why) {
    std::vector<std::byte> frame;
    for (const int value : values) frame.push_back(static_cast<std::byte>(value));
    const auto read = read_from_client(frame);
    ASSERT_FALSE(read.ok());
    EXPECT_THAT(read.error().message(), HasSubstr(why));
  };
  refused({99}, "unknown kind 99");
  refused({0, 0xff, 0xff, 0xff, 0xff, 0x0f}, "cut off");                         // a text of 4 GiB
  refused({15, 1, 0xff, 0xff, 0xff, 0xff, 0x0f}, "more than 256");               // waits
  refused({15, 1, 0x80, 0x02}, "256 entries in the last 0 bytes");               // waits
  refused({17, 1, 0, 0, 1, 4}, "more than 3 entries");                           // dimensions
  refused({17, 1, 0, 0, 1, 0, 0xff, 0x07}, "1023 entries in the last 0 bytes");  // scalars
  refused({1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}, "64 bits");
  refused({4, 1, 0, 0, 2}, "neither 0 nor 1");
  std::vector<int> pings;
  for (std::size_t i = 0; i <= kMaxRecords; ++i) pings.insert(pings.end(), {1, 5});
  refused(pings, "more than 4096 records");
}

TEST(Protocol, TheLargestRecordsFitIntoAFrame) {
  std::vector<std::byte> frame;
  write(frame, FromClient(ModulePart{{}, std::vector<std::byte>(kMaxModulePart)}));
  EXPECT_LE(frame.size(), FrameLane::kLargestFrame);
}

TEST(Failure, KeepsCodesAndCauses) {
  const Error error =
      Error(ErrorCode::kDeviceExhausted, "no room").with_context("while allocating").with_context("outer");
  const Error back = Failure::from(error).to_error();
  EXPECT_EQ(back.code(), ErrorCode::kDeviceExhausted);
  EXPECT_EQ(back.to_string(), error.to_string());
}

TEST(Failure, OfStrangersIsHarmless) {
  Failure failure;
  EXPECT_EQ(failure.to_error().code(), ErrorCode::kDeviceFailed);
  failure.levels = {{12345, "red \x1b[31m alert"}};
  EXPECT_EQ(failure.to_error().code(), ErrorCode::kDeviceFailed);
  EXPECT_EQ(failure.to_error().message(), "red [31m alert");
}

TEST(RunHeader, IsStrict) {
  const auto read = read_run_header(write_run_header({300, 1 << 20}));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->operation, 300u);
  EXPECT_EQ(read->offset, 1u << 20);
  EXPECT_FALSE(read_run_header({}).ok());
  std::vector<std::byte> longer = write_run_header({300, 0});
  longer.push_back(std::byte{0});
  EXPECT_FALSE(read_run_header(longer).ok());
}

}  // namespace
}  // namespace dhpvm::offload::wire
