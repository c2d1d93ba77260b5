// SPDX-License-Identifier: Apache-2.0
// The C++ type for each type of the language, in calls in both directions.
//
//   C++                                  language        notes
//   bool, std::int8_t .. std::uint64_t,  bool, i8 .. u64, by value; the exact width: an int is an i32
//   float, double                        f32, f64
//   std::string_view, std::string        str             UTF-8, copied into the program's heap and out of it
//   std::span<const T>, std::span<T>     [T]             T a primitive, or a struct of primitives of one type, as
//                                                        std::complex<double> is; see below
//   NdSpan<const T, 2>, NdSpan<T, 3>     [T, 2], [T, 3]  row-major, without gaps
//   std::vector<T>                       [T]             a copy, T likewise
//   enum class E : std::uint8_t          enum            one whose cases have no values: their numbers, u8, or u16
//                                                        for more than 256 cases
//   std::vector<std::string>             [str]           a copy
//   std::optional<T>                     T?              a text, vector, number, std::shared_ptr
//   std::chrono::duration<...>           f64             seconds, as in the library's `time`
//   std::shared_ptr<T>                   resource        any class of the host's; the program passes it on
//   Object                               any reference   a class, interface, closure, array, str, resource, or T?
//   struct of the host's (an aggregate)  a struct        its members, of these types, are the fields, in order
//   std::tuple<A, B, ...>                a struct        the same, as a result
//
// A struct may also be passed field by field: `fn area(r: Rect)` with two f64 fields is a
// function of two doubles. A nullable number (`i64?`), where it is not a std::optional, is two values: a
// bool that says whether it is there, and the number.
//
// Spans as arguments of program functions are *lent*: the program works on the host's memory without a copy,
// and may write to it unless the element type is const. The loan ends with the call: a program that keeps the
// array and uses it later traps with kBorrowEnded. The program must not be given overlapping spans in one
// call if it writes to one of them in a parallel loop. Spans as parameters of host functions are views of the
// program's array, valid until the host function returns; with a const element type the array may be one that
// the program can only read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "dhpvm/version.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {

// The types that stand for a number or bool of the language.
template <typename T>
concept Primitive =
    std::is_same_v<T, bool> || std::is_same_v<T, std::int8_t> || std::is_same_v<T, std::uint8_t> ||
    std::is_same_v<T, std::int16_t> || std::is_same_v<T, std::uint16_t> || std::is_same_v<T, std::int32_t> ||
    std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::uint64_t> ||
    std::is_same_v<T, float> || std::is_same_v<T, double>;

// A view of elements in Rank dimensions, row-major: element (i, j) of two dimensions is data[i * sizes[1] +
// j]. Like std::span it owns nothing, and constness of the elements is part of T.
template <typename T, unsigned Rank>
struct NdSpan {
  static_assert(Rank == 2 || Rank == 3, "one dimension is std::span; the language knows at most three");
  T* data = nullptr;
  std::array<std::int64_t, Rank> sizes{};  // outermost first; none negative

  // The product of all sizes.
  constexpr std::size_t size() const {
    std::size_t count = 1;
    for (const std::int64_t n : sizes) count *= static_cast<std::size_t>(n);
    return count;
  }
};

namespace detail {

// In the order of the language's own table; no primitive has `kRef`.
enum class Kind : std::uint8_t { kBool, kI8, kU8, kI16, kU16, kI32, kU32, kI64, kU64, kF32, kF64, kRef };
inline constexpr std::string_view kKindNames[] = {"bool", "i8",  "u8",  "i16", "u16", "i32",
                                                  "u32",  "i64", "u64", "f32", "f64", "object"};

template <Primitive T>
constexpr Kind kind_of() {
  if constexpr (std::is_same_v<T, bool>) return Kind::kBool;
  if constexpr (std::is_same_v<T, std::int8_t>) return Kind::kI8;
  if constexpr (std::is_same_v<T, std::uint8_t>) return Kind::kU8;
  if constexpr (std::is_same_v<T, std::int16_t>) return Kind::kI16;
  if constexpr (std::is_same_v<T, std::uint16_t>) return Kind::kU16;
  if constexpr (std::is_same_v<T, std::int32_t>) return Kind::kI32;
  if constexpr (std::is_same_v<T, std::uint32_t>) return Kind::kU32;
  if constexpr (std::is_same_v<T, std::int64_t>) return Kind::kI64;
  if constexpr (std::is_same_v<T, std::uint64_t>) return Kind::kU64;
  if constexpr (std::is_same_v<T, float>) return Kind::kF32;
  if constexpr (std::is_same_v<T, double>) return Kind::kF64;
}

// One C++ parameter or result, as the library compares it with the program's signature.
struct HostType {
  enum class Shape : std::uint8_t { kPrimitive, kString, kArray, kResource, kObject };
  Shape shape = Shape::kPrimitive;
  Kind kind = Kind::kI64;  // of the value, or of the array's elements
  std::uint8_t rank = 1;
  bool read_only = false;  // an array of const elements
  bool nullable = false;   // a reference of the host's that may be null: a std::optional
  std::uint32_t lanes =
      1;  // numbers in an element of an array, which is a struct of them if they are several
  constexpr bool is_reference() const { return shape != Shape::kPrimitive; }
};

}  // namespace detail
}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
