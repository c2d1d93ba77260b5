// SPDX-License-Identifier: Apache-2.0
#include "vm/api/dynamic.h"

#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "dhpvm/detail/call.h"
#include "dhpvm/isolate.h"
#include "vm/api/methods.h"
#include "vm/api/target.h"
#include "vm/native.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {
namespace detail {
namespace {

Value reference_value(const std::shared_ptr<IsolateState>& isolate, gc::Ref ref) {
  if (ref == nullptr) return {};
  if (ref->header.type == bytecode::kStringType)
    return std::string(reinterpret_cast<const gc::String*>(ref)->view());
  return ObjectState::wrap(isolate, ref);
}

// One call with values: arguments in, run, results out.
class ValueCall {
 public:
  ValueCall(const Target& target, const bytecode::Signature& signature)
      : target_(target), signature_(signature), call_(target) {}

  Status put(std::span<const Value> arguments) {
    if (!call_.has_windows()) return {};  // run() says why
    Place place;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const bytecode::ValueType& type = signature_.parameters[i];
      Status status = type.is_ref() ? put_reference(place.r++, arguments[i])
                                    : put_number(place.p++, type.kind, arguments[i]);
      if (!status.ok()) {
        return std::move(status).error().with_context(
            fmt::format("argument {} cannot be passed as {}", i + 1,
                        vm::type_text(target_.isolate->machine->module(), type)));
      }
    }
    return {};
  }
  Status run() { return call_.run(); }
  std::vector<Value> take() {
    std::vector<Value> results;
    Place place;
    for (const bytecode::ValueType& type : signature_.results) {
      if (type.is_ref()) {
        results.push_back(reference_value(target_.isolate, static_cast<gc::Ref>(call_.r[place.r++])));
      } else {
        const std::uint64_t bits = call_.p[place.p++];
        results.push_back(
            with_primitive(type.kind, [&](auto zero) { return Value(from_register<decltype(zero)>(bits)); }));
      }
    }
    return results;
  }

 private:
  Status put_number(unsigned slot, bytecode::Kind kind, const Value& value) {
    return with_primitive(kind, [&](auto zero) -> Status {
      DHPVM_ASSIGN(const auto number, value.as<decltype(zero)>());
      call_.p[slot] = to_register(number);
      return {};
    });
  }
  Status put_reference(unsigned slot, const Value& value) {
    if (const auto* const text = std::get_if<std::string>(&value.content())) {
      if (target_.reference_types[slot] != bytecode::kStringType)
        return Error(ErrorCode::kBadCast, "the value is a text");
      return put_text(call_, slot, *text);
    }
    DHPVM_ASSIGN(const Object object, value.as<Object>());
    return call_.put_object(slot, object);
  }

  const Target& target_;
  const bytecode::Signature& signature_;
  Call call_;
};

// ---- Collections: classes of the library, whose fields are known here.

const bytecode::Module& module_of(const ObjectState& state) { return state.isolate->machine->module(); }

Error wrong_collection(const Object& object, std::string_view wanted) {
  return error(ErrorCode::kBadCast, "the object is of type {}, and should be {}", object.type_name(), wanted);
}

// The first `most` elements of an array, from `first` on: visit(address of the element).
template <typename F>
Status each_element(const ObjectState& owner, gc::Ref array_ref, std::int64_t first, std::int64_t most,
                    F&& visit) {
  vm::Isolate& machine = *owner.isolate->machine;
  if (array_ref == nullptr) return Error(ErrorCode::kNullReference, "the array of the elements is null");
  auto& array = *reinterpret_cast<gc::Array*>(array_ref);
  if (array.readable < array.length) DHPVM_TRY(machine.make_accessible(array, false));
  const std::size_t size = machine.linked().types()[array.header.type].element_size;
  const std::int64_t end = std::min(array.length, most);
  for (std::int64_t i = first; i < end; ++i)
    DHPVM_TRY(visit(array.data + static_cast<std::size_t>(i) * size, i));
  return {};
}

bool is_struct(const bytecode::Module& module, const bytecode::ValueType& type) {
  return type.is_ref() && module.types[type.type].kind == bytecode::TypeKind::kStruct;
}

Result<std::vector<Value>> elements_of_array(const ObjectState& owner, gc::Ref array, std::int64_t most) {
  const bytecode::Module& module = module_of(owner);
  std::vector<Value> values;
  if (array == nullptr) return Error(ErrorCode::kNullReference, "the array of the elements is null");
  const bytecode::ValueType& element = module.types[array->header.type].element;
  if (is_struct(module, element))
    return Error(ErrorCode::kUnsupported, "the elements are structs, which are no values of their own here");
  DHPVM_TRY(each_element(owner, array, 0, most, [&](const std::byte* where, std::int64_t) -> Status {
    values.push_back(value_in(owner.isolate, element, where));
    return {};
  }));
  return values;
}

// An instance of a class of the library: the name of a class of the program may begin like it, but has no such fields.
bool is_collection(const Object& object, std::string_view prefix) {
  return object.type_name().starts_with(prefix);
}

Result<Object> array_field(const Object& object, std::string_view name) {
  DHPVM_ASSIGN(Object array, object.get<Object>(name));
  if (!array || module_of(*ObjectState::of(array)).types[ObjectState::of(array)->root->header.type].kind !=
                    bytecode::TypeKind::kArray)
    return wrong_collection(object, "a collection of the library");
  return array;
}

const bytecode::Field* field_named(const bytecode::Type& type, std::string_view name) {
  for (const bytecode::Field& field : type.fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

}  // namespace

Value value_in(const std::shared_ptr<IsolateState>& isolate, const bytecode::ValueType& type,
               const std::byte* where) {
  if (type.is_ref()) return reference_value(isolate, *reinterpret_cast<const gc::Ref*>(where));
  return with_primitive(type.kind, [&](auto number) {
    std::memcpy(&number, where, sizeof number);
    return Value(number);
  });
}

Result<std::vector<Value>> call_target(const Target& target, const bytecode::Signature& signature,
                                       std::span<const Value> arguments) {
  if (arguments.size() != signature.parameters.size()) {
    return error(ErrorCode::kInvalidArgument, "the function is {}, and this call has {} arguments",
                 vm::signature_text(target.isolate->machine->module(), signature), arguments.size());
  }
  ValueCall call(target, signature);
  DHPVM_TRY(call.put(arguments));
  DHPVM_TRY(call.run());
  return call.take();
}

Result<std::vector<Value>> values_of(const Object& object) {
  const ObjectState* const state = ObjectState::of(object);
  if (state == nullptr)
    return Error(ErrorCode::kNullReference, "the object is null, and should hold elements");
  const bytecode::Type& type = module_of(*state).types[state->root->header.type];
  if (type.kind == bytecode::TypeKind::kArray && type.rank == 1)
    return elements_of_array(*state, state->root.get(), std::numeric_limits<std::int64_t>::max());
  if (is_collection(object, "List<")) {
    DHPVM_ASSIGN(const Object items, array_field(object, "items"));
    DHPVM_ASSIGN(const std::int64_t size, object.get<std::int64_t>("size"));
    return elements_of_array(*state, ObjectState::of(items)->root.get(), size);
  }
  if (is_collection(object, "Set<")) {
    DHPVM_ASSIGN(const Object map, object.get<Object>("map"));
    DHPVM_ASSIGN(const auto entries, entries_of(map));
    std::vector<Value> keys;
    for (const auto& [key, present] : entries) keys.push_back(key);
    return keys;
  }
  return wrong_collection(object, "an array of one dimension, a List or a Set");
}

Result<std::vector<std::pair<Value, Value>>> entries_of(const Object& object) {
  if (!object) return Error(ErrorCode::kNullReference, "the object is null, and should be a Map");
  if (!is_collection(object, "Map<")) return wrong_collection(object, "a Map");
  const ObjectState& state = *ObjectState::of(object);
  const bytecode::Module& module = module_of(state);
  DHPVM_ASSIGN(const Object pairs, array_field(object, "pairs"));
  DHPVM_ASSIGN(const Object removed, array_field(object, "removed"));
  DHPVM_ASSIGN(const std::span<const bool> gone, removed.elements<const bool>());
  DHPVM_ASSIGN(const std::int64_t entries, object.get<std::int64_t>("entries"));
  const gc::Ref array = ObjectState::of(pairs)->root.get();
  const bytecode::ValueType& element = module.types[array->header.type].element;
  if (!is_struct(module, element)) return wrong_collection(object, "a Map");
  const bytecode::Field* const key = field_named(module.types[element.type], "key");
  const bytecode::Field* const value = field_named(module.types[element.type], "value");
  if (key == nullptr || value == nullptr)
    return Error(ErrorCode::kUnsupported,
                 "the keys or values are structs, which are no values of their own here");
  std::vector<std::pair<Value, Value>> found;
  // The entries begin at 1, so that 0 is none.
  const std::int64_t end = std::min(entries, static_cast<std::int64_t>(gone.size()) - 1) + 1;
  DHPVM_TRY(each_element(state, array, 1, end, [&](const std::byte* where, std::int64_t index) -> Status {
    if (!gone[static_cast<std::size_t>(index)]) {
      found.emplace_back(value_in(state.isolate, key->type, where + key->offset),
                         value_in(state.isolate, value->type, where + value->offset));
    }
    return {};
  }));
  return found;
}

}  // namespace detail

namespace {

Result<std::vector<Value>> call_export(const std::shared_ptr<detail::IsolateState>& isolate,
                                       std::uint32_t index, std::span<const Value> arguments) {
  const bytecode::Signature& signature = isolate->machine->module().functions[index].signature;
  return detail::call_target(*detail::make_target(isolate, index), signature, arguments);
}

}  // namespace

Result<std::vector<Value>> Object::values() const { return detail::values_of(*this); }
Result<std::vector<std::pair<Value, Value>>> Object::entries() const { return detail::entries_of(*this); }

Result<std::vector<Value>> Object::call(std::string_view method, std::span<const Value> arguments) const {
  DHPVM_ASSIGN(const std::uint32_t function, detail::find_method_function(*this, method));
  const bytecode::Signature signature = detail::bound_signature(state_->isolate->machine->module(), function);
  return detail::call_target(*detail::make_target(state_->isolate, function, *this), signature, arguments);
}

Result<std::vector<Value>> Isolate::call(std::string_view name, std::span<const Value> arguments) const {
  DHPVM_ASSIGN(const std::uint32_t index, detail::find_export(*state_, name));
  return call_export(state_, index, arguments);
}

Result<Object> Isolate::make(std::string_view type, std::span<const Value> arguments) const {
  DHPVM_ASSIGN(const std::uint32_t index, detail::find_constructor(*state_, type));
  DHPVM_ASSIGN(const std::vector<Value> results, call_export(state_, index, arguments));
  return results.front().as<Object>();
}

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
