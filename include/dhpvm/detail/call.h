// SPDX-License-Identifier: Apache-2.0
// Not for applications: one call from C++ into a program.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "dhpvm/detail/window.h"
#include "dhpvm/export.h"
#include "dhpvm/object.h"
#include "dhpvm/result.h"
#include "dhpvm/version.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail {

// Put the arguments in, run, take the results out, in this order. Lives on the stack of the caller: nothing
// is allocated unless an argument needs it.
class DHPVM_API Call : public Window {
 public:
  explicit Call(const Target& target);
  ~Call() {
    if (must_end_) [[unlikely]]
      end();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // False if the stack limit leaves no room for the call, or another thread uses the isolate: there are no windows
  // then, and run() says why.
  bool has_windows() const { return p != nullptr; }
  // Lends host memory until this object is destroyed.
  Status lend(unsigned slot, HostType type, void* data, const std::int64_t* sizes);
  // kBadCast if the object is not of the parameter's type, kInvalidArgument if it is from another isolate.
  Status put_object(unsigned slot, const Object& object);

  // The results are in the windows until the next call of the isolate.
  Status run();

 private:
  void end();

  const Target& target_;
  bool must_end_ = false;  // there are windows or loans to give back; after run() mostly not
  // The machine's own record of the call; its layout is private to the machine.
  alignas(std::max_align_t) std::byte machine_[208];
};

// ---- Arguments: like results of host functions, but arrays are lent instead of copied.

template <typename T>
bool put_argument(Call& call, unsigned slot, const T& value, Status& status) {
  return put(call, slot, value, status);
}
template <typename T>
bool put_argument(Call& call, unsigned slot, const std::span<T>& value, Status& status) {
  const auto size = static_cast<std::int64_t>(value.size());
  return succeeded(status, call.lend(slot, TypeOf<std::span<T>>::kType,
                                     const_cast<std::remove_const_t<T>*>(value.data()), &size));
}
template <typename T, unsigned Rank>
bool put_argument(Call& call, unsigned slot, const NdSpan<T, Rank>& value, Status& status) {
  return succeeded(status, call.lend(slot, TypeOf<NdSpan<T, Rank>>::kType,
                                     const_cast<std::remove_const_t<T>*>(value.data), value.sizes.data()));
}
inline bool put_argument(Call& call, unsigned slot, const Object& value, Status& status) {
  return succeeded(status, call.put_object(slot, value));
}

template <typename T>
bool put_argument_at(Call& call, Place place, const T& value, Status& status) {
  if constexpr (Aggregate<T>) {
    return each_member(value, place, [&](const auto& member, Place at) {
      return put_argument_at(call, at, member, status);
    });
  } else {
    return put_argument(call, TypesOf<T>::kTypes[0].is_reference() ? place.r : place.p, value, status);
  }
}

// ---- Results.

template <typename T>
struct ResultOf {
  static Result<T> take(const Call& call) {
    static_assert(!std::is_same_v<T, std::string_view>,
                  "the text would be gone after the call: ask for a std::string");
    T value{};
    Status status;
    if (!get_at(call, Place{}, value, status)) return status;
    return value;
  }
};
template <>
struct ResultOf<void> {
  static Result<void> take(const Call&) { return {}; }
};
template <typename... Ts>
struct ResultOf<std::tuple<Ts...>> {
  static Result<std::tuple<Ts...>> take(const Call& call) {
    return take(call, std::index_sequence_for<Ts...>());
  }

 private:
  template <std::size_t... I>
  static Result<std::tuple<Ts...>> take(const Call& call, std::index_sequence<I...>) {
    std::tuple<Ts...> values{};
    Status status;
    if (!(get_at(call, Layout<Ts...>::place(I), std::get<I>(values), status) && ...)) return status;
    return values;
  }
};

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail
