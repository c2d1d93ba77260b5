// SPDX-License-Identifier: Apache-2.0
#include "gc/roots.h"

#include "gc/heap.h"

namespace dhpvm::gc {

RootBase::RootBase(Heap& heap, Ref ref) : ref_(ref) { link_after(heap.handles()); }

RootBase& RootBase::operator=(const RootBase& other) {
  if (this == &other) return *this;
  unlink();
  link_after(other);
  ref_ = other.ref_;
  return *this;
}

void RootBase::link_after(const RootBase& position) {
  next_ = position.next_;
  previous_ = position.next_->previous_;
  next_->previous_ = this;
  previous_->next_ = this;
}

void RootBase::unlink() {
  next_->previous_ = previous_;
  previous_->next_ = next_;
  next_ = previous_ = this;
}

}  // namespace dhpvm::gc
