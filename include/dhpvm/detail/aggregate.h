// SPDX-License-Identifier: Apache-2.0
// Not for applications: the members of an aggregate of C++, which stands for a struct of the language.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "dhpvm/version.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail {

// Fits every member.
struct AnyMember {
  template <typename T>
  operator T() const;  // NOLINT: implicit by design, and never defined
};

inline constexpr std::size_t kMostMembers = 12;  // a bound: members_of() has a case for each number

template <typename T, std::size_t... I>
constexpr bool is_made_of(std::index_sequence<I...>) {
  return requires { T{((void)I, AnyMember())...}; };
}

// As many members as T can be initialised with; one more than the most if there are too many.
template <typename T, std::size_t N = kMostMembers + 1>
constexpr std::size_t count_members() {
  if constexpr (N == 0) {
    return 0;
  } else if constexpr (is_made_of<T>(std::make_index_sequence<N>())) {
    return N;
  } else {
    return count_members<T, N - 1>();
  }
}

// References to the members, in order.
template <typename T>
constexpr auto members_of(T& value) {
  constexpr std::size_t kCount = count_members<std::remove_const_t<T>>();
  static_assert(kCount != 0 && kCount <= kMostMembers,
                "an aggregate that stands for a struct has 1 to 12 members, and no bases or arrays");
  if constexpr (kCount == 0 || kCount > kMostMembers) {
    return std::tuple<>();
  } else if constexpr (kCount == 1) {
    auto& [a] = value;
    return std::tie(a);
  } else if constexpr (kCount == 2) {
    auto& [a, b] = value;
    return std::tie(a, b);
  } else if constexpr (kCount == 3) {
    auto& [a, b, c] = value;
    return std::tie(a, b, c);
  } else if constexpr (kCount == 4) {
    auto& [a, b, c, d] = value;
    return std::tie(a, b, c, d);
  } else if constexpr (kCount == 5) {
    auto& [a, b, c, d, e] = value;
    return std::tie(a, b, c, d, e);
  } else if constexpr (kCount == 6) {
    auto& [a, b, c, d, e, f] = value;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (kCount == 7) {
    auto& [a, b, c, d, e, f, g] = value;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (kCount == 8) {
    auto& [a, b, c, d, e, f, g, h] = value;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (kCount == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = value;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (kCount == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (kCount == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  }
}

// std::tuple<A, B, ...> of the members' types.
template <typename... Ts>
std::tuple<std::remove_cvref_t<Ts>...> values_of(const std::tuple<Ts...>&);
template <typename T>
using MembersOf = decltype(values_of(members_of(std::declval<T&>())));

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail
