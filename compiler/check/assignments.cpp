// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/assignments.h"

#include "compiler/check/lexical_walk.h"

namespace dhpvm::compiler {

class AssignmentScan final : public LexicalWalk {
 public:
  explicit AssignmentScan(Assignments& result) : result_(result) {}

 private:
  void on_assign(Local& local, const ast::Name& name) override {
    const SourceRange declared = local.name.range;
    Assignments::Found& found = result_.found_[{declared.file, declared.begin}];
    found.places.insert(name.range.begin);
    found.in_closure = found.in_closure || closures() > local.closures;
    found.in_expression = found.in_expression || in_expression();
  }

  Assignments& result_;
};

void Assignments::collect(const ast::Function& function) { AssignmentScan(*this).function(function); }
void Assignments::collect(const ast::Expr& expr) { AssignmentScan(*this).expr(&expr); }

const Assignments::Found* Assignments::find(SourceRange variable) const {
  const auto known = found_.find({variable.file, variable.begin});
  return known == found_.end() ? nullptr : &known->second;
}

bool Assignments::inside(SourceRange variable, SourceRange region) const {
  const Found* found = find(variable);
  if (found == nullptr) return false;
  const auto first = found->places.lower_bound(region.begin);
  return first != found->places.end() && *first < region.end;
}

bool Assignments::in_expression(SourceRange variable) const {
  const Found* found = find(variable);
  return found != nullptr && found->in_expression;
}

bool Assignments::in_closure(SourceRange variable) const {
  const Found* found = find(variable);
  return found != nullptr && found->in_closure;
}

}  // namespace dhpvm::compiler
