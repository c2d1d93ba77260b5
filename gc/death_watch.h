// SPDX-License-Identifier: Apache-2.0
// The consequences of an object's death: weak references to it become null, and its cleaner runs.
#pragma once

#include <cstddef>
#include <vector>

#include "gc/marker.h"
#include "gc/object.h"

namespace dhpvm::gc {

// Frees what a dead object owned outside the heap. `dead` is still intact, but what it refers to may not
// be: read its primitive fields only. Runs on the thread that uses the heap, during a collection or the
// heap's destruction; must not allocate on the heap, nor make the object reachable again. `context` is what
// add() was given.
using Cleaner = void (*)(Object* dead, void* context);

class CleanerList {
 public:
  void add(Object* object, Cleaner run, void* context) { young_.push_back({object, run, context}); }
  // After marking: runs the cleaners of unmarked objects, among the young ones (minor) or all (full).
  // Returns how many.
  std::size_t run_dead_young(const Marker& marker) { return run_dead(young_, marker); }
  std::size_t run_dead_all(const Marker& marker);
  // At the end of the heap.
  void run_all();

 private:
  struct Entry {
    Object* object;
    Cleaner run;
    void* context;
  };
  std::size_t run_dead(std::vector<Entry>& entries, const Marker& marker);

  std::vector<Entry> young_;
  std::vector<Entry> old_;
};

class WeakList {
 public:
  void add(Weak* weak) { young_.push_back(weak); }
  // After marking: clears references to unmarked objects and forgets unmarked weak references. The target of
  // a weak reference never changes but to null, so it is at least as old as the reference, and an old
  // reference cannot have a young target.
  void clear_dead_young(const Marker& marker) { clear_dead(young_, marker); }
  void clear_dead_all(const Marker& marker);

 private:
  void clear_dead(std::vector<Weak*>& weaks, const Marker& marker);

  std::vector<Weak*> young_;
  std::vector<Weak*> old_;
};

}  // namespace dhpvm::gc
