// SPDX-License-Identifier: Apache-2.0
// One body per instruction (ops/*.inc), two ways to string them together:
//
// * clang: each body is a function that ends in a guaranteed tail call to the next one. The state of the
//   machine is passed as arguments, which the calling convention `preserve_none` keeps in registers. 15 to
//   40 % faster than the loop, because the compiler allocates registers per instruction, not for all at once.
// * other compilers, and sanitizers, which need ordinary stack frames: one loop around one switch.
//
// A body may use ctx, pc, p, r, fp (top frame), ticks; the operands A, B, C, BC, X; and must end with one of
//   NEXT(n)       go on with the instruction n words ahead
//   JUMP(n)       the same for branches
//   SLOW(name)    go to SLOW_OP(name), with everything as it is
//   TRAP(reason)  trap
//   EXIT()        leave the interpreter; registers are saved
//   RESUME()      go on with the saved registers
//   SAVE()        save them (does not end the body)
// A MEMORY_OP exists twice: once plain, once with kRaces set, which also tells the race detector.
#include "vm/interpreter.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "base/trigonometry.h"
#include "bytecode/field_place.h"
#include "bytecode/isa.h"
#include "vm/compiled.h"
#include "vm/isolate.h"
#include "vm/runtime.h"
#include "vm/trap.h"
#include "vm/values.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DHPVM_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define DHPVM_SANITIZED 1
#endif
#endif

#if defined(__clang__) && defined(__has_cpp_attribute) && !defined(DHPVM_SANITIZED)
#if __has_cpp_attribute(clang::musttail) && __has_cpp_attribute(clang::preserve_none)
#define DHPVM_TAIL_CALLS 1
#endif
#endif

namespace dhpvm::vm {
namespace {

using bytecode::Op;
using bytecode::Word;
using I32 = std::int32_t;
using I64 = std::int64_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

// Fields and elements of any type at any address; compiled to one instruction.
template <typename T>
T load(const std::byte* address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}
template <typename T>
void store(std::byte* address, T value) {
  std::memcpy(address, &value, sizeof(T));
}

std::uint64_t multiply_high(std::uint64_t x, std::uint64_t y) {
  __extension__ using U128 = unsigned __int128;
  return static_cast<std::uint64_t>(U128{x} * y >> 64);
}

// The interpreter's own opcodes stand outside of the module's code.
void count_execution(Context& context, const Word* pc) {
  const auto offset = static_cast<std::size_t>(pc - context.linked->module().code.data());
  if (offset < context.executions.size()) ++context.executions[offset];
}

// Undoes the count of an instruction whose slow path runs it again before it has done anything.
void count_repeat(Context& context, const Word* pc) {
  if (context.executions.empty() || pc != context.pc) [[likely]]
    return;
  const auto offset = static_cast<std::size_t>(pc - context.linked->module().code.data());
  if (offset < context.executions.size()) --context.executions[offset];
}

#define A bytecode::a_of(*pc)
#define B bytecode::b_of(*pc)
#define C bytecode::c_of(*pc)
#define BC bytecode::bc_of(*pc)
#define X pc[1]

#define SAVE()          \
  do {                  \
    ctx->pc = pc;       \
    ctx->p = p;         \
    ctx->r = r;         \
    ctx->frame = fp;    \
    ctx->ticks = ticks; \
  } while (false)

#define TRAP(why)                  \
  do {                             \
    ctx->reason = TrapReason::why; \
    SLOW(Trap);                    \
  } while (false)

#ifdef DHPVM_TAIL_CALLS

struct Handler;
#define DHPVM_STATE                                                                                  \
  [[maybe_unused]] Context *ctx, [[maybe_unused]] const Word *pc, [[maybe_unused]] std::uint64_t *p, \
      [[maybe_unused]] gc::Ref *r, [[maybe_unused]] Frame *fp, [[maybe_unused]] std::int64_t ticks,  \
      [[maybe_unused]] const Handler *table
#define DHPVM_STATE_VALUES ctx, pc, p, r, fp, ticks, table
struct Handler {
  [[clang::preserve_none]] void (*run)(DHPVM_STATE);
};

#define DHPVM_DEFINE(structure, memory, attributes)                   \
  struct structure {                                                  \
    static constexpr bool kMemory = memory;                           \
    template <bool kRaces>                                            \
    attributes [[clang::preserve_none]] static void run(DHPVM_STATE); \
  };                                                                  \
  template <bool kRaces>                                              \
  [[clang::preserve_none]] void structure::run(DHPVM_STATE)
#define OP(name) DHPVM_DEFINE(Op##name, false, )
#define MEMORY_OP(name) DHPVM_DEFINE(Op##name, true, )
#define INTERNAL_OP(name) DHPVM_DEFINE(Op##name, false, )
#define SLOW_OP(name) DHPVM_DEFINE(Slow##name, false, [[gnu::noinline]])

#define DISPATCH() [[clang::musttail]] return table[bytecode::op_of(*pc)].run(DHPVM_STATE_VALUES)
#define NEXT(words) \
  do {              \
    pc += (words);  \
    DISPATCH();     \
  } while (false)
#define JUMP(offset) NEXT(offset)
#define SLOW(name) [[clang::musttail]] return Slow##name::run<false>(DHPVM_STATE_VALUES)
#define EXIT() return
#define RESUME()            \
  do {                      \
    count_repeat(*ctx, pc); \
    pc = ctx->pc;           \
    p = ctx->p;             \
    r = ctx->r;             \
    fp = ctx->frame;        \
    ticks = ctx->ticks;     \
    DISPATCH();             \
  } while (false)

// clang-format off: the order matters
#include "vm/ops/slow.inc"
#include "vm/ops/control.inc"
#include "vm/ops/call.inc"
#include "vm/ops/move.inc"
#include "vm/ops/integer.inc"
#include "vm/ops/float.inc"
#include "vm/ops/array.inc"
#include "vm/ops/object.inc"
// clang-format on

template <bool kRaces>
constexpr Handler kHandlers[] = {
#define DHPVM_OP(name, ...) {&Op##name::run < kRaces && Op##name::kMemory > },
#include "bytecode/isa.def"
    {&OpExit::run<false>},
    {&OpIterate::run<false>},
    {&OpEnterNative::run<false>},
};

// Takes the place of each handler where executions are counted: counts, and continues with the handler itself.
template <bool kRaces>
[[clang::preserve_none]] void run_counted(DHPVM_STATE) {
  count_execution(*ctx, pc);
  [[clang::musttail]] return kHandlers<kRaces>[bytecode::op_of(*pc)].run(DHPVM_STATE_VALUES);
}

template <bool kRaces>
constexpr auto kCountingHandlers = [] {
  std::array<Handler, std::size(kHandlers<kRaces>)> handlers{};
  handlers.fill({&run_counted<kRaces>});
  return handlers;
}();

template <bool kRaces, bool kCounts>
void run(Context& context) {
  const Handler* const table = kCounts ? kCountingHandlers<kRaces>.data() : kHandlers<kRaces>;
  table[bytecode::op_of(*context.pc)].run(&context, context.pc, context.p, context.r, context.frame,
                                          context.ticks, table);
}

#else

// Every opcode and the interpreter's own: a switch over it must have a body for each, or does not compile.
enum class Body : std::uint16_t {
#define DHPVM_OP(name, ...) k##name,
#include "bytecode/isa.def"
  kExit = kExitOp,
  kIterate = kIterateOp,
  kEnterNative = kEnterNativeOp,
};

#define OP(name) case Body::k##name:
#define MEMORY_OP(name) OP(name)
#define INTERNAL_OP(name) OP(name)
#define SLOW_OP(name) slow_##name:
#define NEXT(words) \
  do {              \
    pc += (words);  \
    goto dispatch;  \
  } while (false)
#define JUMP(offset) NEXT(offset)
#define SLOW(name) goto slow_##name
#define EXIT() return
#define RESUME()            \
  do {                      \
    count_repeat(*ctx, pc); \
    pc = ctx->pc;           \
    p = ctx->p;             \
    r = ctx->r;             \
    fp = ctx->frame;        \
    ticks = ctx->ticks;     \
    goto dispatch;          \
  } while (false)

template <bool kRaces, bool kCounts>
void run(Context& context) {
  Context* const ctx = &context;
  const Word* pc = context.pc;
  std::uint64_t* p = context.p;
  gc::Ref* r = context.r;
  Frame* fp = context.frame;
  std::int64_t ticks = context.ticks;
dispatch:
  if constexpr (kCounts) count_execution(context, pc);
  switch (static_cast<Body>(bytecode::op_of(*pc))) {
    // clang-format off: the order matters
#include "vm/ops/control.inc"
#include "vm/ops/call.inc"
#include "vm/ops/move.inc"
#include "vm/ops/integer.inc"
#include "vm/ops/float.inc"
#include "vm/ops/array.inc"
#include "vm/ops/object.inc"
    // clang-format on
  }
  __builtin_unreachable();  // the verifier lets no other opcode through
#include "vm/ops/slow.inc"
}

#endif

#ifdef DHPVM_SANITIZED
// Under a sanitizer, compiling the loop once takes 12 s. There the counting variant serves both: it counts nothing
// where there are no counters.
constexpr bool kAlwaysCounts = true;
#else
constexpr bool kAlwaysCounts = false;
#endif

template <bool kRaces>
void run_from(Context& context) {
  if constexpr (!kAlwaysCounts) {
    if (context.executions.empty()) return run<kRaces, false>(context);
  }
  run<kRaces, true>(context);
}

}  // namespace

void interpret(Context& context) {
  do {
    context.races != nullptr ? run_from<true>(context) : run_from<false>(context);
  } while (context.trap && continue_at_handler(context));
}

}  // namespace dhpvm::vm
