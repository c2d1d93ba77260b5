// SPDX-License-Identifier: Apache-2.0
// Handles to objects of a program.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "dhpvm/export.h"
#include "dhpvm/result.h"
#include "dhpvm/types.h"
#include "dhpvm/version.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {

class Object;
class Record;
class Value;
template <typename Signature>
class Function;

namespace detail {
struct ObjectState;
struct HostSignature;
struct Target;
class Call;

enum class Access : bool { kRead, kWrite };

template <typename T>
inline constexpr bool kIsOptionalField = false;
template <typename T>
inline constexpr bool kIsOptionalField<std::optional<T>> = Primitive<T> || std::is_same_v<T, std::string>;
}  // namespace detail

// The types that a field of an object can be read and written as.
template <typename T>
concept FieldValue = Primitive<T> || std::is_same_v<T, std::string> || std::is_same_v<T, Object> ||
                     std::is_same_v<T, Value> || std::is_same_v<T, Record> || detail::kIsOptionalField<T>;

// A field of a class: "next", "Node".
struct FieldEntry {
  std::string name;
  std::string type;
};

// Keeps one object of an isolate's heap alive, or is null. Copies refer to the same object.
//
// This is the only way to keep an object of a program: all other results of calls are copies. Objects never move. A
// handle keeps its isolate's heap in existence, too. Not thread-safe: handles belong to the thread that uses the
// isolate, which also has to copy and destroy them.
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

  // The fields of an instance of a class, in the order of its declaration; a field of a struct's type is one entry for
  // each field of the struct, "position.x". Empty if the object is something else.
  std::vector<FieldEntry> fields() const;

  // The value of a field: `node.get<std::int64_t>("value")`. T is the exact type of a number or bool, std::string for a
  // str, Object for any reference, Record for a struct, Value for whatever it is; std::optional of a number or a
  // std::string for a field that may be null. A field of a struct is "position.x". kNotFound with the nearest name;
  // kBadCast if the field is of another type, or the object is no instance of a class; kNullReference if the object is
  // null, or a field read as a number or std::string is null.
  template <FieldValue T>
  Result<T> get(std::string_view field) const;

  // Stores a field. A Value is converted to the field's type if that can hold the same, also inside a Record, which has
  // to have all fields of the struct: kInvalidArgument, kNotFound. A std::string becomes a new
  // str; an Object has to be null, or an instance of the field's type from the same isolate. Errors as above, and
  // kInvalidArgument for an object of another isolate. The program may rely on invariants of its fields, such as a
  // `let` field, or one that is never null: do not break them.
  template <FieldValue T>
  Status set(std::string_view field, const T& value) const;

  // A method of the object as a function that is bound to it and keeps it alive, with Signature checked once:
  //   auto area = shape.method<double()>("area");
  // The methods of all interfaces that the class implements, and those of the class that the program calls itself:
  // the compiler leaves out the others, and a module without names knows only the former. kNotFound with the nearest
  // name; kInvalidArgument with both signatures; kBadCast if the object is no instance of a class, kNullReference if
  // it is null. Defined in dhpvm/function.h.
  template <typename Signature>
  Result<Function<Signature>> method(std::string_view name) const;

  // The same for a closure or another value of the program's type `fn(A) -> R`. kBadCast if it is none.
  template <typename Signature>
  Result<Function<Signature>> closure() const;

  // A method, or with the name `invoke` a closure, called with values whose types are known at run time only: numbers
  // are converted to the parameters' types if those can hold the same. A struct is a Record with all its fields, and a
  // tuple as a result a value for each of its own. Errors as of `method`, and those of the call; kInvalidArgument for
  // another number of arguments or fields, kBadCast for one that does not fit, kNotFound for a field that the struct
  // does not have. `call("move", {1.5, "fast"})` is defined in dhpvm/value.h.
  Result<std::vector<Value>> call(std::string_view method, std::span<const Value> arguments) const;
  Result<std::vector<Value>> call(std::string_view method, std::initializer_list<Value> arguments = {}) const;
  // The one result, converted as Value::as does it: `shape.call<double>("area")`; void if there is to be none.
  template <typename T>
  Result<T> call(std::string_view method, std::initializer_list<Value> arguments = {}) const;

  // The elements of an array of one dimension, a List or a Set, and the entries of a Map, in the program's order and as
  // they are now: `for (const Value& value : *list.values())`. Structs are Records. elements() gives the numbers of an
  // array without a copy. kBadCast for another object, kNullReference.
  Result<std::vector<Value>> values() const;
  Result<std::vector<std::pair<Value, Value>>> entries() const;
  // The same, converted as Value::as does it: `list.values<double>()`, `prices.entries<std::string, double>()`.
  template <typename T>
  Result<std::vector<T>> values() const;
  template <typename K, typename V>
  Result<std::vector<std::pair<K, V>>> entries() const;

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
  using Found = Result<std::shared_ptr<const detail::Target>>;
  Found find_method(std::string_view name, const detail::HostSignature& signature) const;
  Found find_closure(const detail::HostSignature& signature) const;
  template <typename T>
  static Result<std::span<T>> typed(Result<std::span<std::byte>> bytes) {
    if (!bytes.ok()) return std::move(bytes).error();
    return std::span<T>(reinterpret_cast<T*>(bytes->data()), bytes->size() / sizeof(T));
  }
  Result<std::span<std::byte>> elements_of(detail::Kind kind, bool write) const;
  // The bytes of a field of this kind. With Access for writing, a field that was null has a value from then on.
  Result<std::span<std::byte>> field_of(std::string_view name, detail::Kind kind,
                                        detail::Access access) const;
  Result<Object> get_reference(std::string_view field) const;
  Status set_reference(std::string_view field, const Object& value) const;
  Result<std::string> get_text(std::string_view field) const;
  Status set_text(std::string_view field, std::string_view text) const;
  Result<Value> get_value(std::string_view field) const;
  Status set_value(std::string_view field, const Value& value) const;

  std::shared_ptr<detail::ObjectState> state_;
};

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE

// Defines the templates above, which need it.
#include "dhpvm/value.h"  // IWYU pragma: export
