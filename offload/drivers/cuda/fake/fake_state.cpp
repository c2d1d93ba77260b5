// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/cuda/fake/fake_state.h"

#include <utility>

namespace dhpvm::offload::cu::fake {

State& state() {
  // Never destroyed: the driver outlives whatever uses it.
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

bool is_allocated(Address address, std::size_t bytes) {
  auto found = state().allocations.upper_bound(address);
  if (found == state().allocations.begin()) return false;
  --found;
  return address - found->first <= found->second && bytes <= found->second - (address - found->first);
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

int parameters_of(const std::string& ptx, const std::string& entry) {
  for (std::size_t at = ptx.find(".entry"); at != std::string::npos; at = ptx.find(".entry", at + 1)) {
    const std::size_t name = ptx.find_first_not_of(" \t\n", at + 6);
    const std::size_t open = ptx.find('(', at);
    const std::size_t close = ptx.find(')', at);
    if (name == std::string::npos || close == std::string::npos || open > close) return -1;
    if (ptx.substr(name, ptx.find_first_of(" \t\n(", name) - name) != entry) continue;
    int count = 0;
    for (std::size_t p = ptx.find(".param", open); p < close; p = ptx.find(".param", p + 1)) ++count;
    return count;
  }
  return -1;
}

}  // namespace dhpvm::offload::cu::fake
