// SPDX-License-Identifier: Apache-2.0
// Owners of libfabric's objects, and texts for its error numbers.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <memory>

#include "base/error.h"

namespace dhpvm::offload {

struct CloseFid {
  template <typename T>
  void operator()(T* object) const {
    // Fails only if other objects still refer to this one, so members are declared in the order of their dependence.
    static_cast<void>(fi_close(&object->fid));
  }
};
template <typename T>
using Fid = std::unique_ptr<T, CloseFid>;

struct FreeInfo {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

// `code` as returned by libfabric's functions: negative.
inline Error ofi_error(const char* what, long code) {
  return error(ErrorCode::kIo, "libfabric could not {}: {}", what, fi_strerror(static_cast<int>(-code)));
}

}  // namespace dhpvm::offload
