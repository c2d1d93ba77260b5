// SPDX-License-Identifier: Apache-2.0
// Loops in which a device reads elements that lie among those that another one writes: it must not see them change, not
// even for a moment.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "bytecode/assembler.h"
#include "bytecode/verifier.h"
#include "offload/loops/footprint.h"
#include "offload/schedule/pipeline/array_copies.h"
#include "offload/schedule/pipeline/devices_for_tests.h"
#include "offload/schedule/pipeline/pipeline.h"

namespace dhpvm::offload {
namespace {

constexpr std::int64_t kIterations = 64;
constexpr std::int64_t kElements = 4 * kIterations + 8;

// Steps that threads wait for in each other.
class Latch {
 public:
  void open() {
    {
      const std::lock_guard lock(mutex_);
      is_open_ = true;
    }
    changed_.notify_all();
  }
  // Gives up after some time: a test that fails comes to its end.
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [this] { return is_open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
};

// Does each operation when it is submitted, on the thread that submits it.
class PromptDevice final : public DeviceForTests {
 public:
  explicit PromptDevice(DeviceInfo info) : DeviceForTests(std::move(info)) {}
  Result<std::unique_ptr<Queue>> create_queue(QueueOptions options) override;

  // Latches of the first operations of their kind; null: no operation waits.
  Latch* opened_by_download = nullptr;  // by the first half of it, when what it brings is not there yet
  Latch* download_waits = nullptr;
  Latch* upload_waits = nullptr;
  Latch* opened_by_upload = nullptr;
};

class PromptQueue final : public CheckedQueue {
 public:
  PromptQueue(PromptDevice& device, QueueOptions options)
      : CheckedQueue(device, std::move(options)), prompt_(device) {}
  Status flush() override { return {}; }

 protected:
  void submit(Operation operation) override {
    const Status status = await(operation);
    if (status.ok()) perform(operation);
    finish(std::move(operation), status);
  }

 private:
  void perform(const Operation& operation) {
    const bool is_upload = operation.record.kind == OperationRecord::Kind::kUpload;
    const bool is_download = operation.record.kind == OperationRecord::Kind::kDownload;
    if (is_upload && prompt_.upload_waits != nullptr) std::exchange(prompt_.upload_waits, nullptr)->pass();
    // Devices may write in any order, and anything, until they are done.
    if (is_download) std::memset(operation.to.memory->host() + operation.to.offset, 0xaa, operation.to.bytes);
    if (is_download && prompt_.opened_by_download != nullptr) {
      prompt_.opened_by_download->open();
      std::exchange(prompt_.download_waits, nullptr)->pass();
      prompt_.opened_by_download = nullptr;
    }
    perform_step(operation);
    if (is_upload && prompt_.opened_by_upload != nullptr)
      std::exchange(prompt_.opened_by_upload, nullptr)->open();
  }

  PromptDevice& prompt_;
};

Result<std::unique_ptr<Queue>> PromptDevice::create_queue(QueueOptions options) {
  return std::unique_ptr<Queue>(std::make_unique<PromptQueue>(*this, std::move(options)));
}

DeviceInfo info_of(const char* name, bool may_be_lost) {
  DeviceInfo info;
  info.name = name;
  info.memory_bytes = info.largest_allocation = 1 << 20;
  info.may_be_lost = may_be_lost;
  return info;
}

using Values = std::vector<std::int64_t>;

class ReadsAmongWrites : public ::testing::Test {
 protected:
  ReadsAmongWrites() {
    auto assembled = bytecode::assemble(kLoopsForTests);
    EXPECT_TRUE(assembled.ok() && bytecode::verify(*assembled).ok());
    module_ = std::move(assembled).value();
    footprint_ = analyse(module_, module_.kernels[2]);
    array_ = pool_.allocate(kElements * sizeof(std::int64_t), BufferContents::kUndefined).value();
    Values values(kElements);
    std::iota(values.begin(), values.end(), 1);
    std::memcpy(array_->data(), values.data(), array_->size());
  }
  ~ReadsAmongWrites() override {
    parts_.clear();
    pipelines_.clear();
    array_->close();
    EXPECT_EQ(pool_.stats().buffers, 0U) << "nothing holds memory any more";
  }

  std::shared_ptr<PromptDevice> add(const char* name, bool may_be_lost) {
    auto device = devices_.emplace_back(std::make_shared<PromptDevice>(info_of(name, may_be_lost)));
    KernelImage image;
    image.name = kAmong;
    image.arrays = 1;
    parts_.push_back({nullptr, device->load(image).value(), {}});
    pipelines_.push_back(PipelineDevice::create(device, pool_, registrations_, {}).value());
    parts_.back().device = pipelines_.back().get();
    return device;
  }

  std::variant<PipelineOutcome, PipelineFailure> run() {
    codegen::KernelArray array;
    array.data = array_->data();
    array.shape = {kElements, kElements, kElements, {kElements}};
    const ArrayStorage storage{sizeof(std::int64_t), array_};
    Loop loop;
    loop.footprint = &footprint_;
    loop.space = {1, {1}, {kIterations}};
    loop.arrays = {&array, 1};
    loop.storage = {&storage, 1};
    loop.can_trap = false;
    return run_on_devices(parts_, loop, 1, {}, {});
  }
  void leave_devices() {
    EXPECT_TRUE(array_->copies()->to_host_for_writing().ok());
    parts_.clear();
    pipelines_.clear();
  }

  // The array, as the host finds it.
  Values found() {
    EXPECT_TRUE(array_->copies()->to_host_for_reading().ok());
    Values values(kElements);
    std::memcpy(values.data(), array_->data(), array_->size());
    return values;
  }
  static Values expected(unsigned loops) {
    Values values(kElements);
    std::iota(values.begin(), values.end(), 1);
    for (; loops != 0; --loops) {
      for (std::int64_t i = 1; i < kIterations; ++i)
        step_among(std::as_writable_bytes(std::span(values)).data(), i);
    }
    return values;
  }

 private:
  BufferPool pool_;
  bytecode::Module module_;
  Footprint footprint_;
  std::vector<std::shared_ptr<PromptDevice>> devices_;  // longer than what is registered with them
  Registrations registrations_{pool_};
  std::vector<std::unique_ptr<PipelineDevice>> pipelines_;
  std::vector<Part> parts_;
  Buffer* array_ = nullptr;
};

// The second device reads while the results of the first one's first chunk arrive; both begin with one iteration, and
// the iterations follow each other.
TEST_F(ReadsAmongWrites, FindNothingThatIsArriving) {
  unsigned loops = 0;
  for (const bool may_be_lost : {false, true}) {
    Latch arriving;
    Latch read;
    const auto first = add("first", false);
    const auto second = add("second", may_be_lost);
    first->opened_by_download = second->upload_waits = &arriving;
    first->download_waits = second->opened_by_upload = &read;
    // The second loop finds what the first one has left on the devices.
    for (unsigned turn = 0; turn < 2; ++turn) {
      ASSERT_TRUE(std::holds_alternative<PipelineOutcome>(run()));
      EXPECT_EQ(found(), expected(++loops));
    }
    EXPECT_EQ(second->upload_waits, nullptr) << "it has waited";
    EXPECT_EQ(first->opened_by_download, nullptr);
    leave_devices();
  }
}

}  // namespace
}  // namespace dhpvm::offload
