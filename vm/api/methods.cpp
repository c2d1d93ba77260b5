// SPDX-License-Identifier: Apache-2.0
// The methods of objects by name, and closures: functions that are bound to a receiver.
#include <algorithm>

#include "base/error.h"
#include "base/spelling.h"
#include "dhpvm/object.h"
#include "vm/api/methods.h"
#include "vm/api/signature.h"
#include "vm/api/state.h"
#include "vm/api/target.h"
#include "vm/native.h"

namespace dhpvm {
namespace {

using detail::ObjectState;

// The method of every `fn(A) -> R`, which is an interface with this one.
constexpr std::string_view kInvoke = "invoke";

struct Candidate {
  std::string_view name;
  std::uint32_t function = 0;
};

bool takes_first(const bytecode::Signature& signature, std::uint32_t type) {
  const auto first = std::ranges::find_if(signature.parameters, &bytecode::ValueType::is_ref);
  return first != signature.parameters.end() && first->type == type;
}

// The methods of a class: those of its interfaces, and functions whose names begin with the class.
std::vector<Candidate> methods_of(const bytecode::Module& module, std::uint32_t type_id) {
  const bytecode::Type& type = module.types[type_id];
  std::vector<Candidate> methods;
  for (const bytecode::Implementation& implementation : type.implementations) {
    const std::vector<bytecode::Method>& names = module.types[implementation.interface].methods;
    for (std::size_t i = 0; i < names.size(); ++i)
      methods.push_back({names[i].name, implementation.functions[i]});
  }
  const std::string prefix = type.name + ".";
  for (std::uint32_t i = 0; i < module.functions.size(); ++i) {
    const std::string_view name = module.name_of(module.functions[i]);
    if (name.starts_with(prefix) && takes_first(module.functions[i].signature, type_id))
      methods.push_back({name.substr(prefix.size()), i});
  }
  return methods;
}

Result<std::uint32_t> method_named(const bytecode::Module& module, std::uint32_t type,
                                   std::string_view name) {
  const std::vector<Candidate> methods = methods_of(module, type);
  const auto found = std::ranges::find(methods, name, &Candidate::name);
  if (found != methods.end()) return found->function;
  std::vector<std::string_view> names;
  for (const Candidate& method : methods) names.push_back(method.name);
  const std::string_view near = nearest_name(name, names);
  const std::string& owner = module.types[type].name;
  if (near.empty()) return error(ErrorCode::kNotFound, "class {} has no method '{}'", owner, name);
  return error(ErrorCode::kNotFound, "class {} has no method '{}'; did you mean '{}'?", owner, name, near);
}

// Binds the function to the receiver, if the host's signature matches its other parameters.
Result<std::shared_ptr<const detail::Target>> bind(const Object& receiver, std::uint32_t function,
                                                   std::string_view name,
                                                   const detail::HostSignature& signature) {
  const ObjectState& state = *ObjectState::of(receiver);
  const bytecode::Module& module = state.isolate->machine->module();
  const bytecode::Signature program = detail::bound_signature(module, function);
  if (!detail::matches(module, program, signature)) {
    return error(
        ErrorCode::kInvalidArgument, "method '{}' of {} is {} in the program, and the host asks for {}", name,
        receiver.type_name(), vm::signature_text(module, program), detail::signature_text(signature));
  }
  return detail::make_target(state.isolate, function, receiver);
}

Status need_object(const Object& object, std::string_view wanted) {
  if (object) return {};
  return error(ErrorCode::kNullReference, "the object is null, and should be {}", wanted);
}

}  // namespace

bytecode::Signature detail::bound_signature(const bytecode::Module& module, std::uint32_t function) {
  bytecode::Signature signature = module.functions[function].signature;
  signature.parameters.erase(std::ranges::find_if(signature.parameters, &bytecode::ValueType::is_ref));
  return signature;
}

Result<std::uint32_t> detail::find_method_function(const Object& object, std::string_view name) {
  DHPVM_TRY(need_object(object, fmt::format("one with a method '{}'", name)));
  const ObjectState& state = *ObjectState::of(object);
  const bytecode::Module& module = state.isolate->machine->module();
  const std::uint32_t type = state.root->header.type;
  if (module.types[type].kind != bytecode::TypeKind::kClass)
    return error(ErrorCode::kBadCast, "the object is of type {}, which has no methods", object.type_name());
  return method_named(module, type, name);
}

Result<std::uint32_t> detail::find_closure_function(const Object& object) {
  DHPVM_TRY(need_object(object, "a closure"));
  const ObjectState& state = *ObjectState::of(object);
  const bytecode::Module& module = state.isolate->machine->module();
  for (const bytecode::Implementation& implementation :
       module.types[state.root->header.type].implementations) {
    const std::vector<bytecode::Method>& methods = module.types[implementation.interface].methods;
    if (methods.size() == 1 && methods[0].name == kInvoke) return implementation.functions[0];
  }
  return error(ErrorCode::kBadCast, "the object is of type {}, which is no closure", object.type_name());
}

Object::Found Object::find_method(std::string_view name, const detail::HostSignature& signature) const {
  DHPVM_ASSIGN(const std::uint32_t function, detail::find_method_function(*this, name));
  return bind(*this, function, name, signature);
}

Object::Found Object::find_closure(const detail::HostSignature& signature) const {
  DHPVM_ASSIGN(const std::uint32_t function, detail::find_closure_function(*this));
  return bind(*this, function, kInvoke, signature);
}

}  // namespace dhpvm
