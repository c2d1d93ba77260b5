// SPDX-License-Identifier: Apache-2.0
// The fields of objects in C.
#include "vm/api/fields.h"

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "dhpvm/detail/window.h"
#include "vm/api/c/objects.h"

namespace dhpvm::c {

// Values in the form that the host gets: their texts and records live as long as this object and the value.
class GivenValues {
 public:
  GivenValues() = default;
  ~GivenValues() {
    for (dhpvm_object* object : inside_) dhpvm_object_free(object);
  }
  GivenValues(const GivenValues&) = delete;
  GivenValues& operator=(const GivenValues&) = delete;

  // An object is a new handle.
  Status give(const dhpvm::Value& value, dhpvm_value& given) {
    given = {};
    return std::visit(
        [&](const auto& held) -> Status {
          using Held = std::remove_cvref_t<decltype(held)>;
          if constexpr (std::is_same_v<Held, std::string>) {
            given.kind = DHPVM_TEXT;
            given.of.text = {held.data(), held.size()};
          } else if constexpr (std::is_same_v<Held, dhpvm::Object>) {
            given.kind = DHPVM_OBJECT;
            return give_object(held, nullptr, &given.of.object);
          } else if constexpr (std::is_same_v<Held, dhpvm::Record>) {
            given.kind = DHPVM_RECORD;
            return give_record(held, given.of.record);
          } else if constexpr (!std::is_same_v<Held, std::monostate>) {
            given = value_of(kind_of(detail::kind_of<Held>()), detail::to_register(held));
          }
          return {};
        },
        value.content());
  }

 private:
  Status give_record(const dhpvm::Record& record, const dhpvm_record*& given) {
    std::vector<dhpvm_record_field>& fields = fields_.emplace_back(record.fields.size());
    for (std::size_t i = 0; i < fields.size(); ++i) {
      fields[i].name = record.fields[i].name.c_str();
      DHPVM_TRY(give(record.fields[i].value, fields[i].value));
      if (fields[i].value.kind == DHPVM_OBJECT) inside_.push_back(fields[i].value.of.object);
    }
    given = &records_.emplace_back(
        dhpvm_record{sizeof(dhpvm_record), record.type.c_str(), fields.data(), fields.size()});
    return {};
  }

  // Deques, so that elements do not move.
  std::deque<std::vector<dhpvm_record_field>> fields_;
  std::deque<dhpvm_record> records_;
  std::vector<dhpvm_object*> inside_;
};

struct GivenRecord {
  explicit GivenRecord(dhpvm::Value record) : value(std::move(record)) {}
  const dhpvm::Value value;  // first: the others point into it
  GivenValues given;
};

namespace {

Status visit_entry(const dhpvm::Value& key, const dhpvm::Value& value, dhpvm_element_visitor visit,
                   void* user) {
  GivenValues entry;
  dhpvm_value given_key;
  dhpvm_value given_value;
  DHPVM_TRY(entry.give(key, given_key));
  if (Status given = entry.give(value, given_value); !given.ok()) {
    if (given_key.kind == DHPVM_OBJECT) dhpvm_object_free(given_key.of.object);
    return given;
  }
  visit(user, &given_key, &given_value);
  return {};
}

Status visit_elements(const dhpvm::Object& object, dhpvm_element_visitor visit, void* user) {
  if (object && object.type_name().starts_with("Map<")) {
    DHPVM_ASSIGN(const auto entries, object.entries());
    for (const auto& [key, value] : entries) DHPVM_TRY(visit_entry(key, value, visit, user));
    return {};
  }
  DHPVM_ASSIGN(const auto elements, object.values());
  for (const dhpvm::Value& element : elements) {
    GivenValues one;
    dhpvm_value value;
    DHPVM_TRY(one.give(element, value));
    visit(user, nullptr, &value);
  }
  return {};
}

// Calls act(T{}) with the type T that the C++ API has for a field of this kind.
template <typename F>
Status with_number_type(dhpvm_kind kind, F&& act) {
  switch (kind) {
    case DHPVM_BOOL: return act(bool{});
    case DHPVM_I8: return act(std::int8_t{});
    case DHPVM_U8: return act(std::uint8_t{});
    case DHPVM_I16: return act(std::int16_t{});
    case DHPVM_U16: return act(std::uint16_t{});
    case DHPVM_I32: return act(std::int32_t{});
    case DHPVM_U32: return act(std::uint32_t{});
    case DHPVM_I64: return act(std::int64_t{});
    case DHPVM_U64: return act(std::uint64_t{});
    case DHPVM_F32: return act(float{});
    case DHPVM_F64: return act(double{});
    default: return error(ErrorCode::kInvalidArgument, "a field cannot be of kind {}", kind_text(kind));
  }
}

// The handle keeps the record.
Status get_struct(ObjectHandle& handle, std::string_view field, dhpvm_value& value) {
  DHPVM_ASSIGN(dhpvm::Value found, handle.object.get<dhpvm::Value>(field));  // or says why not
  const auto kept = std::make_shared<GivenRecord>(std::move(found));
  dhpvm_value result;
  DHPVM_TRY(kept->given.give(kept->value, result));
  handle.record = kept;
  value = result;
  return {};
}

Status get_field(ObjectHandle& handle, std::string_view field, dhpvm_value& value) {
  const dhpvm::Object& object = handle.object;
  const auto entry = detail::find_field(detail::ObjectState::of(object), field);
  if (!entry.ok()) return get_struct(handle, field, value);
  const bytecode::ValueType& type = (*entry)->type;
  const dhpvm_kind kind =
      type.is_ref() ? dhpvm_kind{DHPVM_OBJECT} : kind_of(static_cast<detail::Kind>(type.kind));
  if (kind != DHPVM_OBJECT) {
    return with_number_type(kind, [&](auto zero) -> Status {
      DHPVM_ASSIGN(const auto number, object.get<std::optional<decltype(zero)>>(field));
      value = number ? value_of(kind, detail::to_register(*number)) : dhpvm_value{};
      return {};
    });
  }
  DHPVM_ASSIGN(dhpvm::Object found, object.get<dhpvm::Object>(field));
  dhpvm_value result{};
  if (found) {
    result.kind = DHPVM_OBJECT;
    DHPVM_TRY(give_object(std::move(found), nullptr, &result.of.object));
  }
  value = result;
  return {};
}

// A value of the host's, with the parts of records.
Result<dhpvm::Value> taken(const dhpvm_value& value);

Result<dhpvm::Value> taken_record(const dhpvm_record* given) {
  DHPVM_TRY(check_pointer(given, "of.record"));
  if (given->size < sizeof(dhpvm_record))
    return error(ErrorCode::kInvalidArgument, "dhpvm_record.size is {}, and should be sizeof: {}",
                 given->size, sizeof(dhpvm_record));
  if (given->count != 0) DHPVM_TRY(check_pointer(given->fields, "dhpvm_record.fields"));
  dhpvm::Record record;
  for (const dhpvm_record_field& field : std::span(given->fields, given->count)) {
    DHPVM_TRY(check_pointer(field.name, "dhpvm_record_field.name"));
    DHPVM_ASSIGN(dhpvm::Value value, taken(field.value));
    record.fields.push_back({field.name, std::move(value)});
  }
  return dhpvm::Value(std::move(record));
}

Result<dhpvm::Value> taken(const dhpvm_value& value) {
  switch (value.kind) {
    case DHPVM_NULL: return dhpvm::Value();
    case DHPVM_RECORD: return taken_record(value.of.record);
    case DHPVM_OBJECT: {
      DHPVM_FIND(found, value.of.object);
      return dhpvm::Value(found->object);
    }
    case DHPVM_TEXT:
      if (value.of.text.size != 0) DHPVM_TRY(check_pointer(value.of.text.data, "of.text.data"));
      return dhpvm::Value(std::string(value.of.text.data, value.of.text.size));
    default: break;
  }
  dhpvm::Value number;
  DHPVM_TRY(with_number_type(value.kind, [&](auto zero) -> Status {
    number = detail::from_register<decltype(zero)>(register_of(value));
    return {};
  }));
  return number;
}

Status set_field(const dhpvm::Object& object, std::string_view field, const dhpvm_value& value) {
  if (is_number(value.kind)) {
    // Exactly of the field's type, which the C++ API would not demand of a dhpvm::Value.
    return with_number_type(value.kind, [&](auto zero) {
      return object.set(field, detail::from_register<decltype(zero)>(register_of(value)));
    });
  }
  DHPVM_ASSIGN(const dhpvm::Value given, taken(value));
  return object.set(field, given);
}

}  // namespace
}  // namespace dhpvm::c

using dhpvm::Status;
using dhpvm::c::check_pointer;
using dhpvm::c::guarded;

dhpvm_code dhpvm_object_fields(const dhpvm_object* object, dhpvm_field_visitor visit, void* user,
                               dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, object);
    DHPVM_TRY(check_pointer(visit, "visit"));
    for (const dhpvm::FieldEntry& field : found->object.fields())
      visit(user, field.name.c_str(), field.type.c_str());
    return {};
  });
}

dhpvm_code dhpvm_object_elements(const dhpvm_object* object, dhpvm_element_visitor visit, void* user,
                                 dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, object);
    DHPVM_TRY(check_pointer(visit, "visit"));
    return dhpvm::c::visit_elements(found->object, visit, user);
  });
}

dhpvm_code dhpvm_object_get(const dhpvm_object* object, const char* field, dhpvm_value* value,
                            dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, object);
    DHPVM_TRY(check_pointer(field, "field"));
    DHPVM_TRY(check_pointer(value, "value"));
    return dhpvm::c::get_field(*found, field, *value);
  });
}

dhpvm_code dhpvm_object_set(dhpvm_object* object, const char* field, const dhpvm_value* value,
                            dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, object);
    DHPVM_TRY(check_pointer(field, "field"));
    DHPVM_TRY(check_pointer(value, "value"));
    return dhpvm::c::set_field(found->object, field, *value);
  });
}
