// SPDX-License-Identifier: Apache-2.0
// A value whose type is known only when the application runs: for hosts that are interpreters themselves, tools, and
// everything that goes by names. Where the types are known, Function and Object::get<T> are faster and check more.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "dhpvm/object.h"
#include "dhpvm/result.h"
#include "dhpvm/types.h"
#include "dhpvm/version.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {

// A number or bool of one of the language's types, a text, an object, or null. Texts are copies; an object is a handle
// with the thread rules of Object.
class Value {
 public:
  using Content =
      std::variant<std::monostate, bool, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                   std::uint32_t, std::int64_t, std::uint64_t, float, double, std::string, Object>;

  // Null.
  Value() = default;
  template <Primitive T>
  Value(T number) : content_(number) {}                       // NOLINT: implicit by design
  Value(std::string text) : content_(std::move(text)) {}      // NOLINT: likewise
  Value(std::string_view text) : Value(std::string(text)) {}  // NOLINT: likewise
  Value(const char* text) : Value(std::string(text)) {}       // NOLINT: likewise
  Value(Object object) {                                      // NOLINT: likewise
    if (object) content_ = std::move(object);
  }

  bool is_null() const { return content_.index() == 0; }

  // The value as a variant, for std::visit and std::get_if.
  const Content& content() const { return content_; }

  // A number converts to every type that holds it exactly: 3.0 to an i32, but 0.1 not to an f32. A text is a
  // std::string, an object an Object, null a null Object. kBadCast for anything else.
  template <typename T>
    requires(Primitive<T> || std::same_as<T, std::string> || std::same_as<T, Object>)
  Result<T> as() const {
    if constexpr (std::same_as<T, Object>) {
      if (is_null()) return Object();
    }
    return std::visit(
        [](const auto& held) -> Result<T> {
          using Held = std::remove_cvref_t<decltype(held)>;
          if constexpr (std::same_as<Held, T>) {
            return held;
          } else if constexpr (Primitive<Held> && Primitive<T> && !std::same_as<Held, bool> &&
                               !std::same_as<T, bool>) {
            if (is_same_number<T>(held)) return static_cast<T>(held);
          }
          return Error(ErrorCode::kBadCast,
                       "the value is not of the type that is asked for, nor converts to it");
        },
        content_);
  }

  bool operator==(const Value&) const = default;

 private:
  template <typename To, typename From>
  static bool is_same_number(From number) {
    if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
      return std::in_range<To>(number);
    } else if constexpr (std::is_integral_v<To>) {
      // The bounds are powers of two, or zero, and so exact as numbers of floating point.
      constexpr auto kLeast = static_cast<From>(std::numeric_limits<To>::min());
      constexpr auto kHalf = static_cast<To>(std::numeric_limits<To>::max() / 2 + 1);
      constexpr From kBeyond = 2 * static_cast<From>(kHalf);
      return number >= kLeast && number < kBeyond && static_cast<From>(static_cast<To>(number)) == number;
    } else if constexpr (std::is_integral_v<From>) {
      const To converted = static_cast<To>(number);
      return is_same_number<From>(converted) && static_cast<From>(converted) == number;
    } else {
      return std::isnan(number) || static_cast<From>(static_cast<To>(number)) == number;
    }
  }

  Content content_;
};

template <FieldValue T>
Result<T> Object::get(std::string_view field) const {
  if constexpr (std::is_same_v<T, Object>) {
    return get_reference(field);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return get_text(field);
  } else if constexpr (std::is_same_v<T, Value>) {
    return get_value(field);
  } else {
    const Result<std::span<std::byte>> bytes = field_of(field, detail::kind_of<T>());
    if (!bytes.ok()) return bytes.error();
    T value{};
    std::memcpy(&value, bytes->data(), sizeof value);
    return value;
  }
}

template <FieldValue T>
Status Object::set(std::string_view field, const T& value) const {
  if constexpr (std::is_same_v<T, Object>) {
    return set_reference(field, value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return set_text(field, value);
  } else if constexpr (std::is_same_v<T, Value>) {
    return set_value(field, value);
  } else {
    const Result<std::span<std::byte>> bytes = field_of(field, detail::kind_of<T>());
    if (!bytes.ok()) return bytes.error();
    std::memcpy(bytes->data(), &value, sizeof value);
    return {};
  }
}

inline Result<std::vector<Value>> Object::call(std::string_view method,
                                               std::initializer_list<Value> arguments) const {
  return call(method, std::span(arguments.begin(), arguments.size()));
}

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
