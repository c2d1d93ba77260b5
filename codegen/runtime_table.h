// SPDX-License-Identifier: Apache-2.0
// What compiled functions know about the virtual machine: the location of its state, the layout of heap objects, and
// the functions that they may call. The virtual machine fills in the offsets; compiled code contains no addresses of
// it, so it can be cached on disk.
#pragma once

#include <cstdint>

namespace dhpvm::codegen {

// Why an instruction traps. Together with the instruction this determines the trap's code and message.
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

// Offsets in bytes in the virtual machine's state, the first argument of compiled functions:
struct StateLayout {
  std::uint32_t allocation_area;  // pointer to {cursor, limit}
  std::uint32_t functions;        // pointer to a table: for each function its compiled body, or null
  std::uint32_t primitives;       // pointer to the first free primitive register
  std::uint32_t ticks;            // i64: the rest of the batch of fuel; written when a callee traps
  std::uint32_t native_limit;     // the lowest stack address that compiled code may reach
  std::uint32_t strings;          // pointer to a table: string constants made so far, or null
  std::uint32_t types;            // pointer to a table of type descriptions
  // u64: where the interpreter goes on, a word offset inside the function; see CompiledFunctions::continuation.
  std::uint32_t resume;
  // u64: the largest number of iterations of a parallel loop that runs in place; 0: none does.
  std::uint32_t most_in_place;
  // u64 counters of loops in place: their number, their iterations, and the iterations as fuel.
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

// The virtual machine calls a compiled function, or continues a running one at a loop header, through this: everything
// is in the interpreter's registers, where the results are returned, too. Returns the remaining ticks, or a negative
// number if the program has trapped. `left` is the rest of the stack limit; `locals` the memory of local arrays.
using EnterFunction = std::int64_t (*)(void* state, std::uint64_t* p, void** r, std::int64_t ticks,
                                       std::int64_t left, void* locals);

// The functions that compiled code calls, by their symbol names. Signatures are in lower/runtime_calls.cpp and, as C++,
// in the virtual machine. `site` is the function's index above bit 32 and the word offset below; `r` is the first free
// slot of the reference stack, below which everything is a root. Functions that can trap return null or a negative
// number then, and have recorded the trap with the position `site`.
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
