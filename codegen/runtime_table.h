// SPDX-License-Identifier: Apache-2.0
// The knowledge that compiled functions have of the virtual machine: where its state lies, how heap objects
// look, and which of its functions they may call. The virtual machine fills in the offsets; compiled code
// holds no address of it, so that it can be kept on disk.
#pragma once

#include <cstdint>

namespace dhpvm::codegen {

// Why an instruction cannot go on. With the instruction itself this decides code and message of the trap.
enum class TrapKind : std::uint32_t {
  kDivisionByZero,
  kNull,
  kStackOverflow,
  kLocalIndex,
  kDimension,
  kStringIndex,
  kBadCast,
  kTrapCode,
  kTrapMessage,
};

// Offsets in bytes. In the virtual machine's state, which compiled functions get as their first argument:
struct StateLayout {
  std::uint32_t allocation_area;  // pointer to {cursor, limit}
  std::uint32_t functions;        // pointer to a table: for each function its compiled body, or null
  std::uint32_t primitives;       // pointer to the first free primitive register
  std::uint32_t ticks;         // i64: what is left of the batch of fuel; written when a called function traps
  std::uint32_t native_limit;  // the lowest address of the machine's stack that compiled code may reach
  std::uint32_t strings;       // pointer to a table: string constants made so far, or null
  std::uint32_t types;         // pointer to a table of type descriptions
  // u64: the iterations of a parallel loop up to which compiled functions run it in place; 0: they never do.
  std::uint32_t most_in_place;
  // u64, to which loops in place are added: their number, their iterations, and the same as fuel.
  std::uint32_t parallel_loops;
  std::uint32_t parallel_iterations;
  std::uint32_t fuel_batched;
};

struct ObjectLayout {
  std::uint32_t type;        // u32 in the header
  std::uint32_t flags;       // u8 in the header
  std::uint8_t unlogged;     // bit in the flags: a reference stored here must be logged
  std::uint32_t granule;     // sizes of objects are multiples of this
  std::uint32_t size_shift;  // a new header is the type, and the size in granules above this bit

  std::uint32_t array_data;
  std::uint32_t array_readable;
  std::uint32_t array_writable;
  std::uint32_t array_length;
  std::uint32_t array_dims;          // of arrays of rank 2 and 3
  std::uint32_t vector_handle_size;  // of arrays of rank 1
  std::uint32_t string_size;         // u32
  std::uint32_t string_bytes;
  std::uint32_t weak_target;

  std::uint32_t type_stride;  // of the table of type descriptions
  std::uint32_t type_size;    // u32: size of an object, or of an array's handle
};

struct RuntimeLayout {
  StateLayout state;
  ObjectLayout object;
};

// The virtual machine calls a compiled function by this, or continues in the middle of a running one (at a loop
// header), with everything in the interpreter's registers: results come back there. Returns the ticks left,
// or a negative number if the program has trapped. `left` is what remains of the stack limit; `locals` the
// memory of local arrays.
using EnterFunction = std::int64_t (*)(void* state, std::uint64_t* p, void** r, std::int64_t ticks,
                                       std::int64_t left, void* locals);

// The functions that compiled code calls, by the names under which they are linked. Signatures are in
// lower/runtime_calls.cpp and, as C++, in the virtual machine. `site` is the function's index above bit 32
// and the word offset inside it below; `r` is the first free place on the reference stack, everything below
// which is a root. Those that can trap say so by null or a negative number, and have then recorded the trap
// with the position `site`.
#define DHPVM_RUNTIME_CALLS(X) \
  X(trap)                      \
  X(unwind)                    \
  X(tick)                      \
  X(call)                      \
  X(interpret)                 \
  X(call_method)               \
  X(call_native)               \
  X(parallel_for)              \
  X(inaccessible)              \
  X(new_object)                \
  X(new_array)                 \
  X(new_weak)                  \
  X(array_copy)                \
  X(array_close)               \
  X(string_constant)           \
  X(string_concat)             \
  X(string_equal)              \
  X(string_compare)            \
  X(is_instance)               \
  X(log_object)                \
  X(log_element)               \
  X(catch_trap)                \
  X(caught)                    \
  X(trap_again)

struct RuntimeCalls {
#define X(name) const void* name = nullptr;
  DHPVM_RUNTIME_CALLS(X)
#undef X
};

}  // namespace dhpvm::codegen
