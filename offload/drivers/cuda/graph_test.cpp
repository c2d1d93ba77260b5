// SPDX-License-Identifier: Apache-2.0
// Batches of CUDA devices, which become graphs of the fake driver when they come again.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "offload/devices/operation.h"
#include "offload/drivers/cuda/cuda_fixture.h"

namespace dhpvm::offload {
namespace {

using testing::HasSubstr;

class CudaGraphs : public CudaFixture {
 protected:
  using CudaFixture::CudaFixture;

  // Three launches of the kernel over the first `count` elements, with these factors.
  std::vector<Operation> launches(const std::shared_ptr<Kernel>& kernel,
                                  const std::shared_ptr<DeviceMemory>& memory,
                                  const std::array<std::uint64_t, 3>& factors, std::size_t count = kCount) {
    std::vector<Operation> steps;
    for (const std::uint64_t& factor : factors) {
      const auto size = static_cast<std::int64_t>(kCount);
      const ArrayArgument arrays[] = {{{memory, 0, kBytes}, 0, {size, size, size, {}}}};
      Launch launch;
      launch.kernel = kernel;
      launch.space.high[0] = static_cast<std::int64_t>(count);
      launch.scalars = {&factor, 1};
      launch.arrays = arrays;
      steps.push_back(operation_of(launch, 0));
    }
    return steps;
  }

  // Gives an element of memory that has ones at first, or the error.
  Result<std::uint64_t> first_of(Queue& queue, const std::shared_ptr<DeviceMemory>& memory) {
    std::vector<std::uint64_t> values(kCount);
    DHPVM_ASSIGN(const auto host,
                 device().import_host(std::as_writable_bytes(std::span(values)), HostMemory::kPinned));
    const auto read = semaphore();
    const SemaphoreValue signals[] = {{read, 1}};
    DHPVM_TRY(queue.copy({host, 0, kBytes}, {memory, 0, kBytes}, {{}, signals}));
    DHPVM_TRY(read->wait(1));
    return values[0];
  }
  // Memory of ones.
  std::shared_ptr<DeviceMemory> ones(Queue& queue) {
    std::vector<std::uint64_t> values(kCount, 1);
    const auto memory = std::move(device().allocate(kBytes)).value();
    const auto host =
        std::move(device().import_host(std::as_writable_bytes(std::span(values)), HostMemory::kPinned))
            .value();
    const auto written = semaphore();
    const SemaphoreValue signals[] = {{written, 1}};
    EXPECT_TRUE(queue.copy({memory, 0, kBytes}, {host, 0, kBytes}, {{}, signals}).ok());
    EXPECT_TRUE(written->wait(1).ok());
    return memory;
  }
  BatchRecorder::Refusals refusals() { return dynamic_cast<const BatchRecorder&>(device()).refusals(); }
  std::shared_ptr<Kernel> kernel() { return std::move(device().load(scale())).value(); }
};

TEST_F(CudaGraphs, AreMadeOfBatchesThatComeTwice) {
  Queue& work = queue();
  const auto memory = ones(work);
  const auto code = kernel();
  std::uint64_t expected = 1;
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(work.batch(launches(code, memory, {2, 3, 1}), {}).ok());
    expected *= 6;
  }
  EXPECT_EQ(first_of(work, memory).value(), expected);
  EXPECT_EQ(counts().launches, 3);
  EXPECT_EQ(counts().graphs_made, 1);
  EXPECT_EQ(counts().graph_launches, 4);
  EXPECT_EQ(device().stats().launches, 15U);
  EXPECT_EQ(device().stats().batches, 5U);
  EXPECT_EQ(device().stats().replays, 4U);
  EXPECT_EQ(refusals().count, 0U);
}

TEST_F(CudaGraphs, TakeOtherScalars) {
  Queue& work = queue();
  const auto memory = ones(work);
  const auto code = kernel();
  std::uint64_t expected = 1;
  for (std::uint64_t round = 1; round < 8; ++round) {
    ASSERT_TRUE(work.batch(launches(code, memory, {round, 3, round % 2 + 1}), {}).ok());
    expected *= round * 3 * (round % 2 + 1);
  }
  EXPECT_EQ(first_of(work, memory).value(), expected);
  EXPECT_EQ(counts().graphs_made, 1);
}

// The nodes depend on each other: products with 0 in between tell their order.
TEST_F(CudaGraphs, KeepTheOrderOfTheSteps) {
  Queue& work = queue();
  const auto memory = ones(work);
  const auto spare = ones(work);
  const auto code = kernel();
  for (int round = 0; round < 3; ++round) {
    std::vector<Operation> steps = launches(code, memory, {5, 0, 7});
    Operation copy;
    copy.record.kind = OperationRecord::Kind::kDeviceCopy;
    copy.to = {memory, 0, kBytes};
    copy.from = {spare, 0, kBytes};
    steps.insert(steps.begin() + 2, copy);
    ASSERT_TRUE(work.batch(std::move(steps), {}).ok());
    EXPECT_EQ(first_of(work, memory).value(), 7U);
  }
  EXPECT_EQ(counts().graph_launches, 2);
}

// The memory of an array that is gone, its address, and everything else may come back for another array.
TEST_F(CudaGraphs, AreNotTakenForOthers) {
  Queue& work = queue();
  const auto code = kernel();
  const auto other_code = kernel();
  auto memory = ones(work);
  const auto run = [&](const std::shared_ptr<Kernel>& with, std::size_t count) {
    ASSERT_TRUE(work.batch(launches(with, memory, {2, 1, 1}, count), {}).ok());
  };
  run(code, kCount);
  run(code, kCount);
  EXPECT_EQ(first_of(work, memory).value(), 4U);
  EXPECT_EQ(device().stats().replays, 1U);
  run(code, kCount / 2);
  run(other_code, kCount);
  EXPECT_EQ(device().stats().replays, 1U);
  EXPECT_EQ(first_of(work, memory).value(), 16U);
  memory = nullptr;
  memory = ones(work);
  EXPECT_EQ(counts().allocations_made, 1) << "it has the same address";
  run(code, kCount);
  EXPECT_EQ(device().stats().replays, 1U);
  const auto kept = memory;
  memory = ones(work);
  run(code, kCount);
  EXPECT_EQ(first_of(work, kept).value(), 2U);
  EXPECT_EQ(first_of(work, memory).value(), 2U);
  EXPECT_EQ(device().stats().replays, 1U);
}

TEST_F(CudaGraphs, TellTheTimesOfTheirSteps) {
  std::vector<OperationRecord> records;
  {
    Queue& work = queue({"compute", [&](const OperationRecord& record) { records.push_back(record); }});
    const auto memory = ones(work);
    const auto code = kernel();
    records.clear();
    hook<FakeCudaOnLaunch>(kFakeCudaOnLaunch)(
        [](const FakeCudaLaunch* launch, void*) {
          if (launch->arguments[2] == 9) std::this_thread::sleep_for(std::chrono::milliseconds(20));
          return 0;
        },
        nullptr);
    for (int round = 0; round < 2; ++round) {
      ASSERT_TRUE(work.batch(launches(code, memory, {1, 9, 1}), {}).ok());
      EXPECT_TRUE(first_of(work, memory).ok());
    }
    queues_.clear();
  }
  std::erase_if(records,
                [](const OperationRecord& record) { return record.kind != OperationRecord::Kind::kLaunch; });
  ASSERT_EQ(records.size(), 6U);
  for (std::size_t n = 0; n < records.size(); ++n) {
    EXPECT_EQ(records[n].iterations, kCount);
    if (n != 0) EXPECT_GE(records[n].begin, records[n - 1].end);
    // The others may take as long on a busy machine.
    if (n % 3 == 1) EXPECT_GT(records[n].end - records[n].begin, std::chrono::milliseconds(9)) << n;
  }
}

// The driver's share of a short loop is what a call of it costs: these are counted without waiting for the device.
TEST_F(CudaGraphs, SaveCallsOfTheDriver) {
  constexpr int kLaunches = 20;
  Queue& work = queue({"compute", [](const OperationRecord&) {}});
  const auto memory = ones(work);
  const auto scaling = kernel();
  const auto calls_of = [&](bool is_batch, std::uint64_t round) {
    std::vector<Operation> steps;
    for (int n = 0; n < kLaunches; ++n) steps.push_back(launches(scaling, memory, {round, 1, 1})[0]);
    const int before = counts().calls;
    if (is_batch) {
      EXPECT_TRUE(work.batch(std::move(steps), {}).ok());
    } else {
      for (Operation& step : steps) {
        std::vector<Operation> single;
        single.push_back(std::move(step));
        EXPECT_TRUE(work.batch(std::move(single), {}).ok());
      }
    }
    const int calls = counts().calls - before;
    EXPECT_TRUE(first_of(work, memory).ok());
    return calls;
  };
  std::array<int, 4> least = {1000, 1000, 1000, 1000};
  const auto note = [&](std::size_t which, int calls) { least[which] = std::min(least[which], calls); };
  for (int n = 0; n < 5; ++n) {
    note(0, calls_of(false, 1));
    note(n == 0 ? 1 : 2, calls_of(true, 1));
  }
  note(3, calls_of(true, 2));
  std::printf("%d single launches: %d calls; step by step %d, a graph %d, with 20 other scalars %d\n",
              kLaunches, least[0], least[1], least[2], least[3]);
  EXPECT_GE(least[0], 5 * kLaunches);
  EXPECT_LT(least[2], kLaunches / 2);
  EXPECT_EQ(least[3], least[2] + kLaunches);
}

// The batch is done step by step from then on, and the reason is known.
TEST_F(CudaGraphs, AreGivenUpWhenTheDriverRefusesThem) {
  const auto check = [&](const std::string& symbol, cu::Code code, int launched) {
    SCOPED_TRACE(symbol);
    Queue& work = queue();
    const auto memory = ones(work);
    const auto scaling = kernel();
    fail(symbol.c_str(), code);
    std::uint64_t expected = 1;
    for (std::uint64_t round = 1; round < 7; ++round) {
      ASSERT_TRUE(work.batch(launches(scaling, memory, {round, 3, 1}), {}).ok());
      expected *= round * 3;
    }
    EXPECT_EQ(first_of(work, memory).value(), expected);
    EXPECT_EQ(counts().graph_launches, launched);
    EXPECT_LE(counts().graphs_made, 1);
    const BatchRecorder::Refusals refused = refusals();
    EXPECT_EQ(refused.count, 5U - static_cast<unsigned>(launched));
    EXPECT_THAT(refused.reason, HasSubstr(symbol.substr(0, symbol.find_first_of("W_"))));
    // Another batch is tried anew.
    for (int round = 0; round < 2; ++round)
      ASSERT_TRUE(work.batch(launches(scaling, memory, {1, 1, 1}, 5), {}).ok());
    EXPECT_TRUE(first_of(work, memory).ok());
    EXPECT_EQ(counts().graph_launches, launched + 1);
    EXPECT_EQ(refusals().count, refused.count);
    queues_.clear();
  };
  for (const char* const symbol : {"cuGraphCreate", "cuGraphAddKernelNode_v2", "cuGraphInstantiateWithFlags",
                                   "cuGraphExecKernelNodeSetParams_v2", "cuGraphLaunch"}) {
    configure({});
    const std::string name = symbol;
    check(name,
          name == "cuGraphLaunch" ? cu::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES : cu::CUDA_ERROR_NOT_SUPPORTED,
          name == "cuGraphExecKernelNodeSetParams_v2" ? 1 : 0);
    device_.reset();
  }
}

TEST_F(CudaGraphs, SurviveTheFailureOfAnyCall) {
  constexpr const char* kSymbols[] = {
#define X(member, symbol, parameters) #symbol,
      DHPVM_CUDA_FUNCTIONS(X) DHPVM_CUDA_GRAPH_FUNCTIONS(X)
#undef X
  };
  for (const std::string symbol : kSymbols) {
    if (symbol == "cuCtxPushCurrent_v2" || symbol == "cuCtxPopCurrent_v2") continue;
    for (int skip = 0; skip < 5; ++skip) {
      configure({});
      {
        Queue& work = queue({"compute", [](const OperationRecord&) {}});
        const auto memory = ones(work);
        const auto code = kernel();
        fail(symbol.c_str(), cu::CUDA_ERROR_OUT_OF_MEMORY, skip);
        std::uint64_t expected = 1;
        for (std::uint64_t round = 1; round < 4; ++round) {
          static_cast<void>(work.batch(launches(code, memory, {round, 3, 1}), {}));
          expected *= round * 3;
        }
        const Result<std::uint64_t> first = first_of(work, memory);
        if (first.ok()) {
          EXPECT_EQ(*first, expected) << symbol << " " << skip;
        }
        queues_.clear();
      }
      device_.reset();
      const FakeCudaCounts now = counts();
      EXPECT_EQ(now.contexts + now.streams + now.events + now.modules + now.allocations + now.registrations +
                    now.graphs,
                0)
          << symbol << " " << skip;
      EXPECT_EQ(now.misuses, 0) << symbol << " " << skip;
    }
  }
}

TEST_F(CudaGraphs, LoseTheDeviceWithAKernel) {
  Queue& work = queue();
  const auto memory = ones(work);
  const auto code = kernel();
  ASSERT_TRUE(work.batch(launches(code, memory, {1, 1, 1}), {}).ok());
  ASSERT_TRUE(first_of(work, memory).ok());
  hook<FakeCudaOnLaunch>(kFakeCudaOnLaunch)(
      [](const FakeCudaLaunch*, void*) { return static_cast<int>(cu::CUDA_ERROR_ILLEGAL_ADDRESS); }, nullptr);
  const auto done = semaphore();
  const SemaphoreValue signals[] = {{done, 1}};
  ASSERT_TRUE(work.batch(launches(code, memory, {1, 1, 1}), {{}, signals}).ok());
  const Result<bool> reached = done->wait(1);
  ASSERT_FALSE(reached.ok());
  EXPECT_EQ(reached.error().code(), ErrorCode::kDeviceLost);
  EXPECT_THAT(reached.error().to_string(), HasSubstr("doing a batch of 3 operations on device 'cuda:0'"));
}

// Its place is needed for others while it is under way.
TEST_F(CudaGraphs, AreKeptUntilTheyHaveEnded) {
  Queue& work = queue();
  const auto memory = ones(work);
  const auto code = kernel();
  static std::atomic<bool> may_go;
  may_go = true;
  hook<FakeCudaOnLaunch>(kFakeCudaOnLaunch)(
      [](const FakeCudaLaunch* launch, void* data) {
        while (!may_go) std::this_thread::yield();
        return run_scale(launch, data);
      },
      nullptr);
  ASSERT_TRUE(work.batch(launches(code, memory, {2, 1, 1}), {}).ok());
  ASSERT_TRUE(first_of(work, memory).ok());
  may_go = false;
  ASSERT_TRUE(work.batch(launches(code, memory, {2, 1, 1}), {}).ok());
  for (std::size_t count = 1; count < 40; ++count)
    ASSERT_TRUE(work.batch(launches(code, memory, {1, 1, 1}, count), {}).ok());
  may_go = true;
  EXPECT_EQ(first_of(work, memory).value(), 4U);
}

class CudaWithoutGraphs : public CudaGraphs {
 protected:
  CudaWithoutGraphs() : CudaGraphs(DHPVM_FAKE_CUDA_WITHOUT_GRAPHS) {}
};

TEST_F(CudaWithoutGraphs, LaunchesOneByOne) {
  EXPECT_EQ(device().info().batch_bytes, 0U);
  Queue& work = queue();
  const auto memory = ones(work);
  const auto code = kernel();
  for (int round = 0; round < 4; ++round) ASSERT_TRUE(work.batch(launches(code, memory, {2, 3, 1}), {}).ok());
  EXPECT_EQ(first_of(work, memory).value(), 1296U);
  EXPECT_EQ(counts().launches, 12);
  EXPECT_EQ(device().stats().batches, 0U);
}

// The driver's own rules. A real one would launch what it has been told, and write where nothing should.
class CudaFakeGraphs : public CudaGraphs {
 protected:
  void SetUp() override {
    CudaGraphs::SetUp();
    api_ = std::move(cu::Api::load(DHPVM_FAKE_CUDA)).value();
    ASSERT_EQ(api_->DevicePrimaryCtxRetain(&context_, 0), cu::CUDA_SUCCESS);
    ASSERT_EQ(api_->CtxPushCurrent(context_), cu::CUDA_SUCCESS);
    ASSERT_EQ(api_->StreamCreate(&stream_, cu::kStreamNonBlocking), cu::CUDA_SUCCESS);
    ASSERT_EQ(api_->MemAlloc(&memory_, kBytes), cu::CUDA_SUCCESS);
    load(module_, function_);
    ASSERT_EQ(api_->GraphCreate(&graph_, 0), cu::CUDA_SUCCESS);
    ASSERT_EQ(add(node_), cu::CUDA_SUCCESS);
    ASSERT_EQ(api_->GraphInstantiate(&exec_, graph_, 0), cu::CUDA_SUCCESS);
  }
  void TearDown() override {
    api_->StreamSynchronize(stream_);
    if (exec_ != nullptr) api_->GraphExecDestroy(exec_);
    api_->GraphDestroy(graph_);
    if (module_ != nullptr) api_->ModuleUnload(module_);
    if (memory_ != 0) api_->MemFree(memory_);
    api_->StreamDestroy(stream_);
    EXPECT_EQ(counts().misuses, misuses_);
    configure({});  // forgets the misuses
    cu::Context popped = nullptr;
    api_->CtxPopCurrent(&popped);
    api_->DevicePrimaryCtxRelease(0);
    CudaGraphs::TearDown();
  }

  void load(cu::Module& module, cu::Function& function) {
    const std::string text = scale().device_code.text;
    ASSERT_EQ(api_->ModuleLoadDataEx(&module, text.c_str(), 0, nullptr, nullptr), cu::CUDA_SUCCESS);
    ASSERT_EQ(api_->ModuleGetFunction(&function, module, "scale"), cu::CUDA_SUCCESS);
  }
  cu::KernelNodeParams params() {
    values_ = {0, kCount, 3, memory_};
    for (std::size_t n = 0; n < values_.size(); ++n) pointers_[n] = &values_[n];
    cu::KernelNodeParams params;
    params.function = function_;
    params.parameters = pointers_.data();
    return params;
  }
  cu::Code add(cu::GraphNode& node) {
    const cu::KernelNodeParams launch = params();
    return api_->GraphAddKernelNode(&node, graph_, nullptr, 0, &launch);
  }
  // The call is refused, and counts as a misuse.
  void refused(cu::Code code) {
    EXPECT_EQ(code, cu::CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(counts().misuses, ++misuses_);
  }

  std::shared_ptr<const cu::Api> api_;
  cu::Context context_ = nullptr;
  cu::Stream stream_ = nullptr;
  cu::Address memory_ = 0;
  cu::Module module_ = nullptr;
  cu::Function function_ = nullptr;
  cu::Graph graph_ = nullptr;
  cu::GraphNode node_ = nullptr;
  cu::GraphExec exec_ = nullptr;
  std::array<std::uint64_t, 4> values_{};
  std::array<void*, 4> pointers_{};
  int misuses_ = 0;
};

TEST_F(CudaFakeGraphs, RefuseMemoryThatWasFreed) {
  EXPECT_EQ(api_->GraphLaunch(exec_, stream_), cu::CUDA_SUCCESS);
  api_->StreamSynchronize(stream_);
  ASSERT_EQ(api_->MemFree(memory_), cu::CUDA_SUCCESS);
  refused(api_->GraphLaunch(exec_, stream_));
  // Even if there is other memory at its address.
  ASSERT_EQ(api_->MemAlloc(&memory_, kBytes), cu::CUDA_SUCCESS);
  refused(api_->GraphLaunch(exec_, stream_));
  const cu::KernelNodeParams launch = params();
  EXPECT_EQ(api_->GraphExecKernelNodeSetParams(exec_, node_, &launch), cu::CUDA_SUCCESS);
  EXPECT_EQ(api_->GraphLaunch(exec_, stream_), cu::CUDA_SUCCESS);
}

TEST_F(CudaFakeGraphs, RefuseAnUpdateOfAnotherKernel) {
  cu::Module other = nullptr;
  cu::KernelNodeParams launch = params();
  load(other, launch.function);
  refused(api_->GraphExecKernelNodeSetParams(exec_, node_, &launch));
  EXPECT_EQ(api_->ModuleUnload(other), cu::CUDA_SUCCESS);
}

TEST_F(CudaFakeGraphs, RefuseANodeThatCameLater) {
  cu::GraphNode later = nullptr;
  ASSERT_EQ(add(later), cu::CUDA_SUCCESS);
  const cu::KernelNodeParams launch = params();
  refused(api_->GraphExecKernelNodeSetParams(exec_, later, &launch));
  EXPECT_EQ(api_->GraphLaunch(exec_, stream_), cu::CUDA_SUCCESS);
}

TEST_F(CudaFakeGraphs, RefuseDependenciesOfAnotherGraph) {
  cu::Graph other = nullptr;
  ASSERT_EQ(api_->GraphCreate(&other, 0), cu::CUDA_SUCCESS);
  const cu::KernelNodeParams launch = params();
  cu::GraphNode node = nullptr;
  refused(api_->GraphAddKernelNode(&node, other, &node_, 1, &launch));
  refused(api_->GraphInstantiate(&exec_, other, 0));
  EXPECT_EQ(api_->GraphDestroy(other), cu::CUDA_SUCCESS);
}

TEST_F(CudaFakeGraphs, RefuseTheCodeOfAModuleThatIsGone) {
  ASSERT_EQ(api_->ModuleUnload(std::exchange(module_, nullptr)), cu::CUDA_SUCCESS);
  refused(api_->GraphLaunch(exec_, stream_));
}

TEST_F(CudaFakeGraphs, RefuseToEndWhileTheyAreUnderWay) {
  static std::atomic<bool> may_go;
  may_go = false;
  hook<FakeCudaOnLaunch>(kFakeCudaOnLaunch)(
      [](const FakeCudaLaunch*, void*) {
        while (!may_go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return 0;
      },
      nullptr);
  ASSERT_EQ(api_->GraphLaunch(exec_, stream_), cu::CUDA_SUCCESS);
  std::thread release([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    may_go = true;
  });
  api_->GraphExecDestroy(std::exchange(exec_, nullptr));
  EXPECT_EQ(counts().misuses, ++misuses_);
  release.join();
}

}  // namespace
}  // namespace dhpvm::offload
