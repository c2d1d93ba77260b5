// SPDX-License-Identifier: Apache-2.0
// A vendor's library, loaded when it is first needed: no program needs one to start.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>

#include "dhpvm/result.h"

namespace dhpvm::offload {

// Stays loaded until the process ends: vendors' libraries start threads and register exit handlers, and few survive
// being unloaded.
class Library {
 public:
  // The first of `names` that the dynamic linker finds; kNotFound with its message for each of them.
  static Result<std::unique_ptr<Library>> open(std::initializer_list<std::string> names);

  // Null when the library has no such symbol.
  void* symbol(const char* name) const;
  // The name that was passed to open().
  const std::string& name() const { return name_; }

 private:
  Library(std::string name, void* handle) : name_(std::move(name)), handle_(handle) {}

  std::string name_;
  void* handle_;
};

}  // namespace dhpvm::offload
