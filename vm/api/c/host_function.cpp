// SPDX-License-Identifier: Apache-2.0
// Functions of the host in C, called by programs.
#include <algorithm>
#include <optional>

#include "vm/api/c/objects.h"
#include "vm/api/c/resource.h"
#include "vm/api/c/values.h"
#include "vm/api/host_definitions.h"
#include "vm/signature_words.h"

namespace dhpvm::c {
namespace {

using detail::HostType;

// Reads signatures of host functions: "(str, [const f64, 2]) -> (i64, str)".
class HostSignatureParser {
 public:
  explicit HostSignatureParser(std::string_view text) : words_(text) {}

  bool parse(std::vector<HostType>& parameters, std::vector<HostType>& results) {
    if (!parse_list(parameters)) return false;
    if (words_.accept("->") && !(words_.peek('(') ? parse_list(results) : parse_type(results))) return false;
    return words_.at_end();
  }

 private:
  bool parse_list(std::vector<HostType>& types) {
    if (!words_.accept("(")) return false;
    while (!words_.peek(')')) {
      if (!types.empty() && !words_.accept(",")) return false;
      if (!parse_type(types)) return false;
    }
    return words_.accept(")");
  }

  bool parse_type(std::vector<HostType>& types) {
    HostType type;
    if (words_.accept("[")) {
      type.shape = HostType::Shape::kArray;
      const std::string_view word = words_.take_word();
      type.read_only = word == "const";
      if (!parse_number(type.read_only ? words_.take_word() : word, type)) return false;
      if (words_.accept(",")) {
        if (!words_.peek('2') && !words_.peek('3')) return false;
        type.rank = words_.take_word() == "2" ? 2 : 3;
      }
      if (!words_.accept("]")) return false;
    } else {
      const std::string_view word = words_.take_word();
      if (word == "str") {
        type = {HostType::Shape::kString, detail::Kind::kRef};
      } else if (word == "resource") {
        type = {HostType::Shape::kResource, detail::Kind::kRef};
      } else if (word == "object") {
        type = {HostType::Shape::kObject, detail::Kind::kRef};
      } else if (!parse_number(word, type)) {
        return false;
      }
    }
    const bool is_nullable = words_.accept("?");
    // A number that may be null is two values.
    if (is_nullable && !type.is_reference())
      types.push_back({HostType::Shape::kPrimitive, detail::Kind::kBool});
    type.nullable = is_nullable && type.is_reference();
    types.push_back(type);
    return true;
  }

  static bool parse_number(std::string_view word, HostType& type) {
    const auto* const found = std::ranges::find(vm::kNumberNames, word);
    if (found == vm::kNumberNames.end()) return false;
    type.kind = static_cast<detail::Kind>(found - vm::kNumberNames.begin());
    return true;
  }

  vm::SignatureWords words_;
};

// A function of the host with its signature.
struct HostDefinition {
  HostDefinition(dhpvm_host_function host, dhpvm_release_function release, void* data)
      : function(host), user(release, data) {}
  dhpvm_host_function function;
  ReleasedUser user;
  std::vector<SignatureValue> parameters = {};
  std::vector<SignatureValue> results = {};
};

// The structure that the function sees, and what belongs to it.
struct ActiveHostCall {
  dhpvm_host_call seen;  // first: the host function passes its address back
  std::string message;
};

// The arguments of one call.
class HostArguments {
 public:
  HostArguments(const HostDefinition& definition, const detail::HostCall& window)
      : definition_(definition),
        window_(window),
        values_(definition.parameters.size()),
        arrays_(definition.parameters.size()) {}

  Status take() {
    for (std::size_t i = 0; i < definition_.parameters.size(); ++i) {
      const SignatureValue& parameter = definition_.parameters[i];
      if (is_number(parameter.kind)) {
        values_[i] = value_of(parameter.kind, window_.p[parameter.slot]);
      } else {
        DHPVM_TRY(take_reference(parameter, i));
      }
      ++taken_;
    }
    return {};
  }
  const dhpvm_value* values() { return values_.data(); }
  ~HostArguments() {
    for (std::size_t i = 0; i < taken_; ++i) {
      if (values_[i].kind == DHPVM_OBJECT) dhpvm_object_free(values_[i].of.object);
    }
  }
  HostArguments(const HostArguments&) = delete;
  HostArguments& operator=(const HostArguments&) = delete;

 private:
  Status take_reference(const SignatureValue& parameter, std::size_t index) {
    dhpvm_value& value = values_[index];
    value = {};
    if (window_.r[parameter.slot] == nullptr && (parameter.type.nullable || parameter.kind == DHPVM_OBJECT))
      return {};
    value.kind = parameter.kind;
    if (parameter.kind == DHPVM_TEXT) {
      std::string_view text;
      DHPVM_TRY(detail::get_text(window_, parameter.slot, text));
      value.of.text = {text.data(), text.size()};
    } else if (parameter.kind == DHPVM_ARRAY) {
      detail::ArrayView view;
      DHPVM_TRY(detail::get_array(window_, parameter.slot, parameter.type, view));
      const auto& array = *static_cast<const gc::Array*>(window_.r[parameter.slot]);
      fill_array(detail::machine_of(window_), array, {parameter.type.kind, 1}, parameter.type.rank,
                 parameter.type.read_only ? DHPVM_READ : DHPVM_READ_WRITE, arrays_[index]);
      value.of.array = &arrays_[index];
    } else if (parameter.kind == DHPVM_OBJECT) {
      return give_object(detail::get_object(window_, parameter.slot), nullptr, &value.of.object);
    } else {
      DHPVM_ASSIGN(value.of.resource, resource_pointer(window_, parameter.slot));
    }
    return {};
  }

  const HostDefinition& definition_;
  const detail::HostCall& window_;
  Scratch<dhpvm_value, 6> values_;
  Scratch<dhpvm_array, 4> arrays_;
  std::size_t taken_ = 0;
};

// A new array of the program with the elements of the host.
Status put_array(detail::HostCall& window, const SignatureValue& result, const dhpvm_array* array) {
  CheckedArray checked;
  DHPVM_TRY(check_array(array, checked));
  if (element_kind(array->kind) != result.type.kind || array->rank != result.type.rank)
    return error(ErrorCode::kInvalidArgument, "it is an array of {} with {} dimensions",
                 kind_text(array->kind), array->rank);
  vm::Isolate& machine = detail::machine_of(window);
  const auto type =
      machine.linked().find_array_type({static_cast<bytecode::Kind>(result.type.kind)}, array->rank);
  if (!type) return Error(ErrorCode::kInternal, "its caller does not have arrays of this type");
  DHPVM_ASSIGN(gc::Array* const made, machine.new_array(*type, {array->sizes, array->rank}));
  if (checked.is_dense && checked.count != 0) {
    std::memcpy(made->data, array->data, checked.count * checked.element_bytes);
  } else if (checked.count != 0) {
    gather(checked, made->data);
  }
  window.r[result.slot] = made;
  return {};
}

// An object of the isolate, if it is of the type of the result.
Status put_object(detail::HostCall& window, const SignatureValue& result, const dhpvm_object* object) {
  DHPVM_FIND(found, object);
  vm::Isolate& machine = detail::machine_of(window);
  const detail::ObjectState* const state = detail::ObjectState::of(found->object);
  if (state == nullptr) return Error(ErrorCode::kNullReference, "the object is null");
  if (state->isolate->machine.get() != &machine)
    return Error(ErrorCode::kInvalidArgument, "the object is one of another isolate");
  const gc::TypeId type = state->root->header.type;
  if (result.kind == DHPVM_OBJECT) {
    window.r[result.slot] = state->root.get();  // the machine compares its type
    return {};
  }
  const auto wanted = result.kind == DHPVM_TEXT ? std::optional<gc::TypeId>(bytecode::kStringType)
                      : result.kind == DHPVM_RESOURCE
                          ? std::optional<gc::TypeId>(bytecode::kResourceType)
                          : machine.linked().find_array_type({static_cast<bytecode::Kind>(result.type.kind)},
                                                             result.type.rank);
  if (!wanted || type != *wanted)
    return error(ErrorCode::kBadCast, "the object is of type {}", found->object.type_name());
  window.r[result.slot] = state->root.get();
  return {};
}

Status put_result(detail::HostCall& window, const SignatureValue& result, const dhpvm_value& value) {
  if (is_number(result.kind) && value.kind == result.kind) [[likely]] {
    window.p[result.slot] = register_of(value);
    return {};
  }
  if (result.type.is_reference()) {
    switch (value.kind) {
      case DHPVM_NULL: window.r[result.slot] = nullptr; return {};
      case DHPVM_OBJECT: return put_object(window, result, value.of.object);
      case DHPVM_TEXT:
        if (result.kind != DHPVM_TEXT) break;
        if (value.of.text.size != 0) DHPVM_TRY(check_pointer(value.of.text.data, "of.text.data"));
        return detail::put_text(window, result.slot, {value.of.text.data, value.of.text.size});
      case DHPVM_ARRAY:
        if (result.kind != DHPVM_ARRAY) break;
        return put_array(window, result, value.of.array);
      default: break;
    }
  }
  return error(ErrorCode::kInvalidArgument, "it is of kind {}, and should be of kind {}",
               kind_text(value.kind), kind_text(result.kind));
}

Status put_results(const HostDefinition& definition, detail::HostCall& window, const dhpvm_value* results) {
  for (std::size_t i = 0; i < definition.results.size(); ++i) {
    if (Status status = put_result(window, definition.results[i], results[i]); !status.ok()) {
      return std::move(status).error().with_context(
          fmt::format("result {} of host function '{}' cannot be used", i + 1, window.name));
    }
  }
  return {};
}

Status call_host(void* opaque, detail::HostCall& window) {
  const auto& definition = *static_cast<const HostDefinition*>(opaque);
  const std::size_t result_count = definition.results.size();
  HostArguments arguments(definition, window);
  DHPVM_TRY(arguments.take());
  Scratch<dhpvm_value, 4> results(result_count);
  for (std::size_t i = 0; i < result_count; ++i) {
    results[i] = {};
    results[i].kind = definition.results[i].kind;
  }
  auto& isolate = detail::IsolateState::of(detail::machine_of(window));
  ActiveHostCall active{{sizeof(dhpvm_host_call), definition.user.user(), isolate.c_handle,
                         arguments.values(), definition.parameters.size(), results.data(), result_count},
                        {}};
  dhpvm_code code = DHPVM_OK;
  try {
    code = definition.function(&active.seen);
  } catch (const std::exception& exception) {
    return detail::host_exception(window, exception.what());
  } catch (...) {
    return detail::host_exception(window, "an exception that is no std::exception");
  }
  if (code == DHPVM_OK) [[likely]]
    return result_count == 0 ? Status() : put_results(definition, window, results.data());
  return detail::host_failure(window, error_of(code, std::move(active.message)));
}

Status define(const Engine& engine, std::string_view name, std::string_view signature,
              const std::shared_ptr<HostDefinition>& definition) {
  std::vector<HostType> parameters;
  std::vector<HostType> results;
  if (!HostSignatureParser(signature).parse(parameters, results)) {
    return error(
        ErrorCode::kInvalidArgument,
        "the signature '{}' of host function '{}' does not parse; write it like \"(str, [const f64]) -> "
        "i64\", with numbers, bool, str, arrays of numbers, resource and object",
        signature, name);
  }
  definition->parameters = describe(parameters);
  definition->results = describe(results);
  return detail::define_function(*engine.state(), name, {parameters, results}, definition, &call_host);
}

}  // namespace
}  // namespace dhpvm::c

using dhpvm::Status;
using dhpvm::c::check_pointer;

dhpvm_code dhpvm_engine_define(dhpvm_engine* engine, const char* name, const char* signature,
                               dhpvm_host_function function, void* user, dhpvm_release_function release,
                               dhpvm_error** error) {
  return dhpvm::c::guarded(error, [&]() -> Status {
    DHPVM_FIND(found, engine);
    DHPVM_TRY(check_pointer(name, "name"));
    DHPVM_TRY(check_pointer(signature, "signature"));
    DHPVM_TRY(check_pointer(function, "function"));
    const auto definition = std::make_shared<dhpvm::c::HostDefinition>(function, release, user);
    Status status = dhpvm::c::define(*found, name, signature, definition);
    if (!status.ok()) definition->user.keep();
    return status;
  });
}

dhpvm_code dhpvm_host_fail(dhpvm_host_call* call, dhpvm_code code, const char* message) {
  if (call == nullptr || call->size != sizeof(dhpvm_host_call)) return DHPVM_INVALID_ARGUMENT;
  (void)dhpvm::c::guarded(nullptr, [&]() -> Status {
    reinterpret_cast<dhpvm::c::ActiveHostCall*>(call)->message = dhpvm::c::text_or_empty(message);
    return {};
  });
  return code == DHPVM_OK ? DHPVM_HOST_EXCEPTION : code;
}
