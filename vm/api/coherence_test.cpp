// SPDX-License-Identifier: Apache-2.0
// Natives, host functions and objects of the public API, where a device has the elements of an array.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vm/api/natives_test.h"
#include "vm/api/state.h"
#include "vm/test_copies.h"

namespace dhpvm {
namespace {

using Counts = std::pair<int, int>;  // for reading, for writing
using Bytes = std::span<std::uint8_t>;
using ConstBytes = std::span<const std::uint8_t>;

constexpr std::int64_t kLength = 100'000;

struct CoherenceOfNatives : testing::Test {
  CoherenceOfNatives() {
    const std::string text = native_program() + R"(
import test.take([u8])
import test.take_samples([i32])
import host.sum([u8]) -> i64
import host.fill([u8])
function take([u8]) registers 0 1 exported
  call.native p0, r0, test.take
  return
end
function take_samples([i32]) registers 0 1 exported
  call.native p0, r0, test.take_samples
  return
end
function sum([u8]) -> i64 registers 1 1 exported
  call.native p0, r0, host.sum
  return
end
function fill([u8]) registers 0 1 exported
  line "c.dhp" 7:1
  call.native p0, r0, host.fill
  return
end
)";
    host.define("host.sum", [](ConstBytes bytes) {
      return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
    });
    host.define("host.fill", [](Bytes bytes) { std::ranges::fill(bytes, std::uint8_t{1}); });
    // Functions of the engine cannot see the array itself; natives of the machine can.
    vm::NativeRegistry& natives = host.engine.state()->natives;
    const auto take_array = [this](vm::NativeCall& call) {
      record = vm::TestCopies::take(*reinterpret_cast<gc::Array*>(call.r[0]));
      return Status();
    };
    EXPECT_TRUE(natives.define("test.take", "([u8])", take_array).ok());
    EXPECT_TRUE(natives.define("test.take_samples", "([i32])", take_array).ok());
    isolate.emplace(need(Isolate::create(need(Module::assemble(host.engine, text)))));
    array = need(isolate->make_array<std::uint8_t>({kLength}));
    const Bytes bytes = need(array.elements<std::uint8_t>());
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = expected(i);
  }
  static std::uint8_t expected(std::size_t i) { return static_cast<std::uint8_t>('a' + i % 7); }

  template <typename R, typename... A>
  Result<R> call(const char* name, A... arguments) {
    return need(isolate->function<R(A...)>(name))(arguments...);
  }
  void take() { EXPECT_TRUE(call<void>("take", array).ok()); }

  TestHost host;
  std::optional<Isolate> isolate;
  Object array;
  std::shared_ptr<vm::TestCopies::Record> record;
};

TEST_F(CoherenceOfNatives, ObjectsGiveElementsThatAreCurrent) {
  take();
  EXPECT_EQ(array.sizes(), std::vector<std::int64_t>{kLength});
  EXPECT_EQ(*record, Counts(0, 0));
  const ConstBytes read = need(array.elements<const std::uint8_t>());
  EXPECT_EQ(*record, Counts(1, 0));
  EXPECT_EQ(read[12], expected(12));
  need(array.elements<const std::uint8_t>());
  EXPECT_EQ(*record, Counts(1, 0));
  need(array.elements<std::uint8_t>())[12] = 0;
  EXPECT_EQ(*record, Counts(1, 1));
  EXPECT_EQ(need(array.elements<const std::uint8_t>())[13], expected(13));
  EXPECT_EQ(*record, Counts(1, 1));
}

TEST_F(CoherenceOfNatives, ObjectsPassTheDevicesErrorOn) {
  take();
  record->failure = Error(ErrorCode::kDeviceLost, "gone");
  const auto refused = array.elements<const std::uint8_t>();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().to_string(), "device lost: gone");
  record->failure.reset();
  EXPECT_EQ(need(array.elements<const std::uint8_t>())[2], expected(2));
}

TEST_F(CoherenceOfNatives, HostFunctionsGetCurrentSpans) {
  const std::int64_t sum = need(call<std::int64_t>("sum", array));
  take();
  EXPECT_EQ(need(call<std::int64_t>("sum", array)), sum);
  EXPECT_EQ(*record, Counts(1, 0));
  take();
  EXPECT_TRUE(call<void>("fill", array).ok());
  EXPECT_EQ(*record, Counts(0, 1));
  EXPECT_EQ(need(call<std::int64_t>("sum", array)), kLength);
  EXPECT_EQ(*record, Counts(0, 1));
  take();
  record->failure = Error(ErrorCode::kDeviceLost, "gone");
  const auto refused = call<void>("fill", array);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kDeviceLost);
  ASSERT_FALSE(refused.error().frames().empty());
  EXPECT_EQ(refused.error().frames()[0].line, 7u);
}

TEST_F(CoherenceOfNatives, NativesThatReadAskForReading) {
  using Text = std::string_view;
  take();
  EXPECT_EQ(need(call<std::string>("str_from_bytes", array, std::int64_t{1}, std::int64_t{4})), "bcd");
  EXPECT_EQ(*record, Counts(1, 0));
  take();
  EXPECT_TRUE(call<void>("io_write_bytes_out", array, std::int64_t{2}, std::int64_t{3}).ok());
  EXPECT_EQ(*record, Counts(1, 0));

  const std::string path = testing::TempDir() + "dhpvm-coherence-" + std::to_string(::getpid());
  take();
  EXPECT_TRUE(call<void>("io_write_bytes", Text(path), array).ok());
  EXPECT_EQ(*record, Counts(1, 0));
  const Object file = need(call<Object>("io_open", Text(path), Text("r")));
  // Into the middle: what stands before stays.
  take();
  EXPECT_EQ(need(call<std::int64_t>("io_file_read", file, array, std::int64_t{10}, std::int64_t{20})), 20);
  EXPECT_EQ(*record, Counts(0, 1));
  const ConstBytes bytes = need(array.elements<const std::uint8_t>());
  EXPECT_EQ(bytes[9], expected(9));
  EXPECT_EQ(bytes[10], expected(0));
  EXPECT_EQ(bytes[30], expected(30));
  EXPECT_EQ(std::remove(path.c_str()), 0);
}

TEST_F(CoherenceOfNatives, NativesThatWriteAskForWriting) {
  take();
  EXPECT_TRUE(call<void>("str_copy_bytes", std::string_view("xyz"), array, std::int64_t{5}).ok());
  EXPECT_EQ(*record, Counts(0, 1));
  EXPECT_EQ(need(array.elements<const std::uint8_t>())[5], 'x');
  EXPECT_EQ(need(array.elements<const std::uint8_t>())[8], expected(8));

  const Object samples = need(isolate->make_array<std::int32_t>({kLength}));
  EXPECT_TRUE(call<void>("str_copy_bytes", std::string_view("12 34 "), array, std::int64_t{0}).ok());
  EXPECT_TRUE(call<void>("take_samples", samples).ok());
  const auto target = record;
  take();
  EXPECT_EQ(need(call<std::int64_t>("image_parse_samples", array, std::int64_t{0}, samples, std::int64_t{2})),
            2);
  EXPECT_EQ(*record, Counts(1, 0));
  EXPECT_EQ(*target, Counts(0, 1));
  EXPECT_EQ(need(samples.elements<const std::int32_t>())[1], 34);
}

TEST(Limits, DeviceBytesReachTheMachine) {
  TestHost host;
  std::uint64_t found = 1;
  EXPECT_TRUE(host.engine.state()
                  ->natives
                  .define("test.limit", "()",
                          [&found](vm::NativeCall& call) {
                            found = call.isolate.options().limits.device_bytes;
                            return Status();
                          })
                  .ok());
  const Module module = need(Module::assemble(host.engine,
                                              "module 1.0\nimport test.limit()\nfunction f() registers 0 0 "
                                              "exported\n  call.native p0, r0, test.limit\n  return\nend\n"));
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{3} << 40}) {
    Isolate isolate = need(Isolate::create(module, {.limits = {.device_bytes = bytes}}));
    EXPECT_TRUE(need(isolate.function<void()>("f"))().ok());
    EXPECT_EQ(found, bytes);
  }
}

TEST_F(CoherenceOfNatives, NothingToTouchAsksNobody) {
  take();
  EXPECT_TRUE(call<void>("io_write_bytes_out", array, std::int64_t{7}, std::int64_t{0}).ok());
  EXPECT_FALSE(call<void>("io_write_bytes_out", array, std::int64_t{7}, kLength).ok());
  EXPECT_EQ(*record, Counts(0, 0));
}

}  // namespace
}  // namespace dhpvm
