// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/cuda/fake/fake_state.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace dhpvm::offload::cu::fake {
namespace {

// The file of the report; null: none.
const char* report_path() { return std::getenv("DHPVM_CUDA_REPORT"); }

}  // namespace

void report(const std::string& line) {
  std::FILE* const file = report_path() == nullptr ? nullptr : std::fopen(report_path(), "a");
  if (file == nullptr) return;
  std::fprintf(file, "%s\n", line.c_str());
  std::fclose(file);
}

std::string refused_call() {
  const char* const name = std::getenv("DHPVM_CUDA_REFUSES");
  return name == nullptr ? "" : name;
}

State& state() {
  // Never destroyed: the driver outlives its users.
  static State& the_state = *new State;
  return the_state;
}

std::vector<CUctx_st*>& current() {
  thread_local std::vector<CUctx_st*> contexts;
  return contexts;
}

bool& in_host_function() {
  thread_local bool inside = false;
  return inside;
}

std::shared_ptr<ptx::Allocation> allocation_of(Address address, std::size_t bytes) {
  auto found = state().allocations.upper_bound(address);
  if (found == state().allocations.begin()) return nullptr;
  --found;
  return found->second->contains(address, bytes) ? found->second : nullptr;
}

bool is_registered(const void* memory, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  auto found = state().registrations.upper_bound(address);
  if (found == state().registrations.begin()) return false;
  --found;
  return address - found->first <= found->second && bytes <= found->second - (address - found->first);
}

void run_stream(CUstream_st& stream) {
  State& all = state();
  std::unique_lock lock(all.mutex);
  while (true) {
    all.changed.wait(lock, [&] { return stream.closing || !stream.work.empty(); });
    if (stream.work.empty()) return;
    const std::function<void()> work = std::move(stream.work.front());
    stream.work.pop_front();
    stream.busy = true;
    const bool lost = stream.context->lost != CUDA_SUCCESS;
    lock.unlock();
    if (!lost) work();
    lock.lock();
    stream.busy = false;
    all.changed.notify_all();
  }
}

void push(CUstream_st& stream, std::function<void()> work) {
  stream.work.push_back(std::move(work));
  state().changed.notify_all();
}

void wait_until_idle(CUstream_st& stream, std::unique_lock<std::mutex>& lock) {
  state().changed.wait(lock, [&] { return stream.work.empty() && !stream.busy; });
}

namespace {

// Runs a kernel that is a function of the test; all its parameters have 64 bits.
int run_hook(FakeCudaKernel kernel, void* data, const ptx::KernelLaunch& launch) {
  std::vector<std::uint64_t> arguments(launch.parameters.size() / sizeof(std::uint64_t));
  std::memcpy(arguments.data(), launch.parameters.data(), arguments.size() * sizeof(std::uint64_t));
  const FakeCudaLaunch told = {launch.entry->name.c_str(), launch.grid.x, launch.block.x, arguments.data(),
                               static_cast<unsigned>(arguments.size())};
  return kernel(&told, data);
}

Code interpret(ptx::KernelLaunch& launch) {
  {
    const std::lock_guard lock(state().mutex);
    for (const auto& [address, memory] : state().allocations) launch.memory.push_back(memory);
  }
  // One launch at a time: two would write the records of one element at once.
  static std::mutex running;
  const std::lock_guard one(running);
  launch.is_metered = report_path() != nullptr;
  ptx::LaunchOutcome outcome = ptx::run(launch);
  if (launch.is_metered) report(text_of(outcome.counts));
  if (!outcome.fault) return CUDA_SUCCESS;
  const std::lock_guard lock(state().mutex);
  state().fault = std::move(outcome.fault->message);
  switch (outcome.fault->kind) {
    case ptx::FaultKind::kAddress: return CUDA_ERROR_ILLEGAL_ADDRESS;
    case ptx::FaultKind::kAlignment: return CUDA_ERROR_MISALIGNED_ADDRESS;
    case ptx::FaultKind::kLimit: return CUDA_ERROR_LAUNCH_TIMEOUT;
    case ptx::FaultKind::kStack: return CUDA_ERROR_HARDWARE_STACK_ERROR;
    default: return CUDA_ERROR_LAUNCH_FAILED;
  }
}

}  // namespace

bool is_possible(const CUfunc_st& function, const KernelNodeParams& params) {
  const std::uint64_t block = std::uint64_t{params.block_x} * params.block_y * params.block_z;
  if (params.grid_x == 0 || params.grid_y == 0 || params.grid_z == 0 || params.grid_y > 65535 ||
      params.grid_z > 65535 || block == 0 || block > 1024 || params.block_z > 64 || params.extra != nullptr)
    return false;
  const ptx::Extent required = function.entry->required_block;
  if (required.count() != 0 &&
      (required.x != params.block_x || required.y != params.block_y || required.z != params.block_z))
    return false;
  const ptx::Extent most = function.entry->largest_block;
  return most.count() == 0 || most.count() >= block;
}

ptx::KernelLaunch launch_of(const CUfunc_st& function, const KernelNodeParams& params) {
  ptx::KernelLaunch launch;
  launch.entry = function.entry;
  launch.grid = {params.grid_x, params.grid_y, params.grid_z};
  launch.block = {params.block_x, params.block_y, params.block_z};
  launch.dynamic_shared = params.shared;
  launch.parameters.resize(ptx::parameter_bytes(*function.entry));
  for (std::size_t i = 0; i < function.entry->parameters.size(); ++i) {
    const ptx::Variable& parameter = function.entry->parameters[i];
    std::memcpy(launch.parameters.data() + parameter.offset, params.parameters[i], parameter.bytes);
  }
  return launch;
}

void run(const CUfunc_st& function, ptx::KernelLaunch launch, CUctx_st& context) {
  FakeCudaKernel kernel = nullptr;
  void* data = nullptr;
  {
    const std::lock_guard lock(state().mutex);
    kernel = state().kernel;
    data = state().kernel_data;
  }
  launch.program = function.program.get();
  const int code = kernel != nullptr ? run_hook(kernel, data, launch) : interpret(launch);
  if (code == 0) return;
  const std::lock_guard lock(state().mutex);
  context.lost = static_cast<Code>(code);
  state().changed.notify_all();
}

}  // namespace dhpvm::offload::cu::fake
