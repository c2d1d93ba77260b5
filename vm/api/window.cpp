// SPDX-License-Identifier: Apache-2.0
// The conversions between C++ values and argument windows that need the heap.
#include "dhpvm/detail/window.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "dhpvm/detail/host_function.h"
#include "stdlib/native/resource.h"
#include "vm/api/signature.h"
#include "vm/api/state.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail {
namespace {

// A host's object behind the language's `resource`.
class HostResource final : public stdlib::ResourceObject {
 public:
  HostResource(const void* tag, std::shared_ptr<void> object)
      : ResourceObject(tag), object_(std::move(object)) {}
  const std::shared_ptr<void>& object() const { return object_; }

 private:
  std::shared_ptr<void> object_;
};

// The trap with the host function that it came through. A host function that is called again and again by what it calls
// is named once, with how many calls of it there are: 200 equal lines hide what happened.
Error in_host_function(Error cause, std::string_view name) {
  const std::string context = fmt::format("in host function '{}'", name);
  const std::string& outermost = cause.message();
  if (cause.cause() == nullptr || !outermost.starts_with(context))
    return std::move(cause).with_context(context);
  unsigned times = 1;
  if (outermost.size() > context.size())
    std::from_chars(outermost.data() + context.size() + 2, outermost.data() + outermost.size(), times);
  std::vector<StackFrame> frames = cause.frames();
  return Error(*cause.cause())
      .with_context(fmt::format("{} ({} times)", context, times + 1))
      .with_frames(std::move(frames));
}

Error null_error(std::string_view what) {
  return error(ErrorCode::kNullReference, "{} is needed, and this is null", what);
}

}  // namespace

namespace {

// A function of its own, because returning its Result takes longer than copying a short text.
[[gnu::noinline]] Status put_long_text(Window& window, unsigned slot, std::string_view text) {
  DHPVM_ASSIGN(gc::String* const string, machine_of(window).new_string(text));
  window.r[slot] = string;
  return {};
}

}  // namespace

Status put_text(Window& window, unsigned slot, std::string_view text) {
  // Longer texts go through Isolate::new_string, which also counts their bytes for the deadline.
  constexpr std::size_t kShort = 64;
  if (text.size() <= kShort) [[likely]] {
    gc::String* const string =
        machine_of(window).heap().allocate_short_string(bytecode::kStringType, text.size());
    if (string != nullptr) [[likely]] {
      std::ranges::copy(text, string->bytes());
      window.r[slot] = string;
      return {};
    }
  }
  return put_long_text(window, slot, text);
}

Status get_text(const Window& window, unsigned slot, std::string_view& text) {
  const auto* string = static_cast<const gc::String*>(window.r[slot]);
  if (string == nullptr) return null_error("a str");
  text = string->view();
  return {};
}

Status put_copy(Window& window, unsigned slot, HostType type, const void* data, std::size_t count) {
  vm::Isolate& machine = machine_of(window);
  DHPVM_ASSIGN(const gc::TypeId id, array_type(machine.linked(), type));
  DHPVM_ASSIGN(gc::Array* const array, machine.new_array(id, static_cast<std::int64_t>(count)));
  const std::size_t bytes = count * type.lanes * bytecode::size_of(static_cast<bytecode::Kind>(type.kind));
  if (bytes != 0) std::memcpy(array->data, data, bytes);
  window.r[slot] = array;
  return {};
}

Status get_array(const Window& window, unsigned slot, HostType type, ArrayView& view) {
  auto* const array = static_cast<gc::Array*>(window.r[slot]);
  if (array == nullptr) return null_error("an array");
  vm::Isolate& machine = machine_of(window);
  const bool write = !type.read_only;
  if ((write ? array->writable : array->readable) < array->length) {
    DHPVM_TRY(machine.make_accessible(*array, write));
  }
  view.data = array->data;
  for (unsigned i = 0; i < type.rank; ++i) view.sizes[i] = machine.dimension(*array, i);
  return {};
}

Object get_object(const Window& window, unsigned slot) {
  return ObjectState::wrap(IsolateState::of(machine_of(window)).shared_from_this(),
                           static_cast<gc::Ref>(window.r[slot]));
}

Status put_object(Window& window, unsigned slot, const Object& object) {
  const ObjectState* const state = ObjectState::of(object);
  if (state != nullptr && state->isolate->machine.get() != &machine_of(window))
    return Error(ErrorCode::kInvalidArgument, "the result is an object of another isolate; copy its content");
  window.r[slot] = state == nullptr ? nullptr : state->root.get();
  return {};
}

Status put_texts(Window& window, unsigned slot, std::span<const std::string> texts) {
  vm::Isolate& machine = machine_of(window);
  const auto type = machine.linked().find_array_type({bytecode::Kind::kRef, bytecode::kStringType});
  if (!type) return Error(ErrorCode::kInternal, "a list of texts goes to a program that has no [str]");
  DHPVM_ASSIGN(gc::Array* const list, machine.new_array(*type, static_cast<std::int64_t>(texts.size())));
  window.r[slot] = list;  // keeps the list alive while its elements are made
  for (std::size_t i = 0; i < texts.size(); ++i) {
    DHPVM_ASSIGN(gc::String* const text, machine.new_string(texts[i]));
    reinterpret_cast<gc::String**>(list->data)[i] = text;
    machine.heap().write_barrier(list, static_cast<std::int64_t>(i));
  }
  return {};
}

Status get_texts(const Window& window, unsigned slot, std::vector<std::string>& texts) {
  ArrayView view;
  DHPVM_TRY(get_array(window, slot, {HostType::Shape::kArray, Kind::kRef, 1, true}, view));
  const std::span elements(static_cast<const gc::String* const*>(view.data),
                           static_cast<std::size_t>(view.sizes[0]));
  texts.clear();
  texts.reserve(elements.size());
  for (const gc::String* const text : elements) {
    if (text == nullptr)
      return error(ErrorCode::kNullReference, "element {} of a [str] is null", texts.size());
    texts.emplace_back(text->view());
  }
  return {};
}

Error time_error(double seconds) {
  return error(ErrorCode::kInvalidArgument, "a time of {} s is beyond what the host's type holds", seconds);
}

Status put_resource(Window& window, unsigned slot, const void* tag, std::shared_ptr<void> object) {
  if (object == nullptr) {
    window.r[slot] = nullptr;
    return {};
  }
  DHPVM_ASSIGN(
      gc::Resource* const resource,
      stdlib::new_resource(machine_of(window), std::make_unique<HostResource>(tag, std::move(object))));
  window.r[slot] = resource;
  return {};
}

Status get_resource(const Window& window, unsigned slot, const void* tag, std::shared_ptr<void>& object) {
  if (window.r[slot] == nullptr) return {};
  DHPVM_ASSIGN(const stdlib::ResourceObject* const resource,
               stdlib::resource_object(static_cast<gc::Ref>(window.r[slot]), tag,
                                       "an object of this host function's type"));
  object = static_cast<const HostResource*>(resource)->object();
  return {};
}

Error host_failure(const HostCall& call, Error cause) {
  // A host that returns a trap chose how its program ends, or passes on how a nested call ended.
  if (cause.is_trap()) return in_host_function(std::move(cause), call.name);
  return error(ErrorCode::kHostException, "host function '{}' failed: {}{}{}", call.name,
               to_string(cause.code()), cause.message().empty() ? "" : ": ", cause.message());
}

Error host_exception(const HostCall& call, std::string_view what) {
  return error(ErrorCode::kHostException, "host function '{}' threw: {}", call.name, what);
}

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail
