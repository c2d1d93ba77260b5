// SPDX-License-Identifier: Apache-2.0
// Calls from C++ into the program.
#include "vm/invocation.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "vm/trap.h"

namespace dhpvm::vm {
namespace {

// The time of an outermost call: its deadline, and its trace event.
class Clock {
 public:
  Clock(Context& context, const LinkedFunction& function, std::chrono::nanoseconds deadline)
      : context_(context), function_(function), begin_(Tracer::Clock::now()) {
    // A deadline beyond the end of the clock never comes.
    if (deadline < Tracer::Clock::time_point::max() - begin_) context.deadline = begin_ + deadline;
  }
  ~Clock() {
    context_.deadline.reset();
    if (context_.deadline_alarm) {
      context_.deadline_alarm.reset();
      context_.stop->lower(StopToken::kDeadline);
    }
    const Tracer::Clock::time_point end = Tracer::Clock::now();
    context_.run_time += end - begin_;
    if (context_.tracer == nullptr) return;
    context_.tracer->slice(context_.track, context_.linked->module().name_of(*function_.source), begin_, end);
  }
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

 private:
  Context& context_;
  const LinkedFunction& function_;
  Tracer::Clock::time_point begin_;
};

}  // namespace

void Invocation::clear() const {
  const LinkedFunction& callee = *frame_->function;
  std::fill_n(r_, callee.reference_registers, nullptr);
  if (callee.local_bytes != 0) std::memset(frame_->locals(context_.local_end), 0, callee.local_bytes);
}

Status Invocation::why_not() const {
  if (frame_ == nullptr && context_.depth == 0)
    return Error(ErrorCode::kStackOverflow, "the stack limit leaves no room for a call: raise it");
  if (frame_ == nullptr || context_.depth == kMaximumDepth)
    return error(ErrorCode::kStackOverflow, "calls from native functions are nested too deeply");
  context_.stop->lower(StopToken::kInterrupt);
  return Error(ErrorCode::kInterrupted, "the program was asked to stop");
}

// The path for an outermost call that is traced or profiled, or has a deadline. Separate from other calls, which take
// some twenty nanoseconds.
void Invocation::interpret_observed(const LinkedFunction& function) {
  std::optional<Clock> clock;
  const std::chrono::nanoseconds deadline = deadline_;
  if (deadline != Limits::kNoDeadline || context_.tracer != nullptr)
    clock.emplace(context_, function, deadline);
  if (context_.profiler != nullptr) context_.profiler->begin(context_);
  interpret(context_);
}

Error Invocation::trap_of_call(Context& context) {
  context.loop.active = false;
  Error trap = take_trap(context);
  // The request is answered only now: every thread that works for this call has seen it.
  if (context.depth == 0 && trap.code() == ErrorCode::kInterrupted)
    context.stop->lower(StopToken::kInterrupt);
  return trap;
}

Status Isolate::call(std::uint32_t function, std::span<std::uint64_t> p, std::span<gc::Ref> r) {
  if (function >= linked_->functions().size()) {
    return error(ErrorCode::kInvalidArgument, "function {} does not exist", function);
  }
  const LinkedFunction& callee = linked_->functions()[function];
  std::size_t primitive_results = 0;
  std::size_t reference_results = 0;
  for (const bytecode::ValueType& result : callee.source->signature.results) {
    ++(result.is_ref() ? reference_results : primitive_results);
  }
  if (p.size() < std::max<std::size_t>(callee.primitive_parameters, primitive_results) ||
      r.size() < std::max<std::size_t>(callee.reference_parameters, reference_results)) {
    return error(ErrorCode::kInvalidArgument, "the spans are too short for the arguments or results of '{}'",
                 module().name_of(*callee.source));
  }
  Invocation invocation(*this, function);
  if (invocation.ok()) {
    std::copy_n(p.data(), callee.primitive_parameters, invocation.p());
    std::copy_n(r.data(), callee.reference_parameters, invocation.r());
  }
  DHPVM_TRY(invocation.run());
  std::copy_n(invocation.p(), primitive_results, p.data());
  std::copy_n(invocation.r(), reference_results, r.data());
  return {};
}

}  // namespace dhpvm::vm
