// SPDX-License-Identifier: Apache-2.0
#include "base/background_calls.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dhpvm {
namespace {

// How often a waiting thread polls.
constexpr std::chrono::milliseconds kPollInterval(4);

}  // namespace

BackgroundCalls::~BackgroundCalls() {
  // Without the mutex, which each thread takes at its end.
  for (const std::shared_ptr<Call>& call : calls_) call->thread.join();
}

BackgroundCalls::Handle BackgroundCalls::begin(std::function<void()> function) {
  forget_returned();
  const auto call = std::make_shared<Call>();
  // The thread destroys everything that the function has captured.
  const auto shared = std::make_shared<std::function<void()>>(std::move(function));
  // The thread does not own the call, whose last owner joins the thread.
  auto thread = Thread::start("dhpvm-aside", [this, call = call.get(), shared] {
    (*shared)();
    *shared = nullptr;  // what it has captured is gone before anything learns that it has returned
    const std::lock_guard lock(mutex_);
    call->has_returned = true;
    changed_.notify_all();
  });
  if (!thread.ok()) {
    (*shared)();
    call->has_returned = true;
    return call;
  }
  const std::lock_guard lock(mutex_);
  call->thread = std::move(thread).value();
  calls_.push_back(call);
  return call;
}

Status BackgroundCalls::wait(const Handle& call, const std::function<Status()>& poll) {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kPollInterval, [&] { return call->has_returned; })) {
    lock.unlock();
    DHPVM_TRY(poll());
    lock.lock();
  }
  return {};
}

bool BackgroundCalls::finish(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [this] {
    return std::ranges::all_of(calls_, [](const auto& each) { return each->has_returned; });
  });
}

// Joins the threads that have ended. Handles of others keep theirs.
void BackgroundCalls::forget_returned() {
  std::list<std::shared_ptr<Call>> returned;
  const std::lock_guard lock(mutex_);
  for (auto each = calls_.begin(); each != calls_.end();) {
    const auto next = std::next(each);
    if ((*each)->has_returned) returned.splice(returned.end(), calls_, each);
    each = next;
  }
}

}  // namespace dhpvm
