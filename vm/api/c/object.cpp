// SPDX-License-Identifier: Apache-2.0
// Objects in C: texts, arrays, resources.
#include <algorithm>
#include <span>

#include "dhpvm/detail/window.h"
#include "vm/api/c/objects.h"
#include "vm/api/c/resource.h"
#include "vm/api/target.h"

namespace dhpvm::c {

Status give_object(dhpvm::Object object, std::shared_ptr<LentMemory> lent, dhpvm_object** handle) {
  return give(std::make_unique<ObjectHandle>(ObjectHandle{std::move(object), std::move(lent)}), handle);
}

namespace {

// The type of the program's arrays with such elements.
Result<gc::TypeId> array_type(const vm::LinkedModule& linked, const dhpvm_array& array) {
  detail::HostType type{.shape = detail::HostType::Shape::kArray, .kind = element_kind(array.kind)};
  type.rank = static_cast<std::uint8_t>(array.rank);
  type.lanes = lane_count(array);
  return detail::array_type(linked, type);
}

}  // namespace

Status lend(const IsolateHandle& isolate, const dhpvm_array& array, std::shared_ptr<ReleasedUser> owner,
            dhpvm_object** handle) {
  CheckedArray checked;
  DHPVM_TRY(check_array(&array, checked));
  if (!checked.is_dense) {
    return Error(ErrorCode::kUnsupported,
                 "only dense, aligned, row-major elements can be lent: copy them, or pass them for one call");
  }
  const auto& state = isolate.isolate->state();
  DHPVM_ASSIGN(const gc::TypeId type, array_type(state->machine->linked(), array));
  DHPVM_ASSIGN(vm::Loan loan, state->machine->lend_array(type, array.data, {array.sizes, array.rank},
                                                         array.access != DHPVM_READ));
  dhpvm::Object object = detail::ObjectState::wrap(state, loan.array());
  return give_object(object, std::make_shared<LentMemory>(object, std::move(loan), std::move(owner)), handle);
}

Status view(const dhpvm::Object& object, dhpvm_access access, dhpvm_array& array) {
  const detail::ObjectState* const state = detail::ObjectState::of(object);
  if (state == nullptr) return Error(ErrorCode::kNullReference, "the object is null, and should be an array");
  vm::Isolate& machine = *state->isolate->machine;
  const bytecode::Type& type = machine.module().types[state->root->header.type];
  const bool is_array = type.kind == bytecode::TypeKind::kArray;
  const Lanes lanes = is_array ? lanes_of(machine.module(), type.element) : Lanes{};
  if (lanes.count == 0) {
    return error(ErrorCode::kBadCast, "the object is of type {}, and should be an array of numbers",
                 object.type_name());
  }
  auto& elements = reinterpret_cast<gc::Array&>(*state->root);
  const bool write = access == DHPVM_READ_WRITE;
  const bool is_described = access == DHPVM_DESCRIBE;
  if (!is_described && (write ? elements.writable : elements.readable) < elements.length)
    DHPVM_TRY(machine.make_accessible(elements, write));
  fill_array(machine, elements, lanes, type.rank, access, array);
  if (is_described) array.data = nullptr;
  return {};
}

namespace {

Status make_array(const IsolateHandle& isolate, dhpvm_kind kind, std::span<const std::int64_t> sizes,
                  dhpvm_object** object) {
  if (!is_number(kind))
    return error(ErrorCode::kInvalidArgument,
                 "elements of kind {} cannot be: they have to be numbers or bool", kind_text(kind));
  const auto& state = isolate.isolate->state();
  DHPVM_ASSIGN(dhpvm::Object made, detail::new_array(state, element_kind(kind), sizes));
  return give_object(std::move(made), nullptr, object);
}

Status make_array_of(const IsolateHandle& isolate, const dhpvm_array& described, dhpvm_object** object) {
  dhpvm_array sizes_alone = described;
  // Not NULL, which an array with elements must not have.
  sizes_alone.data = static_cast<void*>(object);
  std::ranges::fill(sizes_alone.strides, 0);
  CheckedArray checked;
  DHPVM_TRY(check_array(&sizes_alone, checked));
  const auto& state = isolate.isolate->state();
  DHPVM_ASSIGN(const gc::TypeId type, array_type(state->machine->linked(), described));
  DHPVM_ASSIGN(gc::Array* const made, state->machine->new_array(type, {described.sizes, described.rank}));
  return give_object(detail::ObjectState::wrap(state, reinterpret_cast<gc::Ref>(made)), nullptr, object);
}

Status make_resource(const IsolateHandle& isolate, std::shared_ptr<ReleasedUser> user,
                     dhpvm_object** object) {
  const auto& state = isolate.isolate->state();
  void* slot = nullptr;
  detail::Window window{nullptr, &slot, state->machine.get()};
  DHPVM_TRY(put_resource_pointer(window, 0, std::move(user)));
  return give_object(detail::ObjectState::wrap(state, static_cast<gc::Ref>(slot)), nullptr, object);
}

}  // namespace
}  // namespace dhpvm::c

using dhpvm::ErrorCode;
using dhpvm::Status;
using dhpvm::c::check_pointer;
using dhpvm::c::guarded;
using dhpvm::c::ReleasedUser;

dhpvm_code dhpvm_object_new_text(dhpvm_isolate* isolate, const char* text, size_t size, dhpvm_object** object,
                                 dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, isolate);
    if (size != 0) DHPVM_TRY(check_pointer(text, "text"));
    DHPVM_TRY(check_pointer(object, "object"));
    found->returned->let_go();
    DHPVM_ASSIGN(dhpvm::Object made, found->isolate->make_text({text, size}));
    return dhpvm::c::give_object(std::move(made), nullptr, object);
  });
}

dhpvm_code dhpvm_object_new_array(dhpvm_isolate* isolate, dhpvm_kind kind, const int64_t* sizes,
                                  uint32_t rank, dhpvm_object** object, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, isolate);
    DHPVM_TRY(check_pointer(sizes, "sizes"));
    DHPVM_TRY(check_pointer(object, "object"));
    found->returned->let_go();
    return dhpvm::c::make_array(*found, kind, {sizes, rank}, object);
  });
}

dhpvm_code dhpvm_object_new_array_of(dhpvm_isolate* isolate, const dhpvm_array* described,
                                     dhpvm_object** object, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, isolate);
    DHPVM_TRY(check_pointer(described, "described"));
    DHPVM_TRY(check_pointer(object, "object"));
    found->returned->let_go();
    return dhpvm::c::make_array_of(*found, *described, object);
  });
}

dhpvm_code dhpvm_object_lend(dhpvm_isolate* isolate, const dhpvm_array* array, dhpvm_release_function release,
                             void* user, dhpvm_object** object, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, isolate);
    DHPVM_TRY(check_pointer(array, "array"));
    DHPVM_TRY(check_pointer(object, "object"));
    found->returned->let_go();
    const auto owner = std::make_shared<ReleasedUser>(release, user);
    Status status = dhpvm::c::lend(*found, *array, owner, object);
    if (!status.ok()) owner->keep();
    return status;
  });
}

dhpvm_code dhpvm_object_new_resource(dhpvm_isolate* isolate, void* pointer, dhpvm_release_function release,
                                     dhpvm_object** object, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, isolate);
    DHPVM_TRY(check_pointer(object, "object"));
    const auto owner = std::make_shared<ReleasedUser>(release, pointer);
    Status status = dhpvm::c::make_resource(*found, owner, object);
    if (!status.ok()) owner->keep();
    return status;
  });
}

dhpvm_code dhpvm_object_resource(const dhpvm_object* object, void** pointer, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, object);
    DHPVM_TRY(check_pointer(pointer, "pointer"));
    const dhpvm::detail::ObjectState* const state = dhpvm::detail::ObjectState::of(found->object);
    if (state == nullptr || state->root->header.type != dhpvm::bytecode::kResourceType)
      return dhpvm::error(ErrorCode::kBadCast, "the object is of type {}, and should be a resource",
                          found->object.type_name());
    void* slot = state->root.get();
    const dhpvm::detail::Window window{nullptr, &slot, state->isolate->machine.get()};
    DHPVM_ASSIGN(*pointer, dhpvm::c::resource_pointer(window, 0));
    return {};
  });
}

dhpvm_code dhpvm_object_copy(const dhpvm_object* object, dhpvm_object** copy, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, object);
    DHPVM_TRY(check_pointer(copy, "copy"));
    return dhpvm::c::give_object(found->object, found->lent, copy);
  });
}

dhpvm_code dhpvm_object_type(const dhpvm_object* object, dhpvm_bytes* name, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, object);
    return dhpvm::c::give_bytes(found->object.type_name(), name);
  });
}

int dhpvm_object_equal(const dhpvm_object* one, const dhpvm_object* other) {
  const auto* const first = dhpvm::c::find(one);
  const auto* const second = dhpvm::c::find(other);
  return first != nullptr && second != nullptr && first->object == second->object ? 1 : 0;
}

dhpvm_code dhpvm_object_text(const dhpvm_object* object, const char** text, size_t* size,
                             dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, object);
    DHPVM_TRY(check_pointer(text, "text"));
    DHPVM_TRY(check_pointer(size, "size"));
    DHPVM_ASSIGN(const std::string_view bytes, found->object.text());
    *text = bytes.data();
    *size = bytes.size();
    return {};
  });
}

dhpvm_code dhpvm_object_array(const dhpvm_object* object, dhpvm_access access, dhpvm_array* array,
                              dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, object);
    if (access > DHPVM_DESCRIBE)
      return dhpvm::error(ErrorCode::kInvalidArgument,
                          "access is {}, and should be DHPVM_READ, DHPVM_READ_WRITE or DHPVM_DESCRIBE",
                          access);
    dhpvm_array seen{};
    DHPVM_TRY(dhpvm::c::view(found->object, access, seen));
    return dhpvm::c::fill_structure(array, seen, "dhpvm_array");
  });
}

void dhpvm_object_free(dhpvm_object* object) {
  (void)guarded(nullptr, [&]() -> Status {
    (void)dhpvm::c::take_back(object);
    return {};
  });
}
