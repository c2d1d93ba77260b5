// SPDX-License-Identifier: Apache-2.0
// Handles to objects of a program.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dhpvm/export.h"
#include "dhpvm/result.h"
#include "dhpvm/types.h"

namespace dhpvm {

namespace detail {
struct ObjectState;
class Call;
}  // namespace detail

// Keeps one object of an isolate's heap alive, or is null. Copies refer to the same object.
//
// The only way to keep an object of a program: all other results of calls are copies. Objects never move. A handle
// keeps its isolate's heap in existence, too. Not thread-safe: handles belong to the thread that uses the isolate,
// their copying and destruction included.
class DHPVM_API Object {
 public:
  // Null, which is a valid argument wherever the program's type is nullable.
  Object() = default;

  explicit operator bool() const { return state_ != nullptr; }
  // Whether both are the same object, or both null.
  bool operator==(const Object& other) const;

  // As in the program and its error messages: "Node", "[f64, 2]", "str"; "null" for null.
  std::string type_name() const;

  // The bytes of a str; valid as long as this handle. kBadCast if it is something else, kNullReference if
  // it is null.
  Result<std::string_view> text() const;

  // The number of elements in each dimension of an array, outermost first. Empty if the object is not an array.
  std::vector<std::int64_t> sizes() const;

  // All elements of an array of T, row-major, in place: the program sees every write.
  // Valid as long as this handle, while no function of the program runs and until the
  // program closes the array. kBadCast if it is not an array of T; kClosed, kBorrowEnded
  // as in the program. If a device holds or uses the elements, this waits for it and
  // returns its error if it fails; unless T is const, the device's copy becomes invalid.
  template <Primitive T>
  Result<std::span<T>> elements() const {
    return typed<T>(elements_of(detail::kind_of<T>(), true));
  }
  template <typename T>
    requires(std::is_const_v<T> && Primitive<std::remove_const_t<T>>)
  Result<std::span<T>> elements() const {
    return typed<T>(elements_of(detail::kind_of<std::remove_const_t<T>>(), false));
  }

 private:
  friend class detail::Call;
  friend struct detail::ObjectState;
  template <typename T>
  static Result<std::span<T>> typed(Result<std::span<std::byte>> bytes) {
    if (!bytes.ok()) return std::move(bytes).error();
    return std::span<T>(reinterpret_cast<T*>(bytes->data()), bytes->size() / sizeof(T));
  }
  Result<std::span<std::byte>> elements_of(detail::Kind kind, bool write) const;

  std::shared_ptr<detail::ObjectState> state_;
};

}  // namespace dhpvm
