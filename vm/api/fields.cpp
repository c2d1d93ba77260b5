// SPDX-License-Identifier: Apache-2.0
// The fields of objects, by name.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/spelling.h"
#include "dhpvm/object.h"
#include "dhpvm/value.h"
#include "vm/api/dynamic.h"
#include "vm/api/fields.h"
#include "vm/api/records.h"
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
  if (const auto part = name.empty() ? std::nullopt : find_part(type.fields, name)) {
    return error(ErrorCode::kBadCast,
                 "field '{}' is a struct: ask for it as a record, or for a field of it, such as '{}'", name,
                 type.fields[part->first].name);
  }
  std::vector<std::string_view> names;
  for (const bytecode::Field& field : type.fields) {
    const std::string_view leaf = field.name;
    if (leaf.ends_with(bytecode::kFlagSuffix)) continue;
    names.push_back(leaf);
    if (const std::size_t point = leaf.find('.'); point != leaf.npos) names.push_back(leaf.substr(0, point));
  }
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

bool is_flag_of(const bytecode::Field& flag, std::string_view name) {
  return flag.name.size() == name.size() + 1 && flag.name.starts_with(name) &&
         flag.name.ends_with(bytecode::kFlagSuffix);
}

// kNullReference if a struct on the way to the field is null: `near` for "near.x".
Status check_way(const detail::ObjectState& state, std::string_view name) {
  const std::vector<bytecode::Field>& fields =
      state.isolate->machine->module().types[state.root->header.type].fields;
  for (std::size_t point = name.find('.'); point != std::string_view::npos;
       point = name.find('.', point + 1)) {
    const std::string_view outer = name.substr(0, point);
    const auto flag =
        std::ranges::find_if(fields, [&](const bytecode::Field& field) { return is_flag_of(field, outer); });
    if (flag != fields.end() && *address_of(state, *flag) == std::byte{0})
      return error(ErrorCode::kNullReference, "field '{}' is null", outer);
  }
  return {};
}

// Handles the null flag of the field, if it has one: reading checks it, and writing sets it.
Status check_flag(const detail::ObjectState& state, const bytecode::Field& field, detail::Access access) {
  const std::vector<bytecode::Field>& fields =
      state.isolate->machine->module().types[state.root->header.type].fields;
  if (&field == fields.data() || !is_flag_of(*(&field - 1), field.name)) return {};
  std::byte& is_there = *address_of(state, *(&field - 1));
  if (access == detail::Access::kWrite) {
    is_there = std::byte{1};
  } else if (is_there == std::byte{0}) {
    return error(ErrorCode::kNullReference, "field '{}' is null", field.name);
  }
  return {};
}

// A field with all its leaves.
struct Member {
  detail::Fields fields;  // of the class
  detail::Part part;
};
Result<Member> find_member(const detail::ObjectState* state, std::string_view name) {
  const bytecode::Type* const type =
      state == nullptr ? nullptr : &state->isolate->machine->module().types[state->root->header.type];
  if (type != nullptr && type->kind == bytecode::TypeKind::kClass && !name.empty()) {
    if (const auto part = detail::find_part(type->fields, name)) return Member{type->fields, *part};
  }
  DHPVM_ASSIGN(const bytecode::Field* const field, find_field(state, name));  // or says why not
  const auto leaf = static_cast<std::size_t>(field - type->fields.data());
  return Member{type->fields, {.name = field->name, .first = leaf, .end = leaf + 1, .is_leaf = true}};
}

void store(const detail::ObjectState& state, const bytecode::Field& field, gc::Ref value) {
  *reinterpret_cast<gc::Ref*>(address_of(state, field)) = value;
  state.isolate->machine->heap().write_barrier(state.root.get());
}

// Whether a field that is a reference may hold this value.
Status check_reference(const detail::ObjectState& state, const bytecode::Field& field, const Object& value) {
  if (!value) return {};
  const detail::ObjectState& given = *detail::ObjectState::of(value);
  if (given.isolate != state.isolate)
    return Error(ErrorCode::kInvalidArgument,
                 "an object of one isolate, or of the code before its reload, cannot be a field in another");
  if (!state.isolate->machine->linked().is_instance(given.root->header.type, field.type.type))
    return wrong_type(state, field, value.type_name());
  return {};
}

Result<Object> new_text(const detail::ObjectState& state, const bytecode::Field& field,
                        std::string_view text) {
  if (field.type.type != bytecode::kStringType) return wrong_type(state, field, "str");
  DHPVM_ASSIGN(gc::String* const made, state.isolate->machine->new_string(text));
  return detail::ObjectState::wrap(state.isolate, reinterpret_cast<gc::Ref>(made));
}

// Converts the value to the field's type: a number of its kind, an object or null.
Result<Value> fitted(const detail::ObjectState& state, const bytecode::Field& field, const Value& given) {
  if (!field.type.is_ref()) {
    return detail::with_primitive(field.type.kind, [&](auto zero) -> Result<Value> {
      DHPVM_ASSIGN(const auto number, given.as<decltype(zero)>());
      return Value(number);
    });
  }
  if (const auto* const text = std::get_if<std::string>(&given.content())) {
    DHPVM_ASSIGN(Object made, new_text(state, field, *text));
    return Value(std::move(made));
  }
  DHPVM_ASSIGN(Object object, given.as<Object>());
  DHPVM_TRY(check_reference(state, field, object));
  return Value(std::move(object));
}

void store_fitted(const detail::ObjectState& state, const bytecode::Field& field, const Value& value) {
  if (field.type.is_ref()) {
    const auto* const object = std::get_if<Object>(&value.content());
    store(state, field, object == nullptr ? nullptr : detail::ObjectState::of(*object)->root.get());
  } else {
    detail::with_primitive(field.type.kind, [&](auto number) {
      number = std::get<decltype(number)>(value.content());
      std::memcpy(address_of(state, field), &number, sizeof number);
    });
  }
}

}  // namespace

std::vector<FieldEntry> Object::fields() const {
  std::vector<FieldEntry> entries;
  if (!state_) return entries;
  const bytecode::Module& module = state_->isolate->machine->module();
  const bytecode::Type& type = module.types[state_->root->header.type];
  if (type.kind != bytecode::TypeKind::kClass) return entries;
  for (const bytecode::Field& field : type.fields) {
    const bool may_be_null = !entries.empty() && entries.back().name == field.name + bytecode::kFlagSuffix;
    if (may_be_null) entries.pop_back();
    entries.push_back({field.name, type_text(module, field.type) + (may_be_null ? "?" : "")});
  }
  return entries;
}

Result<std::span<std::byte>> Object::field_of(std::string_view name, detail::Kind kind,
                                              detail::Access access) const {
  DHPVM_ASSIGN(const bytecode::Field* const field, find_field(state_.get(), name));
  const auto wanted = static_cast<bytecode::Kind>(kind);
  if (field->type.kind != wanted) {
    const bytecode::Module& module = state_->isolate->machine->module();
    return wrong_type(*state_, *field, type_text(module, {wanted}));
  }
  DHPVM_TRY(check_way(*state_, name));
  DHPVM_TRY(check_flag(*state_, *field, access));
  return std::span(address_of(*state_, *field), bytecode::size_of(wanted));
}

Result<Object> Object::get_reference(std::string_view field) const {
  DHPVM_ASSIGN(const bytecode::Field* const found, find_reference(state_.get(), field));
  return detail::ObjectState::wrap(state_->isolate, *reinterpret_cast<gc::Ref*>(address_of(*state_, *found)));
}

Result<std::string> Object::get_text(std::string_view field) const {
  DHPVM_ASSIGN(const bytecode::Field* const found, find_field(state_.get(), field));
  if (!found->type.is_ref() || found->type.type != bytecode::kStringType)
    return wrong_type(*state_, *found, "str");
  const auto* const text = *reinterpret_cast<gc::String**>(address_of(*state_, *found));
  if (text == nullptr) return error(ErrorCode::kNullReference, "field '{}' is null", field);
  return std::string(text->view());
}

Status Object::set_reference(std::string_view field, const Object& value) const {
  DHPVM_ASSIGN(const bytecode::Field* const found, find_reference(state_.get(), field));
  DHPVM_TRY(check_way(*state_, field));
  DHPVM_TRY(check_reference(*state_, *found, value));
  store(*state_, *found, value ? value.state_->root.get() : nullptr);
  return {};
}

Result<Value> Object::get_value(std::string_view field) const {
  DHPVM_ASSIGN(const Member member, find_member(state_.get(), field));
  if (!check_way(*state_, field).ok()) return Value();
  return detail::read_part(member.fields, member.part, [&](std::size_t leaf) {
    const bytecode::Field& found = member.fields[leaf];
    return detail::value_in(state_->isolate, found.type, address_of(*state_, found));
  });
}

Status Object::set_value(std::string_view field, const Value& value) const {
  DHPVM_ASSIGN(const Member member, find_member(state_.get(), field));
  DHPVM_TRY(check_way(*state_, field));
  // A value that does not fit must leave the field unchanged, so nothing is stored before all leaves are converted.
  std::vector<std::pair<std::size_t, Value>> leaves;
  const auto keep = [&](std::size_t leaf, const Value& given) -> Status {
    DHPVM_ASSIGN(Value fitting, fitted(*state_, member.fields[leaf], given));
    leaves.emplace_back(leaf, std::move(fitting));
    return {};
  };
  DHPVM_TRY(detail::write_part(member.fields, member.part, value, keep));
  for (const auto& [leaf, fitting] : leaves) store_fitted(*state_, member.fields[leaf], fitting);
  return {};
}

Status Object::set_text(std::string_view field, std::string_view text) const {
  DHPVM_ASSIGN(const bytecode::Field* const found, find_reference(state_.get(), field));
  DHPVM_TRY(check_way(*state_, field));
  DHPVM_ASSIGN(const Object made, new_text(*state_, *found, text));
  store(*state_, *found, made.state_->root.get());
  return {};
}

}  // namespace dhpvm
