// SPDX-License-Identifier: Apache-2.0
// The handles that the C interface gives out: numbers in the shape of pointers, which are looked up and never
// dereferenced. So a handle that is null, foreign, of another kind or freed is found out in every build, for about a
// nanosecond: docs/decisions/0028.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dhpvm::c {

// Three bits of every handle. 0 is none.
enum class HandleKind : std::uint8_t { kEngine = 1, kModule, kIsolate, kFunction, kObject, kWorker, kError };

// A handle for `object`, or 0: no memory, or 16 million handles are alive. Threads: any, for all functions here.
std::uintptr_t add_handle(HandleKind kind, void* object);

// The object of a handle of this kind; null for every other number. Safe in signal handlers.
void* find_handle(std::uintptr_t handle, HandleKind kind);

// The same, and ends the handle.
void* remove_handle(std::uintptr_t handle, HandleKind kind);

// The number of handles.
std::size_t live_handles();

}  // namespace dhpvm::c
