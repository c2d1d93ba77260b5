// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/types.h"

#include <algorithm>
#include <utility>

namespace dhpvm::compiler {

namespace bc = bytecode;

namespace {

// Whether a value has no leaves: a struct without fields, or of such structs.
bool is_empty(const Type* type) {
  return type->is(TypeKind::kStruct) && std::all_of(type->fields.begin(), type->fields.end(),
                                                    [](const FieldInfo& f) { return is_empty(f.type); });
}

// Whether a value is one leaf. Does not compute the leaves, which can contain arrays of the same type.
bool is_single(const Type* type) {
  if (type->is_primitive() || type->is_reference()) return true;
  return type->is(TypeKind::kNullable) && is_empty(type->element);
}

// An enum whose cases have no values, which is only the number of the case.
bool is_plain_enum(const Type* type) {
  return type->is_enum && type->is(TypeKind::kStruct) && type->fields.size() == 1;
}

// The fields of tuples are numbered.
bool is_tuple(const Type* type) {
  return type->is(TypeKind::kStruct) && !type->fields.empty() && type->fields[0].name == "0";
}

std::string join(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

}  // namespace

const Leaves& TypeLowering::leaves(const Type* type) {
  if (const auto known = leaves_.find(type); known != leaves_.end()) return known->second;
  Leaves result;
  const auto append = [&](const Type* part) {
    const Leaves& more = leaves(part);
    result.insert(result.end(), more.begin(), more.end());
  };
  if (type->is_primitive()) {
    result.push_back({kind_of(type)});
  } else if (type->is_reference()) {
    result.push_back({bc::Kind::kRef, reference(type)});
  } else if (type->is(TypeKind::kNullable)) {
    result.push_back({bc::Kind::kBool});
    append(type->element);
  } else if (type->is(TypeKind::kStruct)) {
    for (const FieldInfo& field : type->fields) append(field.type);
  } else if (type->is(TypeKind::kFixedArray)) {
    append(type->element);
  }
  return leaves_.emplace(type, std::move(result)).first->second;
}

LeafRange TypeLowering::field(const Type* type, std::uint32_t index) {
  auto known = fields_.find(type);
  if (known == fields_.end()) {
    std::vector<LeafRange> ranges;
    std::uint32_t first = 0;
    for (const FieldInfo& field : type->fields) {
      const auto count = static_cast<std::uint32_t>(leaves(field.type).size());
      ranges.push_back({first, count});
      first += count;
    }
    known = fields_.emplace(type, std::move(ranges)).first;
  }
  return known->second[index];
}

void TypeLowering::append_fields(const std::string& name, const Type* type, std::vector<bc::Field>& out) {
  if (is_plain_enum(type)) {
    out.push_back({name, leaves(type)[0]});
  } else if (type->is(TypeKind::kStruct)) {
    for (const FieldInfo& field : type->fields) append_fields(join(name, field.name), field.type, out);
  } else if (type->is(TypeKind::kNullable) && !type->is_reference()) {
    out.push_back({name + bc::kFlagSuffix, {bc::Kind::kBool}});
    append_fields(name, type->element, out);
  } else {
    for (const bc::ValueType& leaf : leaves(type)) out.push_back({name, leaf});
  }
}

std::uint32_t TypeLowering::reference(const Type* type) {
  if (const auto known = references_.find(type); known != references_.end()) return known->second;
  const std::uint32_t id = declare(type);
  references_.emplace(type, id);
  return id;
}

std::uint32_t TypeLowering::declare(const Type* type) {
  switch (type->kind) {
    case TypeKind::kStr: return bc::kStringType;
    case TypeKind::kResource: return bc::kResourceType;
    case TypeKind::kNullable: return reference(type->element);
    case TypeKind::kWeak: return builder_.weak_type(reference(type->element));
    case TypeKind::kArray: {
      const auto rank = static_cast<std::uint8_t>(type->rank);
      const std::uint32_t element = element_struct(type->element);
      if (element != bc::kNoIndex) return builder_.array_type({bc::Kind::kRef, element}, rank);
      return builder_.array_type(leaves(type->element)[0], rank);
    }
    case TypeKind::kClass: {
      const std::uint32_t id = builder_.declare_class(type->name);
      references_.emplace(type, id);  // inserted before its fields, which may refer to it
      std::vector<bc::Field> fields;
      for (const FieldInfo& field : type->fields) append_fields(field.name, field.type, fields);
      builder_.define_fields(id, std::move(fields));
      new_classes_.push_back(type);
      return id;
    }
    case TypeKind::kInterface:
    case TypeKind::kFunction: {
      const std::uint32_t id = builder_.declare_interface(type->name);
      references_.emplace(type, id);
      define_methods(type, id);
      return id;
    }
    default: return bc::kNoIndex;
  }
}

void TypeLowering::define_methods(const Type* type, std::uint32_t id) {
  std::vector<bc::Method> methods;
  if (type->is(TypeKind::kFunction)) {
    methods.push_back({"invoke", signature(type->parameters, type->result)});
  } else {
    for (const MethodInfo& method : type->methods)
      methods.push_back({method.name, signature(method.parameters, method.result)});
  }
  builder_.define_methods(id, std::move(methods));
}

std::uint32_t TypeLowering::element_struct(const Type* type) {
  if (is_single(type)) return bc::kNoIndex;
  if (const auto known = element_structs_.find(type); known != element_structs_.end()) return known->second;
  const std::uint32_t id = builder_.declare_struct(type->name);
  element_structs_.emplace(type, id);
  std::vector<bc::Field> fields;
  append_fields("", type, fields);
  builder_.define_fields(id, std::move(fields));
  return id;
}

std::uint32_t TypeLowering::cell(const Type* type) {
  if (const auto known = cells_.find(type); known != cells_.end()) return known->second;
  const std::uint32_t id = builder_.declare_class("variable of " + type->name);
  cells_.emplace(type, id);
  std::vector<bc::Field> fields;
  append_fields(is_single(type) ? "value" : "", type, fields);
  builder_.define_fields(id, std::move(fields));
  return id;
}

std::uint32_t TypeLowering::closure_class(const std::string& name, const Leaves& captures) {
  const std::uint32_t id = builder_.declare_class(name);
  std::vector<bc::Field> fields;
  for (const bc::ValueType& leaf : captures)
    fields.push_back({"capture" + std::to_string(fields.size()), leaf});
  builder_.define_fields(id, std::move(fields));
  return id;
}

bc::Signature TypeLowering::signature(const std::vector<const Type*>& parameters, const Type* result) {
  bc::Signature signature;
  for (const Type* parameter : parameters) {
    const Leaves& more = leaves(parameter);
    signature.parameters.insert(signature.parameters.end(), more.begin(), more.end());
  }
  if (result != nullptr) signature.results = leaves(result);
  return signature;
}

std::vector<bc::StructValue> TypeLowering::structs(const std::vector<const Type*>& parameters,
                                                   const Type* result, std::uint32_t first) {
  std::vector<bc::StructValue> found;
  const auto add = [&](const Type* type) {
    const auto count = static_cast<std::uint32_t>(leaves(type).size());
    if (count != 0 && !is_single(type) && !is_plain_enum(type) && !type->is(TypeKind::kFixedArray))
      found.push_back({first, element_struct(type)});
    first += count;
  };
  for (const Type* parameter : parameters) add(parameter);
  if (result == nullptr) return found;
  if (!is_tuple(result)) {
    add(result);
  } else {
    for (const FieldInfo& field : result->fields) add(field.type);
  }
  return found;
}

}  // namespace dhpvm::compiler
