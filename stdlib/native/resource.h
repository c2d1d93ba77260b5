// SPDX-License-Identifier: Apache-2.0
// What stands behind the language's `resource`: a C++ object that the heap owns.
//
// All resources look alike to the program, so each carries the kind that its makers gave it, and is checked
// when it comes back.
#pragma once

#include <memory>

#include "base/error.h"
#include "stdlib/native/call.h"

namespace dhpvm::stdlib {

class ResourceObject {
 public:
  // `kind` is an address that nobody else uses.
  explicit ResourceObject(const void* kind) : kind_(kind) {}
  virtual ~ResourceObject() = default;
  ResourceObject(const ResourceObject&) = delete;
  ResourceObject& operator=(const ResourceObject&) = delete;
  const void* kind() const { return kind_; }

 private:
  const void* kind_;
};

// A new resource as the first reference result. Destroyed with the last reference to it, or by
// close_resource.
Status return_resource(vm::NativeCall& call, std::unique_ptr<ResourceObject> object);

// The object behind a reference argument that is not null. kClosed when it was closed, kBadCast when it is of
// another kind; `what` is what was expected: "an open file".
Result<ResourceObject*> resource(const vm::NativeCall& call, unsigned index, const void* kind,
                                 std::string_view what);

// Takes the object away from the program; null if that happened before.
std::unique_ptr<ResourceObject> release_resource(const vm::NativeCall& call, unsigned index);

}  // namespace dhpvm::stdlib
