// SPDX-License-Identifier: Apache-2.0
// The fields of objects, by name.
#include <algorithm>

#include "base/error.h"
#include "base/spelling.h"
#include "dhpvm/object.h"
#include "dhpvm/value.h"
#include "vm/api/dynamic.h"
#include "vm/api/fields.h"
#include "vm/api/state.h"
#include "vm/native.h"

namespace dhpvm {
namespace {

// "i64", "Node", "str".
std::string type_text(const bytecode::Module& module, const bytecode::ValueType& type) {
  if (type.is_ref() && module.types[type.type].kind == bytecode::TypeKind::kClass)
    return module.types[type.type].name;
  std::string text = vm::signature_text(module, {.parameters = {type}, .results = {}});
  return text.substr(1, text.size() - 2);
}

}  // namespace

Result<const bytecode::Field*> detail::find_field(const ObjectState* state, std::string_view name) {
  if (state == nullptr)
    return error(ErrorCode::kNullReference, "the object is null, and should have a field '{}'", name);
  const bytecode::Type& type = state->isolate->machine->module().types[state->root->header.type];
  if (type.kind != bytecode::TypeKind::kClass)
    return error(ErrorCode::kBadCast, "the object is of type {}, which has no fields", type.name);
  const auto found = std::ranges::find(type.fields, name, &bytecode::Field::name);
  if (found != type.fields.end()) return &*found;
  std::vector<std::string_view> names;
  for (const bytecode::Field& field : type.fields) names.push_back(field.name);
  const std::string_view near = nearest_name(name, names);
  if (near.empty()) return error(ErrorCode::kNotFound, "class {} has no field '{}'", type.name, name);
  return error(ErrorCode::kNotFound, "class {} has no field '{}'; did you mean '{}'?", type.name, name, near);
}

namespace {

using detail::find_field;

std::byte* address_of(const detail::ObjectState& state, const bytecode::Field& field) {
  return reinterpret_cast<std::byte*>(state.root.get()) + field.offset;
}

Error wrong_type(const detail::ObjectState& state, const bytecode::Field& field, std::string_view wanted) {
  return error(ErrorCode::kBadCast, "field '{}' is of type {}, and not {}", field.name,
               type_text(state.isolate->machine->module(), field.type), wanted);
}

Result<const bytecode::Field*> find_reference(const detail::ObjectState* state, std::string_view name) {
  DHPVM_ASSIGN(const bytecode::Field* const field, find_field(state, name));
  if (!field->type.is_ref()) return wrong_type(*state, *field, "a reference");
  return field;
}

void store(const detail::ObjectState& state, const bytecode::Field& field, gc::Ref value) {
  *reinterpret_cast<gc::Ref*>(address_of(state, field)) = value;
  state.isolate->machine->heap().write_barrier(state.root.get());
}

}  // namespace

std::vector<FieldEntry> Object::fields() const {
  std::vector<FieldEntry> entries;
  if (!state_) return entries;
  const bytecode::Module& module = state_->isolate->machine->module();
  const bytecode::Type& type = module.types[state_->root->header.type];
  if (type.kind != bytecode::TypeKind::kClass) return entries;
  for (const bytecode::Field& field : type.fields)
    entries.push_back({field.name, type_text(module, field.type)});
  return entries;
}

Result<std::span<std::byte>> Object::field_of(std::string_view name, detail::Kind kind) const {
  DHPVM_ASSIGN(const bytecode::Field* const field, find_field(state_.get(), name));
  const auto wanted = static_cast<bytecode::Kind>(kind);
  if (field->type.kind != wanted) {
    const bytecode::Module& module = state_->isolate->machine->module();
    return wrong_type(*state_, *field, type_text(module, {wanted}));
  }
  return std::span(address_of(*state_, *field), bytecode::size_of(wanted));
}

Result<Object> Object::get_reference(std::string_view field) const {
  DHPVM_ASSIGN(const bytecode::Field* const found, find_reference(state_.get(), field));
  return detail::ObjectState::wrap(state_->isolate, *reinterpret_cast<gc::Ref*>(address_of(*state_, *found)));
}

Result<std::string> Object::get_text(std::string_view field) const {
  DHPVM_ASSIGN(const bytecode::Field* const found, find_reference(state_.get(), field));
  if (found->type.type != bytecode::kStringType) return wrong_type(*state_, *found, "str");
  const auto* const text = *reinterpret_cast<gc::String**>(address_of(*state_, *found));
  if (text == nullptr) return error(ErrorCode::kNullReference, "field '{}' is null", field);
  return std::string(text->view());
}

Status Object::set_reference(std::string_view field, const Object& value) const {
  DHPVM_ASSIGN(const bytecode::Field* const found, find_reference(state_.get(), field));
  if (!value) {
    store(*state_, *found, nullptr);
    return {};
  }
  if (value.state_->isolate != state_->isolate)
    return Error(ErrorCode::kInvalidArgument, "an object of one isolate cannot be a field in another");
  const gc::Ref ref = value.state_->root.get();
  if (!state_->isolate->machine->linked().is_instance(ref->header.type, found->type.type))
    return wrong_type(*state_, *found, value.type_name());
  store(*state_, *found, ref);
  return {};
}

Result<Value> Object::get_value(std::string_view field) const {
  DHPVM_ASSIGN(const bytecode::Field* const found, find_field(state_.get(), field));
  return detail::value_in(state_->isolate, found->type, address_of(*state_, *found));
}

Status Object::set_value(std::string_view field, const Value& value) const {
  DHPVM_ASSIGN(const bytecode::Field* const found, find_field(state_.get(), field));
  if (found->type.is_ref()) {
    if (const auto* const text = std::get_if<std::string>(&value.content())) return set_text(field, *text);
    DHPVM_ASSIGN(const Object object, value.as<Object>());
    return set_reference(field, object);
  }
  return detail::with_primitive(found->type.kind, [&](auto zero) -> Status {
    DHPVM_ASSIGN(const auto number, value.as<decltype(zero)>());
    return set(field, number);
  });
}

Status Object::set_text(std::string_view field, std::string_view text) const {
  DHPVM_ASSIGN(const bytecode::Field* const found, find_reference(state_.get(), field));
  if (found->type.type != bytecode::kStringType) return wrong_type(*state_, *found, "str");
  DHPVM_ASSIGN(gc::String* const made, state_->isolate->machine->new_string(text));
  store(*state_, *found, reinterpret_cast<gc::Ref>(made));
  return {};
}

}  // namespace dhpvm
