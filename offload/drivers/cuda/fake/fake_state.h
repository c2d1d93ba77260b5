// SPDX-License-Identifier: Apache-2.0
// The state of the fake driver. Streams are threads. Memory of the device is memory of the host, for which the
// interpreter of PTX records what was written, and who accessed it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "offload/drivers/cuda/driver_api.h"
#include "offload/drivers/cuda/fake/fake_cuda.h"
#include "offload/ptx/launch.h"

namespace dhpvm::offload::cu::fake {

struct Device;

// One cuEventRecord.
struct Record {
  bool done = false;
  std::chrono::steady_clock::time_point when;
};

}  // namespace dhpvm::offload::cu::fake

// The objects behind the driver's handles.
struct CUctx_st {
  dhpvm::offload::cu::Ordinal device = 0;
  int retained = 0;
  dhpvm::offload::cu::Code lost = dhpvm::offload::cu::CUDA_SUCCESS;  // the result of every call from then on
};
struct CUmod_st {
  std::shared_ptr<const dhpvm::ptx::Program> program;
  std::vector<std::unique_ptr<CUfunc_st>> functions;
};
struct CUfunc_st {
  std::shared_ptr<const dhpvm::ptx::Program> program;
  const dhpvm::ptx::Function* entry = nullptr;
};
struct CUevent_st {
  bool timed = false;
  std::shared_ptr<dhpvm::offload::cu::fake::Record> latest;  // null: never recorded
};
struct CUgraphNode_st {
  CUgraph_st* graph = nullptr;
  std::vector<CUgraphNode_st*> after;
  // A launch, or a copy.
  CUfunc_st* function = nullptr;
  dhpvm::ptx::KernelLaunch launch;
  dhpvm::offload::cu::CopyNodeParams copy;
  // The memories that the arguments pointed to when they were passed.
  std::vector<std::weak_ptr<dhpvm::ptx::Allocation>> memories;
};
struct CUgraph_st {
  CUctx_st* context = nullptr;
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
};
struct CUgraphExec_st {
  CUctx_st* context = nullptr;
  CUgraph_st* graph = nullptr;  // the graph that it was made of
  std::map<CUgraphNode_st*, CUgraphNode_st> nodes;
  std::vector<CUgraphNode_st*> order;
  int under_way = 0;
};
struct CUstream_st {
  CUctx_st* context = nullptr;
  std::deque<std::function<void()>> work;  // called without the mutex
  bool busy = false;
  bool closing = false;
  std::thread thread;
};

namespace dhpvm::offload::cu::fake {

struct Fault {
  std::string symbol;
  Code code;
  int skip;
};

// The call named by DHPVM_CUDA_REFUSES, for programs that run on this driver.
std::string refused_call();

// Guarded by its mutex.
struct State {
  std::mutex mutex;
  std::condition_variable changed;
  // The default is two devices, for programs that ask for several.
  FakeCudaConfig config = {.devices = 2};
  FakeCudaCounts counts;
  FakeCudaKernel kernel = nullptr;
  void* kernel_data = nullptr;
  std::vector<Fault> faults;
  std::string refused = refused_call();  // the function of this name always fails
  bool initialised = false;
  std::map<Ordinal, std::unique_ptr<CUctx_st>> contexts;
  std::map<Address, std::shared_ptr<ptx::Allocation>> allocations;
  std::size_t allocated = 0;
  std::set<CUfunc_st*> functions;  // of loaded modules
  std::set<CUgraph_st*> graphs;
  std::set<CUgraphExec_st*> execs;
  std::vector<std::unique_ptr<CUgraphExec_st>> ended_early;  // destroyed while in flight
  std::map<std::uintptr_t, std::size_t> registrations;
  std::string fault;  // of the last launch that failed
};

State& state();
// Appends the line to the file DHPVM_CUDA_REPORT, if that is set.
void report(const std::string& line);
// The contexts pushed by this thread, with the current one last; and whether the driver is calling the host on it.
std::vector<CUctx_st*>& current();
bool& in_host_function();

// With the mutex held. The allocation that contains all of the bytes, or null; and whether they lie in one
// registration.
std::shared_ptr<ptx::Allocation> allocation_of(Address address, std::size_t bytes);
bool is_registered(const void* memory, std::size_t bytes);

// With the mutex held by `lock`.
void run_stream(CUstream_st& stream);
void push(CUstream_st& stream, std::function<void()> work);
void wait_until_idle(CUstream_st& stream, std::unique_lock<std::mutex>& lock);

// Whether a device can run the function with such a grid; and the launch, without its program.
bool is_possible(const CUfunc_st& function, const KernelNodeParams& params);
ptx::KernelLaunch launch_of(const CUfunc_st& function, const KernelNodeParams& params);
// Runs the launch, with the test's function if there is one. A failure loses the context; a fault of the interpreter is
// stored in the state. Called without the mutex.
void run(const CUfunc_st& function, ptx::KernelLaunch launch, CUctx_st& context);

}  // namespace dhpvm::offload::cu::fake
