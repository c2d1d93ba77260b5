// SPDX-License-Identifier: Apache-2.0
// Pointers of the host behind the language's `resource`.
#pragma once

#include "dhpvm/detail/window.h"
#include "vm/api/c/states.h"

namespace dhpvm::c {

// The pointer in slot `slot` of a call; null for null. kBadCast if it is no resource of the C interface.
inline Result<void*> resource_pointer(const detail::Window& window, unsigned slot) {
  std::shared_ptr<void> user;
  DHPVM_TRY(detail::get_resource(window, slot, &detail::kTypeTag<ReleasedUser>, user));
  return user == nullptr ? nullptr : static_cast<const ReleasedUser*>(user.get())->user();
}

// A new resource in slot `slot`.
inline Status put_resource_pointer(detail::Window& window, unsigned slot,
                                   std::shared_ptr<ReleasedUser> user) {
  return detail::put_resource(window, slot, &detail::kTypeTag<ReleasedUser>, std::move(user));
}

}  // namespace dhpvm::c
