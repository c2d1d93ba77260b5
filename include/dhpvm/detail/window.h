// SPDX-License-Identifier: Apache-2.0
// Not for applications: moves C++ values into the argument windows of the machine, and out of them.
//
// A function's parameters stand in two windows, primitives and references each in
// order; its results replace them in the same way. Code generated here for a typed
// function touches the windows directly, so that a call with numbers costs no more
// than a few stores; everything that needs the heap is a function of the library.
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "dhpvm/detail/aggregate.h"
#include "dhpvm/export.h"
#include "dhpvm/object.h"
#include "dhpvm/result.h"
#include "dhpvm/types.h"
#include "dhpvm/version.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail {

struct EngineState;
struct ModuleState;
struct IsolateState;
struct Target;  // a function of an isolate, with everything a call of it needs

#define DHPVM_UNKNOWN_TYPE \
  "a type of this signature stands for none of the language: dhpvm/types.h lists those that do"

struct HostSignature {
  std::span<const HostType> parameters;
  std::span<const HostType> results;
};

// The windows of one call, in either direction.
struct Window {
  std::uint64_t* p = nullptr;
  void** r = nullptr;
  void* isolate = nullptr;
};

struct ArrayView {
  void* data = nullptr;
  std::int64_t sizes[3] = {0, 1, 1};
};

// Defined in the library. `slot` is a position in the reference window.
DHPVM_API Status put_text(Window& window, unsigned slot, std::string_view text);
DHPVM_API Status get_text(const Window& window, unsigned slot, std::string_view& text);
// A new array of this type that is a copy of `count` elements at `data`.
DHPVM_API Status put_copy(Window& window, unsigned slot, HostType type, const void* data, std::size_t count);
// The elements of the array. An error if they cannot all be read, or, unless the type is read-only, written.
DHPVM_API Status get_array(const Window& window, unsigned slot, HostType type, ArrayView& view);
// A C++ object behind the language's `resource`. `tag` is different for each type.
DHPVM_API Status put_resource(Window& window, unsigned slot, const void* tag, std::shared_ptr<void> object);
DHPVM_API Status get_resource(const Window& window, unsigned slot, const void* tag,
                              std::shared_ptr<void>& object);

// The object in a host function's window, and one of the isolate that called it as a result.
DHPVM_API Object get_object(const Window& window, unsigned slot);
DHPVM_API Status put_object(Window& window, unsigned slot, const Object& object);

// A new [str] with copies of the texts, and copies of its texts.
DHPVM_API Status put_texts(Window& window, unsigned slot, std::span<const std::string> texts);
DHPVM_API Status get_texts(const Window& window, unsigned slot, std::vector<std::string>& texts);
// The error for a time that the host's type cannot hold.
DHPVM_API Error time_error(double seconds);

template <typename T>
inline constexpr char kTypeTag = 0;

// ---- Primitives as the registers hold them.

template <Primitive T>
std::uint64_t to_register(T value) {
  if constexpr (std::is_same_v<T, float>) return std::bit_cast<std::uint32_t>(value);
  if constexpr (std::is_same_v<T, double>) return std::bit_cast<std::uint64_t>(value);
  // 32 bits hold everything narrower, extended by its sign; the upper half is zero.
  if constexpr (std::is_integral_v<T> && sizeof(T) < 4)
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  if constexpr (std::is_integral_v<T> && sizeof(T) == 4) return static_cast<std::uint32_t>(value);
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8) return static_cast<std::uint64_t>(value);
}

template <Primitive T>
T from_register(std::uint64_t bits) {
  if constexpr (std::is_same_v<T, float>) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if constexpr (std::is_same_v<T, double>) return std::bit_cast<double>(bits);
  if constexpr (std::is_same_v<T, bool>) return (bits & 0xff) != 0;
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) return static_cast<T>(bits);
}

// ---- The language's type for a C++ type.

template <typename T>
struct TypeOf {
  static constexpr bool kKnown = false;
};
template <Primitive T>
struct TypeOf<T> {
  static constexpr bool kKnown = true;
  static constexpr HostType kType{HostType::Shape::kPrimitive, kind_of<T>()};
};
template <>
struct TypeOf<std::string_view> {
  static constexpr bool kKnown = true;
  static constexpr HostType kType{HostType::Shape::kString, Kind::kRef};
};
template <>
struct TypeOf<std::string> : TypeOf<std::string_view> {};
// An enum class is the number of its case.
template <typename E>
concept Enumeration = std::is_enum_v<E> && !std::is_convertible_v<E, std::underlying_type_t<E>>;
template <Enumeration E>
struct TypeOf<E> : TypeOf<std::underlying_type_t<E>> {};

// Elements of arrays: numbers, and structs of numbers of one kind, which lie one behind the other in the program, too.
template <typename T>
struct ElementOf {
  static constexpr std::uint8_t kLanes = 0;
};
template <Primitive T>
struct ElementOf<T> {
  static constexpr std::uint8_t kLanes = 1;
  static constexpr Kind kKind = kind_of<T>();
};
template <typename T>
struct ElementOf<std::complex<T>> : ElementOf<T> {
  static constexpr std::uint8_t kLanes = 2;
};
template <typename Tuple>
inline constexpr bool kIsUniform = false;
template <Primitive First, Primitive... Rest>
inline constexpr bool kIsUniform<std::tuple<First, Rest...>> =
    sizeof...(Rest) != 0 && std::conjunction_v<std::is_same<First, Rest>...>;
template <typename T>
  requires(std::is_class_v<T> && std::is_aggregate_v<T> && std::is_trivially_copyable_v<T> &&
           kIsUniform<MembersOf<T>>)
struct ElementOf<T> : ElementOf<std::tuple_element_t<0, MembersOf<T>>> {
  static constexpr std::uint8_t kLanes = std::tuple_size_v<MembersOf<T>>;
};
template <typename T>
concept ArrayElement = ElementOf<T>::kLanes != 0;
template <typename T>
constexpr HostType array_of(unsigned rank, bool read_only) {
  return {HostType::Shape::kArray, ElementOf<T>::kKind, static_cast<std::uint8_t>(rank), read_only, false,
          ElementOf<T>::kLanes};
}

template <typename T>
  requires ArrayElement<std::remove_const_t<T>>
struct TypeOf<std::span<T>> {
  static constexpr bool kKnown = true;
  static constexpr HostType kType = array_of<std::remove_const_t<T>>(1, std::is_const_v<T>);
};
template <typename T, unsigned Rank>
  requires ArrayElement<std::remove_const_t<T>>
struct TypeOf<NdSpan<T, Rank>> {
  static constexpr bool kKnown = true;
  static constexpr HostType kType = array_of<std::remove_const_t<T>>(Rank, std::is_const_v<T>);
};
template <ArrayElement T>
struct TypeOf<std::vector<T>> {
  static_assert(!std::is_same_v<T, bool>,
                "std::vector<bool> has no elements to copy; use std::vector<std::uint8_t>");
  static constexpr bool kKnown = true;
  static constexpr HostType kType = array_of<T>(1, true);
};
template <>
struct TypeOf<std::vector<std::string>> {
  static constexpr bool kKnown = true;
  static constexpr HostType kType{HostType::Shape::kArray, Kind::kRef, 1, true};
};
template <Primitive Rep, typename Period>
struct TypeOf<std::chrono::duration<Rep, Period>> : TypeOf<double> {};
template <>
struct TypeOf<Object> {
  static constexpr bool kKnown = true;
  static constexpr HostType kType{HostType::Shape::kObject, Kind::kRef};
};
template <typename T>
struct TypeOf<std::shared_ptr<T>> {
  static constexpr bool kKnown = true;
  static constexpr HostType kType{HostType::Shape::kResource, Kind::kRef};
};
constexpr HostType nullable(HostType type) {
  type.nullable = true;
  return type;
}
// Views own no copy of the elements, and an Object can be null by itself.
template <typename T>
  requires(TypeOf<T>::kKnown && !std::is_same_v<T, Object> && std::is_default_constructible_v<T> &&
           (TypeOf<T>::kType.shape != HostType::Shape::kArray || requires(T& value) { value.clear(); }))
struct TypeOf<std::optional<T>> {
  static constexpr bool kKnown = true;
  static constexpr HostType kType = nullable(TypeOf<T>::kType);
};

// A struct of the host's that stands for one of the language.
template <typename T>
concept Aggregate = std::is_class_v<T> && std::is_aggregate_v<T> && !std::is_empty_v<T> && !TypeOf<T>::kKnown;

// The values that stand for one C++ type: one, but two for a number that may be null, and for a struct those of its
// members. None for a type that stands for nothing.
template <typename T>
struct TypesOf {
  static constexpr bool kKnown = TypeOf<T>::kKnown;
  static constexpr auto kTypes = [] {
    if constexpr (kKnown) {
      return std::array<HostType, 1>{TypeOf<T>::kType};
    } else {
      return std::array<HostType, 0>{};
    }
  }();
};
template <typename T>
  requires(TypeOf<T>::kKnown && !TypeOf<T>::kType.is_reference())
struct TypesOf<std::optional<T>> {
  static constexpr bool kKnown = true;
  static constexpr std::array<HostType, 2> kTypes{TypeOf<bool>::kType, TypeOf<T>::kType};
};

// Positions in both windows.
struct Place {
  unsigned p = 0;
  unsigned r = 0;
};

// The types of a parameter list, and where each C++ type begins in the windows.
template <typename... Ts>
struct Layout {
  static constexpr bool kKnown = (TypesOf<Ts>::kKnown && ...);
  static constexpr std::array<std::size_t, sizeof...(Ts)> kCounts{TypesOf<Ts>::kTypes.size()...};
  static constexpr auto kTypes = [] {
    std::array<HostType, (0 + ... + TypesOf<Ts>::kTypes.size())> types{};
    std::size_t next = 0;
    [[maybe_unused]] const auto append = [&](const auto& more) {
      for (const HostType& type : more) types[next++] = type;
    };
    (append(TypesOf<Ts>::kTypes), ...);
    return types;
  }();
  static constexpr Place place(std::size_t index) {
    std::size_t first = 0;
    for (std::size_t i = 0; i < index; ++i) first += kCounts[i];
    Place place;
    for (std::size_t i = 0; i < first; ++i) ++(kTypes[i].is_reference() ? place.r : place.p);
    return place;
  }
};
template <typename Tuple>
struct LayoutOfTuple;
template <typename... Ts>
struct LayoutOfTuple<std::tuple<Ts...>> : Layout<Ts...> {};
template <Aggregate T>
struct TypesOf<T> {
  using Members = LayoutOfTuple<MembersOf<T>>;
  static constexpr bool kKnown = Members::kKnown;
  static constexpr auto kTypes = Members::kTypes;
};
// Calls `visit` with each member of the aggregate and its place, until one call gives false.
template <typename T, typename F>
bool each_member(T& value, Place begin, F&& visit) {
  return std::apply(
      [&](auto&... members) {
        std::size_t index = 0;
        const auto next = [&] {
          const Place place = TypesOf<std::remove_const_t<T>>::Members::place(index++);
          return Place{begin.p + place.p, begin.r + place.r};
        };
        return (visit(members, next()) && ...);
      },
      members_of(value));
}
// The layout of results: none, one, or the elements of a tuple.
template <typename T>
struct ResultLayout : Layout<T> {};
template <>
struct ResultLayout<void> : Layout<> {};
template <typename... Ts>
struct ResultLayout<std::tuple<Ts...>> : Layout<Ts...> {};

// ---- Values out of a window. False: `status` says why not.

inline bool succeeded(Status& status, Status outcome) {
  if (outcome.ok()) [[likely]]
    return true;
  status = std::move(outcome);
  return false;
}

template <Primitive T>
bool get(const Window& window, unsigned slot, T& value, Status&) {
  value = from_register<T>(window.p[slot]);
  return true;
}
template <Enumeration E>
bool get(const Window& window, unsigned slot, E& value, Status&) {
  value = static_cast<E>(from_register<std::underlying_type_t<E>>(window.p[slot]));
  return true;
}
inline bool get(const Window& window, unsigned slot, std::string_view& value, Status& status) {
  return succeeded(status, get_text(window, slot, value));
}
inline bool get(const Window& window, unsigned slot, std::string& value, Status& status) {
  std::string_view text;
  if (!get(window, slot, text, status)) return false;
  value = text;
  return true;
}
template <typename T>
bool get(const Window& window, unsigned slot, std::span<T>& value, Status& status) {
  ArrayView view;
  if (!succeeded(status, get_array(window, slot, TypeOf<std::span<T>>::kType, view))) return false;
  value = std::span<T>(static_cast<T*>(view.data), static_cast<std::size_t>(view.sizes[0]));
  return true;
}
template <typename T, unsigned Rank>
bool get(const Window& window, unsigned slot, NdSpan<T, Rank>& value, Status& status) {
  ArrayView view;
  if (!succeeded(status, get_array(window, slot, TypeOf<NdSpan<T, Rank>>::kType, view))) return false;
  value.data = static_cast<T*>(view.data);
  for (unsigned i = 0; i < Rank; ++i) value.sizes[i] = view.sizes[i];
  return true;
}
template <typename T>
bool get(const Window& window, unsigned slot, std::vector<T>& value, Status& status) {
  std::span<const T> elements;
  if (!get(window, slot, elements, status)) return false;
  value.assign(elements.begin(), elements.end());
  return true;
}
inline bool get(const Window& window, unsigned slot, Object& value, Status&) {
  value = get_object(window, slot);
  return true;
}
template <typename T>
bool get(const Window& window, unsigned slot, std::shared_ptr<T>& value, Status& status) {
  std::shared_ptr<void> object;
  if (!succeeded(status, get_resource(window, slot, &kTypeTag<T>, object))) return false;
  value = std::static_pointer_cast<T>(std::move(object));
  return true;
}

inline bool get(const Window& window, unsigned slot, std::vector<std::string>& value, Status& status) {
  return succeeded(status, get_texts(window, slot, value));
}
template <typename Rep, typename Period>
bool get(const Window& window, unsigned slot, std::chrono::duration<Rep, Period>& value, Status& status) {
  const auto seconds = from_register<double>(window.p[slot]);
  const std::chrono::duration<double, Period> time = std::chrono::duration<double>(seconds);
  if constexpr (std::is_integral_v<Rep>) {
    // The least and the greatest value are powers of two, or one less: the former are exact as doubles.
    constexpr auto kLeast = static_cast<double>(std::numeric_limits<Rep>::min());
    constexpr auto kHalf = static_cast<Rep>(std::numeric_limits<Rep>::max() / 2 + 1);
    constexpr double kBeyond = 2 * static_cast<double>(kHalf);
    if (!(time.count() >= kLeast && time.count() < kBeyond)) {
      status = time_error(seconds);
      return false;
    }
  }
  value = std::chrono::duration<Rep, Period>(static_cast<Rep>(time.count()));
  return true;
}
template <typename T>
bool get(const Window& window, unsigned slot, std::optional<T>& value, Status& status) {
  value.reset();
  if constexpr (TypeOf<T>::kType.is_reference()) {
    return window.r[slot] == nullptr || get(window, slot, value.emplace(), status);
  } else {
    return !from_register<bool>(window.p[slot]) || get(window, slot + 1, value.emplace(), status);
  }
}

template <typename T>
bool get_at(const Window& window, Place place, T& value, Status& status) {
  if constexpr (Aggregate<T>) {
    return each_member(value, place,
                       [&](auto& member, Place at) { return get_at(window, at, member, status); });
  } else {
    return get(window, TypesOf<T>::kTypes[0].is_reference() ? place.r : place.p, value, status);
  }
}

// ---- Values into a window, as copies.

template <Primitive T>
bool put(Window& window, unsigned slot, T value, Status&) {
  window.p[slot] = to_register(value);
  return true;
}
template <Enumeration E>
bool put(Window& window, unsigned slot, E value, Status&) {
  window.p[slot] = to_register(static_cast<std::underlying_type_t<E>>(value));
  return true;
}
inline bool put(Window& window, unsigned slot, std::string_view value, Status& status) {
  return succeeded(status, put_text(window, slot, value));
}
template <typename T>
bool put(Window& window, unsigned slot, std::span<T> value, Status& status) {
  return succeeded(status, put_copy(window, slot, TypeOf<std::span<T>>::kType, value.data(), value.size()));
}
template <typename T>
bool put(Window& window, unsigned slot, const std::vector<T>& value, Status& status) {
  return put(window, slot, std::span<const T>(value), status);
}
inline bool put(Window& window, unsigned slot, const Object& value, Status& status) {
  return succeeded(status, put_object(window, slot, value));
}
template <typename T>
bool put(Window& window, unsigned slot, const std::shared_ptr<T>& value, Status& status) {
  return succeeded(status, put_resource(window, slot, &kTypeTag<T>, value));
}
inline bool put(Window& window, unsigned slot, const std::vector<std::string>& value, Status& status) {
  return succeeded(status, put_texts(window, slot, value));
}
template <typename Rep, typename Period>
bool put(Window& window, unsigned slot, std::chrono::duration<Rep, Period> value, Status&) {
  window.p[slot] = to_register(std::chrono::duration<double>(value).count());
  return true;
}
template <typename T>
bool put(Window& window, unsigned slot, const std::optional<T>& value, Status& status) {
  if constexpr (TypeOf<T>::kType.is_reference()) {
    if (value) return put(window, slot, *value, status);
    window.r[slot] = nullptr;
  } else {
    window.p[slot] = to_register(value.has_value());
    window.p[slot + 1] = 0;
    if (value) return put(window, slot + 1, *value, status);
  }
  return true;
}

template <typename T>
bool put_at(Window& window, Place place, const T& value, Status& status) {
  if constexpr (Aggregate<T>) {
    return each_member(value, place,
                       [&](const auto& member, Place at) { return put_at(window, at, member, status); });
  } else {
    return put(window, TypesOf<T>::kTypes[0].is_reference() ? place.r : place.p, value, status);
  }
}

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail
