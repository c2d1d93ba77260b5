// SPDX-License-Identifier: Apache-2.0
// The beginning and the end of every function of the C interface: handles become objects, errors become codes, and
// structures of callers with an older or newer header are adapted.
#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "dhpvm/c.h"
#include "dhpvm/result.h"
#include "vm/api/c/handles.h"

namespace dhpvm::c {

// The object behind each type of handle: specialised where that object is defined.
template <typename Handle>
struct HandleTraits;

template <typename Handle>
using ObjectOf = typename HandleTraits<Handle>::Object;

// Null unless `handle` is alive and of this kind.
template <typename Handle>
ObjectOf<Handle>* find(const Handle* handle) {
  return static_cast<ObjectOf<Handle>*>(
      find_handle(reinterpret_cast<std::uintptr_t>(handle), HandleTraits<Handle>::kKind));
}

template <typename Handle>
Error bad_handle(const Handle* handle) {
  return error(ErrorCode::kInvalidArgument, "{} is no handle of {}: it is {}",
               static_cast<const void*>(handle), HandleTraits<Handle>::kName,
               handle == nullptr ? "NULL" : "freed, of another kind, or foreign");
}

// Gives `object` a handle in `*handle`.
template <typename Handle>
Status give(std::unique_ptr<ObjectOf<Handle>> object, Handle** handle) {
  const std::uintptr_t number = add_handle(HandleTraits<Handle>::kKind, object.get());
  if (number == 0)
    return Error(ErrorCode::kOutOfMemory, "no more handles: free those that are not needed any more");
  (void)object.release();  // the table owns it from here on
  *handle = reinterpret_cast<Handle*>(number);
  return {};
}

// Removes the handle. The caller owns the object, which may be null.
template <typename Handle>
std::unique_ptr<ObjectOf<Handle>> take_back(Handle* handle) {
  return std::unique_ptr<ObjectOf<Handle>>(static_cast<ObjectOf<Handle>*>(
      remove_handle(reinterpret_cast<std::uintptr_t>(handle), HandleTraits<Handle>::kKind)));
}

// DHPVM_FIND(x, handle): x is the object of the handle, or the enclosing function returns an error.
#define DHPVM_FIND(variable, handle)               \
  auto* const variable = ::dhpvm::c::find(handle); \
  if (variable == nullptr) return ::dhpvm::c::bad_handle(handle)

template <typename T>
Status check_pointer(T* pointer, std::string_view name) {
  if (pointer != nullptr) [[likely]]
    return {};
  return error(ErrorCode::kInvalidArgument, "the parameter `{}` is NULL, and needs a value", name);
}

// ---- Codes.

constexpr dhpvm_code code_of(ErrorCode code) { return static_cast<dhpvm_code>(code) + 1; }
constexpr bool is_code(dhpvm_code code) { return code > DHPVM_OK && code <= code_of(kLastErrorCode); }
// The error for a code that a function of the host has returned. Any number that is no code becomes kHostException.
Error error_of(dhpvm_code code, std::string message);

// Stores the error where the caller asked for it. Never throws.
dhpvm_code report(Error failure, dhpvm_error** error) noexcept;
// The same for the exception that is being handled.
dhpvm_code report_exception(dhpvm_error** error) noexcept;

// Runs `body`, which returns a Status, and reports its error or exception.
template <typename F>
dhpvm_code guarded(dhpvm_error** error, F&& body) noexcept {
  try {
    Status status = body();
    if (status.ok()) [[likely]] {
      if (error != nullptr) *error = nullptr;
      return DHPVM_OK;
    }
    return report(std::move(status).error(), error);
  } catch (...) {
    return report_exception(error);
  }
}

// The same for functions that return a plain value: `fallback` if the body throws.
template <typename T, typename F>
T guarded_value(T fallback, F&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return fallback;
  }
}

// ---- Structures.

// The most bytes by which a structure of a newer caller may be longer than the known one; they must be zero.
inline constexpr std::size_t kMostAppended = 4096;

// Copies the caller's structure over the defaults in `known`; null keeps the defaults. `earlier`: the sizes of the
// structure before members were appended. A caller with one of them gets the defaults of those members.
template <typename T>
Status take_structure(const T* given, T& known, std::string_view name,
                      std::initializer_list<std::size_t> earlier = {}) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (given == nullptr) return {};
  const std::size_t size = given->size;
  if (std::ranges::find(earlier, size) != earlier.end()) {
    std::memcpy(&known, given, size);
    return {};
  }
  if (size < sizeof(T) || size > sizeof(T) + kMostAppended) {
    return error(ErrorCode::kInvalidArgument,
                 "{}.size is {}, and the structure has {} bytes: set it with {}_init, or to sizeof", name,
                 size, sizeof(T), name);
  }
  const char* const bytes = reinterpret_cast<const char*>(given);
  if (std::any_of(bytes + sizeof(T), bytes + size, [](char byte) { return byte != 0; })) {
    return error(ErrorCode::kUnsupported,
                 "{} has members that version {} of the interface does not know: they have to be zero", name,
                 DHPVM_ABI_VERSION);
  }
  std::memcpy(&known, given, sizeof(T));
  return {};
}

// Fills the caller's structure, whose size it has set.
template <typename T>
Status fill_structure(T* given, T value, std::string_view name) {
  DHPVM_TRY(check_pointer(given, name));
  if (given->size < sizeof(T)) {
    return error(ErrorCode::kInvalidArgument, "{}.size is {}, and should be {}: set it to sizeof", name,
                 given->size, sizeof(T));
  }
  value.size = given->size;
  std::memcpy(given, &value, sizeof(T));
  return {};
}

inline std::string text_or_empty(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

// A copy that the caller frees with dhpvm_bytes_free.
Status give_bytes(std::string_view content, dhpvm_bytes* bytes);

// Calls `release` with `user` when it is destroyed, unless keep() was called.
class ReleasedUser {
 public:
  ReleasedUser(dhpvm_release_function release, void* user) : release_(release), user_(user) {}
  ~ReleasedUser() {
    if (release_ != nullptr) release_(user_);
  }
  ReleasedUser(const ReleasedUser&) = delete;
  ReleasedUser& operator=(const ReleasedUser&) = delete;
  void* user() const { return user_; }
  // For calls that fail: `user` remains the caller's.
  void keep() { release_ = nullptr; }

 private:
  dhpvm_release_function release_;
  void* user_;
};

}  // namespace dhpvm::c
