// SPDX-License-Identifier: Apache-2.0
// The parts of instructions that are C++ functions: what allocates, copies, calls out or goes wrong. Internal
// to this room.
//
// The saved registers say where the program stands. A result of false means that it has trapped, and context.trap is
// set.
#pragma once

#include <cstdint>
#include <span>

#include "vm/context.h"

namespace dhpvm::offload {
struct OpenBlock;
}

namespace dhpvm::vm {

// At a safepoint without ticks: checks interrupt, deadline and fuel, and gives out the next batch of ticks.
bool refill_ticks(Context& context);
// The same without fuel: checks only interrupt and deadline.
bool look_at_clock(Context& context);
// After an instruction that has moved `bytes` bytes at once, or may have collected. Checks interrupt and deadline if
// many bytes have added up (new arrays and strings count themselves) or the collector has run.
bool poll_after_bulk(Context& context, std::uint64_t bytes);
constexpr std::uint64_t kBulkBytes = std::uint64_t{8} << 20;

// Calls an import with the argument windows at `p` and `r`.
bool call_import(Context& context, const LinkedImport& import, std::uint64_t* p, gc::Ref* r);

// parallel.for: leaves the registers at the first iteration, or behind the loop if there is none.
bool begin_loop(Context& context);
// The same for compiled code, to the end of the loop; the window is at `p` and `r`, the results come back there.
bool run_loop(Context& context, const LinkedKernel& kernel, std::uint64_t* p, gc::Ref* r);
// The same in the interpreter only.
bool interpret_loop(Context& context, const LinkedKernel& kernel, std::uint64_t* p, const gc::Ref* r);
// Runs a part of a loop with reductions that continues the block `open`. If the block does not end with this part, the
// accumulators stay as they are.
bool interpret_part(Context& context, const LinkedKernel& kernel, std::uint64_t* p, const gc::Ref* r,
                    offload::OpenBlock& open, bool ends_block);
// After an iteration: leaves the registers at the next one, or behind the loop after the last.
bool next_iteration(Context& context);

// An element access whose index is not below the accessible length: true if it has been made accessible.
bool make_accessible(Context& context);
bool make_accessible(Context& context, gc::Array& array, std::int64_t index, bool write);
bool copy_array(Context& context, gc::Array* to, gc::Array* from, std::int64_t to_start,
                std::int64_t from_start, std::int64_t count);

// Returns null if the program has trapped.
gc::Ref new_array(Context& context, gc::TypeId type, std::span<const std::int64_t> sizes);
gc::Ref new_object(Context& context, gc::TypeId type);
gc::Ref new_weak(Context& context, gc::TypeId type, gc::Ref target);
gc::Ref concat_strings(Context& context, std::span<const gc::Ref> parts);
// The same for short strings, on the fast path: it neither traps nor collects nor looks at the clock, and so needs no
// saved registers. Null means only that concat_strings() has to do it.
gc::Ref concat_short_strings(Context& context, std::span<const gc::Ref> parts);

bool make_string_constant(Context& context, std::uint32_t index);
// Whether comparing the string takes more than a few hundred ticks.
inline bool is_long_string(gc::Ref string) {
  constexpr std::uint32_t kLong = 1 << 16;
  return string != nullptr && reinterpret_cast<const gc::String*>(string)->size >= kLong;
}
// Null equals only null.
bool strings_equal(gc::Ref left, gc::Ref right);
// -1, 0 or 1 by bytes; neither may be null.
std::int32_t compare_strings(gc::Ref left, gc::Ref right);

// In race-checking mode, before an access to element `index` of `array` whose value lies at `address`.
bool check_race(Context& context, const gc::Array* array, std::uint64_t index, const void* address,
                Access access);

}  // namespace dhpvm::vm
