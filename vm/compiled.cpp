// SPDX-License-Identifier: Apache-2.0
#include "vm/compiled.h"

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "vm/tier.h"
#include "vm/trap.h"
#include "vm/values.h"

namespace dhpvm::vm {
namespace {

// Stack space that is kept free for functions called by compiled code, and for functions that do not check the stack.
constexpr std::uintptr_t kReserve = std::uintptr_t{256} << 10;
// Going from the interpreter into compiled code and back takes a few hundred bytes; with less space than this,
// everything stays in the interpreter, which uses no stack for the program's calls.
constexpr std::uintptr_t kToEnter = std::uintptr_t{16} << 10;

std::uintptr_t stack_pointer() { return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)); }

struct StackBounds {
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;
};

// The first thread's stack. Its end comes from the kernel's auxiliary vector: the C library would read /proc/self/maps,
// which takes a tenth of the time of a short program. Nothing if the system does not say, or if the limit is so large
// that something else may lie inside it.
StackBounds find_first_stack() {
  // The program's name is the last thing but one on the stack, followed by a zero word.
  constexpr rlim_t kUsualLimit = rlim_t{64} << 20;  // the kernel keeps twice as much free for it
  const auto name = static_cast<std::uintptr_t>(::getauxval(AT_EXECFN));
  rlimit limit{};
  if (name == 0 || ::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur > kUsualLimit) return {};
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t end = name + std::strlen(reinterpret_cast<const char*>(name)) + 1 + sizeof(void*);
  const std::uintptr_t high = (end + page - 1) / page * page;
  return {high - std::min<std::uintptr_t>(limit.rlim_cur, high), high};
}

StackBounds find_stack() {
  if (::gettid() == ::getpid()) {
    const StackBounds first = find_first_stack();
    if (first.low < stack_pointer() && stack_pointer() < first.high) return first;
  }
  StackBounds bounds;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return bounds;
  void* low = nullptr;
  std::size_t size = 0;
  if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
    bounds.low = reinterpret_cast<std::uintptr_t>(low);
    bounds.high = bounds.low + size;
  }
  pthread_attr_destroy(&attributes);
  return bounds;
}

// Runs `code` in place of the function of the top frame, and leaves the frame, unless the interpreter has to resume it.
bool run(Context& context, codegen::EnterFunction code) {
  Frame* const frame = context.frame;
  std::uint64_t* const primitives = context.primitives;
  context.primitives = context.p;
  context.pc = &kEnterNativeCode;  // the registers are not those of an instruction any more
  std::byte* const locals = frame->locals(context.local_end);
  const std::int64_t ticks = context.ticks;
  context.ticks = 0;  // compiled code has them
  const std::uintptr_t entry = std::exchange(context.native_entry, stack_pointer());
  const std::int64_t left =
      code(&context, context.p, reinterpret_cast<void**>(context.r), ticks, frame->stack_left, locals);
  context.primitives = primitives;
  context.native_entry = entry;
  if (left < 0) {
    trace_callers(context);
    return false;
  }
  context.ticks = left;
  if (context.resume != kNoResume) {
    context.pc = context.linked->code_of(*frame->function) + std::exchange(context.resume, kNoResume);
    return true;
  }
  context.pc = frame->return_pc;
  context.p = frame->caller_p;
  context.r = frame->caller_r;
  context.frame = frame - 1;
  return true;
}

void measure_native_stack(Context& context) {
  // Asking the system takes microseconds: ask once for each thread.
  thread_local const StackBounds bounds = find_stack();
  const std::uintptr_t here = stack_pointer();
  // On a stack unknown to the system, such as a coroutine's, assume half of the smallest usual size.
  const bool known = bounds.low < here && here < bounds.high;
  context.native_limit = known ? bounds.low + kReserve : here - (std::uintptr_t{32} << 10);
}

// The stack of the thread is looked up by the first compiled code of a call: interpreted calls do without.
bool has_room_to_enter(Context& context) {
  if (context.native_limit == kStackNotMeasured) measure_native_stack(context);
  return stack_pointer() >= context.native_limit + kToEnter;
}

}  // namespace

bool enter_compiled(Context& context) {
  const LinkedFunction& function = *context.frame->function;
  if (!has_room_to_enter(context)) {
    context.pc = context.linked->code_of(function);
    return true;
  }
  return run(context, context.tier->enter(function.index));
}

bool continue_compiled(Context& context) {
  // A kernel's own loops are not compiled this way.
  if (context.loop.active || !has_room_to_enter(context)) return true;
  const codegen::EnterFunction code = context.tier->sample(*context.frame->function, context.pc);
  if (context.profiler != nullptr) context.profiler->check(context, Profiler::Part::kCompiler);
  if (code == nullptr) return true;
  // The back-edge is taken here.
  const bytecode::Word word = *context.pc;
  const auto op = static_cast<bytecode::Op>(bytecode::op_of(word));
  std::uint64_t& counter = context.p[bytecode::a_of(word)];
  if (op == bytecode::Op::kForI32) counter = put(static_cast<std::int32_t>(get<std::uint32_t>(counter) + 1));
  if (op == bytecode::Op::kForI64) ++counter;
  --context.ticks;
  return run(context, code);
}

codegen::RuntimeLayout runtime_layout() {
// The context is no standard-layout class, for which alone the language promises offsets; compilers give them
// for all.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
  codegen::RuntimeLayout layout{};
  layout.state.allocation_area = offsetof(Context, area);
  layout.state.functions = offsetof(Context, bodies);
  layout.state.primitives = offsetof(Context, primitives);
  layout.state.ticks = offsetof(Context, ticks);
  layout.state.native_limit = offsetof(Context, native_limit);
  layout.state.strings = offsetof(Context, strings);
  layout.state.types = offsetof(Context, types);
  layout.state.resume = offsetof(Context, resume);
  layout.state.most_in_place = offsetof(Context, most_in_place);
  layout.state.parallel_loops = offsetof(Context, parallel_loops);
  layout.state.parallel_iterations = offsetof(Context, parallel_iterations);
  layout.state.fuel_batched = offsetof(Context, fuel_batched);
#pragma GCC diagnostic pop
  codegen::ObjectLayout& object = layout.object;
  object.type = offsetof(gc::Header, type);
  object.flags = offsetof(gc::Header, size_and_flags) + gc::Header::kFlagShift / 8;
  object.unlogged = gc::kUnlogged;
  object.granule = gc::kGranule;
  object.size_shift = 8 * offsetof(gc::Header, size_and_flags);
  object.array_data = offsetof(gc::Array, data);
  object.array_readable = offsetof(gc::Array, readable);
  object.array_writable = offsetof(gc::Array, writable);
  object.array_length = offsetof(gc::Array, length);
  object.array_dims = offsetof(gc::MultiArray, dims);
  object.vector_handle_size = sizeof(gc::Array);
  object.string_size = offsetof(gc::String, size);
  object.string_bytes = sizeof(gc::String);
  object.weak_target = offsetof(gc::Weak, target);
  object.type_stride = sizeof(gc::TypeInfo);
  object.type_size = offsetof(gc::TypeInfo, size);
  return layout;
}

}  // namespace dhpvm::vm
