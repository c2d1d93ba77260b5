// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/cuda/fake/fake_state.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace dhpvm::offload::cu::fake {
namespace {

// The file that asks for a line about each launch; null: none.
const char* report_path() { return std::getenv("DHPVM_CUDA_REPORT"); }

void report(const ptx::Counts& counts) {
  std::FILE* const file = std::fopen(report_path(), "a");
  if (file == nullptr) return;
  std::fprintf(file, "%s\n", text_of(counts).c_str());
  std::fclose(file);
}

}  // namespace

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

Code interpret(ptx::KernelLaunch& launch) {
  // One launch at a time: two would write the traces of one element at once.
  static std::mutex running;
  const std::lock_guard one(running);
  launch.is_metered = report_path() != nullptr;
  ptx::LaunchOutcome outcome = ptx::run(launch);
  if (launch.is_metered) report(outcome.counts);
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

}  // namespace dhpvm::offload::cu::fake
