// SPDX-License-Identifier: Apache-2.0
// Functions of an isolate in C, and their calls.
#include <algorithm>
#include <cctype>
#include <optional>

#include "dhpvm/detail/call.h"
#include "vm/api/c/values.h"
#include "vm/api/methods.h"
#include "vm/api/target.h"
#include "vm/native.h"

namespace dhpvm::c {
namespace {

// The signature without blanks, and with the bare names of classes.
std::string normalised(std::string_view text) {
  static constexpr std::string_view kClass = "class \"";
  std::string result;
  bool quoted = false;
  while (!text.empty()) {
    if (text.starts_with(kClass)) {
      text.remove_prefix(kClass.size());
      quoted = true;
      continue;
    }
    const char c = text.front();
    text.remove_prefix(1);
    if (quoted && c == '"') {
      quoted = false;
    } else if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      result += c;
    }
  }
  return result;
}

// Whether the array can be lent as it is, judged by a few members: one dimension, dense, of the parameter's type.
// check_array() finds out everything else.
bool is_plain(const dhpvm_array* array, const SignatureValue& parameter) {
  if (array == nullptr || array->size < sizeof(dhpvm_array) || !is_number(array->kind)) return false;
  const std::size_t bytes = bytecode::size_of(static_cast<bytecode::Kind>(parameter.type.kind));
  return element_kind(array->kind) == parameter.type.kind && array->rank == 1 && parameter.type.rank == 1 &&
         lane_count(*array) == 1 && parameter.lanes == 1 && array->access <= DHPVM_READ_WRITE &&
         (array->strides[0] == 0 || array->strides[0] == static_cast<std::int64_t>(bytes)) &&
         array->data != nullptr && (reinterpret_cast<std::uintptr_t>(array->data) & (bytes - 1)) == 0;
}

// A dense copy of elements that lie otherwise, for the time of a call.
struct DenseCopy {
  CheckedArray original;
  std::unique_ptr<std::byte[]> elements;
};

// One call: put arguments in, run, take results out.
class DynamicCall {
 public:
  explicit DynamicCall(FunctionHandle& function) : function_(function), call_(*function.target) {
    ++function_.active;
  }
  ~DynamicCall() { --function_.active; }
  DynamicCall(const DynamicCall&) = delete;
  DynamicCall& operator=(const DynamicCall&) = delete;

  Status put(const dhpvm_value* argument) {
    if (!call_.has_windows()) return {};  // run() says why
    for (const SignatureValue& parameter : function_.parameters) {
      if (is_number(parameter.kind) && argument->kind == parameter.kind) {
        call_.p[parameter.slot] = register_of(*argument);
      } else if (Status status = put_other(parameter, *argument); !status.ok()) [[unlikely]] {
        return named(std::move(status), &parameter - function_.parameters.data());
      }
      ++argument;
    }
    return {};
  }

  Status run() {
    Status status = call_.run();
    // Also after a trap: what the program wrote before it must be in the host's memory, as with an array that is not
    // copied.
    if (copies_ != nullptr) [[unlikely]] {
      for (const DenseCopy& copy : *copies_) {
        if (copy.original.array.access != DHPVM_READ) scatter(copy.original, copy.elements.get());
      }
    }
    return status;
  }

  Status take(dhpvm_value* results) {
    if (!function_.gives_numbers) return take_references(results);
    for (const SignatureValue& result : function_.results)
      *results++ = value_of(result.kind, call_.p[result.slot]);
    return {};
  }

 private:
  Status take_references(dhpvm_value* results) {
    const std::size_t count = function_.results.size();
    Scratch<dhpvm_value, 4> taken(count);
    for (std::size_t i = 0; i < count; ++i) {
      Status status = take_one(i, taken[i]);
      if (status.ok()) continue;
      for (std::size_t j = 0; j < i; ++j) {
        if (taken[j].kind == DHPVM_OBJECT) dhpvm_object_free(taken[j].of.object);
      }
      return status;
    }
    std::copy_n(taken.data(), count, results);
    return {};
  }

  [[gnu::noinline]] static Error named(Status status, std::ptrdiff_t index) {
    return std::move(status).error().with_context(fmt::format("argument {} cannot be passed", index + 1));
  }

  Status put_other(const SignatureValue& parameter, const dhpvm_value& value) {
    if (parameter.type.is_reference()) {
      switch (value.kind) {
        case DHPVM_NULL: return call_.put_object(parameter.slot, Object());
        case DHPVM_OBJECT: return put_object(parameter, value.of.object);
        case DHPVM_TEXT:
          if (parameter.kind != DHPVM_TEXT) break;
          if (value.of.text.size != 0) DHPVM_TRY(check_pointer(value.of.text.data, "of.text.data"));
          return detail::put_text(call_, parameter.slot, {value.of.text.data, value.of.text.size});
        case DHPVM_ARRAY:
          if (parameter.kind != DHPVM_ARRAY) break;
          return put_array(parameter, value.of.array);
        default: break;
      }
    }
    return error(ErrorCode::kInvalidArgument, "it is of kind {}, and the parameter of kind {}",
                 kind_text(value.kind), kind_text(parameter.kind));
  }

  Status put_object(const SignatureValue& parameter, const dhpvm_object* object) {
    DHPVM_FIND(found, object);
    return call_.put_object(parameter.slot, found->object);
  }

  Status put_array(const SignatureValue& parameter, const dhpvm_array* array) {
    detail::HostType type = parameter.type;
    if (is_plain(array, parameter)) [[likely]] {
      type.read_only = array->access == DHPVM_READ;
      return call_.lend(parameter.slot, type, array->data, array->sizes);
    }
    return put_checked(parameter, array);
  }

  Status put_checked(const SignatureValue& parameter, const dhpvm_array* array) {
    CheckedArray checked;
    DHPVM_TRY(check_array(array, checked));
    if (element_kind(array->kind) != parameter.type.kind || array->rank != parameter.type.rank ||
        lane_count(*array) != parameter.lanes) {
      detail::HostType given = parameter.type;
      given.kind = element_kind(array->kind);
      given.rank = static_cast<std::uint8_t>(array->rank);
      given.lanes = lane_count(*array);
      detail::HostType wanted = parameter.type;
      wanted.lanes = parameter.lanes;
      return error(ErrorCode::kInvalidArgument, "it is an array {}, and the parameter {}",
                   detail::type_text(given), detail::type_text(wanted));
    }
    detail::HostType type = parameter.type;
    type.read_only = array->access == DHPVM_READ;
    if (checked.is_dense) return call_.lend(parameter.slot, type, array->data, array->sizes);
    if (copies_ == nullptr) copies_ = std::make_unique<std::vector<DenseCopy>>();
    copies_->push_back(
        {checked, std::unique_ptr<std::byte[]>(new std::byte[checked.count * checked.element_bytes])});
    gather(checked, copies_->back().elements.get());
    return call_.lend(parameter.slot, type, copies_->back().elements.get(), array->sizes);
  }

  Status take_one(std::size_t index, dhpvm_value& value) {
    const SignatureValue& result = function_.results[index];
    if (is_number(result.kind)) {
      value = value_of(result.kind, call_.p[result.slot]);
      return {};
    }
    value = {};
    if (call_.r[result.slot] == nullptr) return {};
    if (result.kind == DHPVM_TEXT) {
      std::string_view text;
      DHPVM_TRY(detail::get_text(call_, result.slot, text));
      std::string& kept = function_.texts[index];
      kept = text;
      value.kind = DHPVM_TEXT;
      value.of.text = {kept.data(), kept.size()};
      return {};
    }
    DHPVM_TRY(give(std::make_unique<ObjectHandle>(ObjectHandle{detail::get_object(call_, result.slot)}),
                   &value.of.object));
    value.kind = DHPVM_OBJECT;
    return {};
  }

  FunctionHandle& function_;
  std::unique_ptr<std::vector<DenseCopy>>
      copies_;  // declared before the call, whose end is also the end of their loans
  detail::Call call_;
};

// A function of its own, so that calls do not set up what only their errors need.
[[gnu::noinline]] Error wrong_counts(const FunctionHandle& function, std::size_t arguments,
                                     std::size_t results) {
  return error(ErrorCode::kInvalidArgument, "the function is {}, and this call has {} and room for {}",
               function.signature, detail::counted(arguments, "argument"),
               detail::counted(results, "result"));
}

Status call_function(FunctionHandle& function, const dhpvm_value* arguments, std::size_t argument_count,
                     dhpvm_value* results, std::size_t result_count) {
  if (argument_count != function.parameters.size() || result_count != function.results.size()) [[unlikely]]
    return wrong_counts(function, argument_count, result_count);
  if (argument_count != 0) DHPVM_TRY(check_pointer(arguments, "arguments"));
  if (result_count != 0) DHPVM_TRY(check_pointer(results, "results"));
  DynamicCall call(function);
  DHPVM_TRY(call.put(arguments));
  DHPVM_TRY(call.run());
  return result_count == 0 ? Status() : call.take(results);
}

FunctionHandle make_handle(std::shared_ptr<const detail::Target> target,
                           const bytecode::Signature& signature) {
  const bytecode::Module& module = target->isolate->machine->module();
  FunctionHandle handle;
  handle.target = std::move(target);
  handle.signature = vm::signature_text(module, signature);
  handle.parameters = describe(module, signature.parameters);
  handle.results = describe(module, signature.results);
  handle.gives_numbers = std::ranges::none_of(signature.results, &bytecode::ValueType::is_ref);
  handle.texts.resize(signature.results.size());
  return handle;
}

Status check_signature(const bytecode::Module& module, const bytecode::Signature& signature,
                       std::string_view name, const char* wanted) {
  const std::string text = vm::signature_text(module, signature);
  if (wanted == nullptr || normalised(wanted) == normalised(text)) return {};
  return error(ErrorCode::kInvalidArgument, "function '{}' is {} in the program, and the host asks for {}",
               name, text, wanted);
}

Status find_function(const Isolate& isolate, std::string_view name, const char* wanted,
                     dhpvm_function** function) {
  const auto& state = isolate.state();
  const bytecode::Module& module = state->machine->module();
  DHPVM_ASSIGN(const std::uint32_t index, detail::find_export(*state, name));
  const bytecode::Signature& signature = module.functions[index].signature;
  DHPVM_TRY(check_signature(module, signature, name, wanted));
  return give(
      std::make_unique<FunctionHandle>(make_handle(detail::make_kept_target(state, index), signature)),
      function);
}

Status find_method(const dhpvm::Object& object, std::string_view name, const char* wanted,
                   dhpvm_function** function) {
  DHPVM_ASSIGN(const std::uint32_t index, detail::find_method_function(object, name));
  const auto& state = detail::ObjectState::of(object)->isolate;
  const bytecode::Module& module = state->machine->module();
  const bytecode::Signature signature = detail::bound_signature(module, index);
  DHPVM_TRY(check_signature(module, signature, name, wanted));
  return give(
      std::make_unique<FunctionHandle>(make_handle(detail::make_target(state, index, object), signature)),
      function);
}

Status make_object(const Isolate& isolate, std::string_view type, const dhpvm_value* arguments,
                   std::size_t argument_count, dhpvm_object** object) {
  const auto& state = isolate.state();
  DHPVM_ASSIGN(const std::uint32_t index, detail::find_constructor(*state, type));
  FunctionHandle constructor =
      make_handle(detail::make_target(state, index), state->machine->module().functions[index].signature);
  dhpvm_value made{};
  DHPVM_TRY(call_function(constructor, arguments, argument_count, &made, 1));
  *object = made.of.object;
  return {};
}

dhpvm_kind kind_at(const std::vector<SignatureValue>& values, std::size_t index) {
  if (index >= values.size()) return DHPVM_NULL;
  return values[index].kind;
}

}  // namespace
}  // namespace dhpvm::c

using dhpvm::Status;
using dhpvm::c::check_pointer;
using dhpvm::c::guarded;

dhpvm_code dhpvm_isolate_function(dhpvm_isolate* isolate, const char* name, const char* signature,
                                  dhpvm_function** function, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, isolate);
    DHPVM_TRY(check_pointer(name, "name"));
    DHPVM_TRY(check_pointer(function, "function"));
    found->returned->let_go();
    return dhpvm::c::find_function(*found->isolate, name, signature, function);
  });
}

dhpvm_code dhpvm_object_method(const dhpvm_object* object, const char* name, const char* signature,
                               dhpvm_function** function, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, object);
    DHPVM_TRY(check_pointer(name, "name"));
    DHPVM_TRY(check_pointer(function, "function"));
    return dhpvm::c::find_method(found->object, name, signature, function);
  });
}

dhpvm_code dhpvm_object_new(dhpvm_isolate* isolate, const char* type, const dhpvm_value* arguments,
                            size_t argument_count, dhpvm_object** object, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, isolate);
    DHPVM_TRY(check_pointer(type, "type"));
    DHPVM_TRY(check_pointer(object, "object"));
    found->returned->let_go();
    return dhpvm::c::make_object(*found->isolate, type, arguments, argument_count, object);
  });
}

const char* dhpvm_function_signature(const dhpvm_function* function) {
  const auto* const found = dhpvm::c::find(function);
  return found == nullptr ? nullptr : found->signature.c_str();
}

size_t dhpvm_function_parameter_count(const dhpvm_function* function) {
  const auto* const found = dhpvm::c::find(function);
  return found == nullptr ? 0 : found->parameters.size();
}

size_t dhpvm_function_result_count(const dhpvm_function* function) {
  const auto* const found = dhpvm::c::find(function);
  return found == nullptr ? 0 : found->results.size();
}

dhpvm_kind dhpvm_function_parameter_kind(const dhpvm_function* function, size_t index) {
  const auto* const found = dhpvm::c::find(function);
  return found == nullptr ? dhpvm_kind{DHPVM_NULL} : dhpvm::c::kind_at(found->parameters, index);
}

dhpvm_kind dhpvm_function_result_kind(const dhpvm_function* function, size_t index) {
  const auto* const found = dhpvm::c::find(function);
  return found == nullptr ? dhpvm_kind{DHPVM_NULL} : dhpvm::c::kind_at(found->results, index);
}

dhpvm_code dhpvm_call(dhpvm_function* function, const dhpvm_value* arguments, size_t argument_count,
                      dhpvm_value* results, size_t result_count, dhpvm_error** error) {
  auto* const found = dhpvm::c::find(function);
  const dhpvm_code code = guarded(error, [&]() -> Status {
    if (found == nullptr) return dhpvm::c::bad_handle(function);
    return dhpvm::c::call_function(*found, arguments, argument_count, results, result_count);
  });
  // A host function that it called has freed it.
  if (found != nullptr && found->freed && found->active == 0) [[unlikely]]
    delete found;
  return code;
}

void dhpvm_function_free(dhpvm_function* function) {
  (void)guarded(nullptr, [&]() -> Status {
    auto taken = dhpvm::c::take_back(function);
    if (taken != nullptr && taken->active != 0) taken.release()->freed = true;
    return {};
  });
}
