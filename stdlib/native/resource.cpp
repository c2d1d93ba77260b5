// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/resource.h"

#include <utility>

#include "base/error.h"

namespace dhpvm::stdlib {
namespace {

void clean(gc::Object* dead, void* /*context*/) {
  delete static_cast<ResourceObject*>(reinterpret_cast<gc::Resource*>(dead)->pointer);
}

}  // namespace

Result<gc::Resource*> new_resource(vm::Isolate& isolate, std::unique_ptr<ResourceObject> object) {
  DHPVM_ASSIGN(gc::Resource* const resource, isolate.new_resource(object.get(), clean, nullptr));
  static_cast<void>(object.release());  // the heap's from here on
  return resource;
}

Result<ResourceObject*> resource_object(gc::Ref resource, const void* kind, std::string_view what) {
  auto* object = static_cast<ResourceObject*>(reinterpret_cast<gc::Resource*>(resource)->pointer);
  if (object == nullptr) return error(ErrorCode::kClosed, "{} is needed, and this one is closed", what);
  if (object->kind() != kind)
    return error(ErrorCode::kBadCast, "{} is needed, and this resource is something else", what);
  return object;
}

std::unique_ptr<ResourceObject> release_resource(gc::Ref resource) {
  void*& pointer = reinterpret_cast<gc::Resource*>(resource)->pointer;
  return std::unique_ptr<ResourceObject>(static_cast<ResourceObject*>(std::exchange(pointer, nullptr)));
}

}  // namespace dhpvm::stdlib
