// SPDX-License-Identifier: Apache-2.0
// A function of a running program, called like one of C++.
#pragma once

#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "dhpvm/detail/call.h"
#include "dhpvm/result.h"
#include "dhpvm/version.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {

template <typename Signature>
class Function;

namespace detail {
template <typename Signature>
inline constexpr bool kStandsForTypesOfTheLanguage = false;
template <typename R, typename... Args>
inline constexpr bool kStandsForTypesOfTheLanguage<R(Args...)> =
    Layout<std::remove_cvref_t<Args>...>::kKnown ? ResultLayout<R>::kKnown : false;
}  // namespace detail

// A type of functions, such as double(std::span<const float>), whose types dhpvm/types.h lists.
template <typename Signature>
concept CallSignature = detail::kStandsForTypesOfTheLanguage<Signature>;

// Made by Isolate::function, Object::method and Object::closure, which have compared R and Args with the program's
// signature, so that a call checks nothing: calling an empty function costs some tens of nanoseconds. dhpvm/types.h
// says which types are allowed here, and that spans are lent for the time of the call.
//
// A handle: copies refer to the same function and keep the isolate in existence. Belongs to the isolate's
// thread. Calls nest: a host function may call functions of the isolate that called it.
template <typename R, typename... Args>
class Function<R(Args...)> {
 public:
  // Runs the function to its end. An error is a trap, with the program's stack; the isolate can be used
  // afterwards. Further errors: kInvalidArgument, or kBadCast, for an Object of another isolate or class as an
  // argument; kNullReference for a null result where R is neither Object nor std::optional.
  Result<R> operator()(const std::remove_cvref_t<Args>&... arguments) const {
    return call(std::index_sequence_for<Args...>(), arguments...);
  }

  // For the library's own use.
  explicit Function(std::shared_ptr<const detail::Target> target) : target_(std::move(target)) {}
  static detail::HostSignature signature() { return {Parameters::kTypes, detail::ResultLayout<R>::kTypes}; }

 private:
  using Parameters = detail::Layout<std::remove_cvref_t<Args>...>;
  static_assert(CallSignature<R(Args...)>, DHPVM_UNKNOWN_TYPE);

  template <std::size_t... I>
  Result<R> call(std::index_sequence<I...>, const std::remove_cvref_t<Args>&... arguments) const {
    detail::Call call(*target_);
    if (call.has_windows()) [[likely]] {
      Status status;
      if (!(detail::put_argument_at(call, Parameters::place(I), arguments, status) && ...)) return status;
    }
    if (Status status = call.run(); !status.ok()) return status;
    return detail::ResultOf<R>::take(call);
  }

  std::shared_ptr<const detail::Target> target_;
};

template <typename Signature>
Result<Function<Signature>> Object::method(std::string_view name) const {
  Found target = find_method(name, Function<Signature>::signature());
  if (!target.ok()) return std::move(target).error();
  return Function<Signature>(std::move(target).value());
}

template <typename Signature>
Result<Function<Signature>> Object::closure() const {
  Found target = find_closure(Function<Signature>::signature());
  if (!target.ok()) return std::move(target).error();
  return Function<Signature>(std::move(target).value());
}

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
