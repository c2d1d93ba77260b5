// SPDX-License-Identifier: Apache-2.0
// The functions that compiled code calls: the counterpart, in C++, of codegen/lower/runtime_calls.h, where the
// parameters are explained.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "vm/anchor.h"
#include "vm/interpreter.h"
#include "vm/isolate.h"
#include "vm/operands.h"
#include "vm/runtime.h"
#include "vm/tier.h"
#include "vm/trap.h"

namespace dhpvm::vm {
namespace {

using bytecode::Word;

constexpr std::int64_t kTrapped = -1;

Context& context_of(void* state) { return *static_cast<Context*>(state); }
gc::Ref* references(void* r) { return static_cast<gc::Ref*>(r); }

void trap(void* state, void* r, std::int64_t left, std::uint64_t site, std::uint32_t kind, std::int64_t ticks,
          std::uint64_t operand0, std::uint64_t operand1, std::uint64_t operand2, void* reference) {
  Context& context = context_of(state);
  context.ticks = ticks;
  const Anchor anchor(context, site, left, context.primitives, references(r));
  const std::array<std::uint64_t, 3> operands = {operand0, operand1, operand2};
  place_operands(context, context.primitives, references(r), operands, static_cast<gc::Ref>(reference));
  raise(context, static_cast<TrapReason>(kind));
}

void unwind(void* state, std::uint64_t site) {
  Context& context = context_of(state);
  const LinkedFunction& function = context.functions[site >> 32];
  context.trace.push_back(
      {&function, context.linked->functions()[site >> 32].code + static_cast<std::uint32_t>(site)});
}

std::int64_t catch_trap(void* state) {
  const Context& context = context_of(state);
  return is_catchable(*context.trap) ? context.ticks : kTrapped;
}

std::int64_t caught(void* state, void* r, std::int64_t left, std::uint64_t site) {
  Context& context = context_of(state);
  const Anchor anchor(context, site, left, context.primitives, references(r));
  return keep_trap(context);
}

void trap_again(void* state, void* r, std::int64_t left, std::uint64_t site, std::int64_t ticks,
                std::int64_t number) {
  Context& context = context_of(state);
  context.ticks = ticks;
  const Anchor anchor(context, site, left, context.primitives, references(r));
  raise_again(context, number);
}

std::int64_t tick(void* state, void* r, std::int64_t left, std::uint64_t site) {
  Context& context = context_of(state);
  const Anchor anchor(context, site, left, context.primitives, references(r));
  if (!refill_ticks(context)) return kTrapped;
  return --context.ticks;
}

// Runs function `index`, whose arguments stand at the first free registers, until it returns.
std::int64_t call_in(Context& context, gc::Ref* r, std::int64_t ticks, std::int64_t left, std::uint32_t index,
                     const Word* code) {
  const LinkedFunction& callee = context.functions[index];
  const Word* const pc = context.pc;
  std::uint64_t* const p = context.p;
  gc::Ref* const outer_r = context.r;
  // Stands for the compiled caller: it has no registers of its own here.
  *++context.frame = {&kExitCode, context.p, context.r, &context.outermost, left};
  *++context.frame = {&kExitCode, context.primitives, r, &callee, left};
  Frame* const frame = context.frame;
  context.p = context.primitives;
  context.r = r;
  context.pc = code;
  context.ticks = ticks;
  std::fill(r + callee.reference_parameters, r + callee.reference_registers, nullptr);
  std::memset(frame->locals(context.local_end), 0, callee.local_bytes);
  interpret(context);
  context.frame = frame - 2;
  context.pc = pc;
  context.p = p;
  context.r = outer_r;
  return context.trap ? kTrapped : context.ticks;
}

std::int64_t call(void* state, void* r, std::int64_t ticks, std::int64_t left, std::uint32_t function) {
  Context& context = context_of(state);
  context.tier->called(function);
  return call_in(context, references(r), ticks, left, function, context.functions[function].code);
}

std::int64_t interpret_function(void* state, void* r, std::int64_t ticks, std::int64_t left,
                                std::uint32_t function) {
  Context& context = context_of(state);
  return call_in(context, references(r), ticks, left, function, context.linked->functions()[function].code);
}

std::int64_t call_method(void* state, void* r, std::int64_t ticks, std::int64_t left, std::uint64_t site,
                         std::uint32_t interface, std::uint32_t method) {
  Context& context = context_of(state);
  const gc::Ref receiver = references(r)[0];
  const std::uint32_t index =
      context.linked->find_methods(receiver->header.type, interface)->functions[method];
  left -= context.functions[index].stack_cost;
  context.ticks = ticks;
  if (left < 0 || ticks == 0) {
    const Anchor anchor(context, site, left, context.primitives, references(r));
    if (left < 0) raise(context, TrapReason::kStackOverflow);
    if (left < 0 || !refill_ticks(context)) return kTrapped;
  }
  context.tier->called(index);
  ticks = call_in(context, references(r), context.ticks - 1, left, index, context.functions[index].code);
  if (ticks < 0) unwind(state, site);
  return ticks;
}

// A function of its own, so that its caller saves no machine registers for it.
[[gnu::noinline]] std::int64_t call_anchored(Context& context, void* r, std::int64_t ticks, std::int64_t left,
                                             std::uint64_t site, const LinkedImport& import) {
  std::uint64_t* const p = context.primitives;
  context.ticks = ticks;
  const Anchor anchor(context, site, left, p + import.primitives, references(r) + import.references);
  // Calls from a native back into the program put their registers behind these windows.
  if (!call_import(context, import, p, references(r))) return kTrapped;
  return context.ticks;
}

std::int64_t call_native_function(void* state, void* r, std::int64_t ticks, std::int64_t left,
                                  std::uint64_t site, std::uint32_t index) {
  Context& context = context_of(state);
  const LinkedImport& import = context.linked->imports()[index];
  if (import.fast_path != nullptr) {
    NativeCall call{*context.isolate, context.primitives, references(r)};
    if (import.fast_path(call)) return ticks;
  }
  return call_anchored(context, r, ticks, left, site, import);
}

std::int64_t parallel_for(void* state, void* r, std::int64_t ticks, std::int64_t left, std::uint64_t site,
                          std::uint32_t index) {
  Context& context = context_of(state);
  const LinkedKernel& kernel = context.linked->kernels()[index];
  context.ticks = ticks;
  const std::size_t primitives = 2u * kernel.dimensions + kernel.scalars + kernel.accumulators;
  std::uint64_t* const p = context.primitives;
  const Anchor anchor(context, site, left, p + primitives, references(r) + kernel.arrays);
  if (!run_loop(context, kernel, p, references(r))) return kTrapped;
  return context.ticks;
}

std::int32_t inaccessible(void* state, void* r, std::int64_t left, std::uint64_t site, void* array,
                          std::int64_t index, std::uint32_t write) {
  Context& context = context_of(state);
  const Anchor anchor(context, site, left, context.primitives, references(r));
  return make_accessible(context, *static_cast<gc::Array*>(array), index, write != 0) ? 1 : 0;
}

void* new_object_of(void* state, void* r, std::int64_t left, std::uint64_t site, std::uint32_t type) {
  Context& context = context_of(state);
  const Anchor anchor(context, site, left, context.primitives, references(r));
  return new_object(context, type);
}

void* new_array_of(void* state, void* r, std::int64_t left, std::uint64_t site, std::uint32_t type,
                   std::int64_t size0, std::int64_t size1, std::int64_t size2) {
  Context& context = context_of(state);
  const Anchor anchor(context, site, left, context.primitives, references(r));
  const std::array<std::int64_t, 3> sizes = {size0, size1, size2};
  return new_array(context, type, std::span(sizes).first(context.linked->module().types[type].rank));
}

void* new_weak_to(void* state, void* r, std::int64_t left, std::uint64_t site, std::uint32_t type,
                  void* target) {
  Context& context = context_of(state);
  const Anchor anchor(context, site, left, context.primitives, references(r));
  return new_weak(context, type, static_cast<gc::Ref>(target));
}

std::int32_t array_copy(void* state, void* r, std::int64_t left, std::uint64_t site, void* to, void* from,
                        std::int64_t to_start, std::int64_t from_start, std::int64_t count) {
  Context& context = context_of(state);
  const Anchor anchor(context, site, left, context.primitives, references(r));
  return copy_array(context, static_cast<gc::Array*>(to), static_cast<gc::Array*>(from), to_start, from_start,
                    count);
}

void array_close(void* state, void* array) {
  context_of(state).isolate->close_array(static_cast<gc::Array*>(array));
}

void* string_constant(void* state, void* r, std::int64_t left, std::uint64_t site, std::uint32_t index) {
  Context& context = context_of(state);
  const Anchor anchor(context, site, left, context.primitives, references(r));
  return make_string_constant(context, index) ? context.strings[index] : nullptr;
}

void* string_concat(void* state, void* r, std::int64_t left, std::uint64_t site, std::uint32_t count) {
  Context& context = context_of(state);
  if (gc::Ref made = concat_short_strings(context, std::span(references(r), count))) return made;
  const Anchor anchor(context, site, left, context.primitives, references(r) + count);
  return concat_strings(context, std::span(references(r), count));
}

std::int32_t string_equal(void* left, void* right) {
  return strings_equal(static_cast<gc::Ref>(left), static_cast<gc::Ref>(right)) ? 1 : 0;
}

std::int32_t string_compare(void* left, void* right) {
  return compare_strings(static_cast<gc::Ref>(left), static_cast<gc::Ref>(right));
}

std::int32_t is_instance(void* state, void* object, std::uint32_t type) {
  return context_of(state).linked->is_instance(static_cast<gc::Ref>(object)->header.type, type) ? 1 : 0;
}

void log_object(void* state, void* object) {
  context_of(state).heap->write_barrier(static_cast<gc::Ref>(object));
}

void log_element(void* state, void* array, std::int64_t index) {
  context_of(state).heap->write_barrier(static_cast<gc::Array*>(array), index);
}

}  // namespace

codegen::RuntimeCalls runtime_calls() {
  codegen::RuntimeCalls calls;
  const auto address = [](auto* function) { return reinterpret_cast<const void*>(function); };
  calls.trap = address(&trap);
  calls.unwind = address(&unwind);
  calls.catch_trap = address(&catch_trap);
  calls.caught = address(&caught);
  calls.trap_again = address(&trap_again);
  calls.tick = address(&tick);
  calls.call = address(&call);
  calls.interpret = address(&interpret_function);
  calls.call_method = address(&call_method);
  calls.call_native = address(&call_native_function);
  calls.parallel_for = address(&parallel_for);
  calls.inaccessible = address(&inaccessible);
  calls.new_object = address(&new_object_of);
  calls.new_array = address(&new_array_of);
  calls.new_weak = address(&new_weak_to);
  calls.array_copy = address(&array_copy);
  calls.array_close = address(&array_close);
  calls.string_constant = address(&string_constant);
  calls.string_concat = address(&string_concat);
  calls.string_equal = address(&string_equal);
  calls.string_compare = address(&string_compare);
  calls.is_instance = address(&is_instance);
  calls.log_object = address(&log_object);
  calls.log_element = address(&log_element);
  return calls;
}

}  // namespace dhpvm::vm
