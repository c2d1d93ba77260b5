// SPDX-License-Identifier: Apache-2.0
// The fields of objects in C.
#include "vm/api/fields.h"

#include <deque>
#include <optional>
#include <vector>

#include "dhpvm/detail/window.h"
#include "vm/api/c/objects.h"

namespace dhpvm::c {
namespace {

// Values as a visitor gets them: their texts and records live as long as this and the value.
class Visit {
 public:
  Visit() = default;
  ~Visit() {
    for (dhpvm_object* object : inside_) dhpvm_object_free(object);
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

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

  // Deques, so that the elements stay where they are.
  std::deque<std::vector<dhpvm_record_field>> fields_;
  std::deque<dhpvm_record> records_;
  std::vector<dhpvm_object*> inside_;
};

Status visit_entry(const dhpvm::Value& key, const dhpvm::Value& value, dhpvm_element_visitor visit,
                   void* user) {
  Visit entry;
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
    Visit one;
    dhpvm_value value;
    DHPVM_TRY(one.give(element, value));
    visit(user, nullptr, &value);
  }
  return {};
}

// The type of the field as the C++ API asks for it.
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

Status get_field(const dhpvm::Object& object, std::string_view field, dhpvm_value& value) {
  DHPVM_ASSIGN(const bytecode::Field* const entry,
               detail::find_field(detail::ObjectState::of(object), field));
  const dhpvm_kind kind =
      entry->type.is_ref() ? dhpvm_kind{DHPVM_OBJECT} : kind_of(static_cast<detail::Kind>(entry->type.kind));
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

Status set_field(const dhpvm::Object& object, std::string_view field, const dhpvm_value& value) {
  switch (value.kind) {
    case DHPVM_NULL: return object.set(field, dhpvm::Value());
    case DHPVM_OBJECT: {
      DHPVM_FIND(found, value.of.object);
      return object.set(field, found->object);
    }
    case DHPVM_TEXT:
      if (value.of.text.size != 0) DHPVM_TRY(check_pointer(value.of.text.data, "of.text.data"));
      return object.set(field, std::string(value.of.text.data, value.of.text.size));
    default:
      return with_number_type(value.kind, [&](auto zero) {
        return object.set(field, detail::from_register<decltype(zero)>(register_of(value)));
      });
  }
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
    return dhpvm::c::get_field(found->object, field, *value);
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
