// SPDX-License-Identifier: Apache-2.0
// Writes checked programs by hand, for the tests of lowering.
//
//   HirBuilder b;
//   Function* f = b.function("twice", {b.i64()}, b.i64());
//   f->body = {b.ret(b.mul(b.use(f->parameters[0]), b.integer(2)))};
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/hir/hir.h"

namespace dhpvm::compiler::hir {

class HirBuilder {
 public:
  HirBuilder() { program.files = {"test.dhp"}; }

  Program program;

  const Type* type(TypeKind kind) { return program.types.basic(kind); }
  const Type* void_type() { return type(TypeKind::kVoid); }
  const Type* boolean() { return type(TypeKind::kBool); }
  const Type* i32() { return type(TypeKind::kI32); }
  const Type* i64() { return type(TypeKind::kI64); }
  const Type* f64() { return type(TypeKind::kF64); }
  const Type* str() { return type(TypeKind::kStr); }

  Local* local(const Type* t, std::string name = "x", bool boxed = false) {
    return &program.local_arena.emplace_back(Local{std::move(name), t, boxed});
  }
  Function* function(std::string name, std::initializer_list<const Type*> parameters, const Type* result) {
    Function& f = program.function_arena.emplace_back();
    f.name = std::move(name);
    for (const Type* t : parameters) f.parameters.push_back(local(t, "p"));
    f.result = result;
    f.exported = true;
    f.position = next_position();
    program.functions.push_back(&f);
    return &f;
  }

  Expr* make(ExprKind kind, const Type* t, std::vector<Expr*> operands = {}) {
    Expr& e = program.expr_arena.emplace_back();
    e.kind = kind;
    e.type = t;
    e.operands = std::move(operands);
    e.position = next_position();
    return &e;
  }
  Expr* integer(std::int64_t value) { return integer(value, i64()); }
  Expr* integer(std::int64_t value, const Type* t) {
    Expr* e = make(ExprKind::kInt, t);
    e->integer = static_cast<std::uint64_t>(value);
    return e;
  }
  Expr* number(double value) { return number(value, f64()); }
  Expr* number(double value, const Type* t) {
    Expr* e = make(ExprKind::kFloat, t);
    e->number = value;
    return e;
  }
  Expr* text(std::string value) {
    Expr* e = make(ExprKind::kString, str());
    e->text = std::move(value);
    return e;
  }
  Expr* use(Local* l) {
    Expr* e = make(ExprKind::kLocal, l->type);
    e->local = l;
    return e;
  }
  Expr* binary(Binary op, Expr* a, Expr* b) {
    const bool compares = op >= Binary::kEq && op <= Binary::kGe;
    Expr* e = make(ExprKind::kBinary, compares ? boolean() : a->type, {a, b});
    e->binary = op;
    return e;
  }
  Expr* add(Expr* a, Expr* b) { return binary(Binary::kAdd, a, b); }
  Expr* sub(Expr* a, Expr* b) { return binary(Binary::kSub, a, b); }
  Expr* mul(Expr* a, Expr* b) { return binary(Binary::kMul, a, b); }
  Expr* less(Expr* a, Expr* b) { return binary(Binary::kLt, a, b); }
  Expr* equal(Expr* a, Expr* b) { return binary(Binary::kEq, a, b); }
  Expr* convert(const Type* t, Expr* a) { return make(ExprKind::kConvert, t, {a}); }
  Expr* call(Function* f, std::vector<Expr*> arguments) {
    Expr* e = make(ExprKind::kCall, f->result, std::move(arguments));
    e->function = f;
    return e;
  }
  Expr* field(Expr* whole, std::uint32_t index) {
    const Type* t = whole->type->is(TypeKind::kNullable) ? whole->type->element : whole->type;
    Expr* e = make(ExprKind::kField, t->fields[index].type, {whole});
    e->index = index;
    return e;
  }
  Expr* index(Expr* array, std::vector<Expr*> indices) {
    Expr* e = make(ExprKind::kIndex, array->type->element, {array});
    e->operands.insert(e->operands.end(), indices.begin(), indices.end());
    return e;
  }
  Expr* conditional(Expr* c, Expr* a, Expr* b) { return make(ExprKind::kConditional, a->type, {c, a, b}); }

  Stmt* stmt(StmtKind kind) {
    Stmt& s = program.stmt_arena.emplace_back();
    s.kind = kind;
    s.position = next_position();
    return &s;
  }
  Stmt* let(Local* l, Expr* value) {
    Stmt* s = stmt(StmtKind::kLet);
    s->local = l;
    s->value = value;
    return s;
  }
  Stmt* assign(Expr* place, Expr* value) {
    Stmt* s = stmt(StmtKind::kAssign);
    s->place = place;
    s->value = value;
    return s;
  }
  Stmt* update(Expr* place, Binary op, Expr* value) {
    Stmt* s = stmt(StmtKind::kUpdate);
    s->place = place;
    s->binary = op;
    s->value = value;
    return s;
  }
  Stmt* ret(Expr* value) {
    Stmt* s = stmt(StmtKind::kReturn);
    s->value = value;
    return s;
  }
  Stmt* run(Expr* value) {
    Stmt* s = stmt(StmtKind::kExpr);
    s->value = value;
    return s;
  }
  Stmt* when(Expr* condition, std::vector<Stmt*> body, std::vector<Stmt*> otherwise = {}) {
    Stmt* s = stmt(StmtKind::kIf);
    s->value = condition;
    s->body = std::move(body);
    s->otherwise = std::move(otherwise);
    return s;
  }
  Stmt* loop(Expr* condition, std::vector<Stmt*> body) {
    Stmt* s = stmt(StmtKind::kWhile);
    s->value = condition;
    s->body = std::move(body);
    return s;
  }
  Stmt* range(Local* l, Expr* low, Expr* limit, std::vector<Stmt*> body) {
    Stmt* s = stmt(StmtKind::kForRange);
    s->local = l;
    s->value = low;
    s->limit = limit;
    s->body = std::move(body);
    return s;
  }

 private:
  Position next_position() { return {0, ++line_, 1}; }
  std::uint32_t line_ = 0;
};

}  // namespace dhpvm::compiler::hir
