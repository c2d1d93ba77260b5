// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/analysis.h"

#include "compiler/hir/hir_walk.h"

namespace dhpvm::compiler {

namespace {

using hir::Expr;
using hir::ExprKind;
using hir::Local;
using hir::Stmt;
using hir::StmtKind;

// Visits all nodes below one in source order: `enter` and `statement` before their children, `leave` after them.
template <typename Visitor>
class Walk {
 public:
  explicit Walk(Visitor& visitor) : visitor_(visitor) {}

  void expr(const Expr& e) {
    visitor_.enter(e);
    children(e);
    visitor_.leave(e);
  }

  void stmt(const Stmt& s) {
    visitor_.statement(s);
    children(s);
  }

 private:
  template <typename Node>
  void children(const Node& node) {
    hir::for_each_child(node, [this](const Expr& e) { expr(e); }, [this](const Stmt& s) { stmt(s); });
  }

  Visitor& visitor_;
};

// The local whose registers an assignment to `place` changes, or null.
const Local* changed_by(const Expr* place) {
  while (place != nullptr) {
    if (place->kind == ExprKind::kLocal) return place->local;
    const bool part_of_value =
        (place->kind == ExprKind::kField && place->operands[0]->type->is(TypeKind::kStruct)) ||
        place->kind == ExprKind::kUnwrap;
    if (!part_of_value) return nullptr;
    place = place->operands[0];
  }
  return nullptr;
}

class Collector {
 public:
  explicit Collector(FunctionFacts& facts) : facts_(facts) {}

  void enter(const Expr& e) {
    if (e.kind == ExprKind::kBlock) blocks_.emplace_back();
  }
  void leave(const Expr& e) {
    if (e.kind == ExprKind::kBlock) blocks_.pop_back();
  }
  void statement(const Stmt& s) {
    if (s.kind == StmtKind::kAssign || s.kind == StmtKind::kUpdate) assigned(changed_by(s.place));
    if (s.loop != nullptr) {
      for (const auto& reduction : s.loop->reductions) {
        assigned(reduction.outer);
        assigned(reduction.inner);
      }
    }
    if (s.local != nullptr) declared(s.local);
  }

 private:
  void assigned(const Local* local) {
    if (local == nullptr) return;
    facts_.assigned.insert(local);
    for (const auto& own : blocks_) {
      if (!own.contains(local)) facts_.assigned_in_expression.insert(local);
    }
  }
  void declared(const Local* local) {
    for (auto& own : blocks_) own.insert(local);
  }

  FunctionFacts& facts_;
  std::vector<std::unordered_set<const Local*>> blocks_;  // for each open block: the locals declared so far
};

class Finder {
 public:
  explicit Finder(const Local& local) : local_(local) {}
  void enter(const Expr& e) {
    if (e.local == &local_) found = true;
    if (e.kind != ExprKind::kClosure) return;
    for (const hir::Capture& capture : e.function->captures) found |= capture.outer == &local_;
  }
  void leave(const Expr&) {}
  void statement(const Stmt&) {}
  bool found = false;

 private:
  const Local& local_;
};

}  // namespace

void FunctionFacts::add(const std::vector<Stmt*>& body) {
  Collector collector(*this);
  Walk walk(collector);
  for (const Stmt* statement : body) walk.stmt(*statement);
  find_named_texts(body, assigned, named_texts);
}

bool mentions(const Expr& e, const Local& local) {
  Finder finder(local);
  Walk(finder).expr(e);
  return finder.found;
}

}  // namespace dhpvm::compiler
