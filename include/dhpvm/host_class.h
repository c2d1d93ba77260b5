// SPDX-License-Identifier: Apache-2.0
// A class of the host as one of the language.
//
//   dhpvm::HostClass<Camera> camera("studio.Camera");
//   camera.constructor<double>("new_camera");       // fn new_camera(a: f64) -> Camera
//   camera.method("move", &Camera::move);           // fn move(a: f64, b: f64)
//   camera.property("zoom", &Camera::zoom);         // fn zoom() -> f64, and fn set_zoom(value: f64)
//   dhpvm::Status defined = engine.define(camera);
//
// A struct of the host's is a tuple for scripts, and an enum class a number: `fn look(at: (f64, f64), mode: u8)`.
// Programs that are compiled for the engine afterwards find it in a module: `import studio;`, then
// `let c = studio.new_camera(1.0); c.move(3.0, 4.0);`. An object of the program owns a share of the host's object. The
// host passes one of its own as a std::shared_ptr<Camera>, which is a `resource` in the program, and `studio.Camera(r)`
// is then the object; a pointer that the host alone owns goes as a std::shared_ptr with an empty deleter.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "dhpvm/detail/host_function.h"
#include "dhpvm/export.h"
#include "dhpvm/types.h"
#include "dhpvm/version.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {
namespace detail {

// The functions of the host that a HostClass has collected, and the source of its module.
struct HostMember {
  std::string name;  // "studio.Camera.move"
  HostSignature signature;
  std::shared_ptr<void> function;
  HostThunk thunk;
};
struct HostClassParts {
  std::string module;
  std::string class_name;
  std::vector<HostMember> members;
  std::string methods;    // the text of the class
  std::string functions;  // the text around it
};

// "f64", "[str]"
DHPVM_API std::string language_text(const HostType& type);
// Adds a method, or a function of the module that makes an object, and `extern` for what it calls.
DHPVM_API void add_member(HostClassParts& parts, bool is_method, std::string_view name,
                          const std::vector<std::string>& parameters, const std::string& result);

template <typename T>
std::string language_text();
template <typename... Ts>
std::string tuple_text(std::type_identity<std::tuple<Ts...>>) {
  static_assert(sizeof...(Ts) >= 2 && sizeof...(Ts) <= 8,
                "a struct in a method of a host class is a tuple for scripts, and has 2 to 8 members");
  std::string text;
  ((text += (text.empty() ? "" : ", ") + language_text<Ts>()), ...);
  return "(" + text + ")";
}
template <typename T>
std::string language_text() {
  if constexpr (Aggregate<T>) {
    return tuple_text(std::type_identity<MembersOf<T>>());
  } else {
    static_assert(TypeOf<T>::kKnown, DHPVM_UNKNOWN_TYPE);
    static_assert(TypeOf<T>::kType.shape != HostType::Shape::kObject,
                  "a method of a host class has numbers, texts, arrays, structs, and std::shared_ptr");
    const auto& types = TypesOf<T>::kTypes;
    return types.size() == 1 ? language_text(types[0]) : language_text(types[types.size() - 1]) + "?";
  }
}
template <typename T>
inline constexpr bool kIsTuple = false;
template <typename... Ts>
inline constexpr bool kIsTuple<std::tuple<Ts...>> = true;
template <typename R>
std::string language_text_of_result() {
  using Value = typename Returned<R>::Value;
  if constexpr (std::is_void_v<Value>) {
    return "";
  } else if constexpr (kIsTuple<Value>) {
    return tuple_text(std::type_identity<Value>());
  } else {
    return language_text<Value>();
  }
}

// The arguments of a method of T, behind the object itself.
template <typename T, typename F>
struct MethodOf : MethodOf<T, decltype(&F::operator())> {};
template <typename T, typename C, typename R, typename... A>
struct MethodOf<T, R (C::*)(A...)> {
  static constexpr bool kIsMember = std::is_base_of_v<C, T>;
  using Return = std::remove_cvref_t<R>;
  using Arguments = std::tuple<std::remove_cvref_t<A>...>;
};
template <typename T, typename C, typename R, typename... A>
struct MethodOf<T, R (C::*)(A...) const> : MethodOf<T, R (C::*)(A...)> {};
template <typename T, typename C, typename R, typename... A>
struct MethodOf<T, R (C::*)(A...) noexcept> : MethodOf<T, R (C::*)(A...)> {};
template <typename T, typename C, typename R, typename... A>
struct MethodOf<T, R (C::*)(A...) const noexcept> : MethodOf<T, R (C::*)(A...)> {};
template <typename Tuple>
struct WithoutFirst;
template <typename First, typename... Rest>
struct WithoutFirst<std::tuple<First, Rest...>> {
  using Arguments = std::tuple<Rest...>;
};

}  // namespace detail

// Not thread-safe; the functions that it is given are called as those of Engine::define are.
template <typename T>
class HostClass {
 public:
  // "module.Class": the module is new, or one of other host classes.
  explicit HostClass(std::string_view name) {
    const std::size_t point = name.find('.');
    parts_.module = name.substr(0, point);
    if (point != name.npos) parts_.class_name = name.substr(point + 1);
  }

  // A function of the module that makes an object of T from these arguments.
  template <typename... Args>
    requires std::is_constructible_v<T, Args...>
  HostClass& constructor(std::string_view name) {
    return add(
        false, name, [](Args... arguments) { return std::make_shared<T>(std::move(arguments)...); },
        Types<std::tuple<Args...>>());
  }

  // The same for any callable object that gives a std::shared_ptr<T>, or a Result of one: a constructor that can fail,
  // or that hands out objects which exist already. Null is a trap.
  template <typename F>
  HostClass& constructor(std::string_view name, F make) {
    using Return = typename detail::Callable<F>::Return;
    static_assert(std::is_same_v<typename detail::Returned<Return>::Value, std::shared_ptr<T>>,
                  "the constructor of a host class gives a std::shared_ptr of it");
    return add(false, name, std::move(make), Types<typename detail::Callable<F>::Values>());
  }

  // A member function, or any callable object whose first parameter is a T&. It may give a Result or a Status.
  template <typename F>
  HostClass& method(std::string_view name, F function) {
    if constexpr (std::is_member_function_pointer_v<F>) {
      using Method = detail::MethodOf<T, F>;
      static_assert(Method::kIsMember, "the function is a member of another class");
      return add_method<typename Method::Return>(name, std::move(function),
                                                 Types<typename Method::Arguments>());
    } else {
      using Method = detail::MethodOf<T, F>;
      using Rest = detail::WithoutFirst<typename Method::Arguments>;
      return add_method<typename Method::Return>(name, std::move(function),
                                                 Types<typename Rest::Arguments>());
    }
  }

  // A data member: the methods `name()` and `set_name(value)`; only the former if it is const.
  template <typename M>
  HostClass& property(std::string_view name, M T::* member)
    requires(!std::is_function_v<M>)
  {
    using Held = std::remove_const_t<M>;
    method(name, [member](T& object) -> Held { return object.*member; });
    if constexpr (!std::is_const_v<M>) {
      method("set_" + std::string(name),
             [member](T& object, Held value) { object.*member = std::move(value); });
    }
    return *this;
  }
  // A property that scripts only read, by a member function or callable object: the method `name()`.
  template <typename Getter>
  HostClass& property(std::string_view name, Getter getter)
    requires(!std::is_member_object_pointer_v<Getter>)
  {
    return method(name, std::move(getter));
  }
  // The same for a pair of member functions or callable objects.
  template <typename Getter, typename Setter>
  HostClass& property(std::string_view name, Getter getter, Setter setter) {
    method(name, std::move(getter));
    return method("set_" + std::string(name), std::move(setter));
  }

  // For the library's own use.
  const detail::HostClassParts& parts() const { return parts_; }

 private:
  template <typename Tuple>
  using Types = std::type_identity<Tuple>;

  template <typename R, typename F, typename... Args>
  HostClass& add_method(std::string_view name, F function, Types<std::tuple<Args...>> arguments) {
    return add(
        true, name,
        [function = std::move(function)](const std::shared_ptr<T>& self, Args... values) -> R {
          return std::invoke(function, *self, std::move(values)...);
        },
        arguments);
  }

  template <typename F, typename... Args>
  HostClass& add(bool is_method, std::string_view name, F function, Types<std::tuple<Args...>>) {
    using Host = detail::HostFunction<F>;
    using Return = typename detail::Callable<F>::Return;
    std::vector<std::string> parameters = {detail::language_text<Args>()...};
    detail::add_member(parts_, is_method, name, parameters,
                       is_method ? detail::language_text_of_result<Return>() : "resource");
    parts_.members.push_back({parts_.module + "." + parts_.class_name + "." + std::string(name),
                              Host::signature(), std::make_shared<F>(std::move(function)), &Host::call});
    return *this;
  }

  detail::HostClassParts parts_;
};

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
