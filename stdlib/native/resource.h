// SPDX-License-Identifier: Apache-2.0
// The language's `resource` is a C++ object that the heap owns.
//
// All resources look alike to the program, so each carries the kind that its makers gave it, and is checked
// when it comes back.
#pragma once

#include <memory>
#include <string_view>

#include "dhpvm/result.h"
#include "gc/object.h"
#include "vm/isolate.h"

namespace dhpvm::stdlib {

class ResourceObject {
 public:
  // `kind` is an address that is unique to the class.
  explicit ResourceObject(const void* kind) : kind_(kind) {}
  virtual ~ResourceObject() = default;
  ResourceObject(const ResourceObject&) = delete;
  ResourceObject& operator=(const ResourceObject&) = delete;
  const void* kind() const { return kind_; }

 private:
  const void* kind_;
};

// A new resource of the heap, which may collect. Destroyed with the last reference to it, unless it
// is released before.
Result<gc::Resource*> new_resource(vm::Isolate& isolate, std::unique_ptr<ResourceObject> object);

// The object behind a reference to a resource that is not null. kClosed when it was released, kBadCast when
// it is of another kind; `what` is what was expected: "an open file".
Result<ResourceObject*> resource_object(gc::Ref resource, const void* kind, std::string_view what);

// Takes the object away from the program; null if that happened before.
std::unique_ptr<ResourceObject> release_resource(gc::Ref resource);

}  // namespace dhpvm::stdlib
