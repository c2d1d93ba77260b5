// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/resource.h"

namespace dhpvm::stdlib {
namespace {

gc::Resource* handle(const vm::NativeCall& call, unsigned index) {
  return reinterpret_cast<gc::Resource*>(call.r[index]);
}

void clean(gc::Object* dead, void* /*context*/) {
  delete static_cast<ResourceObject*>(reinterpret_cast<gc::Resource*>(dead)->pointer);
}

}  // namespace

Status return_resource(vm::NativeCall& call, std::unique_ptr<ResourceObject> object) {
  DHPVM_ASSIGN(gc::Resource* const resource, call.isolate.new_resource(object.get(), clean, nullptr));
  object.release();  // the heap's from here on
  call.r[0] = reinterpret_cast<gc::Ref>(resource);
  return {};
}

Result<ResourceObject*> resource(const vm::NativeCall& call, unsigned index, const void* kind,
                                 std::string_view what) {
  auto* object = static_cast<ResourceObject*>(handle(call, index)->pointer);
  if (object == nullptr) return error(ErrorCode::kClosed, "{} is needed, and this one is closed", what);
  if (object->kind() != kind)
    return error(ErrorCode::kBadCast, "{} is needed, and this resource is something else", what);
  return object;
}

std::unique_ptr<ResourceObject> release_resource(const vm::NativeCall& call, unsigned index) {
  return std::unique_ptr<ResourceObject>(
      static_cast<ResourceObject*>(std::exchange(handle(call, index)->pointer, nullptr)));
}

}  // namespace dhpvm::stdlib
