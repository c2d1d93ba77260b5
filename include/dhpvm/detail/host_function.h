// SPDX-License-Identifier: Apache-2.0
// Not for applications: a C++ callable as the machine calls it.
#pragma once

#include <exception>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "dhpvm/detail/window.h"
#include "dhpvm/export.h"
#include "dhpvm/result.h"
#include "dhpvm/version.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail {

struct HostCall : Window {
  std::string_view name;  // "host.log", for errors
};

using HostThunk = Status (*)(void* function, HostCall& call);

// The trap for an error that the host function has returned, or for an exception that it has thrown.
DHPVM_API Error host_failure(const HostCall& call, Error cause);
DHPVM_API Error host_exception(const HostCall& call, std::string_view what);

// The signature of a callable: of a function pointer, or of its one call operator.
template <typename F>
struct Callable : Callable<decltype(&F::operator())> {};
template <typename R, typename... A>
struct Callable<R (*)(A...)> {
  using Return = R;
  using Values = std::tuple<std::remove_cvref_t<A>...>;
  using Parameters = Layout<std::remove_cvref_t<A>...>;
};
template <typename R, typename... A>
struct Callable<R (*)(A...) noexcept> : Callable<R (*)(A...)> {};
template <typename C, typename R, typename... A>
struct Callable<R (C::*)(A...)> : Callable<R (*)(A...)> {};
template <typename C, typename R, typename... A>
struct Callable<R (C::*)(A...) const> : Callable<R (*)(A...)> {};
template <typename C, typename R, typename... A>
struct Callable<R (C::*)(A...) noexcept> : Callable<R (*)(A...)> {};
template <typename C, typename R, typename... A>
struct Callable<R (C::*)(A...) const noexcept> : Callable<R (*)(A...)> {};

// The value that a returned type stands for: T itself, or the T of a Result.
template <typename T>
struct Returned {
  using Value = T;
};
template <typename T>
struct Returned<Result<T>> {
  using Value = T;
};
template <>
struct Returned<Status> {
  using Value = void;
};

template <typename T, std::size_t... I>
Status put_results(Window& window, const T& value, std::index_sequence<I...>) {
  Status status;
  (void)(put_at(window, ResultLayout<T>::place(I), std::get<I>(value), status) && ...);
  return status;
}
template <typename T>
Status put_result(Window& window, const T& value) {
  Status status;
  put_at(window, {}, value, status);
  return status;
}
template <typename... Ts>
Status put_result(Window& window, const std::tuple<Ts...>& value) {
  return put_results(window, value, std::index_sequence_for<Ts...>());
}

template <typename F>
class HostFunction {
  using Traits = Callable<F>;
  using Return = typename Traits::Return;
  using Values = typename Traits::Values;
  using Parameters = typename Traits::Parameters;
  using Results = ResultLayout<typename Returned<Return>::Value>;

  static_assert(Parameters::kKnown, DHPVM_UNKNOWN_TYPE);
  static_assert(Results::kKnown, DHPVM_UNKNOWN_TYPE);

 public:
  static HostSignature signature() { return {Parameters::kTypes, Results::kTypes}; }

  static Status call(void* function, HostCall& window) {
    Values values;
    Status status;
    if (!get_all(window, values, status, std::make_index_sequence<std::tuple_size_v<Values>>()))
      return status;
#if defined(__cpp_exceptions)
    try {
      return run(*static_cast<F*>(function), window, values);
    } catch (const std::exception& exception) {
      return host_exception(window, exception.what());
    } catch (...) {
      return host_exception(window, "an exception that is no std::exception");
    }
#else
    return run(*static_cast<F*>(function), window, values);
#endif
  }

 private:
  template <std::size_t... I>
  static bool get_all(const HostCall& window, Values& values, Status& status, std::index_sequence<I...>) {
    return (get_at(window, Parameters::place(I), std::get<I>(values), status) && ...);
  }

  static Status run(F& function, HostCall& window, Values& values) {
    if constexpr (std::is_void_v<Return>) {
      std::apply(function, values);
      return {};
    } else if constexpr (std::is_same_v<Return, Status> || std::is_same_v<Return, Result<void>>) {
      Return outcome = std::apply(function, values);
      if (!outcome.ok()) return host_failure(window, std::move(outcome).error());
      return {};
    } else if constexpr (std::is_same_v<Return, typename Returned<Return>::Value>) {
      return put_result(window, std::apply(function, values));
    } else {
      Return outcome = std::apply(function, values);
      if (!outcome.ok()) return host_failure(window, std::move(outcome).error());
      return put_result(window, outcome.value());
    }
  }
};

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail
