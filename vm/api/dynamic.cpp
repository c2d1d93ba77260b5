// SPDX-License-Identifier: Apache-2.0
#include "vm/api/dynamic.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "dhpvm/detail/call.h"
#include "dhpvm/isolate.h"
#include "vm/api/methods.h"
#include "vm/api/program_error.h"
#include "vm/api/records.h"
#include "vm/api/signature.h"
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

// The parameters or results of a function, each with its slots: a struct has several.
class Side {
 public:
  // Leaves out value number `left_out`, whose slot is not counted. Positions of structs begin at `first`.
  Side(const bytecode::Module& module, std::span<const bytecode::ValueType> types,
       std::span<const bytecode::StructValue> structs, std::size_t first, std::optional<std::size_t> left_out)
      : module_(module), types_(types) {
    Place place;
    for (std::size_t i = 0; i < types.size(); ++i) {
      unsigned& next = types[i].is_ref() ? place.r : place.p;
      slots_.push_back(next);
      if (i != left_out) ++next;
    }
    for (std::size_t i = 0; i < types.size();) {
      while (!structs.empty() && structs.front().first < first + i) structs = structs.subspan(1);
      const bool is_struct = !structs.empty() && structs.front().first == first + i;
      const std::size_t count = is_struct ? module.types[structs.front().type].fields.size() : 1;
      const bool has_left_out = left_out && *left_out >= i && *left_out < i + count;
      if (!has_left_out) values_.push_back({i, is_struct ? &module.types[structs.front().type] : nullptr});
      i += has_left_out ? 1 : count;
    }
  }

  std::size_t size() const { return values_.size(); }
  // Null for a value of one slot.
  const bytecode::Type* struct_of(std::size_t value) const { return values_[value].type; }
  const bytecode::ValueType& type_of(std::size_t value, std::size_t leaf) const {
    return types_[values_[value].first + leaf];
  }
  unsigned slot_of(std::size_t value, std::size_t leaf) const { return slots_[values_[value].first + leaf]; }

  std::string text_of(std::size_t value) const {
    if (struct_of(value) != nullptr) return struct_of(value)->name;
    const bytecode::ValueType& type = type_of(value, 0);
    // By its bare name, as in the program.
    if (type.is_ref() && module_.types[type.type].kind == bytecode::TypeKind::kClass)
      return module_.types[type.type].name;
    return vm::type_text(module_, type);
  }
  std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < size(); ++i) text += (i == 0 ? "" : ", ") + text_of(i);
    return "(" + text + ")";
  }

 private:
  struct Position {
    std::size_t first;
    const bytecode::Type* type;
  };
  const bytecode::Module& module_;
  std::span<const bytecode::ValueType> types_;
  std::vector<unsigned> slots_;
  std::vector<Position> values_;
};

// One call with values: put arguments in, run, take results out.
class ValueCall {
 public:
  explicit ValueCall(const Target& target)
      : target_(target),
        function_(target.isolate->machine->module().functions[target.function]),
        parameters_(target.isolate->machine->module(), function_.signature.parameters, function_.structs, 0,
                    receiver()),
        call_(target) {}

  Status put(std::span<const Value> arguments) {
    if (arguments.size() != parameters_.size()) {
      return error(ErrorCode::kInvalidArgument, "'{}' takes {}, and this call has {}",
                   target_.isolate->machine->module().name_of(function_), parameters_.text(),
                   counted(arguments.size(), "argument"));
    }
    if (!call_.has_windows()) return {};  // run() says why
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (Status status = put_argument(i, arguments[i]); !status.ok()) {
        return std::move(status).error().with_context(
            fmt::format("argument {} cannot be passed as {}", i + 1, parameters_.text_of(i)));
      }
    }
    return {};
  }
  Status run() { return call_.run(); }
  Result<std::vector<Value>> take() {
    const bytecode::Module& module = target_.isolate->machine->module();
    const Side side(module, function_.signature.results, function_.structs,
                    function_.signature.parameters.size(), std::nullopt);
    std::vector<Value> results;
    for (std::size_t i = 0; i < side.size(); ++i) {
      const ReadLeaf read = [&](std::size_t leaf) {
        return take_leaf(side.type_of(i, leaf), side.slot_of(i, leaf));
      };
      results.push_back(side.struct_of(i) != nullptr ? read_struct(*side.struct_of(i), read) : read(0));
    }
    if (side.size() == 1 && side.struct_of(0) != nullptr && side.struct_of(0)->name.ends_with('!') &&
        is_program_error(module, side.type_of(0, 0))) {
      return value_or_error(side.slot_of(0, 0), std::move(results));
    }
    return results;
  }

 private:
  // The receiver is the first reference.
  std::optional<std::size_t> receiver() const {
    if (!target_.receiver) return std::nullopt;
    const auto& types = function_.signature.parameters;
    return static_cast<std::size_t>(std::ranges::find_if(types, &bytecode::ValueType::is_ref) -
                                    types.begin());
  }

  // For a result `T!`: an error or null in `error_slot`, and then the value; `void!` has no value.
  Result<std::vector<Value>> value_or_error(unsigned error_slot, std::vector<Value> results) const {
    if (const auto failure = static_cast<gc::Ref>(call_.r[error_slot]); failure != nullptr)
      return program_error(target_.isolate->machine->module(), failure);
    const auto* const parts = std::get_if<Record>(&results.front().content());
    if (parts == nullptr || parts->fields.empty()) return results;
    std::vector<Value> values;
    for (std::size_t i = 1; i < parts->fields.size(); ++i) values.push_back(parts->fields[i].value);
    return values;
  }

  Status put_argument(std::size_t index, const Value& value) {
    const WriteLeaf write = [&](std::size_t leaf, const Value& given) {
      const bytecode::ValueType& type = parameters_.type_of(index, leaf);
      const unsigned slot = parameters_.slot_of(index, leaf);
      return type.is_ref() ? put_reference(slot, given) : put_number(slot, type.kind, given);
    };
    const bytecode::Type* const type = parameters_.struct_of(index);
    return type == nullptr ? write(0, value) : write_part(type->fields, whole(type->fields), value, write);
  }
  Value take_leaf(const bytecode::ValueType& type, unsigned slot) const {
    if (type.is_ref()) return reference_value(target_.isolate, static_cast<gc::Ref>(call_.r[slot]));
    return with_primitive(type.kind,
                          [&](auto zero) { return Value(from_register<decltype(zero)>(call_.p[slot])); });
  }

  Status put_number(unsigned slot, bytecode::Kind kind, const Value& value) {
    return with_primitive(kind, [&](auto zero) -> Status {
      DHPVM_ASSIGN(const auto number, value.as<decltype(zero)>());
      call_.p[slot] = to_register(number);
      return {};
    });
  }
  Status put_reference(unsigned slot, const Value& value) {
    if (const auto* const text = std::get_if<std::string>(&value.content())) {
      if (target_.reference_types[slot] != bytecode::kStringType) return wrong_value(value, "an object");
      return put_text(call_, slot, *text);
    }
    DHPVM_ASSIGN(const Object object, value.as<Object>());
    return call_.put_object(slot, object);
  }

  const Target& target_;
  const bytecode::Function& function_;
  const Side parameters_;
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

// The fields of a struct in memory.
ReadLeaf leaves_at(const ObjectState& owner, const bytecode::ValueType& element, const std::byte* where) {
  return [&owner, &element, where](std::size_t leaf) {
    const bytecode::Field& field = module_of(owner).types[element.type].fields[leaf];
    return value_in(owner.isolate, field.type, where + field.offset);
  };
}

Result<std::vector<Value>> elements_of_array(const ObjectState& owner, gc::Ref array, std::int64_t most) {
  const bytecode::Module& module = module_of(owner);
  std::vector<Value> values;
  if (array == nullptr) return Error(ErrorCode::kNullReference, "the array of the elements is null");
  const bytecode::ValueType& element = module.types[array->header.type].element;
  DHPVM_TRY(each_element(owner, array, 0, most, [&](const std::byte* where, std::int64_t) -> Status {
    values.push_back(is_struct(module, element)
                         ? read_struct(module.types[element.type], leaves_at(owner, element, where))
                         : value_in(owner.isolate, element, where));
    return {};
  }));
  return values;
}

// An instance of a class of the library. A class of the program may have a name that begins in the same way, but not
// these fields.
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

// "the i64 7", "the str \"abc\"": at most the beginning of a long text.
std::string described(const Value& value) {
  constexpr std::size_t kMostShown = 32;
  return std::visit(
      [](const auto& held) -> std::string {
        using Held = std::remove_cvref_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>) {
          return "null";
        } else if constexpr (std::is_same_v<Held, std::string>) {
          return held.size() > kMostShown ? "a str" : fmt::format("the str '{}'", held);
        } else if constexpr (std::is_same_v<Held, Object>) {
          return fmt::format("an object of type {}", held.type_name());
        } else if constexpr (std::is_same_v<Held, Record>) {
          return held.type.empty() ? "a struct" : fmt::format("a struct {}", held.type);
        } else {
          return fmt::format("{} ({})", held, wanted_text<Held>());
        }
      },
      value.content());
}

}  // namespace

Error wrong_value(const Value& value, std::string_view wanted) {
  return error(ErrorCode::kBadCast, "the value is {}, and does not convert to {}", described(value), wanted);
}

Error wrong_results(std::size_t given, std::size_t wanted) {
  return error(ErrorCode::kInvalidArgument, "the function gives {}, and the call asks for {}",
               counted(given, "result"), wanted == 0 ? "none" : std::to_string(wanted));
}

Value value_in(const std::shared_ptr<IsolateState>& isolate, const bytecode::ValueType& type,
               const std::byte* where) {
  if (type.is_ref()) return reference_value(isolate, *reinterpret_cast<const gc::Ref*>(where));
  return with_primitive(type.kind, [&](auto number) {
    std::memcpy(&number, where, sizeof number);
    return Value(number);
  });
}

Result<std::vector<Value>> call_target(const Target& target, std::span<const Value> arguments) {
  ValueCall call(target);
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
  // Null as long as nothing was removed.
  DHPVM_ASSIGN(const Object removed, object.get<Object>("removed"));
  std::span<const bool> gone;
  if (removed) {
    DHPVM_ASSIGN(gone, removed.elements<const bool>());
  }
  DHPVM_ASSIGN(const std::int64_t entries, object.get<std::int64_t>("entries"));
  const gc::Ref array = ObjectState::of(pairs)->root.get();
  const bytecode::ValueType& element = module.types[array->header.type].element;
  if (!is_struct(module, element)) return wrong_collection(object, "a Map");
  const Fields fields = module.types[element.type].fields;
  const std::optional<Part> key = find_part(fields, "key");
  const std::optional<Part> value = find_part(fields, "value");
  if (!key || !value) return wrong_collection(object, "a Map");
  std::vector<std::pair<Value, Value>> found;
  // The entries begin at 1, so that 0 is none.
  DHPVM_TRY(
      each_element(state, array, 1, entries + 1, [&](const std::byte* where, std::int64_t index) -> Status {
        const auto entry = static_cast<std::size_t>(index);
        if (entry >= gone.size() || !gone[entry]) {
          const ReadLeaf read = leaves_at(state, element, where);
          found.emplace_back(read_part(fields, *key, read), read_part(fields, *value, read));
        }
        return {};
      }));
  return found;
}

}  // namespace detail

Result<std::vector<Value>> Object::values() const { return detail::values_of(*this); }
Result<std::vector<std::pair<Value, Value>>> Object::entries() const { return detail::entries_of(*this); }

Result<std::vector<Value>> Object::call(std::string_view method, std::span<const Value> arguments) const {
  DHPVM_ASSIGN(const std::uint32_t function, detail::find_method_function(*this, method));
  return detail::call_target(*detail::make_target(state_->isolate, function, *this), arguments);
}

Result<std::vector<Value>> Isolate::call(std::string_view name, std::span<const Value> arguments) const {
  DHPVM_ASSIGN(const std::uint32_t index, detail::find_export(*state_, name));
  return detail::call_target(*detail::make_target(state_, index), arguments);
}

Result<Object> Isolate::make(std::string_view type, std::span<const Value> arguments) const {
  DHPVM_ASSIGN(const std::uint32_t index, detail::find_constructor(*state_, type));
  DHPVM_ASSIGN(const std::vector<Value> results,
               detail::call_target(*detail::make_target(state_, index), arguments));
  return results.front().as<Object>();
}

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
