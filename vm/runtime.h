// SPDX-License-Identifier: Apache-2.0
// The parts of instructions that are C++ functions: what allocates, copies, calls out or goes wrong. Internal
// to this room.
//
// Each acts on the instruction at context.pc with the saved registers, and writes results there. False means
// that the program has trapped: context.trap is set.
#pragma once

#include "vm/context.h"

namespace dhpvm::vm {

// At a safepoint without ticks: looks at interrupt, deadline and fuel, and gives out the next batch of ticks.
bool refill_ticks(Context& context);
// After an instruction that moved `bytes` bytes at once, or may have collected: the same, without fuel, when
// many bytes have gathered (new arrays and strings count themselves) or the collector has run.
bool poll_after_bulk(Context& context, std::uint64_t bytes);

bool call_native(Context& context);

// parallel.for: leaves the registers at the first iteration, or behind the loop if there is none.
bool begin_loop(Context& context);
// After an iteration: leaves the registers at the next one, or behind the loop after the last.
bool next_iteration(Context& context);

// An element access whose index is not below the accessible length: true if it may be tried again.
bool make_accessible(Context& context);
bool new_array(Context& context);
bool copy_array(Context& context);
bool close_array(Context& context);

bool new_object(Context& context);
bool new_weak(Context& context);

bool make_string_constant(Context& context);
bool concat_strings(Context& context);
// Comparing it takes more than a few hundred ticks.
inline bool is_long_string(gc::Ref string) {
  constexpr std::uint32_t kLong = 1 << 16;
  return string != nullptr && reinterpret_cast<const gc::String*>(string)->size >= kLong;
}
// Null equals null alone.
bool strings_equal(gc::Ref left, gc::Ref right);
// -1, 0 or 1 by bytes; neither may be null.
std::int32_t compare_strings(gc::Ref left, gc::Ref right);

// In race-checking mode, before an access to element `index` of `array` whose value lies at `address`.
bool check_race(Context& context, const gc::Array* array, std::uint64_t index, const void* address,
                Access access);

}  // namespace dhpvm::vm
