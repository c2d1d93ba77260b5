// SPDX-License-Identifier: Apache-2.0
// Calls from C++ into the program.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "vm/compiled.h"
#include "vm/context.h"
#include "vm/interpreter.h"
#include "vm/isolate.h"
#include "vm/trap.h"

namespace dhpvm::vm {
namespace {

// The time of an outermost call: its deadline, and its trace event.
class Clock {
 public:
  Clock(Context& context, const LinkedFunction& function, std::chrono::nanoseconds deadline)
      : context_(context), function_(function), begin_(Tracer::Clock::now()) {
    // Beyond the end of the clock, it never comes.
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

// An outermost call that somebody looks at. Apart from the others, which take some twenty nanoseconds.
[[gnu::noinline]] void interpret_observed(Context& context, const LinkedFunction& function,
                                          std::chrono::nanoseconds deadline) {
  std::optional<Clock> clock;
  if (deadline != Limits::kNoDeadline || context.tracer != nullptr)
    clock.emplace(context, function, deadline);
  if (context.profiler != nullptr) context.profiler->begin(context);
  interpret(context);
}

// The trap of a call that has ended.
[[gnu::noinline]] Error trap_of_call(Context& context) {
  context.loop.active = false;
  Error trap = take_trap(context);
  // Only now is the request answered: every thread that works for this call has seen it.
  if (context.depth == 0 && trap.code() == ErrorCode::kInterrupted)
    context.stop->lower(StopToken::kInterrupt);
  return trap;
}

}  // namespace

Invocation::Invocation(Isolate& isolate, std::uint32_t function) : isolate_(isolate) {
  Context& context = *isolate.context_;
  const LinkedFunction& callee = context.functions[function];
  const std::int64_t left = context.frame->stack_left - callee.stack_cost;
  if (left < 0) return;
  p_ = context.p + context.frame->function->primitive_registers;
  r_ = context.r + context.frame->function->reference_registers;
  frame_ = context.frame + 1;
  outer_pc_ = std::exchange(context.pc, &kExitCode);
  *frame_ = {&kExitCode, context.p, context.r, &callee, left};
  std::fill_n(r_, callee.reference_registers, nullptr);
  if (callee.local_bytes != 0) std::memset(frame_->locals(context.local_end), 0, callee.local_bytes);
  context.frame = frame_;
  context.p = p_;
  context.r = r_;
}

Invocation::~Invocation() {
  if (frame_ == nullptr) return;
  Context& context = *isolate_.context_;
  context.pc = outer_pc_;
  context.frame = frame_ - 1;
  context.p = frame_->caller_p;
  context.r = frame_->caller_r;
}

Status Invocation::run() {
  Context& context = *isolate_.context_;
  if (frame_ == nullptr || context.depth == kMaximumDepth) [[unlikely]] {
    return error(ErrorCode::kStackOverflow, "calls from native functions are nested too deeply");
  }
  bool is_observed = false;
  const std::chrono::nanoseconds deadline = isolate_.options_.limits.deadline;
  if (context.depth == 0) {
    // The first safepoint may be a thousand ticks away.
    if (context.stop->reasons() != 0) [[unlikely]] {
      context.stop->lower(StopToken::kInterrupt);
      return Error(ErrorCode::kInterrupted, "the program was asked to stop");
    }
    context.native_limit = kStackNotMeasured;  // it may be another thread than the last time
    is_observed = deadline != Limits::kNoDeadline || context.tracer != nullptr || context.profiler != nullptr;
  }
  const LinkedFunction& function = *frame_->function;
  context.pc = function.code;
  ++context.depth;
  ++context.host_calls;
  std::vector<Error>& caught = context.catching.kept;
  const std::size_t kept = caught.size();
  if (is_observed) [[unlikely]] {
    interpret_observed(context, function, deadline);
  } else {
    interpret(context);
  }
  --context.depth;
  if (caught.size() > kept) [[unlikely]]
    caught.erase(caught.begin() + static_cast<std::ptrdiff_t>(kept), caught.end());
  // The results stand in the registers of the call that has returned; they stay rooted.
  context.frame = frame_;
  context.p = p_;
  context.r = r_;
  context.pc = &kExitCode;
  if (context.trap) [[unlikely]]
    return trap_of_call(context);
  return {};
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
