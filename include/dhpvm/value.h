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

#include "dhpvm/export.h"
#include "dhpvm/object.h"
#include "dhpvm/result.h"
#include "dhpvm/types.h"
#include "dhpvm/version.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {

class Value;
struct RecordField;

namespace detail {

// The type that the host asks for, in the language's words.
template <typename T>
constexpr std::string_view wanted_text() {
  if constexpr (std::is_same_v<T, std::string>) return "str";
  if constexpr (std::is_same_v<T, Object>) return "an object";
  if constexpr (std::is_same_v<T, Record>) return "a struct";
  if constexpr (Primitive<T>) return kKindNames[static_cast<std::size_t>(kind_of<T>())];
}

// The library's part of the errors below.
DHPVM_API Error wrong_value(const Value& value, std::string_view wanted);
DHPVM_API Error wrong_results(std::size_t given, std::size_t wanted);

}  // namespace detail

// A struct of the program: the values of its fields by name, those of a struct inside it as a record again.
//   Record{{"x", 1.5}, {"y", 2.0}}
class Record {
 public:
  Record();
  Record(std::initializer_list<RecordField> given);
  Record(const Record& other);
  Record(Record&& other) noexcept;
  Record& operator=(const Record& other);
  Record& operator=(Record&& other) noexcept;
  ~Record();

  // "Point", where the program gave it; a struct inside another has no name. The library does not look at it.
  std::string type;
  // In the order of the struct, where the program gave it; any other order will do where the host gives it.
  std::vector<RecordField> fields;

  // Null if there is no such field.
  const Value* find(std::string_view name) const;
  // The field converted, as Value::as does it: `point.get<double>("x")`. kNotFound.
  template <typename T>
  Result<T> get(std::string_view name) const;
  // Changes a field, or appends it.
  void set(std::string_view name, Value value);

  // The same fields with the same values, in any order. Types are not compared.
  bool operator==(const Record& other) const;
};

// A number or bool of one of the language's types, a text, an object, a record, or null. Texts are copies; an object is
// a handle with the thread rules of Object.
class Value {
 public:
  using Content =
      std::variant<std::monostate, bool, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                   std::uint32_t, std::int64_t, std::uint64_t, float, double, std::string, Object, Record>;

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
  Value(Record record) : content_(std::move(record)) {}  // NOLINT: likewise

  bool is_null() const { return content_.index() == 0; }

  // The value as a variant, for std::visit and std::get_if.
  const Content& content() const { return content_; }

  // A number converts to every type that holds it exactly: 3.0 to an i32, but 0.1 not to an f32. A text is a
  // std::string, an object an Object, a struct a Record, null a null Object and an empty std::optional; a Value is the
  // value as it is. kBadCast for anything else.
  template <FieldValue T>
  Result<T> as() const {
    if constexpr (std::same_as<T, Value>) {
      return *this;
    } else if constexpr (detail::kIsOptionalField<T>) {
      if (is_null()) return T();
      Result<typename T::value_type> held = as<typename T::value_type>();
      if (!held.ok()) return std::move(held).error();
      return T(std::move(held).value());
    } else {
      if constexpr (std::same_as<T, Object>) {
        if (is_null()) return Object();
      }
      return std::visit(
          [this](const auto& held) -> Result<T> {
            using Held = std::remove_cvref_t<decltype(held)>;
            if constexpr (std::same_as<Held, T>) {
              return held;
            } else if constexpr (Primitive<Held> && Primitive<T> && !std::same_as<Held, bool> &&
                                 !std::same_as<T, bool>) {
              if (is_same_number<T>(held)) return static_cast<T>(held);
            }
            return detail::wrong_value(*this, detail::wanted_text<T>());
          },
          content_);
    }
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

struct RecordField {
  std::string name;
  Value value;
};

// Here, where the type of the fields is complete.
inline Record::Record() = default;
inline Record::Record(std::initializer_list<RecordField> given) : fields(given) {}
inline Record::Record(const Record& other) = default;
inline Record::Record(Record&& other) noexcept = default;
inline Record& Record::operator=(const Record& other) = default;
inline Record& Record::operator=(Record&& other) noexcept = default;
inline Record::~Record() = default;

inline const Value* Record::find(std::string_view name) const {
  for (const RecordField& field : fields) {
    if (field.name == name) return &field.value;
  }
  return nullptr;
}

template <typename T>
Result<T> Record::get(std::string_view name) const {
  const Value* const value = find(name);
  if (value == nullptr)
    return Error(ErrorCode::kNotFound, "the record has no field '" + std::string(name) + "'");
  return value->template as<T>();
}

inline void Record::set(std::string_view name, Value value) {
  for (RecordField& field : fields) {
    if (field.name == name) {
      field.value = std::move(value);
      return;
    }
  }
  fields.push_back({std::string(name), std::move(value)});
}

inline bool Record::operator==(const Record& other) const {
  if (fields.size() != other.fields.size()) return false;
  for (const RecordField& field : fields) {
    const Value* const value = other.find(field.name);
    if (value == nullptr || !(*value == field.value)) return false;
  }
  return true;
}

template <FieldValue T>
Result<T> Object::get(std::string_view field) const {
  if constexpr (std::is_same_v<T, Object>) {
    return get_reference(field);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return get_text(field);
  } else if constexpr (std::is_same_v<T, Value> || std::is_same_v<T, Record> || detail::kIsOptionalField<T>) {
    Result<Value> value = get_value(field);
    if (!value.ok()) return std::move(value).error();
    return value->template as<T>();
  } else {
    const Result<std::span<std::byte>> bytes = field_of(field, detail::kind_of<T>(), detail::Access::kRead);
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
  } else if constexpr (std::is_same_v<T, Record>) {
    return set_value(field, Value(value));
  } else if constexpr (detail::kIsOptionalField<T>) {
    return set_value(field, value ? Value(*value) : Value());
  } else {
    const Result<std::span<std::byte>> bytes = field_of(field, detail::kind_of<T>(), detail::Access::kWrite);
    if (!bytes.ok()) return bytes.error();
    std::memcpy(bytes->data(), &value, sizeof value);
    return {};
  }
}

namespace detail {

template <typename T>
Result<T> only_result(Result<std::vector<Value>> results) {
  if (!results.ok()) return std::move(results).error();
  constexpr std::size_t kWanted = std::is_void_v<T> ? 0 : 1;
  if (results->size() != kWanted) return wrong_results(results->size(), kWanted);
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return results->front().template as<T>();
  }
}

}  // namespace detail

template <typename T>
Result<T> Object::call(std::string_view method, std::initializer_list<Value> arguments) const {
  return detail::only_result<T>(call(method, arguments));
}

template <typename T>
Result<std::vector<T>> Object::values() const {
  const Result<std::vector<Value>> all = values();
  if (!all.ok()) return all.error();
  std::vector<T> converted;
  converted.reserve(all->size());
  for (const Value& value : *all) {
    Result<T> one = value.template as<T>();
    if (!one.ok()) return std::move(one).error();
    converted.push_back(std::move(one).value());
  }
  return converted;
}

template <typename K, typename V>
Result<std::vector<std::pair<K, V>>> Object::entries() const {
  const Result<std::vector<std::pair<Value, Value>>> all = entries();
  if (!all.ok()) return all.error();
  std::vector<std::pair<K, V>> converted;
  converted.reserve(all->size());
  for (const auto& [key, value] : *all) {
    Result<K> first = key.template as<K>();
    if (!first.ok()) return std::move(first).error();
    Result<V> second = value.template as<V>();
    if (!second.ok()) return std::move(second).error();
    converted.emplace_back(std::move(first).value(), std::move(second).value());
  }
  return converted;
}

inline Result<std::vector<Value>> Object::call(std::string_view method,
                                               std::initializer_list<Value> arguments) const {
  return call(method, std::span(arguments.begin(), arguments.size()));
}

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
