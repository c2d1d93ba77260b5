// SPDX-License-Identifier: Apache-2.0
// Interfaces by which the collector finds the references that live outside the heap.
#pragma once

#include <cstddef>

#include "gc/object.h"

namespace dhpvm::gc {

class Heap;

// Receives roots during a collection. Roots may be null.
class RootVisitor {
 public:
  void visit(Ref ref) { visit_range(&ref, 1); }
  // The fast form for contiguous slots, such as the interpreter's reference stack. The slots are read during
  // the call and not kept.
  virtual void visit_range(const Ref* slots, std::size_t count) = 0;

 protected:
  ~RootVisitor() = default;
};

// Implemented by the owner of a heap. Called inside collections, several times per collection when the heap
// verifies itself; must report the same roots each time, and must not allocate on the heap.
class RootProvider {
 public:
  virtual void visit_roots(RootVisitor& visitor) = 0;
  // Called once before each full collection: may set roots to null that are not read again.
  virtual void drop_dead_roots() {}

 protected:
  ~RootProvider() = default;
};

// One object that C++ code keeps alive: a node of the heap's list of handles. Not thread-safe: belongs to the
// thread that uses the heap. Outlives the heap harmlessly (it is then null).
class RootBase {
 public:
  explicit RootBase(Heap& heap, Ref ref = nullptr);
  RootBase(const RootBase& other) : RootBase(other, other.ref_) {}
  RootBase& operator=(const RootBase& other);
  ~RootBase() { unlink(); }

 protected:
  Ref ref_;

 private:
  friend class Heap;
  RootBase() : ref_(nullptr) {}  // the heap's own node
  RootBase(const RootBase& position, Ref ref) : ref_(ref) { link_after(position); }
  void link_after(const RootBase& position);
  void unlink();

  // A ring through the heap's own node. Mutable so that a const handle can be copied.
  mutable RootBase* next_ = this;
  mutable RootBase* previous_ = this;
};

// A handle that keeps a T (Object, String, Array, ...) alive.
template <typename T>
class Root : public RootBase {
 public:
  explicit Root(Heap& heap, T* object = nullptr) : RootBase(heap, reinterpret_cast<Ref>(object)) {}
  T* get() const { return reinterpret_cast<T*>(ref_); }
  void set(T* object) { ref_ = reinterpret_cast<Ref>(object); }
  T* operator->() const { return get(); }
  T& operator*() const { return *get(); }
  explicit operator bool() const { return ref_ != nullptr; }
};

}  // namespace dhpvm::gc
