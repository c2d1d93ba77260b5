// SPDX-License-Identifier: Apache-2.0
#include "dhpvm/object.h"

#include "base/error.h"
#include "vm/api/state.h"

namespace dhpvm {
namespace {

const bytecode::Type& type_of(const detail::ObjectState& state) {
  return state.isolate->machine->module().types[state.root->header.type];
}

}  // namespace

Object detail::ObjectState::wrap(std::shared_ptr<IsolateState> isolate, gc::Ref ref) {
  Object object;
  if (ref != nullptr) object.state_ = std::make_shared<ObjectState>(std::move(isolate), ref);
  return object;
}

bool Object::operator==(const Object& other) const {
  if (!state_ || !other.state_) return !state_ && !other.state_;
  return state_->root.get() == other.state_->root.get();
}

std::string Object::type_name() const {
  if (!state_) return "null";
  switch (state_->root->header.type) {
    case bytecode::kStringType: return "str";
    case bytecode::kResourceType: return "resource";
    default: return type_of(*state_).name;
  }
}

Result<std::string_view> Object::text() const {
  if (!state_) return Error(ErrorCode::kNullReference, "the object is null, and should be a str");
  if (type_of(*state_).kind != bytecode::TypeKind::kString) {
    return error(ErrorCode::kBadCast, "the object is of type {}, and should be a str", type_name());
  }
  return reinterpret_cast<const gc::String*>(state_->root.get())->view();
}

std::vector<std::int64_t> Object::sizes() const {
  std::vector<std::int64_t> sizes;
  if (!state_ || type_of(*state_).kind != bytecode::TypeKind::kArray) return sizes;
  const auto& array = reinterpret_cast<const gc::Array&>(*state_->root);
  for (unsigned i = 0; i < type_of(*state_).rank; ++i)
    sizes.push_back(state_->isolate->machine->dimension(array, i));
  return sizes;
}

Result<std::span<std::byte>> Object::elements_of(detail::Kind kind, bool write) const {
  if (!state_) return Error(ErrorCode::kNullReference, "the object is null, and should be an array");
  const bytecode::Type& type = type_of(*state_);
  const auto wanted = static_cast<bytecode::Kind>(kind);
  if (type.kind != bytecode::TypeKind::kArray || type.element.kind != wanted) {
    return error(ErrorCode::kBadCast, "the object is of type {}, and the host asks for elements of type {}",
                 type_name(), detail::kKindNames[static_cast<std::size_t>(kind)]);
  }
  auto& array = reinterpret_cast<gc::Array&>(*state_->root);
  if ((write ? array.writable : array.readable) < array.length) {
    DHPVM_TRY(state_->isolate->machine->make_accessible(array, write));
  }
  return std::span(array.data, static_cast<std::size_t>(array.length) * bytecode::size_of(wanted));
}

}  // namespace dhpvm
