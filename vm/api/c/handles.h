// SPDX-License-Identifier: Apache-2.0
// The handles that the C interface gives out: numbers in the form of pointers, which are looked up and never
// dereferenced. A handle that is null, foreign, of another kind or freed is therefore detected in every build, for
// about a nanosecond: docs/decisions/0028.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dhpvm::c {

// The three kind bits of a handle. No kind is 0.
enum class HandleKind : std::uint8_t { kEngine = 1, kModule, kIsolate, kFunction, kObject, kWorker, kError };

// A handle for `object`; 0 if there is no memory, or 16 million handles are alive. All functions here may be called
// from any thread.
std::uintptr_t add_handle(HandleKind kind, void* object);

// The object of a handle of this kind; null for every other number. Safe in signal handlers.
void* find_handle(std::uintptr_t handle, HandleKind kind);

// The same, and removes the handle.
void* remove_handle(std::uintptr_t handle, HandleKind kind);

// The number of handles.
std::size_t live_handles();

}  // namespace dhpvm::c
