// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/late_device_for_tests.h"

#include "base/thread_pool.h"
#include "offload/devices/checked_queue.h"

namespace dhpvm::offload::hostile {

class LateQueue final : public CheckedQueue {
 public:
  LateQueue(LateDevice& device, QueueOptions options)
      : CheckedQueue(device, std::move(options)), late_(device) {}
  ~LateQueue() override {
    late_.hold(false);
    late_.wait([&] { return late_.pending_.empty(); });
  }
  Status flush() override { return {}; }

  void perform(Operation operation) {
    Status status = await(operation);
    if (status.ok()) status = late_.fate_of(operation);
    if (status.ok()) status = do_on_host(pool_, operation);
    finish(std::move(operation), std::move(status));
  }

 protected:
  void submit(Operation operation) override {
    late_.note([&] { late_.pending_.emplace_back(this, std::move(operation)); });
  }

 private:
  LateDevice& late_;
  ThreadPool pool_{1};
};

Result<std::unique_ptr<Queue>> LateDevice::create_queue(QueueOptions options) {
  return std::unique_ptr<Queue>(std::make_unique<LateQueue>(*this, std::move(options)));
}

Status LateDevice::fate_of(const Operation& operation) {
  bool fails = false;
  note([&] {
    fails = fails_at_ == operation.record.kind;
    if (fails) fails_at_.reset();
  });
  return fails ? Status(Error(ErrorCode::kDeviceFailed, "the late device has failed")) : Status();
}

void LateDevice::work() {
  for (;;) {
    const bool is_ready = wait([&] { return is_ending_ || (!is_held_ && !pending_.empty()); });
    if (!is_ready) continue;
    LateQueue* queue = nullptr;
    Operation operation;
    note([&] {
      if (pending_.empty()) return;
      queue = pending_.front().first;
      operation = std::move(pending_.front().second);
    });
    if (queue == nullptr) return;
    queue->perform(std::move(operation));
    note([&] { pending_.pop_front(); });
  }
}

}  // namespace dhpvm::offload::hostile
