// SPDX-License-Identifier: Apache-2.0
// Checks a heap with an independent, slow marker: a hash set instead of mark bytes, the full TypeInfo instead of the
// marker's digest, no generations. A disagreement with the collector is a bug in either of them, or a root or write
// barrier that the heap's user has forgotten.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "dhpvm/result.h"
#include "gc/object.h"
#include "gc/options.h"
#include "gc/roots.h"

namespace dhpvm::gc {

class Verifier final : public RootVisitor {
 public:
  explicit Verifier(const Heap& heap);

  // Between collections, and between the parts of one: every reachable object is well-formed, none overlaps another,
  // and every reference from an old to a young object is in the remembered set, or waits to be marked.
  Status check();
  // Right after a collection. Checks also that reachable objects are marked, and after a full one that no others are.
  Status check_after(CollectionKind kind);

  void visit_range(const Ref* slots, std::size_t count) override;

 private:
  void reach(const Object* object, const Object* holder);
  // The fault of the object; empty if there is none.
  std::string fault_of(const Object* object) const;
  std::string fault_of_shape(const Object* object) const;
  bool is_old(const Object* object) const;
  bool is_waiting(const Object* holder, const Object* target) const {
    return waiting_.contains(target) || tracing_.contains(holder);
  }
  void check_references(const Object* object);
  void check_overlaps();
  void check_marks(CollectionKind kind);
  void fail(std::string message);
  std::string describe(const Object* object) const;

  const Heap& heap_;
  std::unordered_set<const Object*> large_;
  std::unordered_set<const Object*> remembered_;
  std::unordered_set<const Object*> waiting_;  // a minor collection that has begun will mark these,
  std::unordered_set<const Object*> tracing_;  // and what these arrays refer to
  std::unordered_set<const Object*> reached_;
  std::vector<const Object*> work_;
  std::string fault_;  // the first one
};

}  // namespace dhpvm::gc
