// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/library.h"

#include <dlfcn.h>

#include <utility>

#include "base/error.h"

namespace dhpvm::offload {

Result<std::unique_ptr<Library>> Library::open(std::initializer_list<std::string> names) {
  std::string reasons;
  for (const std::string& name : names) {
    // Not RTLD_GLOBAL: such a library may contain an LLVM of its own, whose symbols must not replace those used here.
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
