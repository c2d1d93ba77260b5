// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/library.h"

#include <dlfcn.h>

#include <utility>

#include "base/error.h"

namespace dhpvm::offload {

Result<std::unique_ptr<Library>> Library::open(std::initializer_list<std::string> names) {
  std::string reasons;
  for (const std::string& name : names) {
    // Not global: such a library may bring an LLVM of its own, which must not answer for the one used here.
    if (void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE))
      return std::unique_ptr<Library>(new Library(name, handle));
    const char* const reason = dlerror();
    if (!reasons.empty()) reasons += "; ";
    reasons += reason != nullptr ? reason : name + " cannot be loaded";
  }
  return Error(ErrorCode::kNotFound, std::move(reasons));
}

void* Library::symbol(const char* name) const { return dlsym(handle_, name); }

}  // namespace dhpvm::offload
