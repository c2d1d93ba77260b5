// SPDX-License-Identifier: Apache-2.0
// One call from C++ into the program, cheap enough for millions of calls a second. It is in the header because a call
// consists of these few stores, and a call of a function in another file would cost as much again.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#include "dhpvm/result.h"
#include "vm/compiled.h"
#include "vm/context.h"
#include "vm/interpreter.h"
#include "vm/isolate.h"

namespace dhpvm::vm {

//   Invocation call(isolate, function);
//   call.p()[0] = 42;                // arguments: primitives in p(), references in r(), as in NativeCall
//   DHPVM_TRY(call.run());
//   use(call.p()[0], call.r()[0]);   // results, in the same windows
//
// References in r() are roots for as long as the Invocation lives, before and after run(), so arguments may
// be allocated straight into it. Invocations of one isolate must be destroyed in reverse order of
// construction, and run at most once each, while no younger one exists.
class Invocation {
 public:
  Invocation(Isolate& isolate, std::uint32_t function)
      : context_(*isolate.context_), deadline_(isolate.options_.limits.deadline) {
    enter(function);
  }
  ~Invocation() { leave(); }
  Invocation(const Invocation&) = delete;
  Invocation& operator=(const Invocation&) = delete;

  // False if the stack limit leaves no room: p() and r() are then null, and run() returns kStackOverflow.
  bool ok() const { return frame_ != nullptr; }
  std::uint64_t* p() const { return p_; }
  gc::Ref* r() const { return r_; }

  // Runs the function to its end. On a trap: the error, with the frames of this call.
  [[gnu::always_inline]] Status run();

  // Ends the call before the destructor does. The results can be read until the program's next call, but references
  // among them are no roots any more.
  void leave() {
    Frame* const frame = frame_;
    if (frame == nullptr) return;
    Context& context = context_;
    const bytecode::Word* const pc = outer_pc_;
    std::uint64_t* const p = frame->caller_p;
    gc::Ref* const r = frame->caller_r;
    frame_ = nullptr;
    context.pc = pc;
    context.p = p;
    context.r = r;
    context.frame = frame - 1;
  }

 private:
  // The references that are cleared without looking at how many there are, because a call of memset would cost more.
  // Pages behind the stack's limit are reserved, so that there is always room for them.
  static constexpr unsigned kFewReferences = 4;

  // Read everything before anything is written: after a store through a pointer, the compiler has to load again.
  void enter(std::uint32_t function) {
    Context& context = context_;
    const LinkedFunction& callee = context.functions[function];
    Frame* const outer = context.frame;
    const std::int64_t left = outer->stack_left - callee.stack_cost;
    if (left < 0) [[unlikely]]
      return;
    const LinkedFunction& caller = *outer->function;
    const bytecode::Word* const outer_pc = context.pc;
    std::uint64_t* const outer_p = context.p;
    gc::Ref* const outer_r = context.r;
    std::uint64_t* const p = outer_p + caller.primitive_registers;
    gc::Ref* const r = outer_r + caller.reference_registers;
    Frame* const frame = outer + 1;
    *frame = {&kExitCode, outer_p, outer_r, &callee, left};
    std::fill_n(r, kFewReferences, nullptr);
    outer_pc_ = outer_pc;
    frame_ = frame;
    p_ = p;
    r_ = r;
    context.pc = &kExitCode;
    context.frame = frame;
    context.p = p;
    context.r = r;
    if (callee.reference_registers > kFewReferences || callee.local_bytes != 0) [[unlikely]]
      clear();
  }
  // The references and local arrays of the frame.
  void clear() const;
  // A function of its own: run() would otherwise have a frame for the errors.
  Status why_not() const;
  void interpret_observed(const LinkedFunction& function);
  static Error trap_of_call(Context& context);

  Context& context_;
  const std::chrono::nanoseconds& deadline_;  // of outermost calls; a host function may set it meanwhile
  std::uint64_t* p_ = nullptr;
  gc::Ref* r_ = nullptr;
  Frame* frame_ = nullptr;
  const bytecode::Word* outer_pc_ = nullptr;  // where the caller stands, in the program or outside
};

inline Status Invocation::run() {
  Context& context = context_;
  const std::uint32_t depth = context.depth;
  if (frame_ == nullptr || depth == kMaximumDepth) [[unlikely]]
    return why_not();
  bool is_observed = false;
  if (depth == 0) {
    // The first safepoint may be a thousand ticks away.
    if (context.stop->reasons() != 0) [[unlikely]]
      return why_not();
    context.native_limit = kStackNotMeasured;  // it may be another thread than the last time
    is_observed =
        deadline_ != Limits::kNoDeadline || context.tracer != nullptr || context.profiler != nullptr;
  }
  Frame* const frame = frame_;
  context.pc = frame->function->code;
  context.depth = depth + 1;
  ++context.host_calls;
  std::vector<Error>& caught = context.catching.kept;
  const std::size_t kept = caught.size();
  if (is_observed) [[unlikely]] {
    interpret_observed(*frame->function);
  } else {
    interpret(context);
  }
  context.depth = depth;
  if (caught.size() > kept) [[unlikely]]
    caught.erase(caught.begin() + static_cast<std::ptrdiff_t>(kept), caught.end());
  // The results stand in the registers of the call that has returned; they stay rooted.
  context.frame = frame;
  context.p = p_;
  context.r = r_;
  context.pc = &kExitCode;
  if (context.trap) [[unlikely]]
    return trap_of_call(context);
  return {};
}

}  // namespace dhpvm::vm
