// SPDX-License-Identifier: Apache-2.0
// Loops that a dozen devices of other machines share, more than there are threads for them: they work in threads of
// their own, at rates of their own, and some are lost in between. Every element must be right after every loop.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "bytecode/assembler.h"
#include "bytecode/verifier.h"
#include "offload/loops/footprint.h"
#include "offload/schedule/pipeline/array_copies.h"
#include "offload/schedule/pipeline/devices_for_tests.h"
#include "offload/schedule/pipeline/pipeline.h"

namespace dhpvm::offload {
namespace {

constexpr unsigned kDevices = 12;
constexpr unsigned kSmall = kDevices - 1;  // has room for slices of the arrays alone
constexpr std::int64_t kElements = 20'000;

DeviceInfo far(unsigned number) {
  DeviceInfo info;
  info.name = fmt::format("far:{}", number);
  info.memory_bytes = number == kSmall ? 300'000 : std::uint64_t{1} << 30;
  info.largest_allocation = info.memory_bytes;
  info.copy_engines = 2;
  info.may_be_lost = true;
  info.is_remote = true;
  return info;
}

// Does its operations in the order of submission, on a thread of its own.
class FarDevice final : public DeviceForTests {
 public:
  explicit FarDevice(unsigned number) : DeviceForTests(far(number)), pause_(number * 20) {
    thread_ = std::thread([this] { work(); });
  }
  ~FarDevice() override {
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  Result<std::unique_ptr<Queue>> create_queue(QueueOptions options) override;
  Result<std::shared_ptr<DeviceMemory>> allocate(std::size_t bytes) override {
    if (is_crowded_ && ++asked_ % 4 != 0) return Error(ErrorCode::kDeviceExhausted, "others have its memory");
    return DeviceForTests::allocate(bytes);
  }

  // From now on it has memory for every fourth that asks.
  void crowd() { is_crowded_ = true; }
  // It does nothing until it is let go.
  void hold(bool is_held) {
    {
      const std::lock_guard lock(mutex_);
      is_held_ = is_held;
    }
    changed_.notify_all();
  }
  // It does nothing until somebody waits for it.
  void hold_until_flushed() {
    hold(true);
    is_let_go_by_flush_ = true;
  }
  // It is lost after so many operations more.
  void lose_after(unsigned operations) {
    const std::lock_guard lock(mutex_);
    left_ = operations;
  }

 private:
  friend class FarQueue;
  void work();
  void drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return pending_.empty(); });
  }

  const std::chrono::microseconds pause_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<class FarQueue*, Operation>> pending_;  // the first is being done
  std::optional<unsigned> left_;
  bool is_held_ = false;
  bool is_ending_ = false;
  bool is_crowded_ = false;
  std::atomic<bool> is_let_go_by_flush_ = false;
  unsigned asked_ = 0;
  std::thread thread_;
};

class FarQueue final : public CheckedQueue {
 public:
  FarQueue(FarDevice& device, QueueOptions options)
      : CheckedQueue(device, std::move(options)), far_(device) {}
  ~FarQueue() override { far_.drain(); }
  Status flush() override {
    if (far_.is_let_go_by_flush_.exchange(false)) far_.hold(false);
    return {};
  }

  void perform(Operation operation, bool is_lost) {
    Status status = await(operation);
    if (status.ok() && is_lost) status = error(ErrorCode::kDeviceLost, "its cable was pulled");
    if (status.ok()) perform_step(operation);
    finish(std::move(operation), std::move(status));
  }

 protected:
  void submit(Operation operation) override {
    {
      const std::lock_guard lock(far_.mutex_);
      far_.pending_.emplace_back(this, std::move(operation));
    }
    far_.changed_.notify_all();
  }

 private:
  FarDevice& far_;
};

Result<std::unique_ptr<Queue>> FarDevice::create_queue(QueueOptions options) {
  return std::unique_ptr<Queue>(std::make_unique<FarQueue>(*this, std::move(options)));
}

void FarDevice::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_ending_ || (!is_held_ && !pending_.empty()); });
    if (pending_.empty()) return;
    auto [queue, operation] = std::move(pending_.front());
    const bool is_lost = left_ == 0U;
    if (left_ && !is_lost) --*left_;
    lock.unlock();
    if (operation.kernel != nullptr && !is_lost) std::this_thread::sleep_for(pause_);
    queue->perform(std::move(operation), is_lost);
    lock.lock();
    pending_.pop_front();
    changed_.notify_all();
  }
}

class SharedLoops : public ::testing::Test {
 protected:
  SharedLoops() {
    auto assembled = bytecode::assemble(kLoopsForTests);
    EXPECT_TRUE(assembled.ok() && bytecode::verify(*assembled).ok());
    module_ = std::move(assembled).value();
    for (unsigned n = 0; n < 2; ++n) footprints_[n] = analyse(module_, module_.kernels[n]);
    for (Buffer*& array : arrays_) array = pool_.allocate(kElements * 8, BufferContents::kZeroed).value();
    PipelineDeviceOptions options;
    options.poll = [this]() -> Status {
      if (!is_interrupted_) return {};
      return Error(ErrorCode::kInterrupted, "somebody wants to stop");
    };
    for (unsigned n = 0; n < kDevices; ++n) {
      devices_.push_back(std::make_shared<FarDevice>(n));
      for (unsigned kernel = 0; kernel < 2; ++kernel) {
        KernelImage image;
        image.arrays = 2 - kernel;
        kernels_[kernel].push_back(devices_.back()->load(image).value());
      }
      pipelines_.push_back(PipelineDevice::create(devices_.back(), pool_, registrations_, options).value());
    }
  }
  ~SharedLoops() override {
    pipelines_.clear();
    for (Buffer* const array : arrays_) array->close();
    EXPECT_EQ(pool_.stats().buffers, 0U) << "nothing holds memory any more";
  }

  using Outcome = std::variant<PipelineOutcome, PipelineFailure>;
  // From one array to the other, in small chunks, on all that are there.
  Outcome run(unsigned from) { return run(0, {arrays_[from], arrays_[1 - from]}); }
  Outcome run_in_place(unsigned array) { return run(1, {arrays_[array]}); }

  // That the array has what `loops` loops have made of zeros.
  void expect(unsigned array, unsigned loops) {
    std::int64_t expected = 0;
    for (unsigned n = 0; n < loops; ++n) expected = next_step(expected);
    ASSERT_TRUE(arrays_[array]->copies()->to_host_for_reading().ok());
    for (std::int64_t i = 0; i < kElements; ++i) {
      std::int64_t value = 0;
      std::memcpy(&value, arrays_[array]->data() + i * 8, sizeof(value));
      ASSERT_EQ(value, expected) << "element " << i << " after " << loops << " loops";
    }
  }

  std::vector<std::shared_ptr<FarDevice>> devices_;
  std::atomic<bool> is_interrupted_ = false;

 private:
  Outcome run(unsigned kernel, const std::vector<Buffer*>& buffers) {
    std::vector<codegen::KernelArray> arrays(buffers.size());
    std::vector<ArrayStorage> storage(buffers.size());
    for (std::size_t n = 0; n < buffers.size(); ++n) {
      arrays[n].data = buffers[n]->data();
      arrays[n].shape = {kElements, kElements, kElements, {kElements}};
      storage[n] = {8, buffers[n]};
    }
    Loop loop;
    loop.footprint = &footprints_[kernel];
    loop.space = {1, {0}, {kElements}};
    loop.arrays = arrays;
    loop.storage = storage;
    loop.can_trap = false;
    std::vector<Part> parts;
    for (unsigned n = 0; n < kDevices; ++n) {
      if (!pipelines_[n]->failure()) parts.push_back({pipelines_[n].get(), kernels_[kernel][n], {}});
    }
    return run_on_devices(parts, loop, 64, {}, {});
  }

  bytecode::Module module_;
  Footprint footprints_[2];  // of the kernels
  BufferPool pool_;
  Registrations registrations_{pool_};
  std::vector<std::unique_ptr<PipelineDevice>> pipelines_;
  std::vector<std::shared_ptr<Kernel>> kernels_[2];  // of each device
  Buffer* arrays_[2] = {};
};

TEST_F(SharedLoops, AreDoneByAllTogether) {
  for (unsigned loop = 0; loop < 10; ++loop) {
    const auto done = run(loop % 2);
    ASSERT_TRUE(std::holds_alternative<PipelineOutcome>(done));
    const PipelineOutcome& outcome = std::get<PipelineOutcome>(done);
    EXPECT_EQ(std::accumulate(outcome.shares.begin(), outcome.shares.end(), std::uint64_t{0}),
              std::uint64_t{kElements});
    EXPECT_TRUE(outcome.failures.empty());
    expect(1 - loop % 2, loop + 1);
  }
}

TEST_F(SharedLoops, OutliveDevices) {
  for (unsigned loop = 0; loop < 10; ++loop) {
    // The first one stays.
    devices_[loop + 1]->lose_after(loop * 7);
    const auto done = run(loop % 2);
    ASSERT_TRUE(std::holds_alternative<PipelineOutcome>(done)) << "after " << loop;
    expect(1 - loop % 2, loop + 1);
  }
}

// It refuses chunks for which results have a place already.
TEST_F(SharedLoops, GoOnWhereADeviceHasTooLittleMemory) {
  devices_[kSmall]->crowd();
  for (unsigned loop = 0; loop < 10; ++loop) {
    ASSERT_TRUE(std::holds_alternative<PipelineOutcome>(run(loop % 2))) << "loop " << loop;
    expect(1 - loop % 2, loop + 1);
  }
}

// One device does nothing. Others do its chunk of the first loop again; of loops in place, they could not.
TEST_F(SharedLoops, DoNotWaitForADeviceThatIsBehind) {
  devices_[3]->hold(true);
  ASSERT_TRUE(std::holds_alternative<PipelineOutcome>(run(0)));
  std::promise<Outcome> over;
  std::thread later([&] {
    for (unsigned loop = 0; loop < 3; ++loop) {
      const Outcome done = run_in_place(1);
      if (loop == 2 || std::holds_alternative<PipelineFailure>(done)) return over.set_value(done);
    }
  });
  std::future<Outcome> done = over.get_future();
  EXPECT_EQ(done.wait_for(std::chrono::seconds(120)), std::future_status::ready);
  devices_[3]->hold(false);
  later.join();
  ASSERT_TRUE(std::holds_alternative<PipelineOutcome>(done.get()));
  expect(1, 4);
  // Now it takes part again.
  ASSERT_TRUE(std::holds_alternative<PipelineOutcome>(run_in_place(1)));
  expect(1, 5);
}

// The only device that is left is behind with chunks of the loop before, and works only while somebody waits for it.
TEST_F(SharedLoops, AreDoneByADeviceThatHasToBeWaitedFor) {
  constexpr unsigned kLeft = 3;
  devices_[kLeft]->hold_until_flushed();
  ASSERT_TRUE(std::holds_alternative<PipelineOutcome>(run(0)));
  for (unsigned n = 0; n < kDevices; ++n) {
    if (n != kLeft) devices_[n]->lose_after(0);
  }
  std::promise<Outcome> over;
  std::thread later([&] { over.set_value(run_in_place(1)); });
  std::future<Outcome> done = over.get_future();
  EXPECT_EQ(done.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  devices_[kLeft]->hold(false);
  later.join();
  ASSERT_TRUE(std::holds_alternative<PipelineOutcome>(done.get()));
  expect(1, 2);
}

TEST_F(SharedLoops, EndWhenAllAreLost) {
  for (const auto& device : devices_) device->lose_after(9);
  const auto done = run(0);
  ASSERT_TRUE(std::holds_alternative<PipelineFailure>(done));
  EXPECT_EQ(std::get<PipelineFailure>(done).error.code(), ErrorCode::kDeviceLost);
}

TEST_F(SharedLoops, AreInterrupted) {
  std::thread user([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    is_interrupted_ = true;
  });
  std::optional<ErrorCode> code;
  for (unsigned loop = 0; loop < 10'000 && !code; ++loop) {
    const auto done = run(loop % 2);
    if (const auto* const failure = std::get_if<PipelineFailure>(&done)) code = failure->error.code();
  }
  user.join();
  EXPECT_EQ(code, ErrorCode::kInterrupted);
  is_interrupted_ = false;
}

}  // namespace
}  // namespace dhpvm::offload
